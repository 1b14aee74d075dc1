"""Jobs as trace viewers draw them: a process per job, a thread per start, slices that do not overlap on any track."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from ettlog.lifecycle import LOADED, PART_BY_NAME

if TYPE_CHECKING:
    import polars as pl

    from ettlog.fleet import Fleet
    from ettlog.registry import Registry

NO_START = -1
"""Number of the thread that holds what belongs to no start."""
NOBODYS = "no start"
"""Its title."""

COMMITTED = "committed"
"""State of a checkpoint that all ranks have written."""
EPOCH = datetime(1970, 1, 1)

Args = Mapping[str, str | int | bool]
Row = Mapping[str, Any]


class Slice(NamedTuple):
    """One interval on a track: its part, component, begin and end (us since 1970 UTC), and what is known of it."""

    name: str
    category: str
    begin_us: int
    end_us: int
    args: Args


class Instant(NamedTuple):
    """One moment on a thread: a checkpoint that became usable, or was loaded."""

    name: str
    at_us: int
    args: Args


class Thread(NamedTuple):
    """One start: `lanes` hold its raw intervals, each lane without overlap; the first is the thread's own track."""

    k: int
    title: str
    lanes: list[list[Slice]]
    instants: list[Instant]


class Process(NamedTuple):
    """One job: its exclusive partition, its starts, and the GPUs it held from instant to instant."""

    job: str
    pid: int
    args: Args
    partition: list[Slice]
    threads: list[Thread]
    gpus: list[tuple[int, int]]


def processes(fleet: Fleet, jobs: Iterable[str]) -> Iterator[Process]:
    """Yield the named jobs in the order given, numbered from 1, out of `span`, `segment`, `start` and `checkpoint`."""
    from ettlog import registry

    known = registry.in_force(fleet.config, fleet.lake)
    owners = {part: fleet.config.owner_of(part) if fleet.config else row.owner for part, row in PART_BY_NAME.items()}
    tables = {name: _by_job(fleet.table(name)) for name in ("span", "segment", "checkpoint", "start", "job")}
    for pid, job in enumerate(jobs, 1):
        rows: dict[str, list[Row]] = {
            name: list(frames[job].iter_rows(named=True)) if job in frames else [] for name, frames in tables.items()
        }
        told = rows["job"][0]
        active = _active(known, str(told["model"] or ""), str(told["platform"] or ""))
        yield _process(job, pid, rows, _Said(owners, active))


def _by_job(frame: pl.DataFrame) -> dict[str, pl.DataFrame]:
    parts = frame.partition_by("job", as_dict=True, maintain_order=True)
    return {str(key[0]): part for key, part in parts.items()}


def _process(job: str, pid: int, rows: Mapping[str, list[Row]], said: _Said) -> Process:
    told = rows["job"][0]
    named = ("model", "cluster", "platform", "gpus", "end_state")
    args = {name: told[name] for name in named if told[name] is not None}
    starts = {row["k"]: row for row in rows["start"]}
    numbers = sorted({NO_START if row["start"] is None else row["start"] for row in rows["span"]} | starts.keys())
    threads = [_thread(k, starts.get(k, {}), rows, said) for k in numbers]
    return Process(job, pid, args, [said.slice(row) for row in rows["segment"]], threads, _gpus(rows["segment"]))


class _Said(NamedTuple):
    """What slices say beside the interval itself: who owns the part, which optimizations worked on it."""

    owners: Mapping[str, str]
    active: list[tuple[str, frozenset[str], int, int | None]]

    def slice(self, row: Row) -> Slice:
        """Return the slice of a row of `span` or `segment`."""
        part = row["part"]
        names = {
            name
            for name, parts, since, until in self.active
            if part in parts and since <= row["begin_us"] and (until is None or row["begin_us"] < until)
        }
        told = {"owner": self.owners.get(part), "optimizations": ", ".join(sorted(names))}
        told |= {name: row.get(name) for name in ("start", "stage", "gpus", "allocated", "inferred", "evidence")}
        args = {name: value for name, value in told.items() if value not in (None, "")}
        component = PART_BY_NAME[part].component if part in PART_BY_NAME else part
        return Slice(part, component, row["begin_us"], row["end_us"], args)


def _active(known: Registry, model: str, platform: str) -> list[tuple[str, frozenset[str], int, int | None]]:
    return [
        (item.name, item.parts, rollout.since_us, rollout.until_us)
        for item in known.optimizations
        for rollout in item.rollouts
        if rollout.touches(model, platform)
    ]


def _thread(k: int, start: Row, rows: Mapping[str, list[Row]], said: _Said) -> Thread:
    own = [said.slice(row) for row in rows["span"] if (NO_START if row["start"] is None else row["start"]) == k]
    title = NOBODYS if k == NO_START else f"start {k}"
    ended = [str(start[name]) for name in ("end_state", "cause") if start.get(name)]
    title += f" ({start['kind']})" if start.get("kind") else ""
    title += f": {', '.join(ended)}" if ended else ""
    return Thread(k, title, lanes(own), [_instant(row) for row in rows["checkpoint"] if row["k"] == k and _shown(row)])


def lanes(slices: Iterable[Slice]) -> list[list[Slice]]:
    """Put slices on as few tracks as they need so that none overlaps another: the earliest first, on the first free."""
    tracks: list[list[Slice]] = [[]]
    for item in sorted(slices, key=lambda item: (item.begin_us, -item.end_us, item.name)):
        free = next((track for track in tracks if not track or track[-1].end_us <= item.begin_us), None)
        if free is None:
            tracks.append(free := [])
        free.append(item)
    return tracks


def _shown(row: Row) -> bool:
    return row["at"] is not None and row["state"] in (COMMITTED, LOADED)


def _instant(row: Row) -> Instant:
    told = {name: row[name] for name in ("step", "state", "path", "evidence")}
    args = {name: value for name, value in told.items() if value is not None}
    at: datetime = row["at"]
    return Instant(f"checkpoint {row['step']} {row['state']}", (at - EPOCH) // timedelta(microseconds=1), args)


def _gpus(segments: list[Row]) -> list[tuple[int, int]]:
    """Return (instant, GPUs held) at each change, zero at the end."""
    found: list[tuple[int, int]] = []
    for row in segments:
        held = int(row["gpus"] or 0) if row["allocated"] else 0
        if not found or found[-1][1] != held:
            found.append((row["begin_us"], held))
    return [*found, (segments[-1]["end_us"], 0)] if segments else []
