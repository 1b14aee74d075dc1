"""Odd lines: none, one byte, at and over the limit of a line, only carriage returns, only zeros, holes of gigabytes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from tests.hostile.case import BINARY, EMPTY, Case, step

LIMIT = 1 << 16
A, B = step(1), step(2)


def cases() -> Iterator[Case]:
    """Yield lines of every odd length and content, most of them between two step lines that must be read."""
    yield Case("empty.log", b"", {}, EMPTY)
    yield Case("one-byte.log", b"x", {"torn": 1})
    yield Case("one-newline.log", b"\n", {"unmatched": 1})
    yield Case("blanks.log", b"\n" * 10_000, {"unmatched": 10_000})
    yield Case("at-limit.log", A + b"x" * LIMIT + b"\n" + B, {"matched": 2, "unmatched": 1})
    yield Case("under-limit.log", A + b"x" * (LIMIT - 1) + b"\n" + B, {"matched": 2, "unmatched": 1})
    yield Case("over-limit.log", A + b"x" * (LIMIT + 1) + b"\n" + B, {"matched": 2, "long": 1})
    yield Case("mebibyte.log", A + b"y" * (1 << 20) + b"\n" + B, {"matched": 2, "long": 1})
    yield Case("8-mebibyte.log", A + b"z" * (8 << 20) + b"\n" + B, {"matched": 2, "long": 1})
    yield Case("spaces.log", A + b" " * LIMIT + b"\n" + B, {"matched": 2, "unmatched": 1})
    yield Case("only-cr.log", b"\r" * 5_000 + b"\n", {"unmatched": 1})
    yield Case("cr-ends.log", A[:-1] + b"\r" + B[:-1] + b"\r", {"matched": 1})
    yield Case("crlf.log", A[:-1] + b"\r\n" + B[:-1] + b"\r\n", {"matched": 2})
    yield Case("only-nul.log", b"\0" * 4096, {"torn": 1}, BINARY)
    yield Case("nul-tail.log", A + B + b"\0" * 4096, {"matched": 2, "torn": 1}, None)
    yield Case("no-last-newline.log", A + B[:-1], {"matched": 2})
    yield Case("torn-last.log", A + B[:60], {"matched": 1, "torn": 1})
    yield Case("step-behind-limit.log", b"x" * LIMIT + A + B, {"matched": 1, "long": 1})
    yield Case("hole.log", lambda path: _hole(path, 64 << 20), {"matched": 2, "long": 1}, None)
    yield Case("hole-10-gb.log", lambda path: _hole(path, 10 << 30), {"matched": 2, "long": 1}, None, big=True)
    yield Case("300-mb.log", _line_of_300_mb, {"matched": 2, "long": 1}, big=True)
    yield Case("a-million-blanks.log", b"\n" * 1_000_000, {"unmatched": 1_000_000}, big=True)


def _hole(path: Path, size: int) -> None:
    """Write a step, a hole as a crashed node leaves it, and a step."""
    with path.open("wb") as file:
        file.write(A)
        os.ftruncate(file.fileno(), len(A) + size)
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + B)


def _line_of_300_mb(path: Path) -> None:
    with path.open("wb") as file:
        file.write(A)
        for _ in range(300):
            file.write(b"q" * (1 << 20))
        file.write(b"\n" + B)
