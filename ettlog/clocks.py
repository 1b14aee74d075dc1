"""Clocks that do not agree: zones inferred from containment, skew estimated, shifts applied to the facts that are read.

A trainer's lines must lie in its allocation. Where the two clocks say otherwise, the shifts that would put the lines
inside are bounds on the error. A zone that nobody told is inferred where one shift alone fits; skew is mended only
when asked. Nothing is read again: the shifts stand between the lake's files and the relations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

from ettlog import strays
from ettlog.shifts import FIRST, HOUR, LAST, SECOND, Shift, apply, at, of_zone

if TYPE_CHECKING:
    import duckdb

    from ettlog.config import Config

    Row = dict[str, Any]
    Told = Iterator[tuple[list["Shift"], Row]]

TOLERANCE = 120 * SECOND
"""Prolog and last steps may pass an allocation by so much: no sign of a wrong clock."""
CLOSE = 60 * SECOND
"""A zone is believed where it puts all lines inside to within so much."""
SLACK = 1800 * SECOND
"""By so much may the lines of a single log be shorter than its allocation for it to teach a zone."""
FARTHEST = 14 * HOUR
ASSUMED = "zone_assumed"
DATELESS = "date_inferred"
"""Stamps without a year: whether a zone was known when they were read, only the configuration tells."""
AMERICA = ("America/Los_Angeles", "America/Denver", "America/Chicago", "America/New_York", "America/Halifax")
ZONES = (
    *AMERICA, "Europe/London", "Europe/Berlin", "Europe/Helsinki", "Asia/Jerusalem", "Australia/Sydney",
    "Australia/Adelaide", "Pacific/Auckland", "America/Santiago",
)  # fmt: skip
"""One zone for each rule of clock changes that is tried where no fixed offset fits."""
EPOCH = datetime(1970, 1, 1)


class Pair(NamedTuple):
    """A log and the records that hold its allocation, with the bounds of the shift that puts the lines inside."""

    log: str
    log_path: str
    log_clock: str
    record: str
    record_path: str
    record_clock: str
    start_us: int
    low_us: int
    high_us: int
    job: str | None
    """Where the log names no allocation: the job, whose pods or records hold the lines of all its logs together."""
    bare: bool
    """Whether nothing says in which zone the log's stamps are."""


def reconcile(con: duckdb.DuckDBPyConnection, config: Config | None) -> list[Row]:
    """Shift the facts behind a connection where their clocks are known to be wrong; return the rows of `skew_fact`.

    The fact tables `event`, `step`, `alloc` and `source_fact` are replaced by shifted views where anything is shifted.
    """
    mode = str(config.get("clock.correct")) if config else "unambiguous"
    recorded = _recorded(con)
    lost = strays.find(con, recorded) if mode != "never" else []
    sources = con.execute("SELECT key, path, clock, first_us, last_us FROM source_fact ORDER BY path").fetchall()
    shifts, rows = list[Shift](), [_row(one.path, None, one.clock, None, one.said) for one in lost]
    for shift, row in _told(sources, config, recorded):
        shifts.extend(shift)
        rows.append(row)
    told = {shift.key for shift in shifts}
    pairs = [pair for pair in _pairs(con, config) if not told & {pair.log, pair.record}]
    for found, judged in _judged(pairs, mode):
        shifts.extend(found)
        rows.append(judged)
    for one in lost:
        shifts = [*one.only(shifts), *one.shifts()]
    if shifts:
        apply(con, shifts)
    return rows


def _recorded(con: duckdb.DuckDBPyConnection) -> set[str]:
    return {key for (key,) in con.execute("SELECT DISTINCT key FROM alloc").fetchall()}


def _told(sources: Iterable[tuple[Any, ...]], config: Config | None, recorded: set[str]) -> Told:
    """Yield what the configuration says of sources that were read without it: shifts, and zones of bare stamps."""
    given: Mapping[str, int] = config.get("clock.shifts") if config else {}
    for key, path, clock, first_us, last_us in sources:
        shift = next((shift for glob, shift in given.items() if fnmatchcase(path, glob)), None)
        zone = config.zone_of(path) if config and clock == ASSUMED else None
        if zone and config and key in recorded:
            zone = config.text("sacct.zone") or zone
        if shift:
            yield [Shift(key, FIRST, LAST, shift, assumed=False)], _row(path, None, clock, shift, "shifted as told")
        elif zone and shift is None:
            found = list(of_zone(key, zone, first_us, last_us))
            yield found, _row(path, None, clock, found[0].shift_us, f"zone {zone} as told")


def _row(path: str, against: str | None, clock: str | None, shift_us: int | None, verdict: str, **more: Any) -> Row:
    """Return a row of `skew_fact`."""
    return {"path": path, "against": against, "clock": clock, "shift_us": shift_us, "verdict": verdict} | more


_PAIRS = """
WITH held AS (
  SELECT key, id, raw, name, min(start_us) AS start_us, min(clock) AS clock,
    CASE WHEN count(end_us) = count(*) THEN max(end_us) END AS end_us
  FROM alloc
  WHERE record IN ('job', 'task') AND start_us IS NOT NULL AND clock NOT IN ('relative', 'date_nominal', 'none')
  GROUP BY key, id, raw, name
),
log AS (
  SELECT * FROM source_fact
  WHERE first_us IS NOT NULL AND coalesce(state, 'whole') <> 'document' AND key NOT IN (SELECT key FROM alloc)
    AND coalesce(clock, '') NOT IN ('relative', 'date_nominal', 'none')
),
pod AS (SELECT DISTINCT key, id, task FROM alloc WHERE record = 'task'),
loose AS (
  SELECT *, regexp_extract(path, '([^/]*?)([.](log|txt|out|gz|zst|jsonl?))*$', 1) AS stem
  FROM log WHERE allocation IS NULL
),
met AS (
  SELECT l.key AS log, NULL AS job, h.* FROM log AS l JOIN held AS h ON h.raw = l.allocation
  UNION
  SELECT l.key, NULL, h.* FROM log AS l JOIN held AS h ON h.id = l.allocation
  UNION
  SELECT l.key, h.name, h.* FROM loose AS l JOIN held AS h ON h.name = l.job_name
  UNION
  SELECT l.key, h.id, h.* FROM loose AS l JOIN held AS h ON h.id = l.job_name
  UNION
  SELECT l.key, h.id, h.*
  FROM loose AS l JOIN pod AS p ON p.task = l.stem JOIN held AS h ON h.key = p.key AND h.id = p.id
)
SELECT m.log, l.path, l.clock, m.key, s.path, min(m.clock), min(m.start_us), max(l.last_us) - max(m.end_us),
  min(l.first_us) - min(m.start_us), min(m.job), bool_and(m.end_us IS NOT NULL)
FROM met AS m JOIN log AS l ON l.key = m.log JOIN source_fact AS s ON s.key = m.key
WHERE coalesce(l.cluster, s.cluster, '') = coalesce(s.cluster, l.cluster, '')
GROUP BY m.log, l.path, l.clock, m.key, s.path ORDER BY 2, 5
"""


def _pairs(con: duckdb.DuckDBPyConnection, config: Config | None) -> list[Pair]:
    """Return every log with the records of its allocation, and by how much these could be shifted to hold its lines."""
    rows = con.execute(_PAIRS).fetchall()
    return [
        Pair._make((*row[:7], row[7] if row[10] else FIRST, *row[8:10], _bare(row[1], row[2], config))) for row in rows
    ]


def _bare(path: str, clock: str, config: Config | None) -> bool:
    return clock == ASSUMED or (clock == DATELESS and not (config and config.zone_of(path)))


def _judged(pairs: list[Pair], mode: str) -> Told:
    """Yield shifts and a row for each clock: records of an assumed zone as a whole, logs of a job together where they
    name no allocation, other logs one by one."""
    groups: dict[tuple[str, ...], list[Pair]] = {}
    for pair in pairs:
        groups.setdefault(_clock_of(pair), []).append(pair)
    for members in groups.values():
        first = members[0]
        bounds = [(pair.start_us, pair.low_us, pair.high_us) for pair in members]
        if first.record_clock == ASSUMED:
            against = first.log_path if len(members) == 1 else f"{len(members)} logs"
            moving = [(first.record, first.record_path, against)]
            clock, bare = first.record_clock, True
        else:  # it is the logs that move, the other way
            bounds = [(start - low if low > FIRST else start, -high, -low) for start, low, high in bounds]
            moving = [(pair.log, pair.log_path, pair.record_path) for pair in members]
            clock, bare = first.log_clock, first.bare
        edge = _edge(bounds) | {"pairs": len(members)}
        shifts, shift_us, verdict = _verdict(moving[0][0], bare, bounds, mode)
        for key, path, against in dict.fromkeys(moving):
            yield [shift._replace(key=key) for shift in shifts], _row(path, against, clock, shift_us, verdict, **edge)


def _clock_of(pair: Pair) -> tuple[str, ...]:
    """Return what names the clock that is wrong where a log and its records disagree."""
    if pair.record_clock == ASSUMED:
        return (pair.record,)
    if pair.job is not None and pair.bare:
        return pair.record, pair.job
    return pair.log, "", ""


def _edge(bounds: list[tuple[int, int, int]]) -> Row:
    """Return the bounds of a shift that puts all lines inside, where there are any."""
    low, high = max(low for _, low, _ in bounds), min(high for *_, high in bounds)
    fits = low <= high + TOLERANCE
    return {"low_us": low if low > FIRST and fits else None, "high_us": high if high < LAST and fits else None}


def _verdict(
    key: str, bare: bool, bounds: list[tuple[int, int, int]], mode: str
) -> tuple[list[Shift], int | None, str]:
    """Return the shifts of a clock, the first of them in microseconds, and what is to be said of it."""
    low, high = max(low for _, low, _ in bounds), min(high for *_, high in bounds)
    if all(low - TOLERANCE <= 0 <= high + TOLERANCE for _, low, high in bounds):
        return [], None, "agrees"
    if bare:
        fitting = _offsets(low, high)
        # the lines of one log may be of an attempt whose record is missing: they must fit closely to say something
        if len(fitting) == 1 and (len(bounds) > 1 or high - low <= SLACK) and mode != "never":
            text = f"zone {_offset(fitting[0])} inferred: only so the lines lie in the allocations"
            return [Shift(key, FIRST, LAST, fitting[0], assumed=True)], fitting[0], text
        if fitting:
            ends = dict.fromkeys((_offset(fitting[-1]), _offset(fitting[0])))
            return [], None, f"zone unknown: {' to '.join(ends)} would fit"
        zone = _changing(bounds)
        if zone and mode != "never":
            starts = [start for start, *_ in bounds]
            found = list(of_zone(key, zone, min(starts) - 400 * 24 * HOUR, max(starts) + 400 * 24 * HOUR))
            return found, found[0].shift_us, f"zone inferred: the clock changes of {zone}, and no fixed offset, fit"
    if low > high + TOLERANCE:
        return [], None, "no single shift puts the lines into the allocations"
    least = low if low > 0 else high
    if mode == "always":
        return [Shift(key, FIRST, LAST, least, assumed=False)], least, "skew corrected by the least that fits, as asked"
    return [], None, f'skewed by {abs(least) / SECOND:,.0f} s or more; clock.correct = "always" mends it'


def _offsets(low: int, high: int) -> list[int]:
    """Return the shifts of zones that lie in bounds: whole hours, else half hours, else quarters of one."""
    for unit in (HOUR, HOUR // 2, HOUR // 4):
        first = -(-(max(low, -FARTHEST) - CLOSE) // unit)
        last = (min(high, FARTHEST) + CLOSE) // unit
        if first <= last:
            return [number * unit for number in range(first, last + 1)]
    return []


def _offset(shift_us: int) -> str:
    """Return the offset of a zone whose bare stamps need this shift to be UTC."""
    minutes = abs(shift_us) // (60 * SECOND)
    return f"UTC{'-' if shift_us > 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"


def _changing(bounds: list[tuple[int, int, int]]) -> str | None:
    """Return the zone whose clock changes put all lines inside; None where there is none, or zones that differ do."""
    fitting: dict[tuple[int, ...], str] = {}
    for zone in ZONES:
        shifts = tuple(-at(zone, EPOCH + timedelta(microseconds=start)) for start, *_ in bounds)
        if all(low - CLOSE <= shift <= high + CLOSE for shift, (_, low, high) in zip(shifts, bounds, strict=True)):
            fitting.setdefault(shifts, zone)
    return next(iter(fitting.values())) if len(fitting) == 1 else None
