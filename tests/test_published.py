"""The six paired jobs: their parameters by hand formulas, their shares through attribution, their logs as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import ettlog
from ettlog import registry
from ettlog.attribute import Attribution, attribute_ledger
from ettlog.fleet import Fleet
from fixtures.published import make
from fixtures.published.parameters import (
    KILLS,
    PAIRS,
    PLACEMENT,
    TEARDOWN,
    Pair,
    Side,
    overhead,
    time_to_recover,
    time_to_start,
)
from tests.ledgers import ledger, start

LOGS = Path(make.__file__).parent / "logs"


def saved(pair: Pair) -> int:
    """Return the seconds a model saved."""
    return overhead(pair, pair.before) - overhead(pair, pair.after)


def fall(pair: Pair) -> tuple[int, int]:
    """Return by how many seconds TTS and TTR fell."""
    starting = time_to_start(pair.before) - time_to_start(pair.after)
    return starting, time_to_recover(pair, pair.before) - time_to_recover(pair, pair.after)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.model)
def test_every_run_fills_its_wall_exactly(pair: Pair) -> None:
    """New steps and all overheads of both runs add up to the same wall time, to the second."""
    for side in (pair.before, pair.after):
        assert side.steps * pair.step + overhead(pair, side) == pair.wall


def test_ett_goes_from_59_to_85_to_80_to_93_percent() -> None:
    """The lowest and highest ETT before and after, and the unweighted mean gain of 15.5 points."""
    before, after = (
        [side.steps * p.step / p.wall for p, side in ((p, getattr(p, s)) for p in PAIRS)] for s in ("before", "after")
    )
    assert (min(before), max(before)) == pytest.approx((0.59, 0.85))
    assert (min(after), max(after)) == pytest.approx((0.80, 0.93))
    assert sum(a - b for a, b in zip(after, before, strict=True)) / 6 == pytest.approx(0.155)


def test_recovery_falls_1_8_to_8_6_times_as_much_as_starting() -> None:
    """The ratio of the falls of TTR and TTS, on every model."""
    ratios = [fall(pair)[1] / fall(pair)[0] for pair in PAIRS]
    assert (min(ratios), max(ratios)) == (1.8, 8.6)


def test_shares_of_the_saving() -> None:
    """Weighted by GPUs: recovery 58 %, trainer start 8.27 % direct and 24.8 % with the bound at 1 + NoF = 3."""
    whole = sum(pair.gpus * saved(pair) for pair in PAIRS)
    recovery = sum(pair.gpus * KILLS * fall(pair)[1] for pair in PAIRS)
    direct = sum(pair.gpus * (pair.before.init - pair.after.init) for pair in PAIRS)
    assert whole == 3_659_328
    assert f"{recovery / whole:.0%}" == "58%"
    assert f"{direct / whole:.2%}" == "8.27%"
    assert f"{(1 + KILLS) * direct / whole:.1%}" == "24.8%"


def test_a_cold_start_takes_51_minutes() -> None:
    """The largest model's baseline TTS is the published 51 minutes."""
    assert time_to_start(PAIRS[0].before) == 51 * 60


def rows(pair: Pair, side: Side, day: str) -> Iterator[list[dict[str, object]]]:
    """Yield the ledger rows of a run, straight from the parameters."""
    name = f"{pair.model}-{day}"
    third = side.steps * pair.step // 3
    steps = [third, third, side.steps * pair.step - 2 * third]
    first = {"placement": PLACEMENT, "launch": side.init, "first_step_excess": side.excess, "save_stall": side.stall}
    yield start(name, pair.model, day, 0, "first", {**first, "step": steps[0]}, gpus=pair.gpus)
    for k in (1, 2):
        again = {
            "hang": side.hang, "launch": side.init_again, "restore": side.restore, "other": TEARDOWN,
            "first_step_excess": side.excess_again, "replay": side.replay * pair.step, "step": steps[k],
        }  # fmt: skip
        if k == KILLS:
            again |= {"final_save": side.final_save, "teardown": side.exit}
        yield start(name, pair.model, day, k, "failure", again, gpus=pair.gpus)


@pytest.fixture(scope="module")
def attribution() -> Attribution:
    """Return the attribution of the parameters' own ledger under the fixture's registry."""
    days = {"before": "2026-03-02", "after": "2026-03-16"}
    starts = [found for pair in PAIRS for side, day in days.items() for found in rows(pair, getattr(pair, side), day)]
    read = registry.read(LOGS / "optimizations.toml")
    return attribute_ledger(ledger(*starts), registry=read, basis="wall", replicates=0)


def shares(made: Attribution) -> dict[tuple[str, str], float]:
    """Return (optimization, tier) -> percent of the saving, over the fleet."""
    fleet = made.credit.filter(pl.col("model") == "all")
    return {(name, tier): share * 100 for name, tier, share in fleet.select("optimization", "tier", "share").rows()}


def test_attribution_gives_the_published_shares(attribution: Attribution) -> None:
    """Direct 8.27 %, direct + bound 24.8 %, recovery 58 %, all rows 100 %, from the credit table itself."""
    found = shares(attribution)
    assert found["trainer-start", "direct"] == pytest.approx(8.266, abs=5e-4)
    fleet = attribution.credit.filter(pl.col("model") == "all")
    bound = fleet.filter((pl.col("optimization") == "trainer-start") & (pl.col("tier") == "cascade"))[
        "bound_gpu_hours"
    ].item()
    whole = attribution.header["saved_gpu_hours"]
    assert found["trainer-start", "direct"] + bound / whole * 100 == pytest.approx(24.8, abs=5e-3)
    recovery = sum(share for (_, tier), share in found.items() if tier in ("cascade", "recovery_only"))
    assert recovery == pytest.approx(57.99, abs=5e-3)
    assert sum(found.values()) == pytest.approx(100.0, rel=1e-9)


def test_attribution_gives_the_mean_gain(attribution: Attribution) -> None:
    """The unweighted mean over six models is 15.5 points; nothing is left to mix, workload or the failure count."""
    assert attribution.header["mean_points"] == pytest.approx(15.5)
    assert attribution.models["ttr_over_tts"].min() == pytest.approx(1.8)
    assert attribution.models["ttr_over_tts"].max() == pytest.approx(8.6)
    found = shares(attribution)
    assert [found["", tier] for tier in ("mix", "workload", "failure_count")] == pytest.approx([0, 0, 0], abs=1e-9)


def test_the_logs_are_those_of_the_generator(tmp_path: Path) -> None:
    """Writing them again gives the committed bytes."""
    make.write(tmp_path)
    written = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file())
    assert len(written) == 13
    assert all((tmp_path / path).read_bytes() == (LOGS / path).read_bytes() for path in written)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    """Return the lake of the six pairs' logs."""
    lake = tmp_path_factory.mktemp("published") / "pairs.lake"
    ettlog.ingest([LOGS], lake)
    return ettlog.open(lake)


def test_the_logs_give_every_second_back(fleet: Fleet) -> None:
    """Per run: new steps, TTS, both recoveries and shutdown, in whole microseconds, from the logs alone."""
    ledger_rows = fleet.table("ledger").filter(pl.col("allocated_us") > 0)
    stage = ledger_rows.group_by("job", "stage").agg(pl.col("allocated_us").sum())
    found = {(job, name): us for job, name, us in stage.rows()}
    for pair in PAIRS:
        for label, side in (("baseline", pair.before), ("optimized", pair.after)):
            job = f"{pair.model}-{label}"
            assert found[job, "first_start"] == time_to_start(side) * 1_000_000
            assert found[job, "recovery"] == KILLS * time_to_recover(pair, side) * 1_000_000
            assert found[job, "steady"] == (side.steps * pair.step + side.stall) * 1_000_000
            assert found[job, "shutdown"] == (side.final_save + side.exit) * 1_000_000


def test_the_logs_give_the_published_figures(fleet: Fleet) -> None:
    """Ingest, then attribute with the folder's own registry and basis: 15.5 points, 58 %, 1.8 to 8.6, 8.27 and 24.8
    %.
    """
    made = ettlog.attribute(fleet)
    assert made.header["basis"] == "wall"
    test_attribution_gives_the_published_shares(made)
    test_attribution_gives_the_mean_gain(made)
    # gains 21, 19, 17.5, 14.5, 13, 8: 15.5 +- 2.5706 x sqrt(22 / 6); two of 64 sign assignments are as extreme
    assert any("+15.5 points, 10.6 to 20.4" in note and "p 0.031" in note for note in made.notes)
    assert made.models["ett_before"].sort().to_list() == pytest.approx([0.59, 0.62, 0.66, 0.72, 0.76, 0.85])
    assert made.models["ett_after"].sort().to_list() == pytest.approx([0.80, 0.81, 0.835, 0.865, 0.89, 0.93])
