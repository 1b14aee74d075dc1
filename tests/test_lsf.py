"""LSF accounting: order of fields, quotes, hosts, jobs that never started."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scheduling import jobs, read, us

SUBMIT, START, END = 1_933_135_600, 1_933_135_660, 1_933_139_260


def record(
    job: int = 4711,
    *,
    start: int = START,
    end: int = END,
    hosts: str = '2 "m1" "m2"',
    status: int = 64,
    name: str = "pre",
    command: str = "train",
    code: int = 0,
    needs: str = "",
    index: int = 0,
    kind: str = "JOB_FINISH",
) -> str:
    """Write one record in the order of LSF's manual."""
    usage = "1.0 2.0 0 0 -1 0 0 3 4 0 0 0 -1 0 0 0 5 6 -1"
    return (
        f'"{kind}" "10.1" {end} {job} 4001 33816578 16 {SUBMIT} 0 0 {start} "kim" "normal" "{needs}" "" "" "login" '
        f'"/home/kim" "" "out" "err" "{SUBMIT}.{job}" 0 {hosts} {status} 60.0 "{name}" "{command}" {usage} '
        f'"" "default" {code} 16 "" "" {index} 0 0 "" "" "" "" 0 "" 0\n'
    )


def test_a_finished_job(tmp_path: Path) -> None:
    """Times are exact; the wait is 60 s, the run an hour."""
    (row,) = jobs(read(tmp_path / "lsb.acct", "lsf", record()))
    assert (row["id"], row["state"], row["user"], row["partition"]) == ("4711", "DONE", "kim", "normal")
    assert (row["start_us"] - row["submit_us"], row["end_us"] - row["start_us"]) == (60_000_000, 3_600_000_000)
    assert (row["submit_us"], row["clock"], row["eligible_us"]) == (us("2031-04-05T06:06:40"), "exact", None)
    assert (row["nodes"], row["cpus"], row["exit_code"], row["gpus"]) == (2, 16, 0, None)


def test_hosts_in_short_and_long_form_shift_nothing(tmp_path: Path) -> None:
    """`8*m1` counts eight slots on one host; fields behind the hosts are read where they stand."""
    text = record(1, hosts='2 "8*m1" "8*m2"') + record(2, hosts='3 "m1" "m1" "m2"') + record(3, hosts='1 "16*m9"')
    found = jobs(read(tmp_path / "lsb.acct", "lsf", text))
    assert [(row["nodes"], row["cpus"], row["state"], row["node"]) for row in found] == [
        (2, 16, "DONE", None),
        (2, 3, "DONE", None),
        (1, 16, "DONE", "m9"),
    ]


def test_a_job_that_never_started(tmp_path: Path) -> None:
    """Start 0 is no run since 1970, and its exit status 0 no success."""
    (row,) = jobs(read(tmp_path / "lsb.acct", "lsf", record(start=0, hosts="0", status=32)))
    assert (row["start_us"], row["end_us"]) == (None, us("2031-04-05T07:07:40"))
    assert (row["state"], row["exit_code"], row["nodes"]) == ("EXIT", None, None)


def test_quotes_and_line_ends_inside_a_text(tmp_path: Path) -> None:
    """A doubled quote is a quote; a record goes on until its quotes close."""
    text = record(1, command='echo ""a b"" 7\nsleep 1\n') + record(2)
    parsed = read(tmp_path / "lsb.acct", "lsf", text)
    assert [(row["id"], row["line"]) for row in jobs(parsed)] == [("1", 1), ("2", 4)]
    assert parsed.lines == {"matched": 4}


def test_a_missing_blank_is_rejected_not_shifted(tmp_path: Path) -> None:
    """Two texts glued together make one field less: nothing is read from behind them."""
    parsed = read(tmp_path / "lsb.acct", "lsf", record().replace('"err" "', '"err""') + record(2))
    assert parsed.lines == {"bad_record": 1, "matched": 1}


def test_exit_status_is_a_wait_status(tmp_path: Path) -> None:
    """65280 is code 255; 9 is signal 9."""
    found = jobs(read(tmp_path / "lsb.acct", "lsf", record(1, code=65280, status=32) + record(2, code=9, status=32)))
    assert [(row["exit_code"], row["exit_signal"]) for row in found] == [(255, 0), (0, 9)]


def test_elements_of_an_array_are_told_apart(tmp_path: Path) -> None:
    """Elements share the number of their array; each is a job."""
    text = record(5, name="sweep[1-9]", index=3) + record(5, name="sweep[1-9]", index=4)
    assert [row["id"] for row in jobs(read(tmp_path / "lsb.acct", "lsf", text))] == ["5[3]", "5[4]"]


def test_one_attempt_told_twice_counts_once(tmp_path: Path) -> None:
    """Equal job, submission and start are one attempt; another start is another one."""
    text = record(name="a") + record(name="b") + record(start=START + 9)
    parsed = read(tmp_path / "lsb.acct", "lsf", text)
    assert (len(jobs(parsed)), parsed.lines) == (2, {"duplicate": 1, "matched": 2})


def test_gpus_are_those_asked_for(tmp_path: Path) -> None:
    """The record holds only what was asked of each host: kept as asked, never as held."""
    (row,) = jobs(read(tmp_path / "lsb.acct", "lsf", record(needs="select[x] rusage[ngpus_physical=4]")))
    assert (row["gpus"], row["gpus_requested"]) == (None, 8)


def test_other_records_and_broken_ones_are_counted(tmp_path: Path) -> None:
    """A resize is a mark; an end before the start, an open quote and a torn record are no jobs."""
    text = (
        record(kind="JOB_RESIZE")
        + record(end=START - 1)
        + '"JOB_FINISH" "10.1" 1933139260 1 "open\n'
        + '"EVENT_ADRSV_FINISH" "10.1" 1933139260 1 2\n'
        + record()
        + record(6)[:90]
    )
    parsed = read(tmp_path / "lsb.acct", "lsf", text)
    assert parsed.lines == {"matched": 2, "bad_time": 1, "bad_record": 1, "ignored": 1, "torn": 1}


@pytest.mark.parametrize("cut", [30, 60, 100, 150, 200, 250])
def test_a_number_too_many_never_raises(tmp_path: Path, cut: int) -> None:
    """Hosts by the million, or a text where a number belongs, are counted."""
    text = record()
    broken = text[:cut] + "999999999 " + text[cut:]
    parsed = read(
        tmp_path / "lsb.acct", "lsf", record(1) + broken.replace("\n", "") + "\n" + record(hosts='99999999 "m"')
    )
    assert parsed.lines["matched"] >= 1
