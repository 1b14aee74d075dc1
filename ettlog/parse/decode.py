"""Decoders from the text of a regex group to the value of a column; text without a value gives None, never an error."""

from __future__ import annotations

import math
import re
import signal
from collections.abc import Callable, Mapping

from ettlog.lifecycle import CAUSES

MAX_DIGITS = 18
MAX_TEXT = 256
_INT32 = (1 << 31) - 1
_OTHER = CAUSES[-1]


def whole(text: bytes) -> int | None:
    """Return a whole number, thousands commas allowed; None for more than 18 digits or anything else."""
    if text.isdigit() and len(text) <= MAX_DIGITS:
        return int(text)
    digits = text.strip().replace(b",", b"")
    bare = digits[1:] if digits[:1] in (b"-", b"+") else digits
    return int(digits) if bare.isdigit() and len(bare) <= MAX_DIGITS else None


def small(text: bytes) -> int | None:
    """Return a whole number that fits 32 bits, or None."""
    value = whole(text)
    return value if value is not None and -_INT32 <= value <= _INT32 else None


def words(text: bytes) -> str | None:
    """Return printable text of at most 256 characters without outer blanks, or None when nothing is left."""
    shown = text[: MAX_TEXT * 4].decode("utf-8", "replace").strip()
    if shown.isprintable():
        return shown[:MAX_TEXT] or None
    return "".join(mark if mark.isprintable() else "�" for mark in shown)[:MAX_TEXT] or None


def cause(text: bytes) -> str | None:
    """Return a cause of `lifecycle.CAUSES`; any other word is `other`."""
    word = words(text)
    return word if word is None or word in CAUSES else _OTHER


def scaled(text: bytes, unit_us: int) -> int | None:
    """Return a decimal number times a unit in whole microseconds, exact; None for nan, inf, N/A."""
    digits = text.strip().replace(b",", b"")
    sign = -1 if digits[:1] == b"-" else 1
    head, _, tail = digits.lstrip(b"+-").partition(b".")
    if not (head + tail).isdigit() or len(head) > MAX_DIGITS - 9 or digits.count(b"-") > 1:
        return None
    tail = tail[:9]
    fraction: int = int(tail or b"0") * unit_us // 10 ** len(tail)
    return sign * (int(head or b"0") * unit_us + fraction)


def signal_code(text: bytes) -> int | None:
    """Return minus the number of a signal given by name (`SIGTERM`, `Signals.SIGTERM`) or number."""
    name = text.strip().rpartition(b".")[2].decode("ascii", "replace").upper()
    if name.lstrip("-").isdigit():
        value = abs(int(name)) if len(name) < 4 else 0
        return -value or None
    known = signal.Signals.__members__.get(name if name.startswith("SIG") else f"SIG{name}")
    return None if known is None else -int(known)


def clock_span(text: bytes) -> int | None:
    """Return `h:mm:ss`, `mm:ss` or `d-hh:mm:ss` (fraction allowed) in microseconds, or None."""
    days, dash, rest = text.strip().rpartition(b"-")
    parts = rest.split(b":")
    if not 2 <= len(parts) <= 3 or not all(part.isdigit() and len(part) <= 6 for part in parts[:-1]):
        return None
    seconds, day = scaled(parts[-1], 1_000_000), whole(days) if dash else 0
    if seconds is None or day is None:
        return None
    minutes = int(parts[-2]) + 60 * (int(parts[0]) if len(parts) == 3 else 0)
    return (day * 1440 + minutes) * 60_000_000 + seconds


_SPANS = {b"d": 86_400, b"h": 3_600, b"m": 60, b"s": 1}


def word_span(text: bytes) -> int | None:
    """Return `1d 2h 3m 4s`, any of its parts left out, in microseconds, or None."""
    parts = text.split()
    if not parts or not all(part[:-1].isdigit() and len(part) <= 7 and part[-1:] in _SPANS for part in parts):
        return None
    return sum(int(part[:-1]) * _SPANS[part[-1:]] for part in parts) * 1_000_000


def before(text: bytes) -> int | None:
    """Return a whole number less one: of a line that prints the number after the one that is meant."""
    value = whole(text)
    return None if value is None or value < 1 else value - 1


def rounded(text: bytes) -> int | None:
    """Return a whole number printed as a decimal or in engineering notation (`99.00`, `4.12e+3`), as printed."""
    head, _, power = text.strip().lower().partition(b"e")
    exponent = whole(power or b"0")
    if exponent is None or not 0 <= exponent < 10:
        return None
    value = scaled(head, 10**exponent)
    return value if value is not None and value >= 0 else None


def human_ms(text: bytes) -> int | None:
    """Return milliseconds in human units (`258`, `1.21K`) in microseconds."""
    factor = {b"K": 1_000, b"M": 1_000_000}.get(text[-1:], 1)
    return scaled(text.rstrip(b"KM"), 1_000 * factor)


def per_second(text: bytes) -> int | None:
    """Return the microseconds of one step from a rate in steps per second."""
    rate = scaled(text, 1_000_000)
    return None if not rate or rate < 0 else 1_000_000_000_000 // rate


def product(text: bytes) -> int | None:
    """Return the product of all whole numbers in a text: the world size of a device mesh."""
    value = math.prod(int(part) for part in re.findall(rb"\d{1,7}", text[:256]))
    return value if 0 < value <= _INT32 else None


_EPOCH, _OVER, _MORE, _PLUS = "_epoch", "_over", "_more", "_plus"


_HELPERS = (_EPOCH, _OVER, _MORE, _PLUS)


def _unit(unit_us: int) -> Callable[[bytes], int | None]:
    return lambda text: scaled(text, unit_us)


NUMBERS: Mapping[str, Callable[[bytes], int | None]] = {
    "step": whole, "target": whole, "samples": whole, "world": small, "code": small, "rank": small, "skipped": small,
}  # fmt: skip
"""Groups that are columns of whole numbers."""

TEXTS: Mapping[str, Callable[[bytes], str | None]] = {"name": words, "node": words, "cause": cause}
"""Groups that are columns of text."""

UNITS: Mapping[str, tuple[str, int]] = {
    "duration_us": ("duration_us", 1), "duration_ms": ("duration_us", 1_000), "duration_s": ("duration_us", 1_000_000),
    "duration_min": ("duration_us", 60_000_000), "total_ms": ("duration_us", 1_000),
    "total_s": ("duration_us", 1_000_000), "tflops": ("mflops", 1_000_000), "mfu_pct": ("mfu_ppm", 10_000),
}  # fmt: skip
"""Groups that are one decimal number: the column each fills, and what its unit is in the column's."""

CONVERTERS: Mapping[str, tuple[str, Callable[[bytes], int | str | None]]] = {
    **{group: (column, _unit(unit)) for group, (column, unit) in UNITS.items()},
    "hms": ("duration_us", clock_span),
    "human_ms": ("duration_us", human_ms),
    "per_s": ("duration_us", per_second),
    "total_words": ("duration_us", word_span),
    "total_hms": ("duration_us", clock_span),
    "step_next": ("step", before),
    "step_rounded": ("step", rounded),
    "world_product": ("world", product),
    "signal": ("code", signal_code),
    "stamp": ("stamp", words),
    "epoch": (_EPOCH, whole),
    "epoch_first": (_EPOCH, before),
    "over": (_OVER, whole),
    "more_s": (_MORE, _unit(1_000_000)),
    "plus_s": (_PLUS, _unit(1_000_000)),
}
"""Groups that are converted: name -> column, converter. `stamp` is read by the clock, `total_*` is time since the
loop began; `epoch` (from 0), `epoch_first` (from 1), `over`, `more_s` and `plus_s` change another
group's value (`combine`)."""

TOTALS = frozenset(group for group in CONVERTERS if group.startswith("total_"))
"""Groups whose durations count from the beginning of the loop, not of the step."""


Convert = Callable[[bytes], "int | str | None"]


def decoder(group: str) -> tuple[str, Convert]:
    """Return the column a group fills, and what makes a value of its text; None stands for no value."""
    if group in CONVERTERS:
        return CONVERTERS[group]
    found: Convert = NUMBERS.get(group) or TEXTS[group]
    return group, found


def combine(found: dict[str, int | str]) -> dict[str, int | str]:
    """Apply what the helper groups say, and take them out.

    A step counted inside an epoch becomes one of the run (its target, that of the epoch, goes); a duration of several
    steps becomes that of one; a second and a third duration are added to the first.
    """
    if found.keys().isdisjoint(_HELPERS):
        return found
    epoch, over, more, plus = (found.pop(name, None) for name in _HELPERS)
    step, duration = found.get("step"), found.get("duration_us")
    if isinstance(epoch, int) and isinstance(step, int):
        target = found.pop("target", None)
        if isinstance(target, int):
            found["step"] = epoch * target + step
    if isinstance(duration, int) and isinstance(over, int) and over > 0:
        found["duration_us"] = duration // over
    elif isinstance(duration, int):
        found["duration_us"] = duration + sum(value for value in (more, plus) if isinstance(value, int))
    return found
