"""Stamps that lie years from all others of their log: they are no instants, and this is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ettlog import fleet as fleets
from ettlog import portions
from ettlog.cli import app
from ettlog.config import Config
from ettlog.fleet import Fleet
from ettlog.ingest import IngestOptions, ingest
from tests.conftest import ROOT
from tests.tables import MINUTE, Log, fleet, minute, record

YEAR = 365 * 24 * 60
"""Minutes of a year without a leap day."""


def ran(stray: float, begin: float = 0, **source: Any) -> Log:
    """Return a log of one start that runs for 40 minutes, whose second line bears the stamp of another minute."""
    ends = minute(min(stray, begin)), minute(max(stray, begin + 40))
    made = Log("a", first_us=ends[0], last_us=ends[1], clock="exact", **source)
    made.say(begin, "launch")
    made.say(stray, "rendezvous_end")
    made.step(begin + 10, 1, 1)
    made.step(begin + 20, 2, 1)
    made.say(begin + 40, "train_end")
    return made


def made(log: Log, *, alloc: list[dict[str, Any]] | None = None, **clock: Any) -> Fleet:
    """Return a fleet of one log under settings of `clock`."""
    config = Config({f"clock.{name}": value for name, value in clock.items()}) if clock else None
    return fleet(log, alloc=alloc or [], config=config)


def wall(found: Fleet) -> float:
    """Return the minutes of all segments together."""
    return float(found.sql("SELECT sum(end_us - begin_us) FROM segment").item()) / MINUTE


def verdicts(found: Fleet) -> list[str]:
    """Return what is said of clocks."""
    return found.table("skew")["verdict"].to_list()


@pytest.mark.parametrize("years", [-26, -6, 6, 60])
def test_a_stamp_years_away_is_no_instant(years: int) -> None:
    """One of five stamps is of another decade: the job takes 40 minutes, and the line has its neighbour's instant."""
    found = made(ran(years * YEAR))
    assert wall(found) == 40
    assert verdicts(found) == ["1 of 5 stamps lie years from all others, and are not believed"]
    assert found.table("source").select("first_us", "last_us").row(0) == (minute(0), minute(40))
    lines = found.sql("SELECT line, at_us, dated FROM _event ORDER BY line").rows()
    assert lines == [(1, minute(0), True), (2, minute(0), False), (5, minute(40), True)]


def test_a_log_that_was_silent_for_four_years_goes_on() -> None:
    """Four years may lie between two runs that write into one file: their stamps are what they are."""
    found = made(ran(-4 * YEAR))
    assert verdicts(found) == []
    assert wall(found) == 40 + 4 * YEAR


def test_of_equal_stretches_the_later_is_believed() -> None:
    """A clock that lost its time goes back: two lines of 2006 and two of 2026 are of 2026."""
    log = Log("a", first_us=minute(-20 * YEAR), last_us=minute(30), clock="exact")
    log.say(-20 * YEAR, "launch")
    log.step(-20 * YEAR + 5, 1)
    log.step(20, 2)
    log.say(30, "train_end")
    found = made(log)
    assert verdicts(found) == ["2 of 4 stamps lie years from all others, and are not believed"]
    assert wall(found) == 10


def test_a_line_without_a_stamp_does_not_count_as_one() -> None:
    """Lines that carry the stamp of the one line of 2006 are no witnesses for it, however many they are."""
    log = ran(-20 * YEAR)
    for _ in range(9):
        log.step(-20 * YEAR, 1, clock="carried")
    found = made(log)
    assert verdicts(found) == ["1 of 5 stamps lie years from all others, and are not believed"]
    assert wall(found) == 40


def test_what_is_believed_is_shifted_as_told() -> None:
    """A shift of the file moves its believed lines by five hours, each of them once."""
    found = made(ran(-20 * YEAR), shifts={"logs/*": 300 * MINUTE})
    assert wall(found) == 40
    assert found.sql("SELECT count(*), min(at_us) FROM _event").row(0) == (3, minute(300))
    assert found.sql("SELECT count(*), min(ts) FROM step").row(0) == (2, minute(310))


def test_an_allocation_is_held_against_believed_stamps() -> None:
    """The lines lie in their allocation but for one of 2006: the clock of the log agrees with the scheduler's, and
    the wall is that of the records, from minute -10 to 45."""
    alloc = [record(start=-5, end=45, submit=-10, clock="exact")]
    found = made(ran(-20 * YEAR, allocation="7"), alloc=alloc)
    assert sorted(verdicts(found)) == ["1 of 5 stamps lie years from all others, and are not believed", "agrees"]
    assert wall(found) == 55


def test_records_of_a_scheduler_and_never_are_left_alone() -> None:
    """Accounting may be of any year; `clock.correct = "never"` believes every stamp."""
    assert wall(made(ran(-20 * YEAR), correct="never")) == 40 + 20 * YEAR
    records = [record(start=at, end=at + 10, submit=at, id=f"{n}", raw=f"{n}") for n, at in enumerate((-20 * YEAR, 0))]
    found = fleet(alloc=records)
    assert verdicts(found) == []
    assert found.table("allocation")["start_us"].sort().to_list() == [minute(-20 * YEAR), minute(0)]


def test_status_names_the_log_and_portions_believe_the_same(tmp_path: Path) -> None:
    """A launch of 2005 among lines of 2031: the wall is 13:50 from the line behind it, in portions as well."""
    text = (ROOT / "fixtures/tiny/logs/robin-1b.log").read_text()
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/robin-1b.log").write_text("[2005" + text.removeprefix("[2031"))
    ingest([tmp_path / "logs"], tmp_path / "lake", options=IngestOptions(workers=1))
    told = CliRunner().invoke(app, ["status", "--lake", str(tmp_path / "lake")], catch_exceptions=False).output
    assert "the clock of logs/robin-1b.log: 1 of 23 stamps lie years from all others, and are not believed" in told
    parts = fleets.open(tmp_path / "lake")
    portions.assemble(parts, ["segment"], 1)
    assert wall(parts) == wall(fleets.open(tmp_path / "lake")) == 13 + 50 / 60
