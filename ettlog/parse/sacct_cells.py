"""What the cells of scheduler accounting mean: stamps, durations, states, GPUs, exit codes."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

from ettlog.parse import columns

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

SECOND = 1_000_000
BAD: Final = -(1 << 62)
"""Stands for a stamp that cannot be read; no instant is so early."""
ABSENT: Final = -(1 << 61)
"""Stands for a stamp that is not there."""
STAMP_BYTES = 19
COLON: Final = 58
OLDEST, NEWEST = 946_771_200, 4_133_894_400
"""Seconds since 1970 of 2000-01-02 and 2100-12-31: what lies outside is looked at one by one."""
NOTHING = frozenset((b"", b"None", b"Unknown", b"N/A", b"(null)", b"NONE", b"UNKNOWN", b"Invalid", b"INVALID"))

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OFFSET = re.compile(r"(.{19})(?:\.\d+)?\s?(?:Z|([+-]\d\d):?(\d\d))\Z")
_GPU = re.compile(rb"(?:^|,)gres/gpu=(\d{1,9})(?![\d.])")
_TYPED_GPU = re.compile(rb"(?:^|,)gres/gpu:[^=,]{1,64}=(\d{1,9})(?![\d.])")
_DURATION = re.compile(rb"(?:(\d{1,6})-)?(?:(\d{1,6}):)?(\d{1,6}):(\d{1,2})(?:\.(\d{1,6}))?\Z")
_NUMBER = re.compile(rb"(\d{1,12})(?:\.(\d{1,3}))?([KM]?)\Z")
_CODE = re.compile(rb"(-?\d{1,9}):(\d{1,9})\Z")


class Clock:
    """Reads stamps; local ones in `zone`, or as UTC when there is none."""

    def __init__(self, zone: str | None) -> None:
        """Take the IANA zone of local stamps."""
        self.zone = ZoneInfo(zone) if zone else UTC
        self._offsets: dict[int, int] = {}

    def column(self, column: pa.Array | None, count: int) -> np.ndarray[Any, Any]:
        """Return a column of stamps in microseconds since 1970 UTC; ABSENT where none, BAD where unreadable."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        if column is None:
            return np.full(count, ABSENT)
        usual = pc.equal(pc.binary_length(column), columns.number(STAMP_BYTES, pa.int32()))
        absent = pa.nulls(1, column.type)[0]
        try:
            local = pc.if_else(usual, column, absent).cast(pa.string()).cast(pa.timestamp("s")).cast(pa.int64())
        except pa.ArrowInvalid:
            return np.array([self(cell) for cell in column.to_pylist()], np.int64)
        seconds = columns.values(local.fill_null(columns.number(OLDEST, pa.int64())))
        near = (seconds >= OLDEST) & (seconds <= NEWEST)  # what lies in no year of the calendar has no offset either
        values = self._instants(np.where(near, seconds, OLDEST))
        odd = ~columns.values(usual) | ~near
        for index in odd.nonzero()[0]:
            values[index] = self(column[index].as_py())
        return values

    def _instants(self, local: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return microseconds UTC of local seconds. Zones change at whole tens of minutes: each is looked up once."""
        import numpy as np

        tens, places = np.unique(local // 600, return_inverse=True)
        return (local - np.array([self._offset(int(ten)) for ten in tens], np.int64)[places]) * SECOND

    def _offset(self, ten: int) -> int:
        """Return the seconds that local time is ahead of UTC; of two readings the earlier."""
        if ten not in self._offsets:
            local = EPOCH + timedelta(seconds=ten * 600)
            shift = local.replace(tzinfo=self.zone).utcoffset() or timedelta()
            self._offsets[ten] = shift.days * 86_400 + shift.seconds
        return self._offsets[ten]

    def __call__(self, cell: bytes) -> int:
        """Return the instant of one stamp of any shape; ABSENT for one that is not there, BAD for an unreadable one."""
        if cell in NOTHING:
            return ABSENT
        return self._local(cell, 0) if len(cell) == STAMP_BYTES else exact(cell)

    def later(self, cell: bytes) -> int | None:
        """Return the later reading of a local stamp that a clock change makes twice."""
        return self._local(cell, 1) if len(cell) == STAMP_BYTES else None

    def _local(self, cell: bytes, fold: int) -> int:
        try:
            stamp = datetime.fromisoformat(cell.decode("ascii"))
        except ValueError:
            return BAD
        if stamp.year in (1969, 1970):
            return ABSENT  # the zero of a clock, in some zone
        if not 2000 <= stamp.year <= 2100 or stamp.tzinfo is not None:
            return BAD
        return micros(stamp.replace(tzinfo=self.zone, fold=fold))


def micros(stamp: datetime) -> int:
    """Return microseconds since 1970 UTC of a stamp with a zone, by integers only."""
    gap = stamp.astimezone(UTC) - EPOCH
    return (gap.days * 86_400 + gap.seconds) * SECOND + gap.microseconds


def exact(cell: bytes) -> int:
    """Return the instant of a stamp that needs no zone: seconds since 1970, or with its offset; else BAD."""
    if cell.isdigit():
        if cell == b"0":
            return ABSENT
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
    if len(cell) == 8 and cell[2] == cell[5] == COLON and (digits := cell[:2] + cell[3:5] + cell[6:]).isdigit():
        clock = int(digits)
        return (clock // 10_000 * 3600 + clock // 100 % 100 * 60 + clock % 100) * SECOND
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
    count = sum(map(int, typed))
    return count if typed and count < 1 << 31 else None


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


def text(cell: bytes) -> str:
    """Return the text of an id, at most 256 characters."""
    return cell.decode("utf-8", "replace")[:256]
