"""Grid Engine accounting: seconds and milliseconds, restarts, array tasks, slaves."""

from __future__ import annotations

from pathlib import Path

import ettlog
from tests.scheduling import jobs, read, us

SUBMIT, START, END = 1_933_135_600, 1_933_135_660, 1_933_139_260


def record(
    job: int = 900,
    times: tuple[int, int, int] = (SUBMIT, START, END),
    *,
    failed: int = 0,
    code: int = 0,
    wall: str = "3600",
    slots: int = 8,
    task: int = 0,
    asked: str = "-l h_rt=7200",
    slave: str = "NONE",
) -> str:
    """Write one record: 45 fields between colons."""
    head = f"big.q:m1:staff:kim:pre:{job}:sge:0:{times[0]}:{times[1]}:{times[2]}:{failed}:{code}:{wall}"
    used = ":".join(["0"] * 17)
    tail = f"NONE:dep:mpi:{slots}:{task}:60.1:7.3:0.0:{asked}:0.0:{slave}:189153280:0:0"
    return f"{head}:{used}:{tail}\n"


def test_the_shape_is_that_of_the_manual() -> None:
    """Slots are field 35, the task field 36, the slave's task field 42."""
    fields = record(slots=24, task=7, slave="1.m2").split(":")
    assert (fields[34], fields[35], fields[41], len(fields)) == ("24", "7", "1.m2", 45)


def test_seconds_and_milliseconds_are_told_by_their_digits(tmp_path: Path) -> None:
    """The same job by both kinds of Grid Engine has the same instants, and an hour of wall time."""
    milli = (SUBMIT * 1000, START * 1000 + 5, END * 1000 + 5)
    text = record() + record(901, milli, wall="3600.000") + record(902, milli, wall="3600000")
    found = jobs(read(tmp_path / "accounting", "sge", text))
    assert {row["submit_us"] for row in found} == {us("2031-04-05T06:06:40")}
    assert [row["start_us"] for row in found] == [START * 1_000_000, START * 1_000_000 + 5000, START * 1_000_000 + 5000]
    assert {row["elapsed_us"] for row in found} == {3_600_000_000}
    assert {row["end_us"] - row["start_us"] for row in found} == {3_600_000_000}


def test_the_exit_code_tells_how_a_run_ended(tmp_path: Path) -> None:
    """Where Grid Engine itself saw no failure; another number than 0 there says nothing of the job's own end."""
    text = record(1) + record(2, code=3) + record(3, failed=100, code=137)
    (tmp_path / "accounting").write_text(text)
    ettlog.ingest([tmp_path / "accounting"], tmp_path / "lake")
    held = ettlog.open(tmp_path / "lake").sql("SELECT job, end_state FROM _held").rows()
    assert dict(held) == {"1": "completed", "2": "failed", "3": None}


def test_a_job_that_never_started(tmp_path: Path) -> None:
    """Times of 0 and -1 are none."""
    found = jobs(
        read(tmp_path / "accounting", "sge", record(1, (SUBMIT, 0, 0), failed=26) + record(2, (SUBMIT, -1, -1)))
    )
    assert [(row["start_us"], row["end_us"], row["state"]) for row in found] == [
        (None, None, "failed 26"),
        (None, None, "failed 0"),
    ]


def test_restarts_and_array_tasks_are_attempts_of_their_own(tmp_path: Path) -> None:
    """A second record with another start is another attempt; tasks carry their number; a repeat is none."""
    again = record(times=(SUBMIT, END + 60, END + 90))
    parsed = read(
        tmp_path / "accounting", "sge", record(failed=25) + again + record(task=3) + again.replace("7200", "1")
    )
    assert [(row["id"], row["state"]) for row in jobs(parsed)] == [
        ("900", "failed 25"),
        ("900", "failed 0"),
        ("900.3", "failed 0"),
    ]
    assert parsed.lines == {"matched": 3, "duplicate": 1}


def test_slaves_of_a_parallel_job_hold_nothing_of_their_own(tmp_path: Path) -> None:
    """A slave's record is a step: its hardware is the job's."""
    parsed = read(tmp_path / "accounting", "sge", record(slave="1.m2") + record(slave="1.m3") + record())
    assert [row["record"] for row in parsed.allocs.to_pylist()] == ["step", "step", "job"]


def test_signals_and_gpus_asked_for(tmp_path: Path) -> None:
    """137 is signal 9; a request is kept only where one slot leaves no doubt what it counts for."""
    text = record(1, code=137, slots=1, asked="-l gpu=2") + record(2, code=1, asked="-l gpu=2")
    found = jobs(read(tmp_path / "accounting", "sge", text))
    assert [(row["exit_code"], row["exit_signal"], row["gpus"], row["gpus_requested"]) for row in found] == [
        (None, 9, None, 2),
        (1, None, None, None),
    ]


def test_bad_lines_are_counted(tmp_path: Path) -> None:
    """Comments, an end before the start, too few fields, and a torn last line."""
    text = "# Version\n" + record() + record(times=(SUBMIT, END, START)) + "a:b:c\n" + record(5)[:50]
    assert read(tmp_path / "accounting", "sge", text).lines == {
        "ignored": 1,
        "matched": 1,
        "bad_time": 1,
        "bad_record": 1,
        "torn": 1,
    }
