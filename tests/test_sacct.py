"""Scheduler accounting: layouts and records, whole, broken and torn; expected values are worked out by hand."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ettlog.parse import records, sacct, sacct_lines
from ettlog.parse.parsed import ScanOptions
from tests.accounting import HEAD, RAN, read, row, rows, us
from tests.examples import few


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
    """Where one column alone can hold anything, a surplus delimiter is its own; with two, where only one place fits."""
    parsed = read(tmp_path, f"{HEAD}\n{row(name='a|b|c')}\n")
    assert [(one["name"], one["state"], one["gpus"]) for one in rows(parsed)] == [("a b c", "COMPLETED", 8)]
    parsed = read(tmp_path, f"{HEAD}|Comment\n{row(name='a|b')}|x\n{row()}|y\n")
    assert [one["name"] for one in rows(parsed)] == ["a b", "pre"]
    assert parsed.lines == {"ignored": 1, "matched": 2}


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


@settings(max_examples=few(150), deadline=None, derandomize=True)
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


TABLE = """\
JobID           JobName      State               Start                 End   AllocTRES
------------ ---------- ---------- ------------------- ------------------- -----------
2113           pretrai+ CANCELLED+ 2031-04-05T06:00:00 2031-04-05T07:00:00 gres/gpu=8
2113.batch        batch  COMPLETED 2031-04-05T06:00:00 2031-04-05T07:00:00 gres/gpu=8
2114               eval OUT_OF_ME+ 2031-04-05T06:00:00 2031-04-05T06:30:00 cpu=64,gre+
2115               wait    PENDING             Unknown             Unknown
"""


def test_the_table_that_sacct_prints_by_default_is_read(tmp_path: Path) -> None:
    """Columns of fixed widths: a cut state is known by its beginning, cut resources say nothing."""
    found = read(tmp_path, TABLE)
    assert found.lines == {"ignored": 2, "matched": 4}
    told = [(row["id"], row["record"], row["state"], row["gpus"]) for row in rows(found)]
    assert told[0] == ("2113", "job", "CANCELLED", 8)
    assert told[1][:2] == ("2113.batch", "step")
    assert told[2] == ("2114", "job", "OUT_OF_MEMORY", None)
    assert rows(found)[0]["end_us"] - rows(found)[0]["start_us"] == 3_600_000_000
    assert rows(found)[3]["start_us"] is None


FREE = "JobID|JobName|User|State|Submit|Start|End|AllocTRES|Comment|SubmitLine\n"
TIMED = "2031-04-05T06:00:00|2031-04-05T06:10:00|2031-04-05T06:40:00|gres/gpu=8"


def test_a_delimiter_in_one_of_several_free_texts_is_put_back_where_all_else_is_certain(tmp_path: Path) -> None:
    """Behind the times it may be of the comment or of the command: all that is used is the same. In the name it is
    certain too, for no other place leaves the times under their names.
    """
    lines = [f"71|a|kim|FAILED|{TIMED}|note|sbatch run | tee x\n", f"72|a|b|kim|FAILED|{TIMED}|note|sbatch run\n"]
    found = read(tmp_path, FREE + "".join(lines))
    assert found.lines == {"ignored": 1, "matched": 2}
    assert [(row["id"], row["name"], row["user"], row["gpus"]) for row in rows(found)] == [
        ("71", "a", "kim", 8),
        ("72", "a b", "kim", 8),
    ]


def test_a_delimiter_that_may_be_in_the_name_or_elsewhere_is_not_guessed_at(tmp_path: Path) -> None:
    """Name and comment stand side by side: which of them holds the delimiter nobody can tell."""
    head = "JobID|State|Submit|Start|End|JobName|Comment\n"
    line = "71|FAILED|2031-04-05T06:00:00|2031-04-05T06:10:00|2031-04-05T06:40:00|a|b|c\n"
    assert read(tmp_path, head + line).lines == {"bad_record": 1, "ignored": 1}
