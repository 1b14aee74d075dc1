"""Every regex of ettlog takes time in proportion to its line: the patterns of formats and all others."""

from __future__ import annotations

import functools
import importlib
import pkgutil
import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import ettlog
from ettlog.parse import format as formats_of
from ettlog.parse import format_proof, format_time, records
from ettlog.parse.parsed import ScanOptions
from tests.hostile import killers

LIMIT_S = 0.1
"""Longest a regex of the package may take for 64 KiB; a quadratic one takes seconds."""
WHOLE = 1 << 16
PIECES = (
    b"\n", b" ", b"\t", b" \n", b"\r\n", b"{", b"[", b'"', b"{\n", b"- ", b"#\n", b"# ", b"---\n", b"|", b",",
    b"a=", b"a",
    b"1", b"1 ", b'{"a":', b'{"kind": ', b"a: ", b"a:\n", b"JobId=1 ", b"JobId=1 Name=a", b"JobID|",
    b"000 (1.0.0) ", b"2031-05-06T08:00:00 ", b"\0",
    b'{"items": [', b"kind: Pod\n", b"apiVersion: v1\n", b";", b"05/06/2031 08:00:00;S;1;",
    b'"JOB_NEW" "10.1" 1 ',
    b"=====\n",
)  # fmt: skip
"""What the head of a file may be made of, again and again."""
BEFORE = (b"", b"{", b"a\n")


def test_the_worst_lines_of_every_pattern_take_linear_time() -> None:
    """Each shipped pattern: three hostile lines or more, 5 ms at most for 64 KiB, and an exponent of one, fitted over
    16, 64 and 256 KiB."""
    worst = killers.all_worst()
    assert len(worst) > 500
    assert [one.pattern for one in worst if one.lines < 3] == []
    assert [one for one in worst if one.seconds > format_time.MAX_SECONDS * one.pace] == []
    assert [one for one in worst if one.exponent > killers.GROWTH] == []


def test_a_slow_machine_is_no_reason_to_refuse_a_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pattern that takes 7.5 ms is refused at the usual pace, not where the yardstick takes twice its time; one that
    takes 10.1 ms is refused however slow the machine is."""
    [pattern, *_] = formats_of.load_all(()).patterns
    tree = format_proof.tree_of(pattern, formats_of.FOLDER)
    told = []
    for took, looked in ((0.0075, 0.0002), (0.0075, 0.00085), (0.0075, 0.0017), (0.0101, 0.0017), (0.0101, 9.0)):
        monkeypatch.setattr(format_time, "_seconds", lambda *_, seconds=took: seconds)
        monkeypatch.setattr(format_time, "_looked", lambda seconds=looked: seconds)
        told.append((format_time.pace(), bool(format_time.too_slow(pattern, tree))))
    assert told == [(1.0, True), (1.0, True), (2.0, False), (2.0, True), (2.0, True)]


def test_a_quadratic_search_is_seen() -> None:
    """The fit gives 2 for a search that is quadratic: blanks to the end of a line that does not end there."""
    regex = re.compile(rb"\s+$")
    took = {1 << 10: 1.0, 1 << 11: 1.0, 1 << 12: 1.0}
    for _ in range(12):  # in turns: whatever else the machine does makes some of them longer, never shorter
        for size, least in took.items():
            begun = time.thread_time()
            assert regex.search(b" " * size + b"x") is None
            took[size] = min(least, time.thread_time() - begun)
    points = [(float(size), least) for size, least in took.items()]
    assert killers.fit(points) > 1.6
    assert killers.fit([(1.0, 3.0), (2.0, 6.0), (4.0, 12.0)]) == pytest.approx(1)


SHORT = {
    "ettlog.objects.": "addresses that a user types, and what a library says of them",
    "ettlog.parse.redaction": "samples of 512 bytes, shapes and names",
    "ettlog.redact.": "names of 256 characters",
    "ettlog.parse.propose.": "lines that a user asks a proposal for, cut at 1 KiB",
    "ettlog.parse.sacct_lines.STATE": "one cell",
}
"""Regexes that seldom see 64 KiB, and what they see: they may take longer for that much, and no more than in
proportion."""
SHORT_S = 0.8
"""Longest such a regex may take for 64 KiB: a linear one takes a quarter of it, a quadratic one ten seconds."""
MATCHED = ("ettlog.parse.slurmctld.OF_NODES", "ettlog.parse.slurmctld_messages.OF_NODES")
"""Regexes in a table that are used at the beginning of a text only, by another name than the table's."""
MANY = 20
"""Hostile texts of one such regex that are tried, spread over all of them."""


class _SlowError(Exception):
    """A regex ran for longer than it may."""


def _stop(*_: object) -> None:
    raise _SlowError


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise when the block takes longer in processor time; a regex can be interrupted."""
    before = signal.signal(signal.SIGVTALRM, _stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _held(value: Any, depth: int = 0) -> Iterator[re.Pattern[Any]]:
    """Yield the regexes in a value, in tuples and tables too."""
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, (tuple, list, set, frozenset, dict)) and depth < 4:
        for item in value.values() if isinstance(value, dict) else value:
            yield from _held(item, depth + 1)


@functools.cache
def regexes() -> dict[str, re.Pattern[Any]]:
    """Return every regex that a module of the package holds, by module and name."""
    found: dict[str, re.Pattern[Any]] = {}
    for module in pkgutil.walk_packages(ettlog.__path__, "ettlog."):
        if module.name != "ettlog.__main__":
            for name, value in vars(importlib.import_module(module.name)).items():
                for number, regex in enumerate(_held(value)):
                    found.setdefault(f"{module.name}.{name}[{number}]", regex)
    return found


def _use(name: str, regex: re.Pattern[Any]) -> Callable[[Any], object]:
    """Return how a regex is used by its module: at the beginning of a text only, or anywhere in it."""
    module, _, plain = name.partition("[")[0].rpartition(".")
    source = Path(str(importlib.import_module(module).__file__)).read_text(encoding="utf-8")
    anchored = re.search(rf"\b{plain}\.(?:full)?match\b", source)
    if name.startswith(MATCHED) or (anchored and not re.search(rf"\b{plain}\.(?:search|find\w+|sub|split)\b", source)):
        return lambda text: (regex.match(text), regex.fullmatch(text))
    return lambda text: sum(1 for _ in regex.finditer(text))


def _slow(name: str, regex: re.Pattern[Any], most_s: float = LIMIT_S, step: int = 1) -> Iterator[str]:
    """Yield the hostile texts that a regex takes too long for: small ones first, so that a bad one ends soon."""
    use, pace = _use(name, regex), format_time.pace()
    for unit in list(format_time.texts(regex))[::step]:
        for size in (1 << 10, 1 << 13, WHOLE):
            line = format_time.killer(unit, size)
            try:
                with at_most(most_s * pace):
                    use(line.decode("latin-1") if isinstance(regex.pattern, str) else line)
            except _SlowError:
                yield f"{name}: {unit} repeated to {size} bytes"
                return


def _long() -> dict[str, re.Pattern[Any]]:
    """Return the regexes that may see a whole line."""
    return {name: regex for name, regex in regexes().items() if not name.startswith(tuple(SHORT))}


def _short() -> dict[str, re.Pattern[Any]]:
    """Return the others, each once though several modules hold it."""
    rest = {name: regex for name, regex in regexes().items() if name not in _long()}
    return {name: regex for regex, name in {regex: name for name, regex in rest.items()}.items()}


def test_no_regex_of_the_package_runs_away() -> None:
    """Each regex of every module, used as its module uses it, on texts made of its own pieces and of blanks."""
    assert len(regexes()) > 100
    assert [told for name, regex in _long().items() for told in _slow(name, regex)] == []


def test_no_regex_of_short_texts_runs_away_either() -> None:
    """What is meant for cells, names and samples is linear up to 64 KiB too."""
    told: list[str] = []
    for name, regex in _short().items():
        step = 1 + len(list(format_time.texts(regex))) // MANY
        told += _slow(name, regex, SHORT_S, step)
    assert len(_short()) > 50
    assert told == []


@pytest.mark.parametrize("reader", records.READERS, ids=lambda one: one.name)
def test_no_reader_takes_long_to_look_at_a_file(reader: records.Reader) -> None:
    """Whatever the head of a file repeats, a reader knows within a tenth of a second whether it is its own."""
    regexes()  # imports every module: what a reader imports is not what it looks at
    reader.sniff(b"", ScanOptions())
    reader.sniff(b"JobID|State\n1|COMPLETED\n", ScanOptions())
    for piece in PIECES:
        for before in BEFORE:
            with at_most(LIMIT_S):
                assert reader.sniff((before + piece * WHOLE)[:WHOLE], ScanOptions()) in (True, False)
