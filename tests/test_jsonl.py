"""One record a line: hostile JSON is counted, numbers are exact, lines are bounded, every line has one outcome."""

from __future__ import annotations

import gzip
import importlib
import json
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ettlog.parse import jsonl, packed, records
from ettlog.parse.blocks import open_source
from ettlog.parse.gather import cause_of, exact, shown
from ettlog.parse.parsed import ScanOptions
from tests.examples import few
from tests.telemetry import BASE, SECOND, read, reader_names, steps, write

STEP = {"step": 7.0, "perf/step_time_seconds": 0.25}

HOSTILE = {
    "nested a hundred thousand deep": '{"step": ' + "[" * 100_000,
    "nested deep and closed": '{"step": 1, "x": ' + "[" * 50_000 + "]" * 50_000 + "}",
    "a number of ten thousand digits": '{"step": ' + "9" * 10_000 + "}",
    "a key twice": '{"step": 1, "step": 2, "perf/step_time_seconds": 1}',
    "a key twice behind blanks": '{"step" : 1, "step": 2}',
    "a key twice in an object inside": '{"step": 1, "x": {"a": 1, "a": 2}}',
    "a key twice and a colon in a text": '{"step": 1, "step": "a\\":b"}',
    "no JSON": "step 1",
    "a list": "[1, 2]",
    "cut in the middle": '{"step": 1, "perf/step_ti',
    "NaN as the step": '{"step": NaN, "perf/step_time_seconds": 1}',
    "infinity as the step": '{"step": 1e999, "perf/step_time_seconds": 1}',
    "a step beyond 64 bits": '{"step": 99999999999999999999, "perf/step_time_seconds": 1}',
    "a step that is a list": '{"step": [1], "perf/step_time_seconds": 1}',
    "a step that is true": '{"step": true, "perf/step_time_seconds": 1}',
    "a lone surrogate half": '{"step": "\\ud800", "perf/step_time_seconds": 1}',
    "bytes that are no text": '{"step": "\x00\x01", "perf/step_time_seconds": 1}',
}


@pytest.mark.parametrize("line", HOSTILE.values(), ids=HOSTILE)
def test_hostile_record_is_counted(tmp_path: Path, line: str) -> None:
    """A record nobody can read is a `bad_record`, and the records around it are read."""
    parsed = read(write(tmp_path / "metrics.txt", [STEP, line, STEP]), "maxtext_metrics")
    assert parsed.lines == {"matched": 2, "bad_record": 1}


def test_nan_in_a_field_nobody_reads_costs_no_step(tmp_path: Path) -> None:
    """A diverged run writes NaN for its loss; its steps were made all the same."""
    parsed = read(
        write(tmp_path / "m.txt", ['{"step": 3, "learning/loss": NaN, "perf/step_time_seconds": 0.5}']),
        "maxtext_metrics",
    )
    assert steps(parsed, "duration_us") == [(3, 500_000)]


def test_nan_as_a_duration_is_no_duration(tmp_path: Path) -> None:
    """A step with an unreadable time is a step without a printed time."""
    parsed = read(write(tmp_path / "m.txt", ['{"step": 3, "perf/step_time_seconds": NaN}']), "maxtext_metrics")
    assert steps(parsed, "duration_us") == [(3, None)]


def test_last_line_without_newline(tmp_path: Path) -> None:
    """A cut last record is torn; a whole one that only lacks its newline counts."""
    path = tmp_path / "m.txt"
    path.write_text(json.dumps(STEP) + "\n" + json.dumps(STEP)[:-9])
    torn = read(path, "maxtext_metrics")
    assert (torn.lines, torn.state) == ({"matched": 1, "torn": 1}, "torn")
    path.write_text(json.dumps(STEP) + "\n" + json.dumps(STEP))
    whole = read(path, "maxtext_metrics")
    assert (whole.lines, whole.state) == ({"matched": 2}, "whole")


def test_long_line_is_counted_once(tmp_path: Path) -> None:
    """A record longer than the bound is `long`, however many blocks it spans, and the next one is read."""
    long = '{"step": 1, "x": "' + "a" * (17 * jsonl.CHUNK) + '"}'
    parsed = read(write(tmp_path / "m.txt", [STEP, long, STEP]), "maxtext_metrics")
    assert parsed.lines == {"matched": 2, "long": 1}


def test_compressed_and_marked_files_read_the_same(tmp_path: Path) -> None:
    """A byte order mark, carriage returns and gzip change nothing of what is read."""
    plain = write(tmp_path / "m.txt", [STEP, STEP])
    marked = tmp_path / "marked.txt"
    marked.write_bytes(b"\xef\xbb\xbf" + plain.read_bytes().replace(b"\n", b"\r\n"))
    packed = tmp_path / "m.txt.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    rows = [steps(read(path, "maxtext_metrics"), "line", "duration_us") for path in (plain, marked, packed)]
    assert rows[0] == rows[1] == rows[2] == [(7, 1, 250_000), (7, 2, 250_000)]


def test_steps_none_keeps_no_step(tmp_path: Path) -> None:
    """With `steps="none"` lines are accounted for and no step row is kept."""
    parsed = read(write(tmp_path / "m.txt", [STEP]), "maxtext_metrics", ScanOptions(steps="none"))
    assert (parsed.steps.num_rows, parsed.lines) == (0, {"matched": 1})


@settings(max_examples=few(40), deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes_behind_a_known_head_raise_nothing(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    """Any bytes in, no exception out: the lines add up, whatever follows a first record that a reader knows."""
    folder = tmp_path_factory.mktemp("any")
    heads = (
        b'{"step": 1.0, "perf/step_time_seconds": 1.0}\n',
        b'{"log_type_name": "step_start", "time_us": 1933135600000000, "seq_id": 1}\n',
        b"[2031-04-05T06:06:40.000001] [4] [a] [T] [#step] [BEGIN] {}\n",
        b'{"type": "start", "name": "application", "count": 1, "pid": 4}\n',
        b'{"job_start_time": 1933135600.0}\n',
        b'{"event_type": "job_started", "timestamp": "2031-04-05T06:06:40"}\n',
        b'V0405 06:06:40.000000 4 torch/a.py:1] {"dynamo_start": {}, "has_payload": "00"}\n\t',
    )
    for number, head in enumerate(heads):
        path = folder / f"{number}.log"
        path.write_bytes(head + data)
        reader = records.reader_for(path, ScanOptions())
        assert reader is not None
        parsed = reader.read(path, ScanOptions())
        assert sum(parsed.lines.values()) == parsed.n_lines
        text = head + data
        assert parsed.n_lines == text.count(b"\n") + (not text.endswith(b"\n"))


def test_readers_are_listed_by_their_names() -> None:
    """The name of each row is the one its module gives to what it reads."""
    for reader in records.READERS:
        module = importlib.import_module(f"ettlog.parse.{reader.module}")
        assert reader.name == module.NAME


@given(st.binary(max_size=200))
def test_no_reader_claims_arbitrary_bytes_with_an_error(data: bytes) -> None:
    """Looking at any head raises nothing."""
    for reader in records.READERS:
        assert reader.sniff(data, ScanOptions()) in (True, False)


@settings(max_examples=few(60), deadline=None)
@given(st.lists(st.binary(max_size=60).filter(lambda text: b"\n" not in text), max_size=20), st.booleans())
def test_lines_are_cut_as_python_cuts_them(
    tmp_path_factory: pytest.TempPathFactory, texts: list[bytes], ended: bool
) -> None:
    """Numbers and texts of lines are those of a split at newlines, and only the last can lack its end."""
    path = tmp_path_factory.mktemp("cut") / "file"
    data = b"\n".join(texts) + (b"\n" if ended and texts else b"")
    assume(packed.opener(data, BytesIO().read) is None)  # what begins as packed bytes do is unpacked, not cut
    path.write_bytes(data)
    with open_source(path) as source:
        found = list(jsonl.lines(source))
    expected = data.split(b"\n")
    if not expected[-1]:
        expected.pop()
    assert [line.text for line in found] == [
        text.removesuffix(b"\r") if k < len(expected) - 1 or data.endswith(b"\n") else text
        for k, text in enumerate(expected)
    ]
    assert [line.number for line in found] == list(range(1, len(found) + 1))
    assert all(line.ended for line in found[:-1])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (17, 17),
        (17.0, 17),
        ("17", 17),
        (" 17 ", 17),
        ("-3", -3),
        (17.5, None),
        (True, None),
        (None, None),
        ("1e3", None),
        (2**63, None),
    ],
)
def test_whole_numbers(value: object, expected: int | None) -> None:
    """Whole numbers come as numbers, floats without fraction, or text."""
    assert jsonl.whole({"x": value}, "x") == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1.5, 1_500_000),
        ("0.25", 250_000),
        (3, 3_000_000),
        (float("nan"), None),
        (float("inf"), None),
        ("x", None),
        (1e300, None),
    ],
)
def test_microseconds(value: object, expected: int | None) -> None:
    """Seconds become whole microseconds; what is not finite or too large has no value."""
    assert jsonl.micros({"x": value}, "x") == expected


def test_instants_outside_a_century_are_none() -> None:
    """An epoch value in the wrong unit is no instant."""
    assert exact(BASE * SECOND) == (BASE * SECOND, "exact")
    assert exact(BASE) is None
    assert exact(BASE * SECOND * 1000) is None


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("torch.OutOfMemoryError: CUDA out of memory.", "oom"),
        ("RuntimeError: CUDA error: an illegal memory access", "cuda_error"),
        ("Watchdog caught collective operation timeout", "nccl_timeout"),
        ("ModuleNotFoundError: No module named 'x'", "import_error"),
        ("KeyboardInterrupt", "sigint"),
        ("ValueError: x", "other"),
    ],
)
def test_causes_from_an_errors_own_words(text: str, cause: str) -> None:
    """The words of an error name its cause; others are `other`."""
    assert cause_of(text) == cause


def test_names_are_one_printable_line() -> None:
    """A name is cut to its width and holds no control character."""
    assert shown("a\nb\x00c") == "a b c"
    assert shown("x" * 1000) == "x" * 256
    assert shown("") is None


def test_readers_have_names_of_their_own() -> None:
    """No two readers share a name: it is the format of the rows."""
    assert len(set(reader_names())) == len(reader_names())
