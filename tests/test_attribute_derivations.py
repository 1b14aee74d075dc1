"""The derivations behind attribution, section by section, each with the numbers worked out for it beforehand.

Where a number rests on a simulation, the tolerance is that of the simulation here.
"""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import polars as pl
import pytest

from ettlog import cascade, registry
from ettlog.attribute import (
    attribute_ledger,
    changes,
    overlap,
    phases,
    points,
    reliability,
    scheduling,
    survival,
    uncertainty,
)
from ettlog.attribute.methods import METHODS, Factors
from ettlog.attribute.mix import Side, shift
from tests.ledgers import ledger, start

COMPILE = {"autotune pruning": 0.5, "reusable cache": 0.6, "dynamic shapes": 0.3}


def factors(*values: float) -> Factors:
    """Return one cell's mix, frequency and amount."""
    return Factors(*(np.array([value]) for value in values))


# 1. What direct credit and its bound give, and what they do not

WORKED = registry.parse(
    "".join(
        f"[[optimization]]\nname = '{name}'\nowner = '{name}'\n{what}\nrollouts = [{{ since = 2026-03-01 }}]\n"
        for name, what in (
            ("sched", "parts = ['placement']"),
            ("init", "parts = ['launch']"),
            ("compile", "parts = ['compile']"),
            ("shutdown", "components = ['shutdown']"),
            ("load", "parts = ['restore']"),
            ("replay", "parts = ['replay']"),
        )
    )
)
FIRST = {"placement": 1, "launch": 4, "compile": 14, "publish": 7}
"""Minutes saved on the first start of the worked job; on each of its two restarts:"""
AGAIN = {"placement": 4, "launch": 3.5, "compile": 9, "restore": 2.5, "replay": 6}


def worked() -> pl.DataFrame:
    """Return the credit of a job with two kills, before and after, each part an hour longer than its saving."""
    rows = []
    for day, saves in (("2026-02-01", 0), ("2026-03-02", 1)):
        first = {part: round((60 + minutes * (1 - saves)) * 60) for part, minutes in FIRST.items()}
        again = {part: round((60 + minutes * (1 - saves)) * 60) for part, minutes in AGAIN.items()}
        rows.append(start(day, "m", day, 0, "first", {**first, "step": 30_000}))
        rows.extend(start(day, "m", day, k, "failure", {**again, "step": 30_000}) for k in (1, 2))
    credit = attribute_ledger(ledger(*rows), registry=WORKED, replicates=0).credit
    return credit.filter(pl.col("model") == "all")


def test_bounds_of_several_optimizations_add_up_wrongly() -> None:
    """First starts 26 of 76 min: 34 % direct; with bounds 3 x 26 = 102.6 %; recovery-only 22 %; the rows 100 %."""
    credit = worked()
    share = {row["tier"]: row["share"] for row in credit.group_by("tier").agg(pl.col("share").sum()).to_dicts()}
    direct = share["direct"] + share["shutdown"]
    assert direct == pytest.approx(26 / 76)
    assert 3 * direct == pytest.approx(1.026, abs=5e-4)
    assert share["recovery_only"] == pytest.approx(17 / 76)
    assert credit["share"].sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(("name", "phi"), [("sched", 4.0), ("init", 0.875), ("compile", 9 / 14)])
def test_pass_through_may_be_above_one(name: str, phi: float) -> None:
    """Restarts saved 4, .88 and .64 times what first starts saved; only the first of them is above its bound."""
    row = worked().filter((pl.col("optimization") == name) & (pl.col("tier") == "cascade")).row(0, named=True)
    assert row["saved_gpu_hours"] / row["bound_gpu_hours"] == pytest.approx(phi)
    assert ("above the bound" in row["note"]) == (phi > 1)


def test_recovery_in_ratio_of_falls_leaves_a_range_for_starts() -> None:
    """Recovery 58 % of the saving over two failures: .29/rho is 16 % and 3.4 %, .58/rho 32 % and 6.7 %."""
    each = [0.58 / 2 / rho for rho in (1.8, 8.6)]
    both = [0.58 / rho for rho in (1.8, 8.6)]
    assert each == pytest.approx([0.161, 0.0337], abs=5e-4)
    assert both == pytest.approx([0.322, 0.0674], abs=5e-4)
    assert cascade.recovery_only(2.0, 29.0, 29.0 / 1.8) == pytest.approx(58 - 58 / 1.8)


def test_a_ratio_of_sums_is_no_mean_of_ratios() -> None:
    """Nine short jobs at .70 and one of nine times their length at .85: .775 of sums, .715 of ratios."""
    found = uncertainty.averages([0.7] * 9 + [0.85 * 9], [1.0] * 9 + [9.0])
    assert found == pytest.approx((0.775, 0.715))


# 2. The unit: overhead per effective hour


def test_shares_of_wall_interfere_and_overheads_do_not() -> None:
    """Only compile falls, 40 to 10 per 100 hours: scheduling's share rises 3.0 to 3.5 %, recovery's 15 to 17.6 %."""
    before = {"scheduling": 0.06, "compile": 0.40, "recovery": 0.30, "other": 0.24}
    after = before | {"compile": 0.10}
    shares = [{name: o * points.ett(side) for name, o in side.items()} for side in (before, after)]
    assert [round(100 * side["scheduling"], 1) for side in shares] == [3.0, 3.5]
    assert [round(100 * side["recovery"], 1) for side in shares] == [15.0, 17.6]
    won = points.split(before, after)
    assert (won["scheduling"], won["recovery"]) == (0.0, 0.0)
    assert won["compile"] == pytest.approx(100 * (1 / 1.7 - 1 / 2.0))


def test_credit_of_an_untouched_component_is_zero() -> None:
    """The same in a ledger: placement and restore keep their seconds per start, so only compile has credit."""
    rows = []
    for day, compile_s in (("2026-02-01", 400), ("2026-03-02", 100)):
        rows.append(start(day, "m", day, 0, "first", {"placement": 60, "compile": compile_s, "step": 500}))
        rows.append(start(day, "m", day, 1, "failure", {"restore": 300, "step": 500}))
    credit = attribute_ledger(ledger(*rows), registry=WORKED, replicates=0).credit.filter(pl.col("model") == "all")
    saved = dict(credit.group_by("optimization").agg(pl.col("saved_gpu_hours").sum() * 3600).rows())
    assert {name: saved.get(name, 0.0) for name in ("compile", "sched", "load", "")} == pytest.approx(
        {"compile": 300, "sched": 0, "load": 0, "": 0}, abs=1e-9
    )


# 3. Exact decomposition


def along(path: str, before: tuple[float, ...], after: tuple[float, ...], steps: int = 20_000) -> list[float]:
    """Return each factor's part of the change of a product, integrated numerically along a path."""
    t = (np.arange(steps) + 0.5) / steps
    x0, x1 = np.array(before)[:, None], np.array(after)[:, None]
    if path == "straight":
        at, speed = x0 + (x1 - x0) * t, np.broadcast_to(x1 - x0, (len(before), steps))
    else:
        at = x0 * (x1 / x0) ** t
        speed = at * np.log(x1 / x0)
    others = [np.delete(at, index, axis=0).prod(axis=0) for index in range(len(before))]
    return [float((speed[index] * other).mean()) for index, other in enumerate(others)]


@pytest.mark.parametrize(("method", "path"), [("das_gupta", "straight"), ("lmdi", "exponential")])
def test_methods_differ_only_by_the_path(method: str, path: str) -> None:
    """Shapley is the integral along the straight line, LMDI that along the exponential one."""
    before, after = (0.5, 3.0, 51.0), (0.7, 2.0, 20.0)
    made = {one.__name__: one for one in METHODS}[method](factors(*before), factors(*after))
    assert [part.item() for part in made[:3]] == pytest.approx(along(path, before, after), rel=1e-7)


def test_lmdi_is_shapley_where_both_factors_move_by_one_ratio() -> None:
    """Or where one does not move; elsewhere they part at third order: a tenth of the step, a thousandth of the gap."""
    das_gupta, _, lmdi, _ = METHODS
    for after in ((1.0, 6.0, 102.0), (1.0, 3.0, 20.0)):
        one, other = (method(factors(1.0, 3.0, 51.0), factors(*after)) for method in (das_gupta, lmdi))
        assert one.amount.item() == pytest.approx(other.amount.item())

    def gap(h: float) -> float:
        pair = factors(1.0, 1.0, 1.0), factors(1.0, math.exp(h), math.exp(2 * h))
        return float((das_gupta(*pair).amount - lmdi(*pair).amount).item())

    assert gap(0.01) / gap(0.001) == pytest.approx(1000, rel=0.05)


def test_medians_do_not_add_up() -> None:
    """Two lognormal phases of median 379 and sigma 1 have mean 624 each; the means add, the medians do not."""
    rng = np.random.default_rng(0)
    one, two = (379 * np.exp(rng.normal(0, 1, 200_000)) for _ in range(2))
    assert one.mean() == pytest.approx(624.8, rel=0.02)
    assert (one + two).mean() == pytest.approx(one.mean() + two.mean())
    assert np.median(one + two) > 1.2 * (np.median(one) + np.median(two))


def test_chained_and_endpoint_have_one_total_and_two_splits() -> None:
    """3 x 60, 5 x 25, 2 x 25: -130 both ways; amount -87.5 endpoint, -140 chained by way of the five starts."""
    das_gupta = METHODS[0]
    path = [factors(1.0, *pair) for pair in ((3.0, 60.0), (5.0, 25.0), (2.0, 25.0))]
    endpoint = das_gupta(path[0], path[2])
    links = [das_gupta(path[0], path[1]), das_gupta(path[1], path[2])]
    chained = [sum(part.item() for part in parts) for parts in zip(*links, strict=True)]
    assert sum(part.item() for part in endpoint) == pytest.approx(sum(chained)) == pytest.approx(-130)
    assert endpoint.amount.item() == pytest.approx((3 + 2) / 2 * -35)
    assert chained[2] == pytest.approx((3 + 5) / 2 * -35)


# 4. Direct, cascade, exposure


def test_exposure_against_a_simulated_job() -> None:
    """E 1.5, TTS .85, TTR .9, one failure per two hours of wall: formula 4.273 h, simulated 4.27."""
    rng = np.random.default_rng(4)
    total = 0.0
    for _ in range(20_000):
        left, wall = 2.35, 0.0
        while True:
            fault = rng.exponential(2.0)
            if fault >= left:
                wall += left
                break
            # the recovery itself takes .9 and may fail too: its time is work that is added to what is left
            wall, left = wall + fault, left - fault + 0.9
        total += wall
    assert cascade.wall(1.5, 0.85, 0.9, 0.5) == pytest.approx(4.273, abs=5e-4)
    assert total / 20_000 == pytest.approx(4.273, rel=0.02)


def test_three_tiers_of_the_worked_exposure() -> None:
    """.30 direct + .64 cascade + .40 exposure = 1.34 h."""
    found = cascade.exposure(1.5, 0.85, 0.9, 0.5, 0.3)
    assert [round(part, 2) for part in found] == [0.3, 0.64, 0.4, 1.34]


# 5. Points of ETT

BEFORE = {"scheduling": 0.06, "compile": 0.40, "recovery": 0.30, "other": 0.24}
AFTER = {"scheduling": 0.04, "compile": 0.10, "recovery": 0.12, "other": 0.05}


def test_26_34_points_in_closed_form() -> None:
    """Overheads 1.00 to .31: 26.34 points, shared as the overhead is; one at a time only 19.5."""
    won = points.split(BEFORE, AFTER)
    assert sum(won.values()) == pytest.approx(26.336, abs=5e-4)
    assert won["compile"] == pytest.approx(26.336 * 0.30 / 0.69, abs=5e-4)
    alone = [100 * (points.ett(BEFORE | {name: AFTER[name]}) - points.ett(BEFORE)) for name in BEFORE]
    assert sum(alone) == pytest.approx(19.5, abs=0.05)


def test_points_are_the_integral_along_the_straight_line() -> None:
    """Aumann and Shapley's line integral, done numerically, agrees to four digits and more."""
    t = (np.arange(100_000) + 0.5) / 100_000
    whole = sum(BEFORE.values()) + t * (sum(AFTER.values()) - sum(BEFORE.values()))
    for name, value in points.split(BEFORE, AFTER).items():
        assert value == pytest.approx(100 * (BEFORE[name] - AFTER[name]) * (1 / (1 + whole) ** 2).mean(), rel=1e-8)


def test_plain_shapley_of_points_is_close() -> None:
    """Over all 24 orders of changing a component, no part differs by more than a fifth of a point."""

    def value(group: frozenset[str]) -> float:
        return 100 * (points.ett(BEFORE | {name: AFTER[name] for name in group}) - points.ett(BEFORE))

    won = points.split(BEFORE, AFTER)
    gaps = [abs(credit.shapley - won[credit.name]) for credit in overlap.shapley(sorted(BEFORE), value)]
    assert 0 < max(gaps) < 0.2


# 6. Several optimizations on one component


def test_range_and_sums_of_the_compile() -> None:
    """First-in sums to 2,870 (163 %), leave-one-out to 840 (48 %), and the ranges are as wide as that."""
    found = {credit.name: credit for credit in overlap.multiplicative(COMPILE, 2050.0)}
    assert sum(credit.first_in for credit in found.values()) == pytest.approx(2870)
    assert sum(credit.last_in for credit in found.values()) == pytest.approx(840.5)
    assert found["reusable cache"].low == pytest.approx(430.5)
    assert found["reusable cache"].high == pytest.approx(1230)


def test_a_product_needs_no_permutations() -> None:
    """The quadrature equals the definition over all sets to 1e-12, for cuts of either sign."""
    cuts = {"a": 0.5, "b": 0.6, "c": 0.3, "d": -0.2, "e": 0.05}
    slow = overlap.shapley(list(cuts), lambda group: 1 - math.prod(1 - cuts[name] for name in group))
    for one, other in zip(overlap.multiplicative(cuts), slow, strict=True):
        assert one[1:] == pytest.approx(other[1:], abs=1e-12)


def test_log_shares_of_twelve_are_within_five_percent() -> None:
    """Twelve cuts between 5 and 30 %: no log share is more than five percent of its Shapley value away."""
    cuts = {f"o{index:02d}": cut for index, cut in enumerate(np.random.default_rng(6).uniform(0.05, 0.3, 12))}
    logs = overlap.log_share(cuts)
    assert all(abs(logs[c.name] / c.shapley - 1) < 0.05 for c in overlap.multiplicative(cuts))


INIT, COLD = 10.0, 20.0
START = phases.Graph({"init": INIT, "compile": COLD}, {"compile": frozenset({"init"})})
CHANGES = {
    "fast compile": phases.Change({"compile": 8.0}),
    "fast init": phases.Change({"init": 4.0}),
    "overlap": phases.Change(freed=frozenset({("compile", "init")})),
}


def test_phases_side_by_side() -> None:
    """Init 10 -> 4 and compile 20 -> 8, overlapped: Shapley 11.7, 3.7, 6.7 of 22; last 12, 2, 4; first 12, 6, 10."""
    assert phases.wall(START) == 30
    found = overlap.shapley(list(CHANGES), phases.saving(START, CHANGES))
    assert [round(credit.shapley, 1) for credit in found] == [11.7, 3.7, 6.7]
    assert [credit.last_in for credit in found] == [12, 2, 4]
    assert [credit.first_in for credit in found] == [12, 6, 10]


def test_compile_beside_warmup_as_a_phase_graph() -> None:
    """2,050 -> 254 s beside 300 s of warm-up: an interaction of 46 s either way, and Shapley 277 and 1,773."""
    graph = phases.Graph({"compile": 2050.0, "warmup": 300.0}, {"compile": frozenset({"warmup"})})
    changes = {
        "cache": phases.Change({"compile": 254.0}),
        "fast batch": phases.Change(freed=frozenset({("compile", "warmup")})),
    }
    cache, batch = overlap.shapley(list(changes), phases.saving(graph, changes))
    assert (batch.shapley, cache.shapley) == (277.0, 1773.0)
    assert batch.first_in + cache.first_in - 2050 == 2050 - batch.last_in - cache.last_in == 46


def test_owners_share_by_owens_value() -> None:
    """Owner x has two of the three cuts: owners split by Shapley as blocks, members inside; all adds up to 1,763."""

    def value(group: frozenset[str]) -> float:
        return 2050.0 * (1 - math.prod(1 - COMPILE[name] for name in group))

    owners = {"x": ["autotune pruning", "reusable cache"], "y": ["dynamic shapes"]}
    by_owner, by_name = overlap.owen(owners, value)
    both = 1 - 0.5 * 0.4
    # two blocks with cuts .8 and .3: each alone and each last
    assert by_owner["x"] == pytest.approx(2050 * (both + 0.7 * both) / 2)
    assert by_owner["y"] == pytest.approx(2050 * (0.3 + 0.2 * 0.3) / 2)
    assert sum(by_name.values()) == pytest.approx(value(frozenset(COMPILE))) == pytest.approx(1763)


def test_owens_value_is_a_mean_over_orders_that_keep_blocks_together() -> None:
    """Against the definition: all orders of the players in which no block is torn apart."""
    cuts = {"a": 0.5, "b": 0.2, "c": 0.4, "d": 0.1}
    owners = {"x": ["a", "b"], "y": ["c", "d"]}

    def value(group: frozenset[str]) -> float:
        return len(group) ** 2 + math.prod(1 + cuts[name] for name in group)

    blocks = {frozenset("ab"), frozenset("cd")}
    orders = [order for order in permutations("abcd") if {frozenset(order[:2]), frozenset(order[2:])} == blocks]
    mean = dict.fromkeys("abcd", 0.0)
    for order in orders:
        for index, name in enumerate(order):
            gain = value(frozenset(order[: index + 1])) - value(frozenset(order[:index]))
            mean[name] += gain / len(orders)
    assert overlap.owen(owners, value)[1] == pytest.approx(mean)


# 7. Fleet mix against real change


def test_the_fleet_falls_while_every_survivor_improves() -> None:
    """.7611 -> .7520: within +5.1, mix -7.0, entry +3.8, exit -2.8 points, and they add up."""
    before = {"a": Side(0.55 * 0.75, 0.8595), "b": Side(0.45 * 0.75, 0.5787), "x": Side(0.25, 0.8451)}
    after = {"a": Side(0.30 * 0.8, 0.9095), "b": Side(0.70 * 0.8, 0.6305), "n": Side(0.2, 0.9032)}
    found = shift(before, after)
    parts = [round(100 * part, 1) for part in (found.within, found.mix, found.entry, found.exit)]
    assert (round(found.before, 4), round(found.after, 4), parts) == (0.7611, 0.752, [5.1, -7.0, 3.8, -2.8])
    assert sum(found[2:]) == pytest.approx(found.after - found.before, abs=1e-12)


# 9. Intervals


def test_the_job_is_the_cluster() -> None:
    """Eight starts a job with a spread of .5 between jobs: the cluster error is about 2.6 times that of starts."""
    rng = np.random.default_rng(9)
    jobs = np.exp(rng.normal(0, 0.5, 400))
    starts = jobs[:, None] * np.exp(rng.normal(0, 0.2, (400, 8)))
    naive = starts.std(ddof=1) / math.sqrt(starts.size)
    by_job = starts.mean(axis=1).std(ddof=1) / math.sqrt(400)
    assert 2.3 < by_job / naive < 2.9


@pytest.mark.parametrize(("draw", "t_low", "t_high"), [("normal", 0.93, 0.97), ("skew", 0.90, 0.96)])
def test_coverage_of_six_pairs(draw: str, t_low: float, t_high: float) -> None:
    """t about .95 for normal gains, .93 for skewed ones; exact signed rank about .967; a percentile bootstrap .85."""
    rng = np.random.default_rng(19)
    hits = {"t": 0, "rank": 0, "bootstrap": 0}
    for _ in range(600):
        x = rng.normal(0, 1, 6) if draw == "normal" else rng.gamma(4, 0.5, 6) - 2
        interval = uncertainty.t_interval(x)
        hits["t"] += interval.low <= 0 <= interval.high
        means = rng.choice(x, (300, 6)).mean(axis=1)
        low, high = np.percentile(means, (2.5, 97.5))
        hits["bootstrap"] += low <= 0 <= high
        ranked = uncertainty.hodges_lehmann(x)
        hits["rank"] += ranked.low <= 0 <= ranked.high
    assert t_low <= hits["t"] / 600 <= t_high
    assert hits["bootstrap"] / 600 < 0.90
    if draw == "normal":
        assert hits["rank"] / 600 == pytest.approx(0.969, abs=0.02)


@pytest.mark.parametrize("runs", [5, 20])
def test_borrowed_variance_covers(runs: int) -> None:
    """A single pair with the spread of earlier runs of its model: about .95 for five runs and for twenty."""
    rng = np.random.default_rng(runs)
    hits = 0
    for _ in range(600):
        found = uncertainty.borrowed(rng.normal(70, 5), rng.normal(80, 5), rng.normal(70, 5, runs))
        hits += found.low <= 10 <= found.high
    assert hits / 600 == pytest.approx(0.95, abs=0.025)


def test_starts_inside_one_run_are_replicates() -> None:
    """Three against three recoveries, Welch on logs: about .96 of the intervals hold a true halving."""
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(600):
        found = uncertainty.log_ratio(np.exp(rng.normal(4, 0.3, 3)), np.exp(rng.normal(4, 0.3, 3)) / 2)
        hits += found.low <= 0.5 <= found.high
    assert 0.93 <= hits / 600 <= 0.985


def test_false_discoveries_among_five_hundred_cells() -> None:
    """480 cells without an effect and 20 with a strong one: raw p flag about 24 too many, q at most a few."""
    rng = np.random.default_rng(10)
    p = np.concatenate([rng.uniform(0, 1, 480), rng.uniform(0, 1e-4, 20)])
    q = uncertainty.benjamini_hochberg(p)
    assert (p <= 0.05).sum() >= 35
    assert (q[480:] <= 0.05).all()
    assert (q[:480] <= 0.05).sum() <= 3


# 11. Jobs still running


def test_kaplan_meier_of_a_hand_table() -> None:
    """Times 1, 2+, 3, 4, 4+, 5 (+: cut short): 5/6, then x 3/4, x 2/3, x 0; the median is 4."""
    times, ended = [1.0, 2.0, 3.0, 4.0, 4.0, 5.0], [True, False, True, True, False, True]
    curve = survival.kaplan_meier(times, ended)
    assert [(step.time, step.at_risk, step.ended) for step in curve] == [(1, 6, 1), (3, 4, 1), (4, 3, 1), (5, 1, 1)]
    assert [step.left for step in curve] == pytest.approx([5 / 6, 5 / 8, 5 / 12, 0])
    assert survival.median(times, ended) == 4


def test_completed_only_is_too_short() -> None:
    """Exponential times of median 10.4 cut short at a snapshot: Kaplan-Meier finds it, the completed ones do not."""
    rng = np.random.default_rng(11)
    times, snapshot = rng.exponential(15, 2_000), rng.uniform(0, 30, 2_000)
    seen, ended = np.minimum(times, snapshot), times <= snapshot
    truth = 15 * math.log(2)
    assert survival.median(seen.tolist(), ended.tolist()) == pytest.approx(truth, rel=0.08)
    assert np.median(seen[ended]) < 0.7 * truth


def test_rates_over_exposure_do_not_mind_open_jobs() -> None:
    """Failures every 50 h on average, watched for 60 h: events over exposure 50, mean of completed gaps far less."""
    rng = np.random.default_rng(12)
    gaps = rng.exponential(50, 20_000)
    seen = np.minimum(gaps, 60)
    assert seen.sum() / (gaps <= 60).sum() == pytest.approx(50, rel=0.03)
    assert gaps[gaps <= 60].mean() < 25


# 12. Failures and checkpoint advice


def test_two_rates_compared_exactly() -> None:
    """30 failures in 45k GPU-days, then 12 in 40k: ratio .45, .21 to .91, p .020."""
    found = reliability.rate_ratio((30, 12), (45_000.0, 40_000.0))
    assert [round(value, 3) for value in found] == [0.45, 0.21, 0.905, 0.020]


def test_a_ratio_of_nothing_to_something() -> None:
    """No failure before and four after: infinite, from below by Clopper and Pearson; none at all says nothing."""
    found = reliability.rate_ratio((0, 4), (1.0, 1.0))
    # the lower end of a binomial of 4 of 4 is .025^(1/4) = .3976, as odds .66
    assert (found.ratio, found.high, round(found.low, 2)) == (math.inf, math.inf, 0.66)
    assert reliability.rate_ratio((0, 0), (1.0, 1.0)).p == 1.0


def test_poisson_intervals_are_too_narrow_for_bursts() -> None:
    """At a dispersion of 3 exact Poisson covers about half, the chosen interval about nine in ten."""
    rng = np.random.default_rng(14)
    hits = [0, 0]
    for _ in range(300):
        counts = rng.poisson(2 * rng.gamma(1 / 3, 3, 60))
        exact = reliability.garwood(int(counts.sum()), 60.0)
        chosen = reliability.failure_rate(counts.tolist(), [1.0] * 60)
        hits[0] += exact.low <= 2 <= exact.high
        hits[1] += chosen.low <= 2 <= chosen.high
    assert hits[0] / 300 < 0.65
    assert hits[1] / 300 > 0.86


def test_shrinking_beats_raw_and_pooled_rates() -> None:
    """Many small models: root mean squared error raw above pooled above shrunk."""
    rng = np.random.default_rng(15)
    errors = np.zeros(3)
    for _ in range(40):
        truth = rng.gamma(4, 0.5, 200)
        exposure = rng.uniform(0.3, 3, 200)
        counts = rng.poisson(truth * exposure)
        raw = counts / exposure
        pooled = counts.sum() / exposure.sum()
        shrunk = reliability.shrunk(counts.tolist(), exposure.tolist())
        errors += [float(((guess - truth) ** 2).mean()) for guess in (raw, pooled, shrunk)]
    assert errors[0] > errors[1] > errors[2]


def test_intervals_at_an_extreme_save() -> None:
    """A save of 20 min at a mean time to failure of 1 h: Young .816, Daly .609, exact .611 h."""
    found = [f(1 / 3, 1.0) for f in (reliability.young, reliability.daly, reliability.best_interval)]
    assert found == pytest.approx([0.816, 0.609, 0.611], abs=6e-4)


@pytest.mark.parametrize(("save", "mttf", "cost"), [(1 / 60, 8.0, 0.016), (1 / 3, 1.0, 0.19)])
def test_the_curve_around_the_best_interval_is_flat(save: float, mttf: float, cost: float) -> None:
    """Half or twice the best interval costs 1.6 % of the run (1 min, 8 h), and 19 % in an extreme case."""

    def wall(interval: float) -> float:
        return mttf * math.expm1((interval + save) / mttf) / interval

    best = reliability.best_interval(save, mttf)
    worse = max(wall(2 * best), wall(best / 2)) / wall(best) - 1
    assert worse == pytest.approx(cost, rel=0.2)


# 10. Scheduler variance


def jobs(rng: np.random.Generator, n: int, gain: float) -> scheduling.Side:
    """Return n jobs of 100 h: about 10 h of scheduling (sd 4), start-up of 15 h less `gain`, the rest effective."""
    sched = np.clip(rng.normal(10, 4, n), 1, None)
    other = rng.normal(15 - gain, 1.5, n)
    return scheduling.Side(100 - sched - other, np.full(n, 100.0), sched)


def test_scheduling_makes_most_of_the_noise_and_can_be_taken_out() -> None:
    """A gain of 10 points: the interval shrinks to less than half, the control variate keeps the 10 points."""
    rng = np.random.default_rng(20)
    found = scheduling.views(jobs(rng, 60, 0.0), jobs(rng, 60, 10.0))
    widths = [view.high - view.low for view in found]
    assert widths[1] < 0.5 * widths[0]
    assert found.adjusted.estimate == pytest.approx(0.10, abs=0.01)
    assert found.adjusted.low <= 0.10 <= found.adjusted.high


def test_dropping_scheduling_estimates_another_thing() -> None:
    """Without noise: 80 of 100 h against 70, 10 h of scheduling each: 10 points, of the wall without it 11.1."""
    sides = [
        scheduling.Side(np.array([ett - 1, ett + 1.0]), np.array([100.0, 100.0]), np.array([10.0, 10.0]))
        for ett in (70.0, 80.0)
    ]
    found = scheduling.views(*sides)
    assert found.raw.estimate == pytest.approx(0.10)
    assert found.excluding.estimate == pytest.approx(10 / 90)


def test_variance_shares_of_three_components() -> None:
    """Uncorrelated parts of variance 80.5, 17.7 and 1.8: those are their shares in percent."""
    signs = np.array([[1, 1, 1, 1, -1, -1, -1, -1], [1, 1, -1, -1, 1, 1, -1, -1], [1, -1, 1, -1, 1, -1, 1, -1]])
    parts = {
        name: math.sqrt(variance) * row
        for name, variance, row in zip(("scheduling", "compile", "init"), (80.5, 17.7, 1.8), signs, strict=True)
    }
    found = uncertainty.variance_shares(parts)
    assert [round(100 * share, 1) for share in found.values()] == [80.5, 17.7, 1.8]


# 13. Changes of level


def test_the_partition_is_that_of_ruptures() -> None:
    """Steps at 60 and 140: where ruptures' exact search finds them with the same cost, penalty and shortest segment."""
    import ruptures

    rng = np.random.default_rng(13)
    series = np.repeat([10.0, 7.0, 9.0], [60, 80, 60]) + rng.normal(0, 0.8, 200)
    penalty = 3 * math.log(200) * 0.64
    theirs = ruptures.Pelt(model="l2", min_size=changes.SHORTEST, jump=1).fit(series).predict(pen=penalty)
    assert changes.partition(series, penalty) == theirs[:-1]
    assert theirs[:-1] == [pytest.approx(60, abs=2), pytest.approx(140, abs=2)]


def test_run_length_of_a_quiet_cusum() -> None:
    """Slack .5 and threshold 5: without a change about 900 points until an alarm; a rise of one sd is called in 10."""
    rng = np.random.default_rng(14)
    draws = rng.normal(0, 1, (4_000, 800))
    total, length = np.zeros(800), np.full(800, 4_000)
    for index, row in enumerate(draws):
        total = np.maximum(0, total + row - changes.SLACK)
        fresh = (total > changes.ALARM) & (length == 4_000)
        length[fresh] = index + 1
    assert length.mean() == pytest.approx(900, rel=0.12)
    called = [changes.cusum(rng.normal(1, 1, 200), 0.0, 1.0) for _ in range(300)]
    assert np.mean([at + 1 for at in called if at is not None]) == pytest.approx(10, abs=1)
