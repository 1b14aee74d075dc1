"""Relations made in portions of the jobs are those of the whole fleet, value by value, whatever the portions."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from ettlog import ett_lost, keeping, portions
from ettlog import fleet as fleets
from ettlog.fleet import Fleet
from ettlog.ingest import IngestOptions, ingest
from tests.conftest import ROOT
from tests.tables import Log, fleet, record


def ramps(seed: int) -> list[Log]:
    """Return logs of four jobs that make steps, fail, come back and repeat some; some print durations or samples."""
    dice, logs = random.Random(seed), []
    for n in range(8):
        log = Log(f"log{n}", job_name=dice.choice("pqrs"), state=dice.choice(["whole", "torn"]))
        at, step, stride, batch = dice.uniform(0, 50), 0, dice.choice([1, 1, 10]), dice.choice([None, 8])
        minutes = dice.choice([None, 1.0])
        for _ in range(dice.randrange(1, 4)):
            log.say(at, "launch")
            step = max(0, step - dice.randrange(6) * stride)
            log.say(at + 0.2, "resume", step=step)
            for _ in range(dice.randrange(20)):
                step = max(0, step - 3 * stride) if dice.random() < 0.05 else step + stride
                at += dice.choice([1, 1, 1, 9])
                told = {} if batch is None else {"samples": step * batch}
                log.step(at if dice.random() < 0.9 else None, step, minutes, **told)
                if dice.random() < 0.1:
                    log.say(
                        at, dice.choice(["save_request", "save_commit", "evaluation_end", "save_blocking"]), step=step
                    )
            log.say(at + 1, dice.choice(["failure", "train_end", "preempted", "kill"]))
            at += 5
        logs.append(log)
    return logs


def held(seed: int) -> list[dict[str, object]]:
    """Return records of allocations that jobs of these names may have had, with the steps that ran in them."""
    dice, rows = random.Random(seed), []
    for n in range(6):
        at, name = dice.randrange(90), dice.choice("pqrstu")
        rows.append(
            record(line=2 * n + 2, id=f"{n}", raw=f"{n}", name=name, gpus=4, submit=at, start=at + 3, end=at + 60)
        )
        rows.append(record(line=2 * n + 3, id=f"{n}.0", raw=f"{n}", record="step", start=at + 5, end=at + 60))
    return rows


def same(whole: Fleet, parts: Fleet, most: int) -> None:
    """Make every kept relation, of one fleet in portions, and compare them."""
    whole.assemble(keeping.names())
    portions.assemble(parts, keeping.names(), most)
    for name in keeping.names():
        assert whole.shape(name) == parts.shape(name), name
        assert whole.table(name).equals(parts.table(name)), name


@pytest.mark.parametrize(("seed", "most"), [(1, 1), (2, 40)])
def test_portions_of_long_runs_of_steps_are_the_whole(seed: int, most: int) -> None:
    """Starts that make steps, repeat them and lose them have the same rows in portions of any size."""
    logs, records = ramps(seed), held(seed)
    same(fleet(*logs, alloc=records), fleet(*logs, alloc=records), most)


@pytest.mark.parametrize("story", ["heron"])
def test_portions_of_a_lake_read_their_own_files(tmp_path: Path, story: str) -> None:
    """Of a lake, clocks that were shifted included, each portion reads the step lines of its jobs from their files."""
    ingest([ROOT / f"fixtures/{story}/logs"], tmp_path / "lake", options=IngestOptions(workers=1))
    whole, parts = fleets.open(tmp_path / "lake"), fleets.open(tmp_path / "lake")
    whole._keeper = parts._keeper = None
    same(whole, parts, 1)


def test_lost_steps_are_found_portion_by_portion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where step lines are too many at once, those of each portion tell which steps were lost: the same segments."""
    ingest([ROOT / "fixtures/fleet/logs"], tmp_path / "lake", options=IngestOptions(workers=1))
    whole = fleets.open(tmp_path / "lake")
    segment = whole.table("segment")
    told = ett_lost.moved(whole, segment)
    assert not told.equals(segment.sort("job", "begin_us"))
    seen: list[int] = []
    real = portions._part

    def spied(*given: Any) -> Fleet:
        seen.append(given[1])
        return real(*given)

    monkeypatch.setattr(portions, "lines", lambda _: 3_000)
    monkeypatch.setattr(portions, "_part", spied)
    assert ett_lost.moved(fleets.open(tmp_path / "lake"), segment).equals(told)
    assert len(seen) > 1


def test_who_stops_after_one_portion_may_ask_again(tmp_path: Path) -> None:
    """A reader that breaks off leaves no table behind: the next one gets every portion."""
    ingest([ROOT / "fixtures/tiny/logs"], tmp_path / "lake", options=IngestOptions(workers=1))
    asked = fleets.open(tmp_path / "lake")
    first = portions.parts(asked, 1)
    next(first)
    first.close()  # type: ignore[attr-defined]
    assert len(list(portions.parts(asked, 1))) == 3  # robin, finch and wren


def test_a_portion_holds_what_memory_allows() -> None:
    """Half of one GiB holds 766,958 lines of 700 bytes; little memory gets 250,000, much no more than 2 million."""
    assert portions.lines(1024) == 766_958
    assert portions.lines(64) == 250_000
    assert portions.lines(1 << 20) == 2_000_000
