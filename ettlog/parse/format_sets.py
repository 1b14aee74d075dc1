"""Sets of formats put together: the user's folders beside each other, one more format beside the known ones."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ettlog.parse.format import Format, FormatSet


def folders(*groups: Iterable[Path]) -> tuple[Path, ...]:
    """Return folders of formats in their order, each once however it is written."""
    return tuple({Path(one).resolve(): Path(one) for group in groups for one in group}.values())


def joined(known: FormatSet, one: Format) -> FormatSet:
    """Return a set of formats with one more, or with another one of that name; it has to have proved itself."""
    from blake3 import blake3

    formats = sorted((*(other for other in known.formats if other.name != one.name), one), key=lambda each: each.name)
    patterns = tuple(pattern for each in formats for pattern in each.patterns)
    return FormatSet(tuple(formats), patterns, blake3(f"{known.fingerprint} {one!r}".encode()).hexdigest())
