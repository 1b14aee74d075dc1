"""Attribution against ledgers worked by hand."""

from __future__ import annotations

import math

import polars as pl
import pytest

from ettlog import registry
from ettlog.attribute import attribute_ledger
from ettlog.errors import NoDataError, UsageError
from tests.ledgers import ledger, start

REGISTRY = registry.parse(
    """
[[optimization]]
name = "fast-init"
owner = "trainer"
parts = ["launch", "process_group"]
rollouts = [{ model = "*", since = 2026-03-01 }]

[[optimization]]
name = "fast-restore"
owner = "checkpoint"
parts = ["restore", "hang", "replay"]
rollouts = [{ model = "*", since = 2026-03-01 }]
"""
)
PAIR = ledger(
    start("a", "m", "2026-02-01", 0, "first", {"launch": 100, "step": 1000}),
    start("a", "m", "2026-02-02", 1, "failure", {"launch": 100, "restore": 200, "replay": 50, "step": 1000}),
    start("b", "m", "2026-03-02", 0, "first", {"launch": 50, "step": 1000}),
    start("b", "m", "2026-03-03", 1, "failure", {"launch": 60, "restore": 100, "replay": 50, "step": 1000}),
)
"""Overhead 450 s before and 260 s after per 2,000 s of training: 190 s saved, 50 direct, 40 in the recovery, 100
restore.
"""


def seconds(credit: pl.DataFrame, optimization: str, tier: str, column: str = "saved_gpu_hours") -> float:
    """Return a cell of the fleet's rows, GPU-hours turned into GPU-seconds."""
    rows = credit.filter(
        (pl.col("model") == "all") & (pl.col("optimization") == optimization) & (pl.col("tier") == tier)
    )
    return float(rows[column].sum()) * 3600


def test_direct_cascade_and_recovery_only_are_told_apart() -> None:
    """50 s on the first start, 40 s measured in the recovery beside a bound of 50 s, 100 s of restore."""
    credit = attribute_ledger(PAIR, registry=REGISTRY).credit
    assert seconds(credit, "fast-init", "direct") == pytest.approx(50)
    assert seconds(credit, "fast-init", "cascade") == pytest.approx(40)
    assert seconds(credit, "fast-init", "cascade", "bound_gpu_hours") == pytest.approx(50)
    assert seconds(credit, "fast-restore", "recovery_only") == pytest.approx(100)
    assert seconds(credit, "", "failure_count") == pytest.approx(0)


def test_points_share_the_change_of_ett_as_hours_do() -> None:
    """ETT goes from 2000/2450 to 2000/2260; direct has 50/190 of the saving and of the points."""
    made = attribute_ledger(PAIR, registry=REGISTRY)
    row = made.credit.row(by_predicate=(pl.col("tier") == "direct") & (pl.col("model") == "all"), named=True)
    points = (2000 / 2260 - 2000 / 2450) * 100
    assert made.header["points"] == pytest.approx(points)
    assert row["share"] == pytest.approx(50 / 190)
    assert row["points"] == pytest.approx(points * 50 / 190)


def test_the_cascade_is_told_to_have_left_recovery() -> None:
    """40 of 190 s, 21.1 % of the saving, are the trainer's; of recovery's 140 s, 73.7 %, 100 s are left, 52.6 %."""
    note = attribute_ledger(PAIR, registry=REGISTRY).notes[0]
    assert note.startswith("21.1 points of the saving's 100 moved from recovery to fast-init (its cascade, measured)")
    assert "recovery 73.7 -> 52.6" in note


def test_a_cascade_above_its_bound_is_flagged() -> None:
    """A recovery that saves 90 s where the first start saves 50 s passes 1.80 through."""
    faster = ledger(
        start("b", "m", "2026-03-02", 0, "first", {"launch": 50, "step": 1000}),
        start("b", "m", "2026-03-03", 1, "failure", {"launch": 10, "restore": 200, "replay": 50, "step": 1000}),
    )
    both = pl.concat([PAIR.filter(pl.col("job") == "a"), faster])
    made = attribute_ledger(both, registry=REGISTRY)
    note = made.credit.filter((pl.col("tier") == "cascade") & (pl.col("model") == "all"))["note"].item()
    assert "pass-through 1.80 of the bound; above the bound" in note


def test_a_change_nobody_declared_is_drift() -> None:
    """Without a registry the same saving is all drift, and the models are cut in the middle of the window."""
    made = attribute_ledger(PAIR)
    assert seconds(made.credit, "", "drift") == pytest.approx(190)
    assert any("middle of the window" in note for note in made.notes)


def test_fewer_failures_belong_to_nobody() -> None:
    """A second recovery of 350 s only in the baseline: the mean of its 350 s and the after's 210 s is the failure
    count's.
    """
    more = pl.concat(
        [
            PAIR,
            ledger(
                start("a", "m", "2026-02-03", 2, "failure", {"launch": 100, "restore": 200, "replay": 50, "step": 0}),
            ),
        ]
    )
    credit = attribute_ledger(more, registry=REGISTRY).credit
    # recoveries 2 -> 1 at a mean of (350 + 210) / 2 s; their mean count is 1.5 at 40 + 100 s less each
    assert seconds(credit, "", "failure_count") == pytest.approx(280)
    assert seconds(credit, "fast-init", "cascade") == pytest.approx(60)
    assert seconds(credit, "fast-restore", "recovery_only") == pytest.approx(150)


def test_a_mix_that_moves_is_no_ones_win() -> None:
    """Overheads .1 and .5 unchanged, shares from half and half to 9 : 1: all is mix, .3 - .14 = .16 per hour of
    training.
    """
    rows = []
    for day, steps in (("2026-02-01", (500, 500)), ("2026-03-02", (900, 100))):
        for model, step, share in (("x", steps[0], 0.1), ("y", steps[1], 0.5)):
            rows.append(start(f"{model}{day}", model, day, 0, "first", {"save_stall": int(step * share), "step": step}))
    credit = attribute_ledger(ledger(*rows), registry=REGISTRY).credit
    assert seconds(credit, "", "mix") == pytest.approx(160)
    assert seconds(credit, "", "drift") == pytest.approx(0)
    # against the fleet's mean overhead of .22: x grew where it is good (.12 x .4), y shrank where it is bad (.28 x .4)
    by_model = dict(credit.filter(pl.col("tier") == "mix").select("model", pl.col("saved_gpu_hours") * 3600).rows())
    assert by_model["x"] == pytest.approx(48)
    assert by_model["y"] == pytest.approx(112)


def test_an_entrant_is_measured_against_those_who_stayed() -> None:
    """A new model of overhead 1 with half of the training: entry costs .5 x (1 - .2) per hour, the stayer nothing."""
    stay = [start(day, "m", day, 0, "first", {"save_stall": 20, "step": 100}) for day in ("2026-02-01", "2026-03-02")]
    come = start("n", "new", "2026-03-02", 0, "first", {"save_stall": 100, "step": 100})
    credit = attribute_ledger(ledger(*stay, come), registry=REGISTRY).credit
    assert seconds(credit, "", "entry") == pytest.approx(-0.5 * 0.8 * 200)
    assert seconds(credit, "", "mix") == 0


def test_a_model_that_changes_its_platform_migrates() -> None:
    """The old platform's exit and the new one's entry of the same model are one row."""
    rows = [
        start("s1", "stay", "2026-02-01", 0, "first", {"save_stall": 20, "step": 100}),
        start("s2", "stay", "2026-03-02", 0, "first", {"save_stall": 20, "step": 100}),
        start("o", "m", "2026-02-01", 0, "first", {"save_stall": 50, "step": 100}, platform="old"),
        start("n", "m", "2026-03-02", 0, "first", {"save_stall": 10, "step": 100}, platform="new"),
    ]
    credit = attribute_ledger(ledger(*rows), registry=REGISTRY).credit
    assert seconds(credit, "", "migration") == pytest.approx((0.5 * 0.3 + 0.5 * 0.1) * 200)
    assert credit.filter(pl.col("tier").is_in(["entry", "exit"])).is_empty()


SUCCESSIVE = registry.parse(
    """
    [[optimization]]
    name = "one"
    owner = "a"
    parts = ["launch"]
    rollouts = [{ since = 2026-02-01 }]
    [[optimization]]
    name = "two"
    owner = "b"
    parts = ["launch"]
    rollouts = [{ since = 2026-03-01 }]
    """
)
THREE = ledger(
    *[
        start(day, "m", day, 0, "first", {"launch": launch, "step": 1000})
        for day, launch in (("2026-01-10", 100), ("2026-02-10", 60), ("2026-03-10", 50))
    ]
)
"""Init falls 100 -> 60 s at the first rollout and 60 -> 50 s at the second: cuts of .4 and 1/6."""


def test_successive_rollouts_share_one_place_by_shapley() -> None:
    """100 s x .4 alone, 100 x 5/6 x .4 last: 36.67 s for one; 100/6 alone, 60/6 last: 13.33 s for two; 50 s in all."""
    made = attribute_ledger(THREE, registry=SUCCESSIVE)
    assert seconds(made.credit, "one", "direct") == pytest.approx((40 + 100 / 3) / 2)
    assert seconds(made.credit, "two", "direct") == pytest.approx((100 / 6 + 10) / 2)
    assert made.models["periods"].to_list() == [3]


def test_successive_rollouts_can_be_credited_in_their_order() -> None:
    """As the calendar had it, 40 s and 10 s."""
    credit = attribute_ledger(THREE, registry=SUCCESSIVE, split="rollout").credit
    assert seconds(credit, "one", "direct") == pytest.approx(40)
    assert seconds(credit, "two", "direct") == pytest.approx(10)


def test_every_rule_of_sharing_stands_beside_shapley() -> None:
    """First in, last in, Shapley, log share, range and calendar of the same two optimizations, in GPU-seconds."""
    table = attribute_ledger(THREE, registry=SUCCESSIVE).overlap
    one, two = (
        {name: value * 3600 for name, value in row.items() if isinstance(value, float)} for row in table.to_dicts()
    )
    assert one == pytest.approx(
        {
            "first_in": 40, "last_in": 100 / 3, "shapley": 110 / 3, "low": 100 / 3, "high": 40, "rolled_out": 40,
            "log_share": 50 * math.log(0.6) / math.log(0.5),
        }
    )  # fmt: skip
    assert two["rolled_out"] == pytest.approx(10)
    assert one["log_share"] + two["log_share"] == pytest.approx(50)


def test_run_rate_and_cumulative_answer_different_questions() -> None:
    """Ten starts a day-pair after the rollout save 50 s each: 500 s since; in 20 days until the end 25 s a day."""
    rows = [start("a", "m", "2026-02-01", 0, "first", {"launch": 100, "step": 1000})]
    rows += [start(f"b{i}", "m", "2026-03-02", 0, "first", {"launch": 50, "step": 1000}) for i in range(10)]
    credit = attribute_ledger(ledger(*rows), registry=REGISTRY, until="2026-03-21").credit
    row = credit.filter((pl.col("model") == "all") & (pl.col("tier") == "direct")).row(0, named=True)
    assert row["since_rollout_gpu_hours"] * 3600 == pytest.approx(500)
    assert row["per_day_gpu_hours"] * 3600 == pytest.approx(25)


def test_a_chain_of_two_compares_the_ends_only() -> None:
    """First period against last: the middle one is left out, and what came in between is one bundle."""
    made = attribute_ledger(THREE, registry=SUCCESSIVE, chain="none")
    assert seconds(made.credit, "one + two", "direct") == pytest.approx(50)
    assert any("1 of 3 starts lie in no period" in note for note in made.notes)


def test_a_monthly_chain_leaves_what_moves_in_between_to_drift() -> None:
    """Launches of 100, then 80 s before any rollout, then 50 s: 20 s are drift, 30 s the optimization's."""
    rows = [
        start(day, "m", day, 0, "first", {"launch": launch, "step": 1000})
        for day, launch in (("2026-01-10", 100), ("2026-02-10", 80), ("2026-03-10", 50))
    ]
    credit = attribute_ledger(ledger(*rows), registry=REGISTRY, chain="monthly").credit
    assert seconds(credit, "", "drift") == pytest.approx(20)
    assert seconds(credit, "fast-init", "direct") == pytest.approx(30)


@pytest.mark.parametrize(("baseline", "saved"), [("first", 40), ("pre-rollout", 30), ("2026-01-01..2026-01-20", 50)])
def test_the_baseline_can_be_chosen(baseline: str, saved: float) -> None:
    """Launches of 100 s in January and 80 s in February, then 50 s: against the mean, the last 28 days, January."""
    rows = [
        start(day, "m", day, 0, "first", {"launch": launch, "step": 1000})
        for day, launch in (("2026-01-10", 100), ("2026-02-10", 80), ("2026-03-10", 50))
    ]
    made = attribute_ledger(ledger(*rows), registry=REGISTRY, baseline=baseline)
    assert seconds(made.credit, "fast-init", "direct") == pytest.approx(saved)
    assert made.header["baseline"]


def test_what_cannot_be_told_apart_is_one_bundle() -> None:
    """Two optimizations of one part and one date: one row with both names and owners, not a guess."""
    twins = _twins("")
    credit = attribute_ledger(PAIR, registry=twins).credit
    assert seconds(credit, "left + right", "direct") == pytest.approx(50)
    row = credit.filter(pl.col("optimization") == "left + right").row(0, named=True)
    assert row["owner"] == "l + r"
    assert "bundle" in row["note"]


def test_declared_effects_split_a_bundle_and_say_so() -> None:
    """Twins with equal declared effects get half each, graded D."""
    credit = attribute_ledger(PAIR, registry=_twins("effect = 0.3")).credit
    assert seconds(credit, "left", "direct") == seconds(credit, "right", "direct") == pytest.approx(25)
    assert set(credit.filter(pl.col("optimization") != "")["evidence"]) == {"D"}


def _twins(extra: str) -> registry.Registry:
    return registry.parse(
        "".join(
            f"[[optimization]]\nname = '{name}'\nowner = '{name[0]}'\nparts = ['launch']\n{extra}\n"
            "rollouts = [{ since = 2026-03-01 }]\n"
            for name in ("left", "right")
        )
    )


def test_an_unknown_start_kind_is_claimed_by_nobody() -> None:
    """Whether it was a first start or a recovery is not known, so neither direct nor cascade may take it."""
    rows = [
        start(day, "m", day, 0, "unknown", {"launch": launch, "step": 1000})
        for day, launch in (("2026-02-01", 100), ("2026-03-10", 50))
    ]
    credit = attribute_ledger(ledger(*rows), registry=REGISTRY).credit
    assert seconds(credit, "", "unknown") == pytest.approx(50)
    assert credit.filter(pl.col("optimization") != "").is_empty()


def test_publishing_that_ends_altogether_is_an_amount() -> None:
    """Shutdown goes from 300 s to nothing at all: the optimization's, not a change of how often jobs end."""
    publishing = registry.parse(
        "[[optimization]]\nname='p'\nowner='o'\ncomponents=['shutdown']\nrollouts=[{since=2026-03-01}]"
    )
    rows = [
        start("a", "m", "2026-02-01", 0, "first", {"step": 1000, "publish": 300}),
        start("b", "m", "2026-03-02", 0, "first", {"step": 1000}),
    ]
    credit = attribute_ledger(ledger(*rows), registry=publishing).credit
    assert seconds(credit, "p", "shutdown") == pytest.approx(300)


def test_time_boxed_runs_are_read_on_the_wall() -> None:
    """Equal walls of 2,450 s: 190 s more of training are 190/2450 of the wall and the points say the same."""
    boxed = pl.concat(
        [
            PAIR.filter(pl.col("job") == "a"),
            ledger(
                start("b", "m", "2026-03-02", 0, "first", {"launch": 50, "step": 1095}),
                start("b", "m", "2026-03-03", 1, "failure", {"launch": 60, "restore": 100, "replay": 50, "step": 1095}),
            ),
        ]
    )
    made = attribute_ledger(boxed, registry=REGISTRY, basis="wall")
    assert made.header["saved_gpu_hours"] * 3600 == pytest.approx(190)
    assert made.header["points"] == pytest.approx(190 / 2450 * 100)
    assert made.credit.filter(pl.col("model") == "all")["points"].sum() == pytest.approx(190 / 2450 * 100)


def test_one_job_a_period_has_no_interval_and_says_why() -> None:
    """n = 1: there is nothing to take a variance from."""
    credit = attribute_ledger(PAIR, registry=REGISTRY).credit
    assert credit["low"].null_count() == credit.height
    assert all("n = 1" in note for note in credit["note"])


def test_jobs_give_an_interval_around_the_saving() -> None:
    """Twenty jobs a side with launches 90-109 and 40-59 s: the interval holds the 50 s per job and is tight."""
    rows = [
        start(f"{day}-{i}", "m", day, 0, "first", {"launch": low + i, "step": 1000})
        for day, low in (("2026-02-01", 90), ("2026-03-02", 40))
        for i in range(20)
    ]
    credit = attribute_ledger(ledger(*rows), registry=REGISTRY).credit
    row = credit.filter(pl.col("tier") == "direct").row(0, named=True)
    assert row["saved_gpu_hours"] * 3600 == pytest.approx(1000)
    # each side's mean of 20 launches has a standard error of 5.77 / sqrt(20) = 1.29 s, so 20 x 1.96 x 1.82 = 71 s
    assert (row["low"] * 3600, row["high"] * 3600) == (pytest.approx(929, abs=15), pytest.approx(1071, abs=15))


def test_executions_count_what_ran_after_the_rollout() -> None:
    """One first start and one recovery after 1 March."""
    credit = attribute_ledger(PAIR, registry=REGISTRY).credit.filter(pl.col("model") == "all")
    runs = {(name, tier): n for name, tier, n in credit.select("optimization", "tier", "executions").rows() if name}
    assert runs == {("fast-init", "direct"): 1, ("fast-init", "cascade"): 1, ("fast-restore", "recovery_only"): 1}


def test_models_show_both_sides() -> None:
    """TTS 100 -> 50 s, TTR 350 -> 210 s: TTR fell by 2.8 times as much."""
    row = attribute_ledger(PAIR, registry=REGISTRY).models.row(0, named=True)
    assert (row["tts_s_before"], row["tts_s_after"], row["ttr_s_before"], row["ttr_s_after"]) == (100, 50, 350, 210)
    assert row["ttr_over_tts"] == pytest.approx(2.8)


def test_owners_are_summed() -> None:
    """The trainer's 90 s and the checkpoint team's 100 s."""
    sums = dict(attribute_ledger(PAIR, registry=REGISTRY).summary("owner").select("owner", "saved_gpu_hours").rows())
    assert sums["trainer"] * 3600 == pytest.approx(90)
    assert sums["checkpoint"] * 3600 == pytest.approx(100)


def test_a_window_without_a_before_is_no_data() -> None:
    """Only optimized jobs: there is nothing to compare with."""
    with pytest.raises(NoDataError, match="both before and after"):
        attribute_ledger(PAIR.filter(pl.col("job") == "b"), registry=REGISTRY, since="2026-02-20")


@pytest.mark.parametrize(
    "option",
    [
        {"basis": "gpu"}, {"method": "magic"}, {"by": "colour"}, {"window": "soon"}, {"baseline": "best"},
        {"chain": "weekly"}, {"split": "half"}, {"cluster": "line"},
    ],
)  # fmt: skip
def test_wrong_options_are_usage_errors(option: dict[str, str]) -> None:
    """The error names the option and what it may be."""
    with pytest.raises(UsageError) as caught:
        attribute_ledger(PAIR, registry=REGISTRY, **option)  # type: ignore[arg-type]
    assert caught.value.where == f"--{next(iter(option))}"


def test_an_undated_ledger_is_no_data() -> None:
    """Without an instant no start lies before or after anything."""
    undated = PAIR.with_columns(pl.lit(None, dtype=pl.Int64).alias("launched_us"))
    with pytest.raises(NoDataError, match="no dated start"):
        attribute_ledger(undated, registry=REGISTRY)


def test_a_staggered_rollout_that_passes_its_gates_is_graded_b() -> None:
    """Twelve models, launches of about 100 s until the rollout and 50 s after it, at five dates or never: B for
    direct.
    """
    days = [f"2026-{month:02d}-{day:02d}" for month in range(1, 7) for day in (2, 6, 9, 13, 16, 20, 23, 27)]
    dates = ["2026-02-20", "2026-03-10", "2026-03-30", "2026-04-10", "9999-01-01"]
    rows, rollouts = [], []
    for number in range(12):
        model, since = f"m{number:02d}", dates[number % len(dates)]
        if since < "9999":
            rollouts.append(f"{{ model = '{model}', since = {since} }}")
        for index, day in enumerate(days):
            launch = 95 + (7 * index + 3 * number) % 11 - (50 if day >= since else 0)
            rows.append(start(f"{model}-{day}", model, day, 0, "first", {"launch": launch, "step": 1000}))
    staggered = registry.parse(
        f"[[optimization]]\nname='fast'\nowner='o'\nparts=['launch']\nrollouts=[{', '.join(rollouts)}]"
    )
    made = attribute_ledger(ledger(*rows), registry=staggered)
    effect = made.effects.row(0, named=True)
    assert (effect["tier"], effect["grade"]) == ("direct", "B")
    assert effect["why"] == "all gates hold; no unaffected part to compare with"
    assert effect["cut"] == pytest.approx(0.5, abs=0.02)
    assert set(made.credit.filter(pl.col("optimization") == "fast")["evidence"]) == {"B"}


def test_one_rollout_day_everywhere_stays_before_and_after() -> None:
    """Nothing untreated is left to compare with, so the saving is C and the effect table says why."""
    made = attribute_ledger(PAIR, registry=REGISTRY)
    assert set(made.effects["grade"]) == {"C"}
    assert all(made.effects["why"].str.contains("untreated"))


def test_rates_of_recoveries_are_compared() -> None:
    """Thirty recoveries in 45 GPU-days, then twelve in 40: ratio .45, .21 to .91, with both counts."""
    rows = []
    for day, recoveries, days in (("2026-02-01", 30, 45), ("2026-03-02", 12, 40)):
        rows.append(start(day, "m", day, 0, "first", {"step": days * 86_400 - 60 * recoveries}))
        rows.extend(start(day, "m", day, k + 1, "failure", {"hang": 60}) for k in range(recoveries))
    notes = attribute_ledger(ledger(*rows), registry=REGISTRY, replicates=0).notes
    note = next(note for note in notes if note.startswith("recoveries per 1,000 GPU-days"))
    assert "667 before (n = 30), 300 after (n = 12); ratio 0.45, 0.21 to 0.91" in note
