"""Every method of attribution under the same tests, none left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ettlog import registry
from ettlog.attribute import METHODS, attribute_ledger, causes
from ettlog.attribute.frames import CREDIT
from ettlog.attribute.methods import Factors
from ettlog.attribute.tiers import TIERS
from tests.examples import few
from tests.ledgers import ledger, start

NAMES = [method.__name__ for method in METHODS]
OPTIMIZATIONS = {
    "alpha": "parts = ['launch', 'process_group']",
    "beta": "components = ['compilation']",
    "gamma": "parts = ['restore', 'hang', 'replay']",
    "delta": "parts = ['save_stall']",
}
PARTS = ("launch", "process_group", "first_step_excess", "restore", "hang", "replay", "save_stall", "teardown", "gap")


def registered(names: list[str], extra: str = "") -> registry.Registry:
    """Return a registry of the optimizations named, in that order, all rolled out on 1 March."""
    rows = [
        f"[[optimization]]\nname = '{name}'\nowner = 'o-{name}'\n{OPTIMIZATIONS[name]}\n"
        "rollouts = [{ since = 2026-03-01 }]\n"
        for name in names
    ]
    return registry.parse("".join(rows) + extra)


def panel(seed: int = 1, scale: int = 1, jobs: int = 3) -> pl.DataFrame:
    """Return a ledger of three models with failures, some jobs on each side of 1 March."""
    rng = np.random.default_rng(seed)
    starts = []
    for model in ("m1", "m2", "m3"):
        for day, factor in (("2026-02-10", 2), ("2026-03-10", 1)):
            for job in range(jobs):
                for k in range(3):
                    parts = {part: int(rng.integers(0, 200)) * factor for part in PARTS}
                    parts["step"] = int(rng.integers(500, 2000))
                    kind = "first" if k == 0 else "failure"
                    parts = parts if k else {p: s for p, s in parts.items() if p not in ("restore", "hang", "replay")}
                    starts.append(start(f"{model}-{day}-{job}", model, day, k, kind, parts, gpus=8 * scale))
    return ledger(*starts)


def attributed(frame: pl.DataFrame, method: str, **options: Any) -> pl.DataFrame:
    """Return the credit rows of a ledger under all four optimizations unless others are given."""
    options.setdefault("registry", registered(list(OPTIMIZATIONS)))
    options.setdefault("replicates", 0)
    return attribute_ledger(frame, method=method, **options).credit


@pytest.fixture(autouse=True)
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deal the rollout dates out only a few times: what is tested here does not depend on how often."""
    monkeypatch.setattr(causes, "DRAWS", 5)


@pytest.mark.parametrize("method", NAMES)
def test_columns_are_fixed(method: str) -> None:
    """Names, order and types of a credit table never change, and tiers are known ones."""
    credit = attributed(panel(), method)
    assert dict(credit.schema) == CREDIT
    assert set(credit["tier"]) <= set(TIERS)


@pytest.mark.parametrize("method", NAMES)
@pytest.mark.parametrize("basis", ["work", "wall"])
def test_rows_add_up_to_the_change(method: str, basis: str) -> None:
    """GPU-hours, shares and points of the fleet's rows, and of the models' rows, are those of the whole."""
    made = attribute_ledger(panel(), registry=registered(list(OPTIMIZATIONS)), method=method, basis=basis, replicates=0)
    for rows in (pl.col("model") == "all", pl.col("model") != "all"):
        sums = made.credit.filter(rows).sum()
        assert sums["saved_gpu_hours"].item() == pytest.approx(made.header["saved_gpu_hours"], rel=1e-9)
        assert sums["share"].item() == pytest.approx(1.0, rel=1e-9)
        assert sums["points"].item() == pytest.approx(made.header["points"], rel=1e-9)


@pytest.mark.parametrize("method", NAMES)
def test_the_order_of_optimizations_is_irrelevant(method: str) -> None:
    """A registry written backwards gives the same table."""
    backwards = attributed(panel(), method, registry=registered(list(OPTIMIZATIONS)[::-1]))
    assert backwards.equals(attributed(panel(), method))


@pytest.mark.parametrize("method", NAMES)
def test_a_null_optimization_gets_nothing(method: str) -> None:
    """One that works on a part nothing spends time on has no credit, and takes none from the others."""
    null = "[[optimization]]\nname = 'null'\nowner = 'n'\nparts = ['recompile']\nrollouts = [{ since = 2026-03-01 }]\n"
    credit = attributed(panel(), method, registry=registered(["alpha"], null))
    without = attributed(panel(), method, registry=registered(["alpha"]))
    assert credit.filter(pl.col("optimization") == "null")["saved_gpu_hours"].sum() == 0
    assert credit.filter(pl.col("optimization") != "null").equals(without)


@pytest.mark.parametrize("method", NAMES)
def test_twins_get_equal_credit(method: str) -> None:
    """Two optimizations with the same place, date and declared effect have the same rows."""
    one = "owner = 'o'\nparts = ['launch']\neffect = 0.4\nrollouts = [{ since = 2026-03-01 }]\n"
    twins = registry.parse(f"[[optimization]]\nname = 'a'\n{one}[[optimization]]\nname = 'b'\n{one}")
    credit = attributed(panel(), method, registry=twins)
    left, right = (credit.filter(pl.col("optimization") == name).drop("optimization") for name in "ab")
    assert left.height > 0
    assert left.equals(right)


@pytest.mark.parametrize("method", NAMES)
def test_doubling_the_fleet_doubles_hours_and_keeps_shares(method: str) -> None:
    """Twice the GPUs: twice the GPU-hours, the same shares and points."""
    one, two = attributed(panel(), method), attributed(panel(scale=2), method)
    assert two["saved_gpu_hours"].to_list() == pytest.approx((one["saved_gpu_hours"] * 2).to_list(), rel=1e-9)
    assert two["share"].to_list() == pytest.approx(one["share"].to_list(), rel=1e-9)
    assert two["points"].to_list() == pytest.approx(one["points"].to_list(), rel=1e-9)


@pytest.mark.parametrize("method", NAMES)
def test_names_are_only_names(method: str) -> None:
    """Renaming models and jobs changes no number of the fleet."""
    renamed = panel().with_columns(
        pl.col("model").replace({"m1": "z", "m2": "y", "m3": "x"}), (pl.lit("j") + pl.col("job")).alias("job")
    )
    fleet = [
        frame.filter(pl.col("model") == "all") for frame in (attributed(panel(), method), attributed(renamed, method))
    ]
    assert fleet[0]["saved_gpu_hours"].to_list() == pytest.approx(fleet[1]["saved_gpu_hours"].to_list(), rel=1e-9)


@pytest.mark.parametrize("method", NAMES)
def test_the_order_of_rows_is_irrelevant(method: str) -> None:
    """A shuffled ledger gives the same table, bit by bit."""
    assert attributed(panel().sample(fraction=1, shuffle=True, seed=3), method).equals(attributed(panel(), method))


@pytest.mark.parametrize("method", NAMES)
def test_the_same_seed_gives_the_same_bytes(method: str) -> None:
    """Intervals are reproducible; another seed gives others."""
    first, again = (attributed(panel(), method, replicates=120, seed=7) for _ in range(2))
    assert first.equals(again)
    assert not first.equals(attributed(panel(), method, replicates=120, seed=8))


def test_methods_agree_where_only_the_amount_moves() -> None:
    """With one factor changing there is nothing to share out: every method gives the whole to it."""
    before = Factors(*(np.array([value]) for value in (0.5, 2.0, 51.0)))
    after = before._replace(amount=np.array([20.0]))
    for method in METHODS:
        effects = method(before, after)
        assert effects.amount.item() == pytest.approx(-31.0)
        assert effects.mix.item() == effects.frequency.item() == 0


def test_three_starts_of_51_minutes_to_two_of_20() -> None:
    """3 x 51 -> 2 x 20 = -113: base-weighted -93, -51, +31; Shapley -77.5, -35.5; logarithmic mean -78.8, -34.2."""
    before = Factors(*(np.array([value]) for value in (1.0, 3.0, 51.0)))
    after = Factors(*(np.array([value]) for value in (1.0, 2.0, 20.0)))
    found = {m.__name__: [round(float(part.item()), 1) for part in m(before, after)] for m in METHODS}
    assert found["das_gupta"] == [0.0, -35.5, -77.5, 0.0]
    assert found["lmdi"] == [0.0, -34.2, -78.8, 0.0]
    assert found["threefold"] == [0.0, -51.0, -93.0, 31.0]
    assert found["laspeyres"] == [0.0, -51.0, -93.0, 31.0]


def test_das_gupta_is_the_shapley_value_of_three_factors() -> None:
    """The mean over all six orders of changing the factors, computed step by step."""
    from itertools import permutations

    before, after = (2.0, 3.0, 5.0), (7.0, 1.0, 4.0)
    mean = [0.0, 0.0, 0.0]
    for order in permutations(range(3)):
        now = list(before)
        for index in order:
            was = now[0] * now[1] * now[2]
            now[index] = after[index]
            mean[index] += (now[0] * now[1] * now[2] - was) / 6
    effects = METHODS[0](*(Factors(*(np.array([x]) for x in side)) for side in (before, after)))
    assert [part.item() for part in effects[:3]] == pytest.approx(mean)


DAYS = st.sampled_from(["2026-01-05", "2026-02-10", "2026-03-10", "2026-04-20"])
KINDS = st.sampled_from(["first", "failure", "preemption", "planned", "unknown"])
SECONDS = st.dictionaries(st.sampled_from(PARTS), st.integers(0, 10_000), max_size=5)
STARTS = st.lists(
    st.tuples(st.sampled_from("uvwx"), st.sampled_from(["", "p1", "p2"]), DAYS, KINDS, SECONDS, st.integers(0, 5000)),
    min_size=1,
    max_size=12,
)
STAGGERED = registry.parse(
    """
[[optimization]]
name = "one"
owner = "a"
parts = ["launch", "hang"]
rollouts = [{ model = "u", since = 2026-02-01 }, { model = "v", since = 2026-03-01, until = 2026-04-01 }]
[[optimization]]
name = "two"
owner = "b"
components = ["compilation", "shutdown", "wasted_training"]
rollouts = [{ model = "[uvw]", since = 2026-04-01 }]
"""
)


@pytest.mark.parametrize("method", NAMES)
@settings(max_examples=few(60), deadline=None)
@given(rows=STARTS, basis=st.sampled_from(["work", "wall"]))
def test_any_panel_adds_up(method: str, rows: list[Any], basis: str) -> None:
    """Zeros, entrants, leavers, migrations, unknown kinds, staggered rollouts: rows still sum to the change."""
    stay = [
        start(f"stay{day}", "stay", day, 0, "first", {"launch": 50, "step": 900})
        for day in ("2026-01-02", "2026-04-25")
    ]
    made = [
        start(f"{model}{index}", model, day, 0, kind, {**parts, "step": step}, platform=platform)
        for index, (model, platform, day, kind, parts, step) in enumerate(rows)
    ]
    frame = ledger(*stay, *made)
    found = attribute_ledger(frame, registry=STAGGERED, method=method, basis=basis, replicates=0)
    fleet = found.credit.filter(pl.col("model") == "all")
    whole = found.header["saved_gpu_hours"]
    scale = max(abs(whole), max(map(abs, fleet["saved_gpu_hours"]), default=0.0), 1e-9)
    assert abs(fleet["saved_gpu_hours"].sum() - whole) <= 1e-9 * scale
    assert abs(fleet["points"].sum() - found.header["points"]) <= 1e-7
