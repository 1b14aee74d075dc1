"""Learns the zone of a text source's local stamps from lines of the same text that hold an epoch value.

One process prints a local stamp, another (or the same) an epoch value soon after: MLPerf records, UCX lines. A stamp
and the epoch line next to it lie less than a minute apart beside whole quarters of an hour; where most stamps agree
on the quarters, that is the zone.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from ahocorasick_rs import BytesAhoCorasick, MatchKind

from ettlog.parse.clock import SourceClock
from ettlog.parse.stamp import SECOND, Stamp, find

HEAD = 1 << 20
"""Text that is looked at, in bytes."""

MOST = 512
"""Most local stamps that are compared."""

NEAR = 60 * SECOND
BESIDE = 1 << 13
"""Most bytes between a stamp and the epoch line it is compared with: what stands hours behind says nothing."""
_QUARTER = 900 * SECOND
_LINE = 400
"""Bytes of a line in which its stamp has to begin."""

_EPOCH = re.compile(
    rb"\"time_ms\": ?(?P<ms>[12]\d{12})\b"
    rb"|:::MLPv0\.\d\.\d \S{1,40} (?P<s>[12]\d{9})\.(?P<f>\d{1,9})"
    rb"|\b[IWEF]0000 00:00:(?P<absl>[12]\d{9}\.\d{6}) "
    rb"|(?:^|(?<=\n))\[(?P<us>[12]\d{9}\.\d{6})\] \["
)
_LITERALS = (b'"time_ms":', b":::MLPv0.", b"\n[1", b"0000 00:00:1")
_DATED = re.compile(rb"(?:20\d\d-\d\d-\d\d[T _]|\d\d/\d\d/20\d\d )\d\d:\d\d:\d\d")


@cache
def _literals() -> BytesAhoCorasick:
    return BytesAhoCorasick(_LITERALS, matchkind=MatchKind.LeftmostFirst)


def learn(text: bytes | memoryview, clock: SourceClock) -> None:
    """Tell a clock of the first local stamp and epoch value whose difference most pairs in a text share; else
    nothing.
    """
    if not _literals().find_matches_as_indexes(text):
        return
    head = bytes(text)
    epochs = [(match.start(), _micros(match)) for match in _EPOCH.finditer(head)]
    if not epochs:
        return
    pairs = list(_pairs(head, epochs))
    found = _agreed([pair for pair in pairs if pair.beside]) or _agreed(pairs)
    if found is not None:
        clock.observe(found.epoch_us, found.stamp)


def _agreed(pairs: Sequence[_Pair]) -> _Pair | None:
    """Return the first pair of the difference that most pairs share, at least two; None where there is none."""
    votes = Counter(pair.quarters for pair in pairs if pair.quarters is not None)
    best, count = max(votes.items(), key=lambda item: (item[1], -abs(item[0])), default=(0, 0))
    agreed = count >= 2 and 2 * count > len(pairs)
    return next(pair for pair in pairs if pair.quarters == best) if agreed else None


class _Pair(NamedTuple):
    """A local stamp and the nearest epoch value: quarters of an hour between them, or None; whether it is beside."""

    quarters: int | None
    epoch_us: int
    stamp: Stamp
    beside: bool


def _pairs(head: bytes, epochs: list[tuple[int, int]]) -> Iterator[_Pair]:
    """Yield local stamps with the epoch value of the nearest line, and how many quarters of an hour lie between, or
    None.
    """
    places = [place for place, _ in epochs]
    end = -1
    for number, match in enumerate(_DATED.finditer(head)):
        if number >= MOST:
            break
        begin = head.rfind(b"\n", 0, match.start()) + 1
        if begin < end or match.start() - begin > _LINE:
            continue
        end = (head.find(b"\n", match.end()) + 1) or len(head)
        stamp = find(head[begin : min(end, match.end() + _LINE)])
        if stamp is None or stamp.zone != "local" or not (stamp.year and stamp.date):
            continue
        at = bisect_left(places, match.start())
        near = min(epochs[max(0, at - 1) : at + 1], key=lambda epoch: abs(epoch[0] - match.start()))
        away = stamp.us - near[1]
        quarters = round(away / _QUARTER)
        agrees = abs(away - quarters * _QUARTER) <= NEAR
        yield _Pair(quarters if agrees else None, near[1], stamp, abs(near[0] - match.start()) <= BESIDE)


def _micros(match: re.Match[bytes]) -> int:
    if match["ms"]:
        return int(match["ms"]) * 1_000
    if match["us"] or match["absl"]:
        return int((match["us"] or match["absl"]).replace(b".", b""))
    return int(match["s"]) * SECOND + int(match["f"][:6].ljust(6, b"0"))
