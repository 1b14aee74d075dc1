"""What the cells of scheduler accounting mean: stamps, durations, states, GPUs, exit codes."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Final, TypeVar
from zoneinfo import ZoneInfo

SECOND = 1_000_000
BAD: Final = -(1 << 62)
"""Stands for a stamp that cannot be read; no instant is so early."""
NOTHING = frozenset((b"", b"None", b"Unknown", b"N/A", b"(null)", b"NONE", b"UNKNOWN", b"Invalid", b"INVALID"))
CACHE = 1 << 17

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OFFSET = re.compile(r"(.{19})(?:\.\d+)?\s?(?:Z|([+-]\d\d):?(\d\d))\Z")
_GPU = re.compile(rb"(?:^|,)gres/gpu=(\d{1,9})(?![\d.])")
_TYPED_GPU = re.compile(rb"(?:^|,)gres/gpu:[^=,]{1,64}=(\d{1,9})(?![\d.])")
_DURATION = re.compile(rb"(?:(\d{1,6})-)?(?:(\d{1,6}):)?(\d{1,6}):(\d{1,2})(?:\.(\d{1,6}))?\Z")
_NUMBER = re.compile(rb"(\d{1,12})(?:\.(\d{1,3}))?([KM]?)\Z")
_CODE = re.compile(rb"(-?\d{1,9}):(\d{1,9})\Z")

T = TypeVar("T")


def cached(read: Callable[[bytes], T]) -> Callable[[bytes], T]:
    """Remember the answers of a reader of cells; forget them all when there are too many."""
    known: dict[bytes, T] = {}

    def look(cell: bytes) -> T:
        try:
            return known[cell]
        except KeyError:
            if len(known) >= CACHE:
                known.clear()
            value = known[cell] = read(cell)
            return value

    return look


class Clock:
    """Reads stamps; local ones in `zone`, or as UTC when there is none."""

    def __init__(self, zone: str | None) -> None:
        """Take the IANA zone of local stamps."""
        self.zone = ZoneInfo(zone) if zone else UTC
        self._tens: dict[bytes, int] = {}

    def __call__(self, cell: bytes) -> int | None:
        """Return microseconds since 1970 UTC, None for a time that is not there, BAD for one that cannot be read.

        Zones change at whole tens of minutes, so ten minutes of local time are looked up once.
        """
        if cell in NOTHING:
            return None
        if len(cell) == 19 and cell[16] == 58:
            tens = self._tens.get(cell[:15])
            rest = cell[15:16] + cell[17:19]
            if tens is None or not rest.isdigit():
                return self._slow(cell, 0)
            return tens + ((rest[0] - 48) * 60 + (rest[1] - 48) * 10 + (rest[2] - 48)) * SECOND if rest[1] < 54 else BAD
        return exact(cell)

    def later(self, cell: bytes) -> int | None:
        """Return the later reading of a local stamp that a clock change makes twice."""
        return self._slow(cell, 1) if len(cell) == 19 else None

    def _slow(self, cell: bytes, fold: int) -> int | None:
        try:
            stamp = datetime.fromisoformat(cell.decode("ascii"))
        except ValueError:
            return BAD
        if stamp.year < 1971:
            return None  # the zero of a clock, in some zone
        if not 2000 <= stamp.year <= 2100 or stamp.tzinfo is not None:
            return BAD
        instant = micros(stamp.replace(tzinfo=self.zone, fold=fold))
        if not fold:
            if len(self._tens) >= CACHE:
                self._tens.clear()
            self._tens[cell[:15]] = instant - (stamp.minute % 10 * 60 + stamp.second) * SECOND
        return instant


def micros(stamp: datetime) -> int:
    """Return microseconds since 1970 UTC of a stamp with a zone, by integers only."""
    gap = stamp.astimezone(UTC) - EPOCH
    return (gap.days * 86_400 + gap.seconds) * SECOND + gap.microseconds


def exact(cell: bytes) -> int | None:
    """Return the instant of a stamp that needs no zone: seconds since 1970, or with its offset; else BAD."""
    if cell.isdigit():
        if cell == b"0":
            return None
        return int(cell) * SECOND if 9 <= len(cell) <= 10 else BAD
    match = _OFFSET.match(cell.decode("ascii", "replace"))
    if match is None:
        return BAD
    hours, minutes = int(match[2] or 0), int(match[3] or 0)
    shift = timedelta(hours=hours, minutes=-minutes if (match[2] or "").startswith("-") else minutes)
    try:
        stamp = datetime.fromisoformat(match[1]).replace(tzinfo=timezone(shift))
    except ValueError:
        return BAD
    return micros(stamp) if 2000 <= stamp.year <= 2100 else BAD


def duration(cell: bytes) -> int | None:
    """Return microseconds of `[D-]HH:MM:SS`, `MM:SS.mmm` or a plain number of seconds; None for anything else."""
    if cell.isdigit() and len(cell) < 13:
        return int(cell) * SECOND
    match = _DURATION.match(cell)
    if match is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups()[:4])
    return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * SECOND + int((match[5] or b"0").ljust(6, b"0"))


def gpus(cell: bytes) -> int | None:
    """Return the GPUs of a TRES text, each counted once: `gres/gpu`, else the sum of the typed entries, else None."""
    match = _GPU.search(cell)
    if match:
        return int(match[1])
    typed = _TYPED_GPU.findall(cell)
    return sum(map(int, typed)) if typed else None


def number(cell: bytes) -> int | None:
    """Return a whole number that may be written as `12` or `1.20K`; None for anything else."""
    match = _NUMBER.match(cell)
    if match is None:
        return None
    scale = {b"": 1, b"K": 1000, b"M": 1_000_000}[match[3]]
    value = int(match[1]) * scale + int((match[2] or b"0").ljust(3, b"0")) * scale // 1000
    return value if value < 1 << 31 else None


def exit_code(cell: bytes) -> tuple[int | None, int | None]:
    """Return (code, signal) of `code:signal`."""
    match = _CODE.match(cell)
    return (int(match[1]), int(match[2])) if match else (None, None)


def state(cell: bytes) -> str | None:
    """Return a state in capitals, without `by <uid>` and the mark of a cut name; unknown states are carried."""
    text = word(cell)
    return text.partition(" ")[0].rstrip("+").upper() if text else None


def word(cell: bytes) -> str | None:
    """Return the text of a cell, at most 256 characters, or None where there is nothing."""
    return None if cell in NOTHING else cell.decode("utf-8", "replace")[:256]
