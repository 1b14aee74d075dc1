"""`qacct -j`: three ways of writing a time, records that never started, tasks, slaves, torn ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scheduling import jobs, read, us

RULE = "=" * 62 + "\n"
CTIME = ("Sat Apr  5 06:06:40 2031", "Sat Apr  5 06:07:40 2031", "Sat Apr  5 07:07:40 2031")
SLASHES = ("04/05/2031 06:06:40.000", "04/05/2031 06:07:40.000", "04/05/2031 07:07:40.000")
ISO = ("2031-04-05 06:06:40.000000", "2031-04-05 06:07:40.000000", "2031-04-05 07:07:40.000000")


def record(
    job: int = 900,
    times: tuple[str, str, str] = CTIME,
    *,
    failed: str = "0",
    code: str = "0",
    wall: str = "3600",
    slots: int = 8,
    task: str = "undefined",
    slave: str = "NONE",
    category: str = "-l h_rt=7200",
) -> str:
    """Write one record as qacct prints it, padded with blanks."""
    fields = {
        "qname": "gpu.q", "hostname": "m1", "group": "staff", "owner": "kim", "project": "NONE", "department": "dep",
        "jobname": "pre", "jobnumber": str(job), "taskid": task, "pe_taskid": slave, "account": "sge", "priority": "0",
        "qsub_time": times[0], "start_time": times[1], "end_time": times[2], "granted_pe": "mpi", "slots": str(slots),
        "failed": failed, "exit_status": code, "ru_wallclock": wall, "ru_utime": "0.060", "category": category,
    }  # fmt: skip
    return RULE + "".join(f"{key:12} {value:20}\n" for key, value in fields.items())


@pytest.mark.parametrize(("times", "wall"), [(CTIME, "3600"), (SLASHES, "3600.000"), (ISO, "3600s")])
def test_every_way_of_writing_a_time_is_read(tmp_path: Path, times: tuple[str, str, str], wall: str) -> None:
    """A job submitted at 06:06:40, an hour long from 06:07:40, as ctime, with slashes and as ISO dates."""
    (row,) = jobs(read(tmp_path / "acct.txt", "qacct", record(times=times, wall=wall)))
    assert [row[key] for key in ("submit_us", "start_us", "end_us", "elapsed_us")] == [
        us("2031-04-05T06:06:40"), us("2031-04-05T06:07:40"), us("2031-04-05T07:07:40"), 3_600_000_000,
    ]  # fmt: skip
    assert (row["id"], row["name"], row["user"], row["partition"], row["node"], row["cpus"], row["state"]) == (
        "900", "pre", "kim", "gpu.q", "m1", 8, "failed 0",
    )  # fmt: skip


def test_a_job_that_never_started_holds_nothing(tmp_path: Path) -> None:
    """`-/-` is no time: no start, no end, no node, no exit code; why it failed is kept."""
    text = record(times=(CTIME[0], "-/-", "-/-"), failed="26  : opening input/output file", wall="0")
    (row,) = jobs(read(tmp_path / "acct.txt", "qacct", text))
    assert [row[key] for key in ("start_us", "end_us", "node", "elapsed_us", "exit_code")] == [None] * 5
    assert row["state"] == "failed 26"


def test_a_signal_and_the_gpus_of_one_slot(tmp_path: Path) -> None:
    """Exit status 137 is signal 9; GPUs asked for are known where there is one slot, unknown where there are eight."""
    text = record(1, code="137                  (Killed)", slots=1, category="-l gpu=2,h_rt=60") + record(
        2, category="-l gpu=2"
    )
    first, second = jobs(read(tmp_path / "acct.txt", "qacct", text))
    assert (first["exit_code"], first["exit_signal"], first["gpus_requested"]) == (None, 9, 2)
    assert (second["exit_code"], second["gpus_requested"]) == (0, None)


def test_tasks_slaves_and_repeats(tmp_path: Path) -> None:
    """Tasks carry their number, a slave is a step, and a record printed twice is a duplicate; every line is counted."""
    text = record(task="3") + record(slave="1.m2") + record() + record() + RULE
    parsed = read(tmp_path / "acct.txt", "qacct", text)
    rows = parsed.allocs.to_pylist()
    assert [(row["record"], row["id"]) for row in rows] == [("job", "900.3"), ("step", "900"), ("job", "900")]
    assert {key: count for key, count in parsed.lines.items() if count} == {
        "matched": 66,
        "duplicate": 22,
        "ignored": 5,
    }


def test_a_torn_record_is_no_job(tmp_path: Path) -> None:
    """A file that ends inside a record has a torn one; a record with a time that is none is told apart."""
    torn = record(1) + record(2)[: -len(record(2)) // 2]
    parsed = read(tmp_path / "torn.txt", "qacct", torn)
    assert [row["id"] for row in parsed.allocs.to_pylist()] == ["1"]
    assert parsed.lines["torn"] > 0
    parsed = read(tmp_path / "bad.txt", "qacct", record(times=("soon", *CTIME[1:])))
    assert (parsed.lines["bad_time"], parsed.allocs.num_rows) == (22, 0)
