"""Step lines read by template must be read exactly as their regexes read them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ettlog.lifecycle import KIND_BY_NAME
from ettlog.parse import scan as scanning
from ettlog.parse.clockwork import Clock
from ettlog.parse.format import FormatSet, Pattern, load_all
from ettlog.parse.parsed import Parsed, ScanOptions
from ettlog.parse.template import COLUMNS, Learnt, Number
from ettlog.parse.uniform import NOTHING, prove
from ettlog.parse.vector import Template
from tests.examples import few

FORMATS = load_all()
STEPS = [one for one in FORMATS.patterns if one.kind == KIND_BY_NAME["step"].kind]
LABELS = (
    "", "[rank3]:", " 7: ", "12: ", "[default2]:", "[pod/exp-0/main] ", "2031-05-06T07:08:09.123456789Z ",
    "[2031-05-06 07:08:09,123] ",
    "2031-05-06T07:08:09.1234567Z [rank11]:", "glued text ", "\x1b[32m",
    "[1718000000.123456] ", "eta 1:02:03 ", "done 07:08:09 ",
)  # fmt: skip
TAILS = (
    "",
    " | trailing 17",
    " 2031-02-03 04:05:06",
    "\r",
    " [2031-02-03 04:05:06] iteration",
    "\x80\xff".encode().decode("latin1"),
)


def _tables(parsed: Parsed) -> tuple[list[dict[str, object]], dict[str, int], dict[str, int]]:
    return parsed.steps.to_pylist(), parsed.lines, parsed.formats


@pytest.fixture(scope="module")
def by_regex(tmp_path_factory: pytest.TempPathFactory) -> FormatSet:
    """Return the formats under another fingerprint, for which nothing is proved: every line is read by its regexes."""
    formats = replace(FORMATS, fingerprint="nothing proved")
    empty = tmp_path_factory.mktemp("empty") / "empty.log"
    empty.touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ettlog.parse.extract.prove", lambda _: NOTHING)
        scanning.scan(empty, formats, ScanOptions())
    return formats


def _digits(draw: st.DrawFn, line: str) -> str:
    """Put other digits in the place of some, sometimes more or fewer of them."""
    odd = draw(st.booleans())
    found = []
    for mark in line:
        if mark.isdigit() and draw(st.integers(0, 2)):
            found.append("".join(str(draw(st.integers(0, 9))) for _ in range(draw(st.integers(0, 2)) if odd else 1)))
        else:
            found.append(mark)
    return "".join(found)


@st.composite
def _logs(draw: st.DrawFn) -> str:
    """Draw a log: few shapes of lines, many lines of each."""
    pattern = draw(st.sampled_from(STEPS))
    others = draw(st.lists(st.sampled_from(STEPS), max_size=1))
    shapes = [
        draw(st.sampled_from(LABELS)) + draw(st.sampled_from(one.samples)).line + draw(st.sampled_from(TAILS))
        for one in [pattern, pattern, *others]
    ]
    lines = [_digits(draw, draw(st.sampled_from(shapes))) for _ in range(draw(st.integers(1, 12)))]
    return "\n".join(lines) + draw(st.sampled_from(("\n", "")))


@given(text=_logs(), zone=st.sampled_from((None, "Europe/Paris", "UTC")))
@settings(
    max_examples=few(150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_templates_read_what_regexes_read(text: str, zone: str | None, by_regex: FormatSet, tmp_path: Path) -> None:
    """Over generated logs of all step patterns the fast way and the regexes agree in every column of every row."""
    path = tmp_path / "train.log"
    path.write_text(text, errors="surrogateescape")
    options = ScanOptions(zone=zone)
    assert _tables(scanning.scan(path, FORMATS, options)) == _tables(scanning.scan(path, by_regex, options))


@pytest.mark.parametrize("pattern", STEPS, ids=lambda one: f"{one.format}.{one.name}")
def test_every_step_pattern_is_read_by_template(pattern: Pattern) -> None:
    """No shipped step pattern has a part about which nothing is proved: all of them go the fast way."""
    assert prove(pattern.expression).usable


def _numbered(count: int) -> Iterator[str]:
    for step in range(1, count + 1):
        stamp = f"2031-03-04 05:{step // 60 % 60:02d}:{step % 60:02d}"
        yield (
            f" [{stamp}] iteration {step:8d}/{count:8d} | consumed samples: {step * 32:12d} | "
            f"elapsed time per iteration (ms): {1000 + step}.5 | learning rate: 1.000000E-04 | "
            "global batch size:    32 | lm loss: 2.000000E+00 | "
            f"number of skipped iterations: {step % 3:3d} | number of nan iterations:   0 |"
        )


def test_numbers_are_exact(tmp_path: Path) -> None:
    """Steps, samples, skipped steps, durations in microseconds and instants of 3,000 lines are those that were
    printed."""
    path = tmp_path / "train.log"
    path.write_text("\n".join(_numbered(3000)) + "\n")
    rows = scanning.scan(path, FORMATS, ScanOptions()).steps.to_pylist()
    begin = 1_930_366_800_000_000  # `date -u -d '2031-03-04 05:00:00' +%s` says 1930366800
    for step, row in enumerate(rows, 1):
        assert row["line"] == row["step"] == step
        assert (row["target"], row["samples"], row["skipped"]) == (3000, step * 32, step % 3)
        assert row["duration_us"] == (1000 + step) * 1000 + 500
        assert row["ts"] == begin + step * 1_000_000
    assert len(rows) == 3000


@pytest.mark.parametrize("unit", [1, 1_000, 1_000_000, 60_000_000])
@pytest.mark.parametrize("whole", ["0", "7", "123456789", "999999999"])
@pytest.mark.parametrize("rest", ["", "5", "999", "0001", "999999", "1234567", "999999999"])
def test_a_number_in_any_unit_is_exact(unit: int, whole: str, rest: str) -> None:
    """To the last microsecond, whether one product of digits gives it or two: what is below is cut off."""
    line = f"took {whole}.{rest} u".encode()
    head = tuple(range(5, 5 + len(whole)))
    tail = tuple(range(6 + len(whole), 6 + len(whole) + len(rest)))
    number = Number("duration_us", head, tail, unit, 1)
    learnt = Learnt(0, line, len(line) + 1, (), (number,), (), (), None, 0, None)
    template = Template(learnt)
    fits, numbers = template.match(bytearray(line + b"\n"), np.zeros(1, np.int64))
    rows = template.rows(numbers, np.zeros(1, np.int64), Clock(None, None))[1]
    expected = int(whole) * unit + int(rest or "0") * unit // 10 ** len(rest)
    assert fits.all()
    assert rows.values[COLUMNS.index("duration_us")].tolist() == [expected]


@pytest.mark.parametrize(
    "stamp", ["2031-02-30 05:00:07", "2031-03-04 24:00:07", "2031-03-04 05:60:07", "2031-03-04 05:00:60"]
)
def test_a_time_that_does_not_exist_is_left_to_the_regex(tmp_path: Path, stamp: str) -> None:
    """Of lines that differ in digits only, the one with a 30 February, or the 25th hour, has a bad time and keeps its
    step."""
    lines = [
        line.replace("2031-03-04 05:00:08", stamp) if number == 7 else line for number, line in enumerate(_numbered(20))
    ]
    path = tmp_path / "train.log"
    path.write_text("\n".join(lines) + "\n")
    parsed = scanning.scan(path, FORMATS, ScanOptions())
    assert (parsed.lines["matched"], parsed.lines["bad_time"]) == (19, 1)
    row = parsed.steps.to_pylist()[7]
    assert (row["step"], row["clock"]) == (8, "carried")


def test_days_and_hours_are_reckoned_for_each_line(tmp_path: Path) -> None:
    """The ends of days, of a February and of a year, on lines of one template."""
    stamps = ("2031-03-04 23:59:59", "2032-02-28 23:59:59", "2032-02-29 00:00:00", "2032-12-31 19:30:05")
    lines = [line.replace("2031-03-04 05:00:", f"{stamps[at % 4][:-2]}") for at, line in enumerate(_numbered(40))]
    path = tmp_path / "train.log"
    path.write_text("\n".join(lines) + "\n")
    rows = scanning.scan(path, FORMATS, ScanOptions()).steps.to_pylist()
    # `date -u -d '2031-03-04 23:59:00' +%s` and so on
    minutes = (1_930_435_140, 1_961_625_540, 1_961_625_600, 1_988_134_200)
    assert [row["ts"] for row in rows] == [(minutes[at % 4] + at + 1) * 1_000_000 for at in range(40)]


@pytest.mark.parametrize(
    ("expression", "usable", "local"),
    [
        (rb"step (?P<step>\d+), skipped=", True, True),
        (rb"step (?P<step>[1-9]\d*+), skipped=", True, True),
        (rb"step (?P<step>\d+).*?loss", True, False),
        (rb"step (?P<step>\d+)(?: of (?P<target>\d+))?", True, False),
        (rb"step (?P<step>\d+)\d* of", True, False),
        (rb"[1-9]\d* steps", False, False),
        (rb"step (\d+) (?:\d+ )*\1", False, False),
        (rb"(?i)step (\d+)", False, False),
    ],
)
def test_what_is_proved_about_a_regex(expression: bytes, usable: bool, local: bool) -> None:
    """A regex is usable when digits may be exchanged, and local when one path leads from its literal to its end."""
    found = prove(expression)
    assert (found.usable, found.local) == (usable, local)


def test_a_set_of_digits_binds_only_the_digit_behind_its_literal() -> None:
    """`step=[1-9]` tells nothing about digits elsewhere; a zero behind `step=` stays a zero."""
    assert prove(rb"step=(?P<step>[1-9]\d*+),").sensitive == ((b"step=", frozenset(b"123456789")),)
