"""Line prefixes (envelopes) of launchers, schedulers, containers and loggers: one table, peeled outermost first.

The label of `srun -l` and `mpirun -tag` is a task number, that of `torchrun --tee` a local rank, that of torch's own
log formatter a global rank: `Peeled.rank` is the most global one found.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import NamedTuple

from ettlog.parse.envelope_table import ENVELOPES, NAMES, Envelope

__all__ = ["ENVELOPES", "MAX_DEPTH", "Envelope", "Peeled", "Prefix", "peel", "split_states", "walk"]

MAX_DEPTH = 8
"""Most envelopes peeled from one line."""

_BOM = b"\xef\xbb\xbf"
_ANSI = re.compile(rb"\x1b(?:\[[0-?]*+[ -/]*+[@-~]|\][^\x07\x1b]{0,256}(?:\x07|\x1b\\)|[@-Z\\^_])")


class Peeled(NamedTuple):
    """What is left of a line, and what its prefixes said."""

    body: bytes
    rank: int | None
    node: bytes | None
    stamp: bytes | None
    """Text of the outermost stamp found in a prefix."""
    offset: int
    """Where the body begins in the line as given (before ANSI codes were taken out: in the line without them)."""


class _Step(NamedTuple):
    """All envelopes that can begin with one byte, as one regex; `fields`: envelope -> its (field, group) pairs."""

    match: Callable[[bytes, int], re.Match[bytes] | None]
    fields: dict[str, tuple[tuple[str, str], ...]]


class _Table(dict[int, _Step | None]):
    """First byte -> step; a step is made when its byte is first met."""

    def __missing__(self, byte: int) -> _Step | None:
        rows = tuple(number for number, envelope in enumerate(ENVELOPES) if byte in envelope.first)
        self[byte] = _step(rows) if rows else None
        return self[byte]


@functools.cache
def _step(rows: tuple[int, ...]) -> _Step:
    branches, fields = [], {}
    for number in rows:
        regex = _expand(ENVELOPES[number].regex)
        names = [name.decode() for name in _GROUP.findall(regex)]
        fields[f"e{number}"] = tuple((name, f"{name}{number}") for name in names)
        branches.append(b"(?P<e%d>%s)" % (number, _GROUP.sub(rb"(?P<\g<1>%d>" % number, regex)))
    return _Step(re.compile(b"|".join(branches)).match, fields)


def _expand(regex: bytes) -> bytes:
    for name, meaning in NAMES.items():
        regex = meaning.join(re.split(rb"(?<![A-Z])" + name + rb"(?![A-Z_])", regex))
    return regex


_GROUP = re.compile(rb"\(\?P<(\w+)>")
_BY_FIRST = _Table()
_RANKS = ("rank", "task", "local")


class Prefix(NamedTuple):
    """Where the prefixes of one line end, and where in it their fields lie."""

    end: int
    spans: dict[str, tuple[int, int]]

    def peeled(self, line: bytes) -> Peeled:
        """Return the parts of a line with such prefixes."""
        spans = self.spans
        if not spans:
            return Peeled(line[self.end :], None, None, None, self.end)
        node, stamp = spans.get("node"), spans.get("stamp")
        return Peeled(
            line[self.end :],
            _rank(line, spans),
            None if node is None else line[node[0] : node[1]],
            None if stamp is None else line[stamp[0] : stamp[1]],
            self.end,
        )

    def tell(self, line: bytes, values: dict[str, int | str]) -> None:
        """Put the rank and the node of a line with such prefixes into its values, where it has none itself."""
        if (rank := _rank(line, self.spans)) is not None:
            values.setdefault("rank", rank)
        if node := self.spans.get("node"):
            values.setdefault("node", line[node[0] : node[1]].decode("utf-8", "replace"))


def peel(line: bytes) -> Peeled:
    """Take all known prefixes off a line, outermost first, at most `MAX_DEPTH`; ANSI codes and a byte order mark too.

    The body of a line without prefix is the line itself. Never raises.
    """
    if b"\x1b" in line:
        line = _ANSI.sub(b"", line)
    return walk(line).peeled(line)


def walk(line: bytes) -> Prefix:
    """Return where the prefixes of a line without ANSI codes lie; never raises."""
    at = len(_BOM) if line[:1] == _BOM[:1] and line.startswith(_BOM) else 0
    spans: dict[str, tuple[int, int]] = {}
    size = len(line)
    for _ in range(MAX_DEPTH):
        step = _BY_FIRST[line[at]] if at < size else None
        match = None if step is None else step.match(line, at)
        if step is None or match is None:
            break
        at = match.end()
        for field, group in step.fields[match.lastgroup or ""]:
            if match[group] is not None and (field in _RANKS or field not in spans):
                spans[field] = match.span(group)
    return Prefix(at, spans)


def _rank(line: bytes, spans: dict[str, tuple[int, int]]) -> int | None:
    """Return the most global rank; of two of one sort the innermost was kept. DeepSpeed's rank -1 is no rank."""
    for sort in _RANKS:
        if sort in spans:
            begin, end = spans[sort]
            if line[begin : begin + 1] != b"-":
                return int(line[begin:end])
    return None


def split_states(line: bytes) -> list[bytes]:
    """Return the states of a line that a progress bar wrote over with carriage returns; one state for a plain line."""
    return line.rstrip(b"\r").split(b"\r") if b"\r" in line else [line]
