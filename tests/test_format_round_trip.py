"""Event -> line -> event for every pattern of every format, and logs behind any prefixes."""

from __future__ import annotations

import random
import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from ettlog.parse import format as formats
from ettlog.parse.decode import decoder
from ettlog.parse.envelope import ENVELOPES, Envelope, peel
from ettlog.parse.format import Pattern, fields
from ettlog.parse.parsed import ScanOptions
from ettlog.parse.scan import scan

SET = formats.load_all()
PATTERNS = [pytest.param(one, id=f"{one.format}.{one.name}") for one in SET.patterns if one.groups]
ROUNDS = 12
"""Events drawn for each sample of a pattern."""
EXACT = (
    "kind",
    "format",
    "pattern",
    "launch",
    "step",
    "target",
    "duration_us",
    "world",
    "code",
    "cause",
    "name",
    "skipped",
)
"""Columns that no prefix may change; prefixes may tell rank, node and stamp."""


def inner(expression: str, name: str) -> str:
    """Return what stands inside a named group of a regex."""
    begin = at = expression.index(f"(?P<{name}>") + len(f"(?P<{name}>")
    depth, escaped, inside = 1, False, False
    while depth:
        char = expression[at]
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
        elif inside:
            inside = char != "]"
        elif char == "[":
            inside = True
        elif char in "()":
            depth += 1 if char == "(" else -1
        at += 1
    return expression[begin : at - 1]


def drawn(text: bytes, language: str, dice: random.Random) -> bytes:
    """Return another value of a group in the group's own language: other digits and letters, or digits, or none."""
    lines = (
        "".join(_other(char, dice, letters=letters, first=not at) for at, char in enumerate(text.decode()))
        for letters in (True, False)
    )
    return next((one.encode() for one in lines if re.fullmatch(language.encode(), one.encode())), text)


def _other(char: str, dice: random.Random, *, letters: bool, first: bool) -> str:
    """Return another character of the same sort; a number that does not begin with 0 still does not."""
    if char.isdigit():
        return str(dice.randrange(1 if first and char != "0" else 0, 10))
    if letters and char.isascii() and char.isalpha():
        return chr(dice.randrange(26) + ord("a" if char.islower() else "A"))
    return char


def leaves(match: re.Match[bytes], groups: tuple[str, ...]) -> list[str]:
    """Return the groups that took part and hold no other one, in the order of their places."""
    spans = {name: match.span(name) for name in groups if match[name]}
    free = [
        name
        for name, (begin, end) in spans.items()
        if not any(other != name and begin <= a and b <= end for other, (a, b) in spans.items())
    ]
    return sorted(free, key=lambda name: spans[name])


def written(
    pattern: Pattern, body: bytes, match: re.Match[bytes], dice: random.Random
) -> tuple[bytes, dict[str, bytes]]:
    """Return the line of another event of a pattern, and what its groups should hold."""
    line, at = b"", 0
    values: dict[str, bytes] = {}
    for name in leaves(match, pattern.groups):
        if match.start(name) < at:  # inside one that is written already
            continue
        values[name] = drawn(match[name], inner(pattern.expression.decode(), name), dice)
        line += body[at : match.start(name)] + values[name]
        at = match.end(name)
    for name in re.findall(r"(?<!\(\?!)\(\?P=(\w+)\)", pattern.expression.decode()):  # the same value once more
        return body.replace(match[name], values[name]), values
    return line + body[at:], values


@pytest.mark.parametrize("pattern", PATTERNS)
def test_an_event_written_as_a_line_is_read_as_that_event(pattern: Pattern) -> None:
    """For events with other numbers and names, the line of the sample's shape gives exactly their fields."""
    dice = random.Random(f"{pattern.format}.{pattern.name}")
    changed = 0
    for sample, _ in product(pattern.samples, range(ROUNDS)):
        body = peel(sample.line.encode()).body
        match = pattern.regex.search(body)
        assert match is not None
        line, values = written(pattern, body, match, dice)
        again = pattern.regex.search(line)
        assert again is not None, line
        assert {name: again[name] for name in values} == values
        told = fields(pattern, again)
        for name, text in values.items():
            column, convert = decoder(name)
            value = convert(text)
            if column in told and not column.startswith("_") and not set(pattern.groups) & HELPED:
                assert told[column] == value, (name, line)
        changed += line != body
    assert changed or all(_fixed(pattern, name) for name in pattern.groups)


HELPED = {"epoch", "epoch_first", "over", "more_s", "plus_s"}
"""Groups that change the value of another one: their sum is checked by the samples."""


def _fixed(pattern: Pattern, name: str) -> bool:
    """Tell whether a group takes a few words only, such as names of signals or timers, or is a stamp."""
    return (
        name == "stamp"
        or "|" in inner(pattern.expression.decode(), name)
        or "\\" not in inner(pattern.expression.decode(), name)
    )


def events(folder: Path, lines: list[bytes]) -> list[dict[str, Any]]:
    """Return what a scan makes of lines: events, then steps, without the columns that prefixes may tell."""
    path = folder / "train.log"
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    found = scan(path, SET, ScanOptions())
    rows = found.events.to_pylist() + found.steps.to_pylist()
    assert sum(found.lines.values()) == found.n_lines == len(lines)
    return [{"line": row["line"]} | {name: row.get(name) for name in EXACT} for row in rows]


FIXED = [one for one in ENVELOPES if b"(?=" not in one.regex]
LOGS = (
    "megatron_steps",
    "torchtitan",
    "nemo",
    "hf_trainer_run",
    "fairseq_checkpoint",
    "maxtext",
    "mllog",
    "torchelastic_kill",
)


@pytest.mark.parametrize("name", LOGS)
def test_a_log_behind_any_prefixes_tells_the_same(tmp_path: Path, name: str) -> None:
    """Every prefix alone, and forty nestings of two to four, change no event and no step of a log, nor lose a line."""
    dice = random.Random(name)
    lines = [sample.line.encode() for one in SET.patterns if one.format == name for sample in one.samples]
    plain = events(tmp_path, lines)
    assert plain
    nestings = [[one] for one in FIXED] + [dice.sample(FIXED, dice.randrange(2, 5)) for _ in range(40)]
    for nesting in nestings:
        prefix = b"".join(one.sample for one in nesting)
        assert events(tmp_path, [prefix + line for line in lines]) == plain, _names(nesting)


def _names(nesting: list[Envelope]) -> str:
    return " > ".join(one.name for one in nesting)
