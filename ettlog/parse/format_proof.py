"""Proofs a format has to pass before it is used: samples, anchors, and regexes that cannot run away."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ettlog.errors import FormatError
from ettlog.parse import format_time
from ettlog.parse.envelope import peel
from ettlog.parse.format import Format, Pattern, Sample, fields
from ettlog.parse.format_time import REPEATS, children

_parser: Any = importlib.import_module("re._parser")
_op: Any = importlib.import_module("re._constants")


def prove(one: Format, path: Path) -> None:
    """Check every pattern of a format by itself; raises `FormatError`."""
    for pattern in one.patterns:
        prove_pattern(pattern, path)


def prove_pattern(pattern: Pattern, path: Path, share: float = 1.0) -> None:
    """Check one pattern by itself, in a share of the time that a regex may take; raises `FormatError`."""
    tree = tree_of(pattern, path)
    for check in (_check_shape, _check_anchor):
        problem = check(pattern, tree)
        if problem:
            raise _error(path, pattern, *problem)
    for sample in pattern.samples:
        _check_sample(path, pattern, sample)
    slow = format_time.too_slow(pattern, tree, share)
    if slow:
        raise _error(path, pattern, "the regex is too slow on a hostile line", slow)


def problems(one: Format, path: Path, known: Sequence[Pattern]) -> Iterator[FormatError]:
    """Yield every proof that a format does not pass, beside the patterns `known`: the first one of each pattern."""
    for pattern in one.patterns:
        try:
            prove_pattern(pattern, path)
            prove_apart(pattern, [*known, *(other for other in one.patterns if other is not pattern)], path)
        except FormatError as error:
            yield error


def prove_disjoint(patterns: Sequence[Pattern], where: Mapping[str, Path]) -> None:
    """Check that no sample matches another pattern, save those named in `beside`; raises `FormatError`."""
    for pattern in patterns:
        for sample in pattern.samples:
            _only_own(pattern, sample, patterns, where[pattern.format])


def prove_apart(pattern: Pattern, others: Sequence[Pattern], path: Path) -> None:
    """Check that a pattern and others match none of each other's samples, save those named in `beside`.

    Raises `FormatError`, which names the pattern whose sample means two things.
    """
    for sample in pattern.samples:
        _only_own(pattern, sample, others, path)
    for other in others:
        for sample in other.samples:
            _only_own(other, sample, (pattern,), path)


def _only_own(pattern: Pattern, sample: Sample, others: Sequence[Pattern], path: Path) -> None:
    body = peel(sample.line.encode()).body
    for other in others:
        match = None if other is pattern else other.regex.search(body)
        if match is not None and not _beside(pattern, other):
            why = f"pattern {other.format}.{other.name} matches it too: a line must mean one thing"
            shown = _caret(body, match.start(), f"{other.name} begins here")
            raise _error(path, pattern, "a sample matches two patterns", why, shown)


def _beside(one: Pattern, other: Pattern) -> bool:
    return f"{other.format}.{other.name}" in one.beside or f"{one.format}.{one.name}" in other.beside


def _error(path: Path, pattern: Pattern, what: str, why: str, shown: str = "") -> FormatError:
    return FormatError(
        what + (f"\n    {shown}" if shown else ""),
        where=f"{path}: {pattern.name}",
        why=why,
        todo="mend the regex, the anchor or the sample; docs/formats.md has the rules",
    )


def tree_of(pattern: Pattern, path: Path) -> Any:
    """Return the regex as parsed by the standard library; raises `FormatError` when it is not valid or sets flags."""
    try:
        compiled = pattern.regex
        tree = _parser.parse(pattern.expression)
    except (re.error, RecursionError, OverflowError) as error:
        raise _error(path, pattern, "the regex is not valid", str(error)) from error
    if compiled.flags & (re.DOTALL | re.IGNORECASE | re.MULTILINE | re.VERBOSE):
        raise _error(path, pattern, "the regex sets flags", "lines are matched byte by byte, without flags")
    return tree


# What the regex is made of


class _Repeat(NamedTuple):
    """One repeat of a regex that can take more or fewer turns."""

    nested: bool
    """It stands inside another repeat of more than one turn."""
    possessive: bool
    wild: bool
    """It is unbounded and takes any byte, or all bytes but some."""


def _repeats(tree: Iterable[tuple[Any, Any]], inside: bool = False) -> Iterable[_Repeat]:
    for operator, argument in tree:
        turns = argument[1] if operator in REPEATS else 1
        if operator in REPEATS and argument[0] != turns:
            wild = turns is _op.MAXREPEAT and _broad(argument[2])
            yield _Repeat(inside, operator is _op.POSSESSIVE_REPEAT, wild)
        for child in children(operator, argument):
            yield from _repeats(child, inside or turns > 1)


def _broad(body: Any) -> bool:
    """Tell whether a repeated body is a wildcard: any byte, or all bytes but some."""
    for operator, argument in body:
        if operator in (_op.ANY, _op.NOT_LITERAL):
            return True
        if operator is _op.IN and any(
            part[0] is _op.NEGATE or part == (_op.CATEGORY, _op.CATEGORY_NOT_SPACE) for part in argument
        ):
            return True
        if operator in (_op.SUBPATTERN, _op.BRANCH, _op.ATOMIC_GROUP):
            return any(_broad(child) for child in children(operator, argument))
    return False


def _check_shape(_pattern: Pattern, tree: Any) -> tuple[str, str] | None:
    repeats = list(_repeats(tree))
    if any(one.nested and not one.possessive for one in repeats):
        why = "a repeat stands inside another one and can take exponential time: make the inner one possessive (*+, ++)"
        return "the regex has nested quantifiers", why
    if sum(one.wild and not one.possessive for one in repeats) > 1:
        why = "each can end in many places: make all but one possessive (*+, ++)"
        return "the regex has more than one unbounded wildcard", why
    return None


def _check_anchor(pattern: Pattern, tree: Any) -> tuple[str, str] | None:
    if _requires(tree, pattern.anchor):
        return None
    return (
        "the anchor is not in every line the regex matches",
        f"{pattern.anchor!r} is no literal that the regex requires",
    )


def _requires(tree: Any, anchor: bytes) -> bool:
    run = bytearray()
    for operator, argument in _flat(tree):
        if operator is _op.LITERAL:
            run.append(argument)
            continue
        if operator in (_op.AT, _op.ASSERT, _op.ASSERT_NOT):
            if operator is _op.ASSERT and _requires(argument[1], anchor):  # what it looks at is in the line, too
                return True
            continue
        letters = _repeated(operator, argument)
        run += letters
        if anchor in run:
            return True
        run[:] = letters
        parts = children(operator, argument)
        needed = operator is _op.BRANCH or (operator in REPEATS and argument[0] >= 1)
        if needed and all(_requires(part, anchor) for part in parts):
            return True
    return anchor in run


def _repeated(operator: Any, argument: Any) -> bytes:
    """Return what a repeat of one literal holds at least: it continues the run before it and begins the next one."""
    if operator in REPEATS and len(argument[2]) == 1 and argument[2][0][0] is _op.LITERAL:
        letter, times = int(argument[2][0][1]), min(int(argument[0]), 64)
        return bytes([letter]) * times
    return b""


def _flat(tree: Any) -> Iterable[tuple[Any, Any]]:
    for operator, argument in tree:
        if operator in (_op.SUBPATTERN, _op.ATOMIC_GROUP):
            yield from _flat(children(operator, argument)[0])
        else:
            yield operator, argument


# Samples


def _check_sample(path: Path, pattern: Pattern, sample: Sample) -> None:
    line = sample.line.encode()
    if b"\n" in line or b"\r" in line:
        raise _error(path, pattern, "a sample holds a line end", "a sample is one line", sample.line)
    if pattern.anchor not in line:
        raise _error(path, pattern, "the anchor is not in the sample", f"{pattern.anchor!r} is looked for", sample.line)
    body = peel(line).body
    match = pattern.regex.search(body)
    if match is None:
        at = reach(pattern, body)
        caret = _caret(body, at, f"{pattern.name} stopped here")
        raise _error(path, pattern, "a sample does not match its pattern", f"the match went {at} bytes far", caret)
    found = fields(pattern, match)
    for name, value in sample.event.items():
        if found.get(name) != value:
            why = f"{name} is {found.get(name)!r}, the sample says {value!r}"
            raise _error(path, pattern, "a sample gives another value", why, sample.line)


def _caret(body: bytes, at: int, says: str) -> str:
    """Return a body with a caret below the byte `at`."""
    return f"{body.decode('utf-8', 'replace')}\n    {' ' * len(body[:at].decode('utf-8', 'replace'))}^ {says}"


def reach(pattern: Pattern, body: bytes) -> int:
    """Return where in the body the longest beginning of the regex that matches anywhere stops, in bytes."""
    source = pattern.expression
    for end in range(len(source) - 1, 0, -1):
        try:
            match = re.compile(source[:end] + b")" * _open_groups(source[:end])).search(body)
        except (re.error, OverflowError):
            continue
        if match is not None:
            return match.end()
    return 0


def _open_groups(source: bytes) -> int:
    bare = re.sub(rb"\\.|\[\^?\]?[^\]]*\]", b"", source)
    return max(0, bare.count(b"(") - bare.count(b")"))
