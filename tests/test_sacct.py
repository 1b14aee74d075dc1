"""Scheduler accounting: layouts, broken records, times, states and GPUs; expected numbers are worked out by hand."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ettlog.parse import records, sacct, sacct_cells, sacct_lines
from ettlog.parse.parsed import Parsed, ScanOptions

HEAD = "JobID|JobIDRaw|JobName|State|Submit|Eligible|Start|End|Elapsed|AllocTRES|ReqTRES|NNodes|NodeList|ExitCode"
RAN = "2024-03-01T10:00:00|2024-03-01T10:00:05|2024-03-01T10:10:00|2024-03-01T12:10:00|02:00:00"
GPUS = "billing=9,cpu=64,gres/gpu=8,gres/gpu:h100=8,mem=1T,node=2"


def row(job: str = "4001", name: str = "pre", state: str = "COMPLETED", times: str = RAN, tres: str = GPUS) -> str:
    """Write one record under HEAD."""
    return f"{job}|{job}|{name}|{state}|{times}|{tres}|cpu=64,gres/gpu=16,node=2|2|n[1-2]|0:0"


def read(tmp_path: Path, text: str | bytes, **options: Any) -> Parsed:
    """Read a text as a file and check that every line has one outcome."""
    path = tmp_path / "sacct.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    parsed = sacct.read(path, ScanOptions(**options))
    assert sum(parsed.lines.values()) == parsed.n_lines
    return parsed


def rows(parsed: Parsed) -> list[dict[str, Any]]:
    """Return the rows as dictionaries."""
    found: list[dict[str, Any]] = parsed.allocs.to_pylist()
    return found


def us(text: str) -> int:
    """Return microseconds of an ISO stamp in UTC."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1_000_000


def test_one_record_gives_all_its_columns(tmp_path: Path) -> None:
    """Every column of the table is filled from its field, and GPUs are counted once."""
    head = HEAD + "|Cluster|User|Partition|Reason|Suspended|Restarts"
    parsed = read(tmp_path, f"{head}\n{row()}|west|ada|gpu|Priority|00:01:30|3\n", zone="UTC")
    assert rows(parsed) == [
        {
            "line": 2,
            "record": "job",
            "cluster": "west",
            "id": "4001",
            "raw": "4001",
            "name": "pre",
            "user": "ada",
            "partition": "gpu",
            "state": "COMPLETED",
            "reason": "Priority",
            "submit_us": us("2024-03-01T10:00:00"),
            "eligible_us": us("2024-03-01T10:00:05"),
            "start_us": us("2024-03-01T10:10:00"),
            "end_us": us("2024-03-01T12:10:00"),
            "clock": "zone_set",
            "elapsed_us": 7_200_000_000,
            "suspended_us": 90_000_000,
            "nodes": 2,
            "gpus": 8,
            "gpus_requested": 16,
            "exit_code": 0,
            "exit_signal": 0,
            "restarts": 3,
            **dict.fromkeys(("ready_us", "task", "node", "cpus", "gpu_milli", "gpu_us", "count")),
        }
    ]
    assert parsed.lines == {"ignored": 1, "matched": 1}
    assert (parsed.formats, parsed.state, parsed.clock) == ({"sacct": 1}, "whole", "zone_set")
    assert (parsed.first_us, parsed.last_us) == (us("2024-03-01T10:00:00"), us("2024-03-01T12:10:00"))


@pytest.mark.parametrize("delimiter", ["|", "|#", ",", ";", "\t", "@@@", "||", "^", "\x1f"])
@pytest.mark.parametrize("ending", ["", "end"])
def test_any_delimiter_is_found_in_the_header(tmp_path: Path, delimiter: str, ending: str) -> None:
    """The delimiter is what stands between the names, whether or not it also ends the line."""
    tail = delimiter if ending else ""
    tres = "gres/gpu=8"
    lines = [HEAD, row(tres=tres).replace("cpu=64,gres/gpu=16,node=2", "gres/gpu=16")]
    text = "".join(line.replace("|", delimiter) + tail + "\n" for line in lines)
    assert sacct.sniff(text.encode(), ScanOptions())
    found = rows(read(tmp_path, text))
    assert [(one["id"], one["gpus"], one["gpus_requested"], one["exit_signal"]) for one in found] == [
        ("4001", 8, 16, 0)
    ]


def test_columns_go_by_name_in_any_order(tmp_path: Path) -> None:
    """Another release's field set and order gives the same row."""
    found = rows(read(tmp_path, "State|Shiny|JobID|End\nFAILED|x|7|2024-03-01T12:00:00\n"))
    assert (found[0]["id"], found[0]["state"], found[0]["end_us"]) == ("7", "FAILED", us("2024-03-01T12:00:00"))
    assert (found[0]["start_us"], found[0]["gpus"], found[0]["name"]) == (None, None, None)


def test_without_header_the_fields_must_be_told(tmp_path: Path) -> None:
    """A headerless file is known by its fields only when they fit; a header stands above told fields."""
    fields = tuple(HEAD.split("|"))
    text = f"{row()}\n{row('4002')}\n"
    assert not sacct.sniff(text.encode(), ScanOptions())
    assert sacct.sniff(text.encode(), ScanOptions(sacct_fields=fields))
    assert not sacct.sniff(text.encode(), ScanOptions(sacct_fields=fields[1:]))
    assert not sacct.sniff(b"a|b\n" * 9, ScanOptions(sacct_fields=("JobID", "State")))
    assert [one["id"] for one in rows(read(tmp_path, text, sacct_fields=fields))] == ["4001", "4002"]
    headed = read(tmp_path, "JobID|State\n5|FAILED\n", sacct_fields=("State", "JobID"))
    assert rows(headed)[0]["state"] == "FAILED"


def test_accounting_without_a_header_is_advised_on(tmp_path: Path) -> None:
    """A user who forgot the header learns what to do; other tables with bars do not get the advice."""
    path = tmp_path / "x"
    for text, advised in (
        (f"{row()}\n{row('4002')}\n", True),
        (row(), True),
        (f"{row()}\n{row('4002')}|x\n{row('4003')}\n", False),
        ("1|a|b|c|d\n2|a|b|c|d\n", False),
        ("hello\n", False),
        ("", False),
    ):
        path.write_text(text)
        assert bool(records.advice(path)) == advised, text


def test_fields_may_be_told_with_their_widths() -> None:
    """`--format=JobID%30,State` names the same columns."""
    layout = sacct_lines.find_layout(b"7|FAILED\n", ("JobID%30", "State%-20"))
    assert layout is not None
    assert layout.fields == ("jobid", "state")


def test_told_fields_may_have_their_own_delimiter(tmp_path: Path) -> None:
    """`--sacct-delimiter` stands for what `sacct --delimiter` was given."""
    text = "77|#RUNNING|#a|b\n78|#FAILED|#c\n"
    parsed = read(tmp_path, text, sacct_fields=("JobID", "State", "JobName"), sacct_delimiter="|#")
    assert [(one["id"], one["name"]) for one in rows(parsed)] == [("77", "a|b"), ("78", "c")]


@pytest.mark.parametrize(
    "text",
    [
        "hello world\n",
        "JobID State\n1 FAILED\n",
        "Name|State\nx|FAILED\n",
        "epoch,loss\n1,2\n",
        "",
        "\n\n",
        "a|b|c\n" * 20,
    ],
)
def test_other_texts_are_left_to_other_readers(text: str) -> None:
    """Tables without a job id, and the layout with blanks, are not taken."""
    assert not sacct.sniff(text.encode(), ScanOptions())


def test_a_header_may_follow_a_banner(tmp_path: Path) -> None:
    """Lines a login shell wrote before the header are no records."""
    parsed = read(tmp_path, f"Loading modules ...\n\n{HEAD}\n{row()}\n")
    assert parsed.lines == {"bad_record": 1, "ignored": 2, "matched": 1}


def test_a_record_broken_over_lines_is_joined(tmp_path: Path) -> None:
    """A name that holds line ends costs as many lines, and nothing else; a blank line may be part of it."""
    broken = row(name="two\nthree\n\nfour")
    parsed = read(tmp_path, f"{HEAD}\n{broken}\n{row('4002')}\n")
    assert [(one["line"], one["id"], one["name"]) for one in rows(parsed)] == [
        (2, "4001", "two three  four"),
        (6, "4002", "pre"),
    ]
    assert parsed.lines == {"ignored": 1, "matched": 5}


def test_a_record_cut_at_its_head_is_rejected_not_shifted(tmp_path: Path) -> None:
    """Fewer fields than the header has are never laid under it, even at the end of the file."""
    cut = row("4002").split("|", 3)[3]
    parsed = read(tmp_path, f"{HEAD}\n{cut}\n{row()}\n{cut}\n")
    assert [one["id"] for one in rows(parsed)] == ["4001"]
    assert parsed.lines == {"bad_record": 2, "ignored": 1, "matched": 1}


def test_two_pieces_that_add_up_by_accident_are_no_record(tmp_path: Path) -> None:
    """The tail of one record and the head of another have the right number of fields in the wrong places."""
    tail, head = row("4001").split("|", 6)[6], "|".join(row("4002").split("|")[:7])
    assert f"{tail}\n{head}".count("|") == HEAD.count("|")
    parsed = read(tmp_path, f"{HEAD}\n{tail}\n{head}\n{row('4003')}\n")
    assert [one["id"] for one in rows(parsed)] == ["4003"]
    assert parsed.lines == {"bad_record": 2, "ignored": 1, "matched": 1}


def test_a_delimiter_in_the_only_free_text_is_put_back(tmp_path: Path) -> None:
    """Where one column alone can hold anything, a surplus delimiter is its own; with two nobody knows whose it is."""
    parsed = read(tmp_path, f"{HEAD}\n{row(name='a|b|c')}\n")
    assert [(one["name"], one["state"], one["gpus"]) for one in rows(parsed)] == [("a b c", "COMPLETED", 8)]
    parsed = read(tmp_path, f"{HEAD}|Comment\n{row(name='a|b')}|x\n{row()}|y\n")
    assert len(rows(parsed)) == 1
    assert parsed.lines == {"bad_record": 1, "ignored": 1, "matched": 1}


def test_the_last_line_may_lack_its_end_or_be_torn(tmp_path: Path) -> None:
    """A whole last record counts without a newline; a part of one is torn."""
    assert read(tmp_path, f"{HEAD}\n{row()}").lines == {"ignored": 1, "matched": 1}
    parsed = read(tmp_path, f"{HEAD}\n{row()}\n{row('4002')[:40]}")
    assert (parsed.lines, parsed.state) == ({"ignored": 1, "matched": 1, "torn": 1}, "torn")


def test_bad_bytes_carriage_returns_and_marks_are_tolerated(tmp_path: Path) -> None:
    """A name that is not UTF-8, a byte order mark and foreign line ends cost nothing."""
    text = b"\xef\xbb\xbf" + f"{HEAD}\r\n{row(name='caf#')}\r\n".encode().replace(b"#", b"\xe9")
    assert [one["name"] for one in rows(read(tmp_path, text))] == ["caf\ufffd"]


def test_byte_equal_repeats_are_counted_and_attempts_kept(tmp_path: Path) -> None:
    """`-D` gives one row an attempt; the same row twice is one."""
    again = RAN.replace("2024-03-01T1", "2024-03-02T1")
    parsed = read(tmp_path, f"{HEAD}\n{row(state='REQUEUED')}\n{row(times=again)}\n{row(times=again)}\n{HEAD}\n")
    assert [(one["id"], one["state"]) for one in rows(parsed)] == [("4001", "REQUEUED"), ("4001", "COMPLETED")]
    assert parsed.lines == {"duplicate": 1, "ignored": 2, "matched": 2}


def test_memory_of_repeats_is_bounded() -> None:
    """At least the newest records are remembered, never more than twice as many."""
    repeats = sacct_lines.Repeats(size=10)
    assert not any(repeats(b"%d" % n) for n in range(25))
    assert repeats(b"24")
    assert repeats(b"15")
    assert not repeats(b"0")


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


def test_packed_accounting_is_read(tmp_path: Path) -> None:
    """A gzip file gives the same rows, and its digest is that of the stored bytes."""
    path = tmp_path / "sacct.gz"
    path.write_bytes(gzip.compress(f"{HEAD}\n{row()}\n".encode(), mtime=0))
    reader = records.reader_for(path, ScanOptions())
    assert reader is not None
    packed, plain = reader.read(path, ScanOptions()), read(tmp_path, f"{HEAD}\n{row()}\n")
    assert packed.allocs.equals(plain.allocs)
    assert (packed.n_bytes, packed.digest == plain.digest) == (path.stat().st_size, False)


def test_a_line_without_end_is_counted_and_memory_stays_flat(tmp_path: Path) -> None:
    """A record of many megabytes is no record; what follows it is read."""
    parsed = read(tmp_path, f"{HEAD}\n{'x' * (9 << 20)}\n{row()}\n")
    assert parsed.lines == {"ignored": 1, "long": 1, "matched": 1}
    assert rows(parsed)[0]["line"] == 3


def test_records_are_the_same_whatever_the_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the text is cut for reading does not show in the rows."""
    lines = [row(str(4000 + n), name=f"n{n}" if n % 7 else "b\nroken") for n in range(300)]
    text = HEAD + "\n" + "\n".join(lines) + "\n"
    whole = read(tmp_path, text)
    for block in (64, 1000, 4096):
        monkeypatch.setattr(sacct, "BLOCK", block)
        monkeypatch.setattr(sacct, "HEAD", block)
        if block < len(HEAD):
            continue
        pieces = read(tmp_path, text)
        assert pieces.allocs.to_pylist() == whole.allocs.to_pylist()
        assert pieces.lines == whole.lines


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    st.lists(
        st.one_of(st.binary(max_size=80), st.sampled_from([row().encode(), b"|" * 13, b"7|7|a", HEAD.encode()])),
        max_size=12,
    )
)
def test_any_bytes_give_outcomes_that_add_up(tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]) -> None:
    """No input raises, and no line is lost or counted twice."""
    path = tmp_path_factory.mktemp("any") / "x"
    data = b"\n".join([HEAD.encode(), *lines])
    path.write_bytes(data)
    parsed = sacct.read(path, ScanOptions())
    count = data.count(b"\n") + (not data.endswith(b"\n"))
    assert (parsed.n_lines, sum(parsed.lines.values())) == (count, count)
