"""Cells of scheduler accounting: ids, states, times, durations and GPUs; expected values are worked out by hand."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from ettlog.parse import sacct_cells
from tests.accounting import HEAD, RAN, read, row, rows, us


@pytest.mark.parametrize(
    ("job", "record", "raw"),
    [
        ("12", "job", "12"),
        ("12.batch", "step", "12"),
        ("12.extern", "step", "12"),
        ("12.0", "step", "12"),
        ("12_7", "job", "12_7"),
        ("12_7.0", "step", "12_7"),
        ("12_[1-3,5%2]", "job", "12_[1-3,5%2]"),
        ("12_[..%500]", "job", "12_[..%500]"),
        ("12+1", "job", "12+1"),
        ("12+1.batch", "step", "12+1"),
    ],
)
def test_ids_of_all_forms_are_kept(tmp_path: Path, job: str, record: str, raw: str) -> None:
    """Arrays, het jobs and steps keep their printed id; a step is kept apart from its job."""
    found = rows(read(tmp_path, f"JobID|State\n{job}|FAILED\n"))[0]
    assert (found["id"], found["record"], found["raw"]) == (job, record, raw)


def test_the_raw_id_joins_a_step_to_its_job(tmp_path: Path) -> None:
    """An array task's plain number differs from its printed id."""
    found = rows(read(tmp_path, "JobID|JobIDRaw|State\n12_7.0|19.0|FAILED\n"))[0]
    assert (found["id"], found["raw"]) == ("12_7.0", "19")


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ("CANCELLED by 1007", "CANCELLED"),
        ("CANCELLED+", "CANCELLED"),
        ("OUT_OF_MEMORY", "OUT_OF_MEMORY"),
        ("NOVEL_STATE", "NOVEL_STATE"),
        ("node_fail", "NODE_FAIL"),
    ],
)
def test_states_lose_who_did_it_and_unknown_ones_are_carried(tmp_path: Path, state: str, told: str) -> None:
    """A state is a word in capitals."""
    assert rows(read(tmp_path, f"{HEAD}\n{row(state=state)}\n"))[0]["state"] == told


def cancelled(start: str, nodes: str = "None assigned", state: str = "CANCELLED by 7") -> str:
    """Write a record of a job that may never have run."""
    times = f"2024-03-01T10:00:00|2024-03-01T10:00:00|{start}|2024-03-01T10:30:00|00:00:00"
    return row(state=state, times=times).replace("n[1-2]", nodes)


@pytest.mark.parametrize("start", ["None", "Unknown", "", "2024-03-01T10:30:00", "1970-01-01T00:00:00"])
def test_a_job_that_never_ran_has_no_start_and_no_gpus(tmp_path: Path, start: str) -> None:
    """All ways in which releases print it give no start and none of the GPUs that some of them fill in."""
    found = rows(read(tmp_path, f"{HEAD}\n{row()}\n{cancelled(start)}\n"))[1]
    assert (found["start_us"], found["gpus"], found["gpus_requested"]) == (None, 0, 16)
    assert found["end_us"] == us("2024-03-01T10:30:00")


def test_a_job_of_no_length_on_a_node_did_run(tmp_path: Path) -> None:
    """Start equal to End is not enough where the record names a node."""
    text = f"{HEAD}\n{cancelled('2024-03-01T10:30:00', 'n1', 'FAILED')}\n{cancelled('2024-03-01T10:30:00', 'n1')}\n"
    assert [one["start_us"] for one in rows(read(tmp_path, text))] == [us("2024-03-01T10:30:00")] * 2


def test_without_nodes_the_state_decides_whether_it_ran(tmp_path: Path) -> None:
    """A cancelled job of no length never ran; a failed one did."""
    text = "JobID|State|Start|End\n" + "".join(
        f"{n}|{state}|2024-03-01T10:00:00|2024-03-01T10:00:00\n" for n, state in ((1, "CANCELLED by 5"), (2, "FAILED"))
    )
    assert [one["start_us"] for one in rows(read(tmp_path, text))] == [None, us("2024-03-01T10:00:00")]


@pytest.mark.parametrize(("state", "started"), [("RUNNING", True), ("PENDING", False), ("SUSPENDED", True)])
def test_an_open_job_has_no_end(tmp_path: Path, state: str, started: bool) -> None:
    """The end of a job that is not over is a forecast; so is the start of a pending one."""
    found = rows(read(tmp_path, f"{HEAD}\n{row(state=state)}\n"))[0]
    assert found["end_us"] is None
    assert (found["start_us"] is not None) == started


def test_an_end_that_is_not_known_stays_unknown(tmp_path: Path) -> None:
    """A cancelled row with End Unknown keeps its elapsed time and no end."""
    times = RAN.replace("2024-03-01T12:10:00|02:00:00", "Unknown|00:00:17")
    found = rows(read(tmp_path, f"{HEAD}\n{row(state='CANCELLED by 7', times=times)}\n"))[0]
    assert (found["end_us"], found["elapsed_us"]) == (None, 17_000_000)


@pytest.mark.parametrize(
    "stamp", ["2024-02-31T10:00:00", "yesterday", "2024-03-01T25:00:00", "1812-03-01T10:00:00", "2024-03-01 10h00:00"]
)
def test_a_time_that_is_none_rejects_its_record(tmp_path: Path, stamp: str) -> None:
    """One unreadable time makes a record useless: it is counted as bad time."""
    parsed = read(tmp_path, f"{HEAD}\n{row(times=RAN.replace('2024-03-01T10:10:00', stamp))}\n{row('4002')}\n")
    assert [one["id"] for one in rows(parsed)] == ["4002"]
    assert parsed.lines == {"bad_time": 1, "ignored": 1, "matched": 1}


def test_an_end_before_its_start_is_a_bad_time(tmp_path: Path) -> None:
    """Such a record would give negative hours."""
    parsed = read(tmp_path, f"{HEAD}\n{row(times=RAN.replace('T12:10:00', 'T09:10:00'))}\n")
    assert parsed.lines == {"bad_time": 1, "ignored": 1}


@pytest.mark.parametrize(
    ("zone", "start", "clock"),
    [(None, "2024-03-01T10:10:00", "zone_assumed"), ("Asia/Tokyo", "2024-03-01T01:10:00", "zone_set")],
)
def test_local_times_are_of_the_zone_told_or_said_to_be_assumed(
    tmp_path: Path, zone: str | None, start: str, clock: str
) -> None:
    """Tokyo is nine hours ahead of UTC; without a zone the assumption is on record."""
    parsed = read(tmp_path, f"{HEAD}\n{row()}\n", zone=zone)
    assert (rows(parsed)[0]["start_us"], rows(parsed)[0]["clock"]) == (us(start), clock)
    assert bool(parsed.inferences) == (zone is None)


@pytest.mark.parametrize(
    "stamp", ["2024-03-01T10:10:00+00:00", "2024-03-01T05:10:00-0500", "1709287800", "2024-03-01T10:10:00Z"]
)
def test_stamps_with_a_zone_of_their_own_are_exact(tmp_path: Path, stamp: str) -> None:
    """SLURM_TIME_FORMAT may add an offset or give seconds since 1970."""
    found = rows(read(tmp_path, f"JobID|State|Start\n7|RUNNING|{stamp}\n", zone="Asia/Tokyo"))[0]
    assert (found["start_us"], found["clock"]) == (us("2024-03-01T10:10:00"), "exact")


def test_a_clock_change_inside_a_job_is_seen_through(tmp_path: Path) -> None:
    """In Berlin the hour from 02:00 came twice on 2024-10-27: a start in its first run may end in its second."""
    times = "2024-10-27T02:00:00|2024-10-27T02:00:00|2024-10-27T02:40:00|2024-10-27T02:10:00|00:30:00"
    found = rows(read(tmp_path, f"{HEAD}\n{row(times=times)}\n", zone="Europe/Berlin"))[0]
    assert found["start_us"] == us("2024-10-27T00:40:00")
    assert found["end_us"] == us("2024-10-27T01:10:00")
    unzoned = rows(read(tmp_path, f"{HEAD}\n{row(times=times)}\n"))[0]
    assert unzoned["end_us"] - unzoned["start_us"] == 1_800_000_000


def test_the_clock_agrees_with_the_library_on_every_half_hour() -> None:
    """The table of offsets gives what Python's own zones give, in a zone that changes by half an hour."""
    import pyarrow as pa

    clock = sacct_cells.Clock("Australia/Lord_Howe")
    stamps = [
        f"2024-{m:02}-{d:02}T{h:02}:{t:02}:{t % 7:02}"
        for m in (4, 10)
        for d in (6, 7)
        for h in range(24)
        for t in (5, 35)
    ]
    expected = [round(datetime.fromisoformat(s).replace(tzinfo=clock.zone).timestamp()) * 1_000_000 for s in stamps]
    found = clock.column(pa.array([s.encode() for s in stamps], pa.binary()), len(stamps))
    assert found.tolist() == expected


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("00:00:00", 0.0),
        ("02:03:04", 7384.0),
        ("3-02:03:04", 266584.0),
        ("15:45.742", 945.742),
        ("01:02", 62.0),
        ("100:00:00", 360000.0),
        ("166", 166.0),
    ],
)
def test_durations_of_all_shapes(text: str, seconds: float) -> None:
    """Days, hours, minutes and milliseconds as sacct prints them."""
    assert sacct_cells.duration(text.encode()) == round(seconds * 1_000_000)


@pytest.mark.parametrize("text", ["", "UNLIMITED", "Partition_Limit", "1:2:3:4", "-16", "00:00:0x"])
def test_what_is_no_duration_is_unknown(text: str) -> None:
    """Words of the scheduler are no lengths of time."""
    assert sacct_cells.duration(text.encode()) is None


@pytest.mark.parametrize(
    ("text", "gpus"),
    [
        ("cpu=4,gres/gpu=8,node=1", 8),
        ("gres/gpu=8,gres/gpu:a100=8", 8),
        ("gres/gpu:a100=4,gres/gpu:h100=2", 6),
        ("gres/gpu:a=999999999,gres/gpu:b=999999999,gres/gpu:c=147483649", (1 << 31) - 1),
        ("gres/gpu:a=999999999,gres/gpu:b=999999999,gres/gpu:c=147483650", None),
        ("gres/gpumem=80G", None),
        ("gres/gpuutil=100,cpu=2", None),
        ("cpu=4", None),
        ("", None),
    ],
)
def test_gpus_are_counted_once(text: str, gpus: int | None) -> None:
    """Typed entries repeat the same GPUs; only where they stand alone are they added."""
    assert sacct_cells.gpus(text.encode()) == gpus


def test_gpus_are_unknown_where_no_record_names_one(tmp_path: Path) -> None:
    """A cluster that does not account GPUs gives no zeros."""
    assert [one["gpus"] for one in rows(read(tmp_path, f"{HEAD}\n{row(tres='cpu=4')}\n{row('5', tres='')}\n"))] == [
        None,
        None,
    ]
    mixed = f"{HEAD}\n{row()}\n{row('5', tres='cpu=4')}\n{row('6', tres='')}\n"
    assert [one["gpus"] for one in rows(read(tmp_path, mixed))] == [8, 0, None]


def test_numbers_with_units_and_odd_exit_codes(tmp_path: Path) -> None:
    """`1.20K` nodes are 1200; an exit code that is none is unknown."""
    text = "JobID|State|NNodes|ExitCode\n1|FAILED|1.20K|6:9\n2|FAILED|many|?\n"
    found = rows(read(tmp_path, text))
    assert [(one["nodes"], one["exit_code"], one["exit_signal"]) for one in found] == [(1200, 6, 9), (None, None, None)]


def test_without_any_times_the_elapsed_time_is_kept(tmp_path: Path) -> None:
    """A listing of attempts without stamps still tells how long each held its hardware."""
    parsed = read(tmp_path, "Elapsed|JobID|State\n01:04:49|23|REQUEUED\n00:35:53|23|REQUEUED\n")
    assert [one["elapsed_us"] // 1_000_000 for one in rows(parsed)] == [3889, 2153]
    assert (parsed.clock, parsed.first_us, parsed.inferences) == ("none", None, [])
