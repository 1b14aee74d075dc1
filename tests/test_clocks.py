"""Clocks of logs and schedulers held against each other: zones inferred, skew shown, mended when asked."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import ettlog
from ettlog.cli import app
from ettlog.config import Config
from ettlog.fleet import Fleet
from tests.tables import MINUTE, Log, fleet, minute, record

HOUR = 60


def log(key: str, begin: float, end: float, clock: str = "exact", allocation: str | None = "7", **source: Any) -> Log:
    """Return a log of one start that runs from one minute to another, by a clock."""
    made = Log(key, allocation=allocation, clock=clock, first_us=minute(begin), last_us=minute(end), **source)
    made.say(begin, "launch", clock=clock)
    made.step(end - 1, 1, clock=clock)
    made.say(end, "train_end", clock=clock)
    return made


def held(start: float, end: float | None, clock: str = "zone_assumed", **fields: Any) -> dict[str, Any]:
    """Return a record of an allocation by a clock."""
    told: dict[str, Any] = {"clock": clock, "submit": start - 10, "start": start} | fields
    return record(**(told if end is None else told | {"end": end}))


def made(*logs: Log, alloc: list[dict[str, Any]], **settings: Any) -> Fleet:
    """Return a fleet under settings of `clock`."""
    config = Config({f"clock.{name}": value for name, value in settings.items()}) if settings else None
    return fleet(*logs, alloc=alloc, config=config)


def judged(found: Fleet) -> list[tuple[Any, ...]]:
    """Return file, shift in minutes and verdict of every clock."""
    rows = found.table("skew").select("path", "shift_us", "verdict").rows()
    return [(path, None if shift is None else shift / MINUTE, verdict) for path, shift, verdict in rows]


def begins(found: Fleet) -> list[float]:
    """Return the minutes at which allocations begin and end."""
    times = found.table("allocation").select("start_us", "end_us").rows()
    return sorted((us - minute(0)) / MINUTE for row in times for us in row)


def test_clocks_that_agree_are_left_alone() -> None:
    """Lines within the allocation, or a minute before it, say nothing against either clock."""
    found = made(log("a", -1, 55), alloc=[held(0, 60)])
    assert judged(found) == [("logs/s.sacct", None, "agrees")]
    assert begins(found) == [0, 60]


def test_the_zone_of_accounting_is_inferred_where_one_alone_holds_the_lines() -> None:
    """Accounting in a zone five hours behind UTC: only five hours later its allocation holds the log."""
    found = made(log("a", 302, 358), alloc=[held(0, 60)])
    told = "zone UTC-05:00 inferred: only so the lines lie in the allocations"
    assert judged(found) == [("logs/s.sacct", 300, told)]
    assert begins(found) == [300, 360]
    spent = "SELECT component, sum(end_us - begin_us) FROM segment WHERE NOT allocated GROUP BY 1"
    assert found.sql(spent).rows() == [("scheduling", 10 * MINUTE)]
    assert found.table("allocation")["clock"].to_list() == ["zone_inferred"]


def test_the_zone_of_a_log_is_inferred_from_records_that_are_exact() -> None:
    """A trainer that writes the time of Berlin in summer: two hours ahead of the records in UTC."""
    found = made(log("a", 122, 178, "zone_assumed"), alloc=[held(0, 60, "exact")])
    assert judged(found)[0][:2] == ("logs/a.log", -120)
    assert found.sql("SELECT min(first_us) FROM launch").item() == minute(2)


def test_zones_of_half_hours_and_quarters_are_found() -> None:
    """India is five and a half hours ahead, Nepal five and three quarters."""
    for minutes, text in ((330, "+05:30"), (345, "+05:45")):
        found = made(log("a", 1, 59), alloc=[held(minutes, minutes + 60)])
        assert judged(found)[0][1] == -minutes
        assert text in judged(found)[0][2]


def test_an_ambiguous_zone_is_said_and_not_applied() -> None:
    """A log of ten minutes in an allocation of four hours fits several zones."""
    found = made(log("a", 302, 312), alloc=[held(0, 240)])
    assert judged(found) == [("logs/s.sacct", None, "zone unknown: UTC-05:00 to UTC-02:00 would fit")]
    assert begins(found) == [0, 240]


def test_one_loose_log_teaches_no_zone_and_two_do() -> None:
    """The record of a log's own attempt may be missing: lines that fill half of another one prove nothing alone."""
    alone = made(log("a", 302, 325), alloc=[held(0, 59)])
    assert judged(alone)[0][1] is None
    other = held(600, 659, line=3, id="8", raw="8", name="other")
    both = made(log("a", 302, 325), log("b", 935, 955, allocation="8", job_name="other"), alloc=[held(0, 59), other])
    assert judged(both)[0][1] == 300


def test_a_zone_with_clock_changes_is_inferred_where_no_fixed_offset_fits() -> None:
    """New York is five hours behind UTC in January and four in July: 2026-07-01 is minute 260,640."""
    summer = 260_640
    alloc = [held(0, 60), held(summer, summer + 60, line=3, id="8", raw="8", name="other")]
    logs = (log("a", 301, 359), log("b", summer + 241, summer + 299, allocation="8", job_name="other"))
    found = made(*logs, alloc=alloc)
    assert judged(found)[0][2] == "zone inferred: the clock changes of America/New_York, and no fixed offset, fit"
    assert begins(found) == [300, 360, summer + 240, summer + 300]


def test_nothing_is_mended_where_that_is_asked_for() -> None:
    """`clock.correct = "never"` leaves instants as they were read, and says what would fit."""
    found = made(log("a", 302, 358), alloc=[held(0, 60)], correct="never")
    assert judged(found) == [("logs/s.sacct", None, "zone unknown: UTC-05:00 would fit")]
    assert begins(found) == [0, 60]


def test_skew_between_exact_clocks_is_shown_and_mended_only_when_asked() -> None:
    """A node whose clock is ten minutes ahead ends its log after its allocation: at least five minutes are wrong."""
    late = log("a", 15, 65)
    shown = made(late, alloc=[held(0, 60, "exact")])
    row = shown.table("skew").row(0, named=True)
    assert (row["low_us"], row["high_us"], row["shift_us"]) == (-15 * MINUTE, -5 * MINUTE, None)
    assert row["verdict"].startswith("skewed by 300 s or more")
    assert shown.sql("SELECT max(last_us) FROM launch").item() == minute(65)
    mended = made(late, alloc=[held(0, 60, "exact")], correct="always")
    assert judged(mended)[0][1] == -5
    assert mended.sql("SELECT max(last_us) FROM launch").item() == minute(60)


def test_a_shift_that_is_told_is_applied_and_nothing_else_is_inferred() -> None:
    """`clock.shifts` moves every instant of the files that a glob names."""
    found = made(log("a", 302, 358), alloc=[held(0, 60)], shifts={"*.sacct": 300 * MINUTE})
    assert judged(found) == [("logs/s.sacct", 300, "shifted as told")]
    assert begins(found) == [300, 360]


def test_an_open_allocation_bounds_one_side_only() -> None:
    """Without an end any earlier start would hold the lines: no zone follows, and the upper bound is shown."""
    found = made(log("a", -300, 0), alloc=[held(0, None, state="RUNNING")])
    row = found.table("skew").row(0, named=True)
    assert (row["low_us"], row["high_us"], row["shift_us"]) == (None, -300 * MINUTE, None)


def test_logs_that_no_shift_joins_are_said() -> None:
    """Two logs that would need opposite shifts show no wrong zone, but a wrong join or clocks of their own."""
    other = held(600, 660, "exact", line=3, id="8", raw="8", name="other")
    logs = (log("a", -200, 500, allocation="7"), log("b", 601, 659, allocation="8", job_name="other"))
    found = made(*logs, alloc=[held(0, 60, "exact"), other])
    assert [row[2] for row in judged(found)] == ["no single shift puts the lines into the allocations", "agrees"]


SACCT = """\
JobID|JobIDRaw|JobName|State|Submit|Start|End|Elapsed|AllocTRES
4101|4101|owl|COMPLETED|2031-03-08T05:00:00|2031-03-08T06:10:00|2031-03-08T06:40:00|00:30:00|gres/gpu=8
4102|4102|owl|COMPLETED|2031-03-10T05:00:00|2031-03-10T06:10:00|2031-03-10T06:40:00|00:30:00|gres/gpu=8
"""
STEP = "{at:%Y-%m-%dT%H:%M:%S}.000Z  iteration {n:>8}/     500 | elapsed time per iteration (ms): 9.0 | loss: 2.5 |\n"


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Return a lake of accounting in the time of Chicago over its change of clocks on 2031-03-09, and logs in UTC."""
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "sacct.txt").write_text(SACCT)
    for number, day, hour in ((4101, 8, 12), (4102, 10, 11)):
        stamps = [datetime(2031, 3, day, hour, minutes, tzinfo=UTC) for minutes in range(11, 40)]
        (logs / f"owl-{number}.log").write_text("".join(STEP.format(at=at, n=n) for n, at in enumerate(stamps, 1)))
    ettlog.ingest([logs], tmp_path / "lake")
    return tmp_path / "lake"


def show(lake: Path, *args: str) -> str:
    """Return what a command prints over a lake."""
    return CliRunner().invoke(app, [*args, "--lake", str(lake)], catch_exceptions=False).stdout


def test_a_zone_that_is_told_after_the_ingest_needs_no_other_ingest(lake: Path) -> None:
    """With the zone of Chicago the winter row moves six hours and the summer row five: both hold their logs."""
    query = "SELECT start_us FROM allocation ORDER BY start_us"
    assert ettlog.open(lake, Config({"clock.correct": "never"})).sql(query)["start_us"].to_list() == [
        minute_of(8, 6, 10),
        minute_of(10, 6, 10),
    ]
    told = ettlog.open(lake, Config({"sacct.zone": "America/Chicago", "clock.zones": {"*sacct*": "America/Chicago"}}))
    assert told.sql(query)["start_us"].to_list() == [minute_of(8, 12, 10), minute_of(10, 11, 10)]
    assert told.table("skew")["verdict"].to_list()[-1] == "zone America/Chicago as told"


def minute_of(day: int, hour: int, minutes: int) -> int:
    """Return microseconds of an instant of March 2031."""
    return int(datetime(2031, 3, day, hour, minutes, tzinfo=UTC).timestamp()) * 1_000_000


def test_the_zone_of_real_text_is_inferred_over_a_change_of_clocks(lake: Path) -> None:
    """Without being told: the winter log lies six hours behind its row, the summer log five; Chicago's rule fits."""
    found = ettlog.open(lake)
    assert found.sql("SELECT count(*) FROM loose").item() == 0
    assert "the clock of logs/sacct.txt: zone inferred: the clock changes of America/Chicago" in show(lake, "status")
    text = show(lake, "status", "--clocks")
    assert text.startswith("1 clock held against another or shifted")
    assert "06:00:00" in text


POD = {"record": "task", "id": "chat", "raw": "chat", "gpus": 8}


def test_the_zone_of_logs_of_pods_is_inferred_over_all_logs_of_the_job() -> None:
    """Two pods sets of one job, 08:00-09:00 and 10:00-11:00 UTC; its logs read 17:01-17:59 and 19:01-19:59: UTC+09:00.

    Each log alone would fit three zones: only the hull of the job's pods is known of it.
    """
    logs = [
        log(key, begin, end, "zone_assumed", None, job_name="chat")
        for key, begin, end in (("a", 17 * HOUR + 1, 18 * HOUR - 1), ("b", 19 * HOUR + 1, 20 * HOUR - 1))
    ]
    pods = [
        held(begin, begin + 60, "exact", **POD, name="chat", task=f"chat-{number}-worker-0")
        for number, begin in enumerate((8 * HOUR, 10 * HOUR))
    ]
    found = made(*logs, alloc=pods)
    text = "zone UTC+09:00 inferred: only so the lines lie in the allocations"
    assert judged(found) == [("logs/a.log", -9 * HOUR, text), ("logs/b.log", -9 * HOUR, text)]
    begun = found.table("segment").filter(part="other").sort("begin_us")["begin_us"].to_list()
    assert begun == [minute(8 * HOUR + 1), minute(10 * HOUR + 1)]
    verdicts = made(logs[0], alloc=pods).table("skew")["verdict"].to_list()
    assert verdicts == ["zone unknown: UTC+07:00 to UTC+09:00 would fit"]


def test_a_log_named_after_its_pod_meets_the_pods_of_the_job() -> None:
    """`kubectl logs` was kept as POD.log in a folder that says nothing: the pod's name leads to its job."""
    one = log("chat-0-worker-0", 17 * HOUR + 1, 18 * HOUR - 1, "zone_assumed", None, job_name="misc")
    pod = held(8 * HOUR, 9 * HOUR, "exact", **POD, name=None, task="chat-0-worker-0")
    assert judged(made(one, alloc=[pod]))[0][1] == -9 * HOUR


def test_stamps_without_a_year_teach_and_take_a_zone_like_all_bare_ones() -> None:
    """`0307 17:01:00` lacks the zone as well as the year; where the configuration names the zone, it was known."""
    one = log("a", 17 * HOUR + 1, 18 * HOUR - 1, "date_inferred", None, job_name="chat")
    pod = held(8 * HOUR, 9 * HOUR, "exact", **POD, name="chat", task="chat-0-worker-0")
    found = made(one, alloc=[pod])
    assert judged(found)[0][1] == -9 * HOUR
    assert found.table("segment").filter(part="other")["begin_us"].to_list() == [minute(8 * HOUR + 1)]
    assert judged(made(one, alloc=[pod], zone="UTC"))[0][1] is None
