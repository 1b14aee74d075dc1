"""Chooses the literals the first pass looks for: few, none inside another, one in every anchor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

MAX_GATES = 60
"""Most literals of one automaton: from the 65th on its vector search falls back to a third of the speed."""

MIN_GATE = 6
"""Shortest literal in bytes; shorter ones are found everywhere."""


class Gates(NamedTuple):
    """Literals to look for, and for each one the anchors (by index) that a hit of it may belong to."""

    literals: tuple[bytes, ...]
    owners: tuple[tuple[int, ...], ...]


def choose(
    anchors: Sequence[bytes], *, kept: Iterable[bytes] = (), avoid: bytes = b"", most: int = MAX_GATES
) -> Gates:
    """Return at most `most` literals of at least 6 bytes so that each anchor contains one; the same for the same anchors.

    Without need nothing is shortened but for outer marks (they make literals overlap): an anchor that contains another anchor is served by it. Beyond
    `most` the substring that serves most anchors (then the longest, then the smallest) takes their place, if it does not occur
    in `avoid`. `kept` literals stay, unless one contains another: they are for lines so frequent that nothing else may run on
    them, and `avoid` is such lines.
    """
    fixed = _minimal(kept, b" ")
    loose = [one for one in _minimal(anchors, b" :|=,.()[]/") if not any(keep in one for keep in fixed)]
    while len(fixed) + len(loose) > most:
        best = _best(loose, fixed, avoid)
        if best is None:
            break
        loose = sorted([one for one in loose if best not in one] + [best])
    literals = tuple(sorted({*fixed, *loose}))
    return Gates(literals, tuple(_owners(gate, literals, anchors) for gate in literals))


def _overlaps(one: bytes, other: bytes) -> bool:
    return one in other or other in one


def _minimal(anchors: Iterable[bytes], edge: bytes) -> list[bytes]:
    bare = {one.strip(edge) if len(one.strip(edge)) >= MIN_GATE else one for one in anchors}
    found: list[bytes] = []
    for one in sorted(bare, key=lambda one: (len(one), one)):
        if not any(other in one for other in found):
            found.append(one)
    return sorted(found)


def _best(loose: Sequence[bytes], fixed: Sequence[bytes], avoid: bytes) -> bytes | None:
    counts: dict[bytes, int] = {}
    for one in loose:
        for part in {one[i:j] for i in range(len(one)) for j in range(i + MIN_GATE, len(one) + 1)}:
            counts[part] = counts.get(part, 0) + 1
    shared = [part for part, count in counts.items() if count > 1 and part.strip() == part and part not in avoid]
    free = [part for part in shared if not any(_overlaps(part, keep) for keep in fixed)]
    return min(free, key=lambda part: (-counts[part], -len(part), part), default=None)


def _owners(gate: bytes, literals: Sequence[bytes], anchors: Sequence[bytes]) -> tuple[int, ...]:
    """Return the anchors a hit may stand for: those with the gate in them, or with a gate that the hit can hide.

    The search gives the leftmost literal and goes on behind it, so a literal that begins inside another one is not reported.
    """
    near = [gate, *(other for other in literals if other != gate and _hides(gate, other))]
    return tuple(index for index, anchor in enumerate(anchors) if any(one in anchor for one in near))


def _hides(found: bytes, other: bytes) -> bool:
    return any(found[-size:] == other[:size] for size in range(1, min(len(found), len(other))))
