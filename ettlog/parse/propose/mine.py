"""Template mining: lines that differ in their values only are one print statement's."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ettlog.parse.propose.kind_words import TELLING
from ettlog.parse.propose.pieces import MAX_BODY, WORD, Piece, cut, skeleton, words

MAX_SHAPES = 4096
"""Most shapes kept when there are too many; the rarest go."""
KEPT = 24
"""Lines kept of each shape: the first ones."""
ALIKE = 0.6
"""Least share of equal words of two shapes of one print statement."""

Line = tuple[Piece, ...]
_Key = tuple[tuple[str, ...], tuple[str, ...]]
_DIGITS = re.compile(rb"\d+")


@dataclass
class Template:
    """Lines of one print statement: how many there were, and some of them; all have the same skeleton."""

    count: int
    lines: list[Line] = field(default_factory=list)

    def columns(self) -> Iterator[tuple[Piece, ...]]:
        """Yield the pieces of the kept lines that stand at the same place, place by place."""
        return zip(*self.lines, strict=True)


def mine(lines: Iterable[bytes]) -> list[Template]:
    """Return the templates of lines without their prefixes, the most frequent first.

    First, lines with the same words and marks are one shape; then shapes whose words differ in a few places, but not
    in words that tell what happens, become one template.
    """
    shapes: dict[_Key, Template] = {}
    seen: dict[bytes, Template] = {}
    for body in lines:
        rough = _DIGITS.sub(b"0", body[:MAX_BODY])
        found = seen.get(rough)
        if found is None or len(found.lines) < KEPT:
            line = cut(body)
            if not any(piece.sort == WORD for piece in line):
                continue
            found = shapes.setdefault((skeleton(line), words(line)), Template(0))
            if len(found.lines) < KEPT:
                found.lines.append(line)
            seen[rough] = found
        found.count += 1
        if len(seen) > 4 * MAX_SHAPES:
            kept = Counter({key: one.count for key, one in shapes.items()}).most_common(MAX_SHAPES)
            shapes, seen = {key: shapes[key] for key, _ in kept}, {}
    return _merged(shapes)


def _merged(shapes: dict[_Key, Template]) -> list[Template]:
    by_skeleton: dict[tuple[str, ...], list[tuple[tuple[str, ...], Template]]] = {}
    for (bones, said), shape in sorted(shapes.items(), key=lambda item: (-item[1].count, item[0])):
        known = by_skeleton.setdefault(bones, [])
        twin = next((one for first, one in known if alike(first, said)), None)
        if twin is None:
            known.append((said, shape))
        else:
            twin.count += shape.count
            twin.lines.extend(shape.lines[: max(1, KEPT // 4)])
    found = [one for group in by_skeleton.values() for _, one in group]
    return sorted(found, key=lambda one: (-one.count, [piece.text for piece in one.lines[0]]))


def alike(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Tell whether two lines of one skeleton are of one print statement, by their words.

    The first word is the same, most others are, and none of those that differ tells what happens.
    """
    differ = [(a, b) for a, b in zip(one, other, strict=True) if a != b]
    if any(TELLING.search(a) or TELLING.search(b) for a, b in differ):
        return False
    return one[0] == other[0] and 1 - len(differ) / len(one) >= ALIKE
