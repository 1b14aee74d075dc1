"""Hostile lines for a regex, made from the regex itself, and how long it takes for them."""

from __future__ import annotations

import importlib
import re
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ettlog.parse.envelope import peel

if TYPE_CHECKING:
    from ettlog.parse.format import Pattern

MAX_SECONDS = 0.005
"""Longest a pattern may take for one hostile line of `KILLER` bytes, at the usual pace of a machine."""
KILLER = 1 << 16
_YARDSTICK, _MEASURED = re.compile(rb"(?:a[0-9])+b"), b"a1" * (KILLER // 2)
_YARDSTICK_S = 0.00085
"""What one look by the yardstick takes on a slow machine on which every shipped pattern keeps to `MAX_SECONDS`."""
_MOST_PACE, _TRIES = 2.0, 3
_SIZES = (*range(4, 64, 4), *(1 << power for power in range(6, 17)))
"""Small ones first: a regex that runs away is caught while it still takes milliseconds."""
_ROUNDS = 12

_op: Any = importlib.import_module("re._constants")
_parser: Any = importlib.import_module("re._parser")
REPEATS = (_op.MAX_REPEAT, _op.MIN_REPEAT, _op.POSSESSIVE_REPEAT)


def too_slow(pattern: Pattern, tree: Any, share: float = 1.0) -> str:
    """Return a sentence about the first hostile line that takes longer than a share of `MAX_SECONDS`, or nothing."""
    most = share * MAX_SECONDS
    for unit in units(pattern, tree):
        for size in _SIZES:
            seconds = _seconds(pattern, unit, size, most)
            if seconds > most and not _slow_machine(pattern, unit, size, seconds, most):
                shown = unit[1][:60].decode("utf-8", "replace")
                told = f"{MAX_SECONDS * 1e3:.0f} ms is the most"
                return f"{seconds * 1e3:.1f} ms for {size} bytes of {shown!r} repeated; {told}"
    return ""


def _slow_machine(pattern: Pattern, unit: tuple[bytes, bytes], size: int, seconds: float, most: float) -> bool:
    """Tell whether a hostile line that took too long keeps to the bound at the pace that the machine has now."""
    for _ in range(_TRIES if seconds <= most * _MOST_PACE else 0):  # its pace changes from one moment to the next
        bound = most * pace()
        if _seconds(pattern, unit, size, bound) <= bound:
            return True
    return False


def pace() -> float:
    """Return how many times longer than on a slow machine a fixed search takes here and now: 1 at least, 2 at most.

    On a machine that is slower still, or has others on its core, the same regex takes longer for the same line; it is
    no worse for that.
    """
    took = min(_looked() for _ in range(_ROUNDS))
    return min(_MOST_PACE, max(1.0, took / _YARDSTICK_S))


def _looked() -> float:
    begin = time.thread_time()
    _YARDSTICK.match(_MEASURED)
    return time.thread_time() - begin


def children(operator: Any, argument: Any) -> list[Any]:
    """Return the subpatterns of one node of a parsed regex."""
    if operator in REPEATS:
        return [argument[2]]
    if operator is _op.SUBPATTERN:
        return [argument[3]]
    if operator is _op.ATOMIC_GROUP:
        return [argument]
    if operator is _op.BRANCH:
        return list(argument[1])
    if operator in (_op.ASSERT, _op.ASSERT_NOT):
        return [argument[1]]
    if operator is _op.GROUPREF_EXISTS:
        return [child for child in argument[1:] if child is not None]
    return []


def _seconds(pattern: Pattern, unit: tuple[bytes, bytes], size: int, good: float) -> float:
    """Return the least time of some rounds; a busy machine only makes it longer, so the first good one is enough."""
    line = killer(unit, size)
    best = float("inf")
    for _ in range(_ROUNDS):
        begin = time.thread_time()
        for _ in pattern.regex.finditer(line):
            pass
        best = min(best, time.thread_time() - begin)
        if best <= good:
            break
    return best


def killer(unit: tuple[bytes, bytes], size: int) -> bytes:
    """Return a hostile line: a beginning, then a unit repeated up to `size` bytes more."""
    head, repeated = unit
    return head + (repeated * (size // len(repeated) + 1))[:size]


def units(pattern: Pattern, tree: Any) -> Iterable[tuple[bytes, bytes]]:
    """Yield (beginning, repeated unit): literals, alphabets alone and after what stands before them, cut samples."""
    heads = _heads(tree)
    seen: set[tuple[bytes, bytes]] = set()
    for head, alphabet in heads:
        for unit in ((b"", alphabet), (head, alphabet), (b"", head + alphabet), (b"", head)):
            if unit[1] and unit not in seen:
                seen.add(unit)
                yield unit
    for sample in pattern.samples:
        match = pattern.regex.search(peel(sample.line.encode()).body)
        text = b"" if match is None else match[0] or match.string[match.start() :]
        if len(text) > 1:
            yield b"", text[:-1]
            yield b"", text[: len(text) // 2]


def texts(regex: re.Pattern[Any]) -> Iterable[tuple[bytes, bytes]]:
    """Yield (beginning, repeated unit) for any regex, as `units` does for the pattern of a format, and blanks."""
    source = regex.pattern if isinstance(regex.pattern, bytes) else regex.pattern.encode("ascii", "ignore")
    whole = isinstance(regex.pattern, bytes) or regex.pattern.isascii()  # no bytes stand for other characters
    heads = _heads(_parser.parse(source, regex.flags & ~re.UNICODE)) if whole else []
    found = {(b"", alphabet) for _, alphabet in heads} | {(b"", head + alphabet) for head, alphabet in heads}
    found |= {(head, alphabet) for head, alphabet in heads} | {(b"", b" "), (b"", b"\n"), (b"a", b" "), (b"{", b" ")}
    yield from sorted(unit for unit in found if unit[1])


def _heads(tree: Any) -> list[tuple[bytes, bytes]]:
    """Return for each repeat of the regex a text that leads up to it and its alphabet, as bytes to repeat."""
    found: list[tuple[bytes, bytes]] = []
    _walk(tree, bytearray(), found)
    return found


def _walk(tree: Any, head: bytearray, found: list[tuple[bytes, bytes]]) -> None:
    for operator, argument in tree:
        if operator is _op.LITERAL:
            head.append(argument)
        elif operator in (_op.IN, _op.ANY, _op.NOT_LITERAL):
            head += _alphabet([(operator, argument)])[:1]
        elif operator in REPEATS:
            letters = _alphabet(argument[2])
            if letters:
                found.append((bytes(head), letters))
            for _ in range(min(argument[0], 8)):
                _walk(argument[2], head, found)
            if argument[0] == 0:
                _walk(argument[2], bytearray(head), found)
        elif operator is _op.BRANCH:
            for child in argument[1][1:]:
                _walk(child, bytearray(head), found)
            _walk(argument[1][0], head, found)
        elif operator in (_op.SUBPATTERN, _op.ATOMIC_GROUP):
            _walk(children(operator, argument)[0], head, found)
        elif operator in (_op.ASSERT, _op.ASSERT_NOT) and argument[0] > 0:  # it is searched like what follows
            _walk(argument[1], bytearray(head), found)
    found.append((bytes(head), bytes(head)))


_CLASS = {"DIGIT": b"1", "SPACE": b" ", "WORD": b"a", "NOT_SPACE": b"a", "NOT_DIGIT": b"a", "NOT_WORD": b" "}


def _alphabet(body: Any) -> bytes:
    """Return some bytes a repeated body accepts."""
    letters = bytearray()
    for operator, argument in body:
        if operator is _op.LITERAL:
            letters.append(argument)
        elif operator is _op.ANY:
            letters += b"a "
        elif operator is _op.NOT_LITERAL:
            letters.append(97 if argument != 97 else 98)
        elif operator is _op.CATEGORY:
            letters += _CLASS[str(argument).removeprefix("CATEGORY_")]
        elif operator is _op.RANGE:
            letters += bytes(argument)
        elif operator is _op.IN:
            letters += _class_letters(argument)
        else:
            for child in children(operator, argument)[:1]:
                letters += _alphabet(child)
    return bytes(letters)


def _class_letters(parts: Any) -> bytes:
    if parts[0][0] is not _op.NEGATE:
        return _alphabet(parts)
    return b"".join(bytes([byte]) for byte in b"a1 -." if not _in_class(byte, parts[1:])) or b"~"


def _in_class(byte: int, parts: Any) -> bool:
    return any(
        (operator is _op.LITERAL and argument == byte)
        or (operator is _op.RANGE and argument[0] <= byte <= argument[1])
        or (operator is _op.CATEGORY and _CLASS[str(argument).removeprefix("CATEGORY_")][0] == byte)
        for operator, argument in parts
    )
