"""ETT from hand-made timelines: golden values of a published derivation, windows, bases, groupings and conventions."""

from __future__ import annotations

import math
from typing import NamedTuple

import polars as pl
import pytest

from ettlog import ett
from ettlog.conventions import GROUPINGS, WORDS
from ettlog.errors import NoDataError, UsageError
from ettlog.ett import Timeline, measure
from ettlog.ett_lost import move
from ettlog.ett_sums import columns_of
from ettlog.lifecycle import COMPONENTS, PART_BY_NAME
from ettlog.windows import Window, resolve

MINUTE = 60_000_000
ALWAYS = Window(-(10**17), 10**17, "all events")


class Piece(NamedTuple):
    """One segment in minutes: start, part, stage, length and whether hardware was held."""

    start: int
    part: str
    stage: str
    minutes: int
    held: bool = True


# Minutes 0 to 300: the queue, a first start of 35, a loop of 120, a recovery of 55, a loop of 60, a shutdown of 20.
GOLDEN = (
    Piece(0, "queue", "first_start", 10, held=False),
    Piece(0, "other", "first_start", 12),
    Piece(0, "compile", "first_start", 20),
    Piece(0, "data_warmup", "first_start", 3),
    Piece(0, "step", "steady", 117),
    Piece(0, "save_stall", "steady", 3),
    Piece(1, "hang", "recovery", 10),
    Piece(1, "placement", "recovery", 5),
    Piece(1, "other", "recovery", 12),
    Piece(1, "compile", "recovery", 8),
    Piece(1, "restore", "recovery", 3),
    Piece(1, "replay", "recovery", 17),
    Piece(1, "step", "steady", 58),
    Piece(1, "save_stall", "steady", 2),
    Piece(1, "teardown", "shutdown", 20),
)


def segments(job: str, pieces: tuple[Piece, ...], gpus: int | None = 8, at: int = 0) -> pl.DataFrame:
    """Lay pieces end to end from minute `at`."""
    rows, clock = [], at * MINUTE
    for piece in pieces:
        end = clock + piece.minutes * MINUTE
        component = PART_BY_NAME[piece.part].component
        rows.append((job, piece.start, component, piece.part, piece.stage, clock, end, gpus, piece.held))
        clock = end
    names = ["job", "start", "component", "part", "stage", "begin_us", "end_us", "gpus", "allocated"]
    return pl.DataFrame(rows, schema=names, orient="row", schema_overrides={"gpus": pl.Int32})


def timeline(
    jobs: dict[str, tuple[str, pl.DataFrame]], kinds: tuple[str, ...] = ("first", "failure", "preemption", "planned")
) -> Timeline:
    """Make the three relations from each job's model and segments; start k is of kind `kinds[k]`."""
    segment = pl.concat([frame for _, frame in jobs.values()])
    started = segment.select("job", k="start").unique().sort("job", "k")
    start = started.with_columns(
        kind=pl.col("k").replace_strict(dict(enumerate(kinds)), return_dtype=pl.String),
        cluster=pl.lit("alpha"),
        launched_at=pl.lit(None, pl.Datetime("us")),
    )
    job = pl.DataFrame(
        [(name, model, "alpha", "h100") for name, (model, _) in jobs.items()],
        schema=["job", "model", "cluster", "platform"],
        orient="row",
    )
    return Timeline(segment, start, job)


@pytest.fixture
def golden() -> Timeline:
    """Return the golden job alone."""
    return timeline({"run": ("m7", segments("run", GOLDEN))})


def only(frame: pl.DataFrame) -> dict[str, object]:
    """Return the one row of a frame."""
    assert frame.height == 1
    return frame.row(0, named=True)


def test_golden_job_reads_60_3_percent_by_components(golden: Timeline) -> None:
    """175 effective minutes of 290 held are 60.3 %."""
    row = only(measure(golden, ALWAYS))
    assert row["ett"] == pytest.approx(175 / 290)
    assert round(100 * float(row["ett"]), 1) == 60.3  # type: ignore[arg-type]


@pytest.mark.parametrize(("ttr", "lost", "percent"), [("first_step", 35 + 38, 74.8), ("first_new_step", 35 + 55, 69.0)])
def test_golden_job_reads_two_ways_by_the_formula(golden: Timeline, ttr: str, lost: int, percent: float) -> None:
    """The formula gives 74.8 % or 69.0 %, by where a recovery ends."""
    row = only(measure(golden, ALWAYS, ttr=ttr))  # type: ignore[arg-type]
    assert row["ett_formula"] == pytest.approx(1 - lost / 290)
    assert round(100 * float(row["ett_formula"]), 1) == percent  # type: ignore[arg-type]


def test_golden_job_reads_58_3_percent_with_the_queue_in_the_wall(golden: Timeline) -> None:
    """175 effective minutes of 300 since submission are 58.3 %."""
    row = only(measure(golden, ALWAYS, basis="submitted"))
    assert round(100 * float(row["ett"]), 1) == 58.3  # type: ignore[arg-type]


def test_residual_is_what_the_formula_leaves_out(golden: Timeline) -> None:
    """Formula minus components is save stalls and shutdown: 5 + 20 of 290 minutes."""
    assert only(measure(golden, ALWAYS))["residual"] == pytest.approx(25 / 290)


def test_components_sum_to_the_wall(golden: Timeline) -> None:
    """Six components and unknown add up to the wall, and their shares to one."""
    row = only(measure(golden, ALWAYS))
    assert sum(row[f"{name}_gpu_hours"] for name in COMPONENTS) == pytest.approx(290 / 60 * 8)  # type: ignore[misc]
    assert sum(row[f"{name}_share"] for name in COMPONENTS) == pytest.approx(1)  # type: ignore[misc]


def test_tts_and_ttr_are_hours_per_start(golden: Timeline) -> None:
    """One cold start took 35 minutes and one recovery 55; as GPU time both weigh 8."""
    row = only(measure(golden, ALWAYS))
    assert (row["tts_hours"], row["ttr_hours"]) == (pytest.approx(35 / 60), pytest.approx(55 / 60))
    assert (row["tts_gpu_hours"], row["ttr_gpu_hours"]) == (pytest.approx(35 / 60 * 8), pytest.approx(55 / 60 * 8))


def test_basis_elapsed_keeps_a_queue_between_allocations() -> None:
    """Time between two allocations counts as elapsed and as submitted, not as allocated."""
    pieces = (
        Piece(0, "queue", "first_start", 30, held=False),
        Piece(0, "step", "steady", 60),
        Piece(1, "queue", "recovery", 40, held=False),
        Piece(1, "step", "steady", 60),
    )
    frames = timeline({"run": ("m7", segments("run", pieces))})
    walls = [
        only(measure(frames, ALWAYS, basis=basis, weight="none"))["wall_gpu_hours"]  # type: ignore[arg-type]
        for basis in WORDS["basis"]
    ]
    assert walls == pytest.approx([120 / 60, 160 / 60, 190 / 60])


def test_ratio_of_sums_weighs_by_gpus_and_mean_of_ratios_by_job() -> None:
    """A job of 24 GPUs at 50 % and one of 8 at 100 % give 62.5 % as sums, 75 % as a mean, 75 % unweighted in time."""
    half = (Piece(0, "other", "first_start", 30), Piece(0, "step", "steady", 30))
    full = (Piece(0, "step", "steady", 60),)
    frames = timeline({"a": ("m", segments("a", half, 24)), "b": ("m", segments("b", full, 8))})
    assert only(measure(frames, ALWAYS))["ett"] == pytest.approx((12 + 8) / 32)
    assert only(measure(frames, ALWAYS, mean="mean-of-ratios"))["ett"] == pytest.approx(0.75)
    assert only(measure(frames, ALWAYS, weight="none"))["ett"] == pytest.approx(90 / 120)


def test_equal_jobs_give_the_same_ratio_by_both_means() -> None:
    """With equal weights the mean of ratios is the ratio of sums."""
    frames = timeline({name: ("m", segments(name, GOLDEN)) for name in ("a", "b", "c")})
    for column in ("ett", "ett_formula", "residual", "compilation_share"):
        pooled, mean = (only(measure(frames, ALWAYS, mean=mean))[column] for mean in WORDS["mean"])  # type: ignore[arg-type]
        assert pooled == pytest.approx(mean)


def test_window_clips_segments_and_is_half_open(golden: Timeline) -> None:
    """Minutes [60, 120) of the golden job are 60 minutes of training; a segment that only touches the border is out."""
    row = only(measure(golden, Window(60 * MINUTE, 120 * MINUTE, ""), weight="none"))
    assert (row["wall_gpu_hours"], row["ett"], row["starts"]) == (pytest.approx(1), pytest.approx(1), 0)
    edge = only(measure(golden, Window(0, 22 * MINUTE, ""), weight="none"))
    assert edge["compilation_gpu_hours"] == 0


def test_windows_side_by_side_add_up(golden: Timeline) -> None:
    """Hours and starts of two adjoining windows add up to those of their union."""
    cut = 171 * MINUTE
    left, right = (measure(golden, Window(*edges, "")) for edges in ((ALWAYS[0], cut), (cut, ALWAYS[1])))
    whole = only(measure(golden, ALWAYS))
    for column in [name for name in columns_of() if name.endswith("gpu_hours")] + ["starts", "failures"]:
        assert left[column][0] + right[column][0] == pytest.approx(whole[column]), column


def test_start_kind_survives_clipping() -> None:
    """A window that holds only the second start still calls it a failure."""
    frames = timeline({"run": ("m7", segments("run", GOLDEN))})
    row = only(measure(frames, Window(165 * MINUTE, 400 * MINUTE, ""), by="start-kind"))
    assert row["start-kind"] == "failure"


def test_failures_and_preemptions_are_counted_apart() -> None:
    """Starts of kind failure, preemption and planned each have their own column."""
    pieces = tuple(Piece(k, "step", "steady", 10) for k in range(4))
    row = only(measure(timeline({"run": ("m7", segments("run", pieces))}), ALWAYS))
    assert [row[name] for name in ("starts", "failures", "preemptions", "planned")] == [4, 1, 1, 1]


def test_weeks_cut_segments_at_monday() -> None:
    """A segment from Sunday 23:00 to Monday 02:00 gives one hour to its first week and two to the second."""
    sunday_23 = 4 * 1440 - 60  # 1970-01-01 is a Thursday; minute 4 * 1440 is Monday 1970-01-05 00:00
    frames = timeline({"run": ("m7", segments("run", (Piece(0, "step", "steady", 180),), 1, at=sunday_23))})
    found = measure(frames, ALWAYS, by="week")
    assert [str(day) for day in found["week"]] == ["1969-12-29", "1970-01-05"]
    assert found["gpu_hours"].to_list() == pytest.approx([1, 2])
    assert found["starts"].to_list() == [1, 0]


def test_owners_share_one_wall(golden: Timeline) -> None:
    """Owners divide the wall: their shares add up to one, and an owner has no ETT of its own."""
    found = measure(golden, ALWAYS, by="owner")
    assert found["gpu_hours"].sum() == pytest.approx(290 / 60 * 8)
    assert found["share"].sum() == pytest.approx(1)
    compiler = only(found.filter(pl.col("owner") == "compiler"))
    assert (compiler["gpu_hours"], compiler["ett"]) == (pytest.approx(28 / 60 * 8), None)


def test_evaluation_counts_as_training_when_asked() -> None:
    """Ten minutes of evaluation in forty are waste by default and training with evaluation=effective."""
    pieces = (Piece(0, "step", "steady", 30), Piece(0, "evaluation", "steady", 10))
    frames = timeline({"run": ("m7", segments("run", pieces))})
    assert only(measure(frames, ALWAYS))["ett"] == pytest.approx(0.75)
    assert only(measure(frames, ALWAYS, evaluation="effective"))["ett"] == pytest.approx(1)


@pytest.mark.parametrize("by", [None, *GROUPINGS])
def test_columns_are_fixed_for_every_grouping(golden: Timeline, by: str | None) -> None:
    """Every grouping gives its key and then the same columns, and its groups add up to all GPU time."""
    found = measure(golden, ALWAYS, by=by)
    assert found.columns == ([by] if by else []) + columns_of()
    assert found["gpu_hours"].sum() == pytest.approx(290 / 60 * 8)


def test_job_without_known_gpus_weighs_one() -> None:
    """A job whose GPU count nobody printed counts with one GPU instead of vanishing."""
    frames = timeline({"run": ("m7", segments("run", GOLDEN, None))})
    assert only(measure(frames, ALWAYS))["wall_gpu_hours"] == pytest.approx(290 / 60)


def test_sums_stay_exact_beyond_64_bits() -> None:
    """Forty jobs of 100,000 GPUs over a year exceed 64 bits of GPU-microseconds and still sum right."""
    year = (Piece(0, "step", "steady", 365 * 1440),)
    frames = timeline({f"j{n}": ("m", segments(f"j{n}", year, 100_000)) for n in range(40)})
    assert only(measure(frames, ALWAYS))["wall_gpu_hours"] == pytest.approx(40 * 100_000 * 8760)


def test_unknown_grouping_or_convention_is_a_usage_error(golden: Timeline) -> None:
    """A word that is no grouping and no convention is refused with the words that are."""
    with pytest.raises(UsageError, match="colour"):
        measure(golden, ALWAYS, by="colour")
    with pytest.raises(UsageError, match="median"):
        measure(golden, ALWAYS, mean="median")  # type: ignore[arg-type]


def test_window_without_time_is_no_data(golden: Timeline) -> None:
    """A window after the last event says that nothing is left to count."""
    with pytest.raises(NoDataError):
        measure(golden, Window(10**15, 10**15 + 1, ""))


def test_public_name_is_the_function() -> None:
    """`ettlog.ett` is the function although a module has the same name."""
    assert callable(ett)


def test_lost_waste_lies_where_the_steps_were_lost() -> None:
    """With waste=lost the last 17 minutes of the first loop are the waste, and the replay is training; totals stay."""
    minutes = [(0, 45, 165, 1, 120, "step"), (1, 220, 237, 104, 120, "replay"), (1, 237, 297, 121, 180, "step")]
    step_run = pl.DataFrame(
        [
            ("run", k, begin * MINUTE, end * MINUTE, first, last, nature)
            for k, begin, end, first, last, nature in minutes
        ],
        schema=["job", "k", "begin_us", "end_us", "first_step", "last_step", "nature"],
        orient="row",
    )
    pieces = (
        Piece(0, "other", "first_start", 45),
        Piece(0, "step", "steady", 120),
        Piece(1, "hang", "recovery", 55),
        Piece(1, "replay", "recovery", 17),
        Piece(1, "step", "steady", 60),
    )
    plain = timeline({"run": ("m7", segments("run", pieces).with_columns(inferred=False))})
    moved = plain._replace(segment=move(plain.segment, step_run))
    for frames in (plain, moved):
        assert only(measure(frames, ALWAYS, weight="none"))["effective_training_gpu_hours"] == pytest.approx(180 / 60)
    before = Window(0, 165 * MINUTE, "")
    assert only(measure(plain, before))["ett"] == pytest.approx(120 / 165)
    assert only(measure(moved, before))["ett"] == pytest.approx(103 / 165)
    assert moved.segment["end_us"].max() == plain.segment["end_us"].max()


def test_a_step_executed_three_times_survives_once() -> None:
    """Steps 5 to 10 run in three starts: only the last run is training when waste=lost."""
    runs = [(0, 0, 10, 1, 10, "step"), (1, 20, 26, 5, 10, "replay"), (2, 40, 46, 5, 10, "replay")]
    step_run = pl.DataFrame(
        [("run", k, begin * MINUTE, end * MINUTE, first, last, nature) for k, begin, end, first, last, nature in runs],
        schema=["job", "k", "begin_us", "end_us", "first_step", "last_step", "nature"],
        orient="row",
    )
    pieces = (
        Piece(0, "step", "steady", 10),
        Piece(1, "hang", "recovery", 10),
        Piece(1, "replay", "recovery", 6),
        Piece(2, "hang", "recovery", 14),
        Piece(2, "replay", "recovery", 6),
    )
    frames = timeline({"run": ("m7", segments("run", pieces).with_columns(inferred=False))})
    moved = move(frames.segment, step_run).filter(pl.col("component") == "effective_training")
    spans = [(begin // MINUTE, end // MINUTE) for begin, end in moved.select("begin_us", "end_us").iter_rows()]
    assert spans == [(0, 4), (40, 46)]


def test_now_is_the_newest_event() -> None:
    """`now-7d` and `now` count from the newest event of the data, not from the wall clock."""
    week = 7 * 24 * 60 * MINUTE
    found = resolve(10 * week, oldest_us=0, since="now-7d", until="now")
    assert (found.since_us, found.until_us) == (9 * week, 10 * week + 1)


def hundred(name: str, effective: int) -> tuple[str, pl.DataFrame]:
    """Return a job of model m7 that held hardware for 100 minutes, so many of them effective."""
    pieces = (Piece(0, "other", "first_start", 100 - effective), Piece(0, "step", "steady", effective))
    return "m7", segments(name, pieces)


def test_interval_of_ett_is_the_logit_t_over_jobs() -> None:
    """Jobs of .6, .7, .8: mean .7, se .1/sqrt(3), half width 4.302653 x se / .21 about log(7/3) on the logit scale."""
    made = timeline({f"j{n}": hundred(f"j{n}", n) for n in (60, 70, 80)})
    half, centre = 4.302653 * 0.1 / math.sqrt(3) / 0.21, math.log(0.7 / 0.3)
    expected = [1 / (1 + math.exp(-(centre + sign * half))) for sign in (-1, 1)]
    for row in (only(measure(made, ALWAYS)), only(measure(made, ALWAYS, by="model"))):
        assert [row["ett_low"], row["ett_high"]] == pytest.approx(expected, abs=1e-6)
    mean = only(measure(made, ALWAYS, mean="mean-of-ratios"))
    assert [mean["ett_low"], mean["ett_high"]] == pytest.approx(expected, abs=1e-6)


def test_one_job_has_no_interval_and_neither_has_an_owner(golden: Timeline) -> None:
    """A single job shows no variance; groups that divide a wall have no ETT to bound."""
    assert only(measure(golden, ALWAYS))["ett_low"] is None
    two = timeline({"a": hundred("a", 60), "b": hundred("b", 70)})
    assert measure(two, ALWAYS, by="owner")["ett_low"].null_count() == measure(two, ALWAYS, by="owner").height
    assert measure(two, ALWAYS, by="job")["ett_high"].null_count() == 2
