"""The long listings of LSF: bhist, bacct and bjobs with -l."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.scheduling import jobs, read, us

MORE = "\n                     "
HEAD = f"Job <71>, Job Name <pre>, User <kim>, Project <default>, Command <python3{MORE} train.py>\n"
ASKED = (
    f"Sat Apr  5 06:00:00: Submitted from host <login1>, to Queue <bi{MORE}g>, CWD <$HOME>, "
    "Requested GPU <num=4:mode=shared>;\n"
)
GIVEN = "Sat Apr  5 06:10:00: Dispatched 8 Task(s) on Host(s) <8*m7>, Allocated 8 Slot(s) on Host(s) <8*m7>;\n"
BEGUN = "Sat Apr  5 06:10:01: Starting (Pid 4242);\n"


def rows(tmp_path: Path, *lines: str, **options: Any) -> list[dict[str, Any]]:
    """Return the attempts that a listing tells of, read as of 2031."""
    told = {"year_hint": 2031, "zone": "UTC"} | options
    return jobs(read(tmp_path / "bhist.txt", "lsf_history", "\n" + "".join(lines), **told))


@pytest.mark.parametrize(
    ("line", "state", "code", "signal", "reason"),
    [
        ("Done successfully. The CPU time used is 0.1 seconds;", "DONE", 0, None, None),
        ("Exited with exit code 3. The CPU time used is 0.1 seconds;", "EXIT", 3, None, None),
        ("Exited by signal 9. The CPU time used is 0.1 seconds;", "EXIT", None, 9, None),
        (
            "Completed <exit>; TERM_RUNLIMIT: job killed after reaching LSF run time limit.",
            "EXIT",
            None,
            None,
            "TERM_RUNLIMIT",
        ),
        ("Completed <done>.", "DONE", 0, None, None),
    ],
)
def test_ends_of_a_job(
    tmp_path: Path, line: str, state: str, code: int | None, signal: int | None, reason: str | None
) -> None:
    """Ten minutes of waiting and an hour on one host; values that the page cuts are put together again."""
    (row,) = rows(tmp_path, HEAD, ASKED, GIVEN, BEGUN, f"Sat Apr  5 07:10:00: {line}\n")
    assert (row["id"], row["name"], row["user"], row["partition"]) == ("71", "pre", "kim", "big")
    assert [row[key] for key in ("submit_us", "start_us", "end_us")] == [
        us("2031-04-05T06:00:00"), us("2031-04-05T06:10:00"), us("2031-04-05T07:10:00"),
    ]  # fmt: skip
    assert (row["state"], row["exit_code"], row["exit_signal"]) == (state, code, signal)
    assert (row["reason"] or "").partition(":")[0] == (reason or "")
    assert (row["nodes"], row["node"], row["gpus"], row["gpus_requested"]) == (1, "m7", None, 4)


def test_a_requeued_job_waits_again(tmp_path: Path) -> None:
    """The second attempt is submitted when the job went back; GPUs of several hosts are not multiplied."""
    first, second = rows(
        tmp_path, HEAD, ASKED, GIVEN,
        "Sat Apr  5 06:30:00: Exited with exit code 99. The CPU time used is 9.0 seconds;\n",
        "Sat Apr  5 06:30:01: Requeued by user or administrator <kim>;\n",
        "Sat Apr  5 06:40:00: Dispatched 16 Task(s) on Host(s) <8*m7> <8*m8>;\n",
    )  # fmt: skip
    assert (first["state"], first["exit_code"], first["restarts"]) == ("EXIT", 99, 0)
    assert (second["submit_us"], second["start_us"]) == (us("2031-04-05T06:30:01"), us("2031-04-05T06:40:00"))
    assert (second["state"], second["end_us"], second["restarts"]) == ("RUN", None, 1)
    assert (second["nodes"], second["node"], second["gpus_requested"]) == (2, None, None)


def test_several_jobs_over_the_turn_of_a_year(tmp_path: Path) -> None:
    """A waiting job never started; one that ran over New Year's Eve took an hour, whatever the year is."""
    text = HEAD.replace("71", "72[3]") + "Tue Dec 31 23:00:00: Submitted from host <login1>, to Queue <big>;\n"
    ran = "Tue Dec 31 23:30:00: Started on <m9>;\n"
    ran += "Wed Jan  1 00:30:00: Done successfully. The CPU time used is 1 second;\n"
    rule = "-" * 78 + "\n\n"
    over, waits = rows(tmp_path, text, ran, rule, HEAD, ASKED, year_hint=2030)
    assert (over["id"], over["end_us"] - over["start_us"], over["node"]) == ("72[3]", 3_600_000_000, "m9")
    assert (waits["state"], waits["start_us"], waits["end_us"]) == ("PEND", None, None)


def test_without_a_year_only_differences_are_true(tmp_path: Path) -> None:
    """The listing never prints a year."""
    (row,) = jobs(read(tmp_path / "bhist.txt", "lsf_history", HEAD + ASKED + GIVEN))
    assert row["clock"] == "date_nominal"
    assert row["start_us"] - row["submit_us"] == 600_000_000


def test_other_lines_are_ignored_and_a_cut_one_is_torn(tmp_path: Path) -> None:
    """Tables behind the entries say nothing of an attempt; the last line may break off."""
    parsed = read(tmp_path / "bhist.txt", "lsf_history", HEAD + ASKED + GIVEN + "\nMEMORY USAGE:\nSat Apr  5 06:1")
    assert parsed.lines == {"matched": 5, "ignored": 2, "torn": 1}


@pytest.mark.parametrize("hosts", ["<<>", "<", "<>", "<<<<>>>>", "<m7", "8*<<m7>", "<8*>"])
def test_hosts_that_are_none_end_nothing(tmp_path: Path, hosts: str) -> None:
    """Whatever stands where the hosts should, the job is told of, and its end is seen."""
    given = f"Sat Apr  5 06:10:00: Started on {hosts}, Allocated 8 Slot(s);\n"
    end = "Sat Apr  5 07:10:00: Done successfully. The CPU time used is 0.1 seconds;\n"
    (row,) = rows(tmp_path, HEAD, ASKED, given, end)
    assert (row["id"], row["state"], row["end_us"]) == ("71", "DONE", us("2031-04-05T07:10:00"))
