"""What every way of making an attribution has to keep: each method with each choice, none left out."""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import product
from typing import Any

import polars as pl
import pytest

from ettlog import registry
from ettlog.attribute import METHODS, Attribution, attribute_ledger, causes, celled, choices, rivals, shifted
from ettlog.attribute.frames import CREDIT
from ettlog.attribute.tiers import TIERS
from tests.ledgers import ledger
from tests.test_attribute_methods import OPTIMIZATIONS, panel, registered

NAMES = [method.__name__ for method in METHODS]
WAYS = [
    *(
        {"method": name, "chain": chain, "split": split}
        for name, chain, split in product(NAMES, choices.CHAINS, choices.SPLITS)
    ),
    *(
        {"method": name, "baseline": baseline}
        for name, baseline in product(NAMES, [*choices.BASELINES, "2026-02-01..2026-02-20"])
    ),
]
"""Every method with every chain and split, and with every baseline."""
LATER = (
    "[[optimization]]\nname = 'later'\nowner = 'l'\nparts = ['launch', 'hang']\nrollouts = [{ since = 2026-03-05 }]\n"
)


def words(way: dict[str, str]) -> str:
    """Name a way in the list of tests."""
    return "-".join(way.values())


def made(frame: pl.DataFrame, way: dict[str, Any], extra: str = LATER, names: list[str] | None = None) -> Attribution:
    """Return the attribution of a ledger under the four optimizations, and a later rival of one of them."""
    known = registered(names if names is not None else list(OPTIMIZATIONS), extra)
    return attribute_ledger(frame, registry=known, **{"replicates": 0, **way})


@pytest.fixture(autouse=True)
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deal the rollout dates out only a few times: what is tested here does not depend on how often."""
    monkeypatch.setattr(causes, "DRAWS", 5)


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    """Return a panel of three models with jobs before, between and after the rollouts of 1 and 5 March."""
    early, between = panel(), panel(seed=2, jobs=2)
    after = pl.col("launched_us") > pl.col("launched_us").min() + 20 * choices.DAY
    names = pl.concat_str(pl.lit("b"), pl.col("job")).alias("job")
    return pl.concat([early, between.filter(after).with_columns(pl.col("launched_us") - 8 * choices.DAY, names)])


Plain = Callable[[str], Attribution]


@pytest.fixture(scope="module")
def plain(frame: pl.DataFrame) -> Plain:
    """Return what attributes the panel in a way, by its name: each is made once, and held against in four tests."""
    ways = {words(way): way for way in WAYS}
    return functools.cache(lambda name: made(frame, ways[name]))


@pytest.mark.parametrize("way", WAYS, ids=words)
def test_columns_are_fixed_and_rows_add_up(plain: Plain, way: dict[str, Any]) -> None:
    """All frames have their columns; hours and points of the fleet's rows, and of the models', are the whole's."""
    found = plain(words(way))
    assert dict(found.credit.schema) == CREDIT
    assert dict(found.effects.schema) == causes.EFFECT
    assert dict(found.study.schema) == causes.STUDY
    assert dict(found.overlap.schema) == rivals.OVERLAP
    assert dict(found.cells.schema) == celled.CELL
    assert dict(found.shift.schema) == shifted.SHIFT
    assert set(found.credit["tier"]) <= set(TIERS)
    for rows in (pl.col("model") == "all", pl.col("model") != "all"):
        sums = found.credit.filter(rows).sum()
        assert sums["saved_gpu_hours"].item() == pytest.approx(found.header["saved_gpu_hours"], rel=1e-9)
        assert sums["points"].item() == pytest.approx(found.header["points"], rel=1e-9)


@pytest.mark.parametrize("way", WAYS, ids=words)
def test_order_names_and_units_are_irrelevant(frame: pl.DataFrame, plain: Plain, way: dict[str, Any]) -> None:
    """The registry backwards and the rows shuffled: the same bytes. Nanoseconds for microseconds: the same shares."""
    straight = plain(words(way)).credit
    backwards = registry.parse(LATER + "".join(_text(name) for name in list(OPTIMIZATIONS)[::-1]))
    shuffled = frame.sample(fraction=1, shuffle=True, seed=4)
    other = attribute_ledger(shuffled, registry=backwards, **{"replicates": 0, **way})
    assert other.credit.equals(straight)
    times = [name for name in frame.columns if name.endswith("us") and name != "launched_us"]
    finer = made(frame.with_columns(pl.col(times) * 1000), way).credit
    for column in ("share", "points"):
        assert finer[column].to_list() == pytest.approx(straight[column].to_list(), rel=1e-9, abs=1e-12)
    renamed = frame.with_columns(pl.concat_str(pl.lit("x-"), pl.col("model")).alias("model"))
    assert made(renamed, way).credit["saved_gpu_hours"].to_list() == straight["saved_gpu_hours"].to_list()


def _text(name: str) -> str:
    return (
        f"[[optimization]]\nname = '{name}'\nowner = 'o-{name}'\n{OPTIMIZATIONS[name]}\n"
        "rollouts = [{ since = 2026-03-01 }]\n"
    )


@pytest.mark.parametrize("way", WAYS, ids=words)
def test_null_gets_nothing_and_twins_the_same(frame: pl.DataFrame, plain: Plain, way: dict[str, Any]) -> None:
    """One on a part that nothing spends time on has no credit and takes none; two alike have the same rows."""
    null = "[[optimization]]\nname='null'\nowner='n'\nparts=['recompile']\nrollouts=[{ since = 2026-03-01 }]\n"
    with_null, without = made(frame, way, LATER + null).credit, plain(words(way)).credit
    assert with_null.filter(pl.col("optimization") == "null")["saved_gpu_hours"].sum() == 0
    assert with_null.filter(pl.col("optimization") != "null").equals(without)
    one = "owner='o'\nparts=['launch']\neffect=0.4\nrollouts=[{ since = 2026-03-01 }]\n"
    twins = f"[[optimization]]\nname='a'\n{one}[[optimization]]\nname='b'\n{one}"
    credit = made(frame, way, twins, []).credit
    left, right = (credit.filter(pl.col("optimization") == name).drop("optimization") for name in "ab")
    assert left.height > 0
    assert left.equals(right)


@pytest.mark.parametrize("way", WAYS, ids=words)
def test_doubling_the_fleet_doubles_hours_and_keeps_shares(
    frame: pl.DataFrame, plain: Plain, way: dict[str, Any]
) -> None:
    """Every job twice: twice the GPU-hours, saved, a day and since the rollout; the same shares and points."""
    again = frame.with_columns(pl.concat_str(pl.lit("again-"), pl.col("job")).alias("job"))
    one, two = plain(words(way)).credit, made(pl.concat([frame, again]), way).credit
    for column in ("saved_gpu_hours", "per_day_gpu_hours", "since_rollout_gpu_hours", "bound_gpu_hours"):
        assert two[column].is_null().equals(one[column].is_null())
        assert two[column].drop_nulls().to_list() == pytest.approx((2 * one[column].drop_nulls()).to_list(), rel=1e-9)
    for column in ("share", "points"):
        assert two[column].to_list() == pytest.approx(one[column].to_list(), rel=1e-9)


@pytest.mark.parametrize("cluster", choices.CLUSTERS)
@pytest.mark.parametrize("method", NAMES)
def test_the_same_seed_gives_the_same_bytes(frame: pl.DataFrame, method: str, cluster: str) -> None:
    """Whatever is drawn again; another seed gives other bounds, and the estimate does not move."""
    way = {"method": method, "cluster": cluster, "replicates": 120}
    first, again, other = (made(frame, {**way, "seed": seed}).credit for seed in (7, 7, 8))
    assert first.equals(again)
    assert first["low"].is_not_null().any()
    assert not first.equals(other)
    assert first["saved_gpu_hours"].equals(other["saved_gpu_hours"])


def test_models_that_move_together_widen_the_interval_of_models() -> None:
    """All jobs of a model save alike and models differ much: drawing models gives wider bounds than drawing jobs."""
    from tests.ledgers import start

    rows = []
    for number in range(12):
        for day, launch in (("2026-02-10", 200), ("2026-03-10", 200 - 15 * number)):
            rows += [
                start(
                    f"{number}-{day}-{job}",
                    f"m{number:02d}",
                    day,
                    0,
                    "first",
                    {"launch": launch + job % 3, "step": 1000},
                )
                for job in range(10)
            ]
    widths = {}
    for cluster in ("job", "model"):
        credit = made(ledger(*rows), {"cluster": cluster, "replicates": 200}, "", ["alpha"]).credit
        row = credit.filter((pl.col("model") == "all") & (pl.col("tier") == "direct")).row(0, named=True)
        widths[cluster] = row["high"] - row["low"]
    assert widths["model"] > 5 * widths["job"]
