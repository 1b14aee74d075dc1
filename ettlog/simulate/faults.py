"""Faults of logs: what collectors, disks and clocks do to them. The truth stays what it was."""

from __future__ import annotations

import gzip
from enum import StrEnum, auto
from typing import TYPE_CHECKING, NamedTuple

from ettlog.errors import UsageError
from ettlog.simulate.draw import generator
from ettlog.simulate.words import SECOND

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy as np

SKEW_US = 2 * SECOND
"""Most that a host's clock is wrong, either way."""
ZONE = 9 * 3_600 * SECOND
"""How far the local stamps of a fleet without a zone are before UTC."""


class Fault(StrEnum):
    """What may happen to logs."""

    torn = auto()
    """The end of a log is missing, up to a fiftieth of it, and its last line is cut."""
    rotated = auto()
    """A log is cut into NAME.2, NAME.1 and NAME."""
    duplicated = auto()
    """Lines are sent twice, or a whole log lies there a second time."""
    skewed = auto()
    """Hosts' clocks are wrong by up to two seconds."""
    zoneless = auto()
    """All stamps are local and nothing says in which zone; the truth is shifted with them."""
    ranks_missing = auto()
    """Logs of some ranks were not collected; the first and the last one, which tell most, always are."""
    interleaved = auto()
    """Two writers share a line: one breaks into the other's."""
    gzip = auto()
    """Logs are packed."""


def parse(text: str) -> frozenset[Fault]:
    """Return the faults of a text such as `torn,gzip`, `all` or an empty one; raises UsageError for an unknown name."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if names == ["all"]:
        return frozenset(Fault)
    unknown = [name for name in names if name not in set(Fault)]
    if unknown:
        raise UsageError(
            "a fault is not known", where=f"--faults {text}", why=f"{', '.join(unknown)}: none of {', '.join(Fault)}",
            todo="name some of them with commas between them, or all",
        )  # fmt: skip
    return frozenset(Fault(name) for name in names)


class Chance(NamedTuple):
    """The share of logs that a fault strikes."""

    torn: float = 0.2
    rotated: float = 0.25
    duplicated: float = 0.25
    ranks_missing: float = 0.4
    interleaved: float = 0.3
    gzip: float = 0.3


CHANCE = Chance()
"""Shares of the logs that faults strike."""


def shift(faults: Iterable[Fault], seed: int, host: str) -> int:
    """Return by how much the stamps of one host differ from UTC, in microseconds."""
    wrong = 0
    if Fault.skewed in faults:
        wrong = int(generator(seed, 8, *host.encode()).integers(-SKEW_US // 1000, SKEW_US // 1000 + 1)) * 1000
    return wrong + (ZONE if Fault.zoneless in faults else 0)


def strike(files: dict[str, bytes], faults: frozenset[Fault], seed: int) -> dict[str, bytes]:
    """Return the files after the faults; each file's fate depends on its name and the seed only."""
    made: dict[str, bytes] = {}
    # the longer name has the higher number
    kept = {max(group, key=lambda name: (len(name), name)) for group in _starts(files).values()}
    for name, data in files.items():
        if not name.endswith((".log", ".out")) or not data:
            made[name] = data
            continue
        rng = generator(seed, 9, *name.encode())
        made |= _struck(name, data, faults - {Fault.ranks_missing} if name in kept else faults, rng)
    return made


def _starts(files: Iterable[str]) -> dict[str, list[str]]:
    """Return the logs by their folder, which is that of an allocation where it has several."""
    found: dict[str, list[str]] = {}
    for name in files:
        found.setdefault(name.rpartition("/")[0], []).append(name)
    return found


def _struck(name: str, data: bytes, faults: frozenset[Fault], rng: np.random.Generator) -> dict[str, bytes]:
    """Return what becomes of one log."""
    luck = {fault: float(rng.random()) for fault in Fault}
    hit = {fault for fault in faults if luck[fault] < getattr(CHANCE, fault, 0.0)}
    if Fault.ranks_missing in hit and not name.endswith(("rank0.log", ".out")):
        return {}
    for fault, change in _CHANGES.items():
        if fault in hit:
            data = change(data, rng)
    parts = _rotated(name, data, rng) if Fault.rotated in hit else {name: data}
    if Fault.duplicated in hit and luck[Fault.duplicated] < CHANCE.duplicated / 4:
        parts["archive/" + name] = data
    return _packed(parts) if Fault.gzip in hit else parts


def _torn(data: bytes, rng: np.random.Generator) -> bytes:
    return data[: len(data) - int(rng.integers(1, max(len(data) // 50, 2)))]


def _duplicated(data: bytes, rng: np.random.Generator) -> bytes:
    """Send a block of up to twenty lines twice."""
    lines = data.splitlines(keepends=True)
    at = int(rng.integers(0, len(lines)))
    block = lines[at : at + int(rng.integers(1, 21))]
    return b"".join([*lines[: at + len(block)], *block, *lines[at + len(block) :]])


def _interleaved(data: bytes, rng: np.random.Generator) -> bytes:
    """Let one line in two hundred be broken into by the next."""
    lines = data.splitlines(keepends=True)
    for at in range(len(lines) - 1):
        if rng.random() < 0.005 and len(lines[at]) > 2:
            cut = int(rng.integers(1, len(lines[at]) - 1))
            lines[at], lines[at + 1] = lines[at][:cut] + lines[at + 1], lines[at][cut:]
    return b"".join(lines)


_CHANGES: dict[Fault, Callable[[bytes, np.random.Generator], bytes]] = {
    Fault.interleaved: _interleaved, Fault.duplicated: _duplicated, Fault.torn: _torn,
}  # fmt: skip
"""Faults that change a log's bytes, in the order in which they happen to it."""


def _rotated(name: str, data: bytes, rng: np.random.Generator) -> dict[str, bytes]:
    """Cut a log at two ends of lines; the higher the number, the older the part."""
    lines = data.splitlines(keepends=True)
    cuts = sorted(int(at) for at in rng.integers(0, len(lines) + 1, 2))
    parts = [lines[: cuts[0]], lines[cuts[0] : cuts[1]], lines[cuts[1] :]]
    names = (f"{name}.2", f"{name}.1", name)
    return {of: b"".join(part) for of, part in zip(names, parts, strict=True) if part}


def _packed(parts: dict[str, bytes]) -> dict[str, bytes]:
    return {f"{name}.gz": gzip.compress(data, 6, mtime=0) for name, data in parts.items()}
