"""From records of scheduler accounting to rows of the `alloc` table, a few thousand at a time, column by column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ettlog.parse import sacct_cells as cells
from ettlog.parse.sacct_lines import JOB_ID, Layout, Record
from ettlog.parse.sacct_cells import BAD, cached
from ettlog.schema import arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa

OPEN_STATES = frozenset(("PENDING", "RUNNING", "SUSPENDED", "CONFIGURING", "REQUEUE_HOLD"))
"""States in which the end that a record shows is a forecast or a leftover, never an end."""
UNSTARTED_STATES = frozenset(("PENDING", "REQUEUE_HOLD"))
NOWHERE = frozenset((b"", b"None assigned", b"None", b"(null)", b"N/A"))
ASSUMED = "local times of an unknown zone read as UTC"

Column = Callable[[bytes], Any]


@dataclass
class Rows:
    """Collects rows; `lines` counts lines by outcome."""

    layout: Layout
    zone: str | None
    lines: Counter[str] = field(default_factory=Counter)
    batches: list[pa.RecordBatch] = field(default_factory=list)
    mentions_gpus: bool = False
    first_us: int | None = None
    last_us: int | None = None
    clocks: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        """Make the readers of the columns, each with a memory of its own."""
        self._clock = cells.Clock(self.zone)
        self._local = "zone_set" if self.zone else "zone_assumed"
        self._word = cached(cells.word)
        self._state = cached(cells.state)
        self._gpus = cached(cells.gpus)
        self._number = cached(cells.number)
        self._duration = cached(cells.duration)
        self._exit = cached(cells.exit_code)

    def add(self, records: Sequence[Record]) -> None:
        """Read records that passed the joiner; those with an unusable id or time are counted and left out."""
        if not records:
            return
        delimiter = self.layout.delimiter
        table = list(zip(*(record.text.split(delimiter) for record in records), strict=False))
        column = {name: table[index] for index, name in enumerate(self.layout.fields)}
        times = {name: self._times(column.get(name), len(records)) for name in ("submit", "eligible", "start", "end")}
        elapsed = self._each(column, self._duration, "elapsed", "elapsedraw", count=len(records))
        ids = column.get("jobid") or column["jobidraw"]
        self._repair_ends(column, times, elapsed)
        keep = []
        for index, record in enumerate(records):
            outcome = self._outcome(ids[index], [times[name][index] for name in times])
            self.lines[outcome] += record.lines
            if outcome == "matched":
                keep.append(index)
        self._emit(records, column, times, elapsed, ids, keep)

    def _times(self, column: Sequence[bytes] | None, count: int) -> list[int | None]:
        return [self._clock(cell) for cell in column] if column is not None else [None] * count

    def _each(self, column: dict[str, Any], read: Column, *names: str, count: int) -> list[Any]:
        """Read the first of these columns that is there."""
        found = next((column[name] for name in names if name in column), None)
        return [read(cell) for cell in found] if found is not None else [None] * count

    def _repair_ends(
        self, column: dict[str, Any], times: dict[str, list[int | None]], elapsed: list[int | None]
    ) -> None:
        """Move an end that a clock change put before its start: the printed duration says whether that is what happened."""
        for index, (start, end) in enumerate(zip(times["start"], times["end"], strict=True)):
            if start is None or end is None or end >= start or BAD in (start, end):
                continue
            later = self._clock.later(column["end"][index])
            if later is not None and later >= start:
                times["end"][index] = later
            elif elapsed[index] is not None and start + elapsed[index] == end + 3600 * cells.SECOND:
                times["end"][index] = end + 3600 * cells.SECOND

    @staticmethod
    def _outcome(job: bytes, times: list[int | None]) -> str:
        if JOB_ID.match(job) is None:
            return "bad_record"
        start, end = times[2], times[3]
        if BAD in times or (start is not None and end is not None and end < start):
            return "bad_time"
        return "matched"

    def _emit(
        self,
        records: Sequence[Record],
        column: dict[str, Any],
        times: dict[str, list[int | None]],
        elapsed: list[int | None],
        ids: Sequence[bytes],
        keep: list[int],
    ) -> None:
        import pyarrow as pa

        count = len(records)
        states = self._each(column, self._state, "state", count=count)
        codes = self._each(column, self._exit, "exitcode", count=count)
        values: dict[str, list[Any]] = {
            "line": [record.line for record in records],
            "record": ["step" if b"." in job else "job" for job in ids],
            "cluster": self._each(column, self._word, "cluster", count=count),
            "id": [job.decode("ascii") if job.isascii() else None for job in ids],
            "raw": [job.partition(b".")[0].decode("ascii", "replace") for job in column.get("jobidraw", ids)],
            "name": self._each(column, cells.word, "jobname", count=count),
            "user": self._each(column, self._word, "user", count=count),
            "partition": self._each(column, self._word, "partition", count=count),
            "state": states,
            "reason": self._each(column, self._word, "reason", count=count),
            "submit_us": times["submit"],
            "eligible_us": times["eligible"],
            "clock": self._clocks(column, times, count),
            "elapsed_us": elapsed,
            "suspended_us": self._each(column, self._duration, "suspended", count=count),
            "nodes": self._each(column, self._number, "nnodes", "allocnodes", count=count),
            "gpus_requested": self._each(column, self._gpus, "reqtres", count=count),
            "exit_code": [code for code, _ in codes] if "exitcode" in column else codes,
            "exit_signal": [sign for _, sign in codes] if "exitcode" in column else codes,
            "restarts": self._each(column, self._number, "restarts", count=count),
        }
        values["start_us"], values["end_us"] = self._held(column, times, states)
        values["gpus"] = self._held_gpus(column, values["start_us"], count)
        schema = arrow_schema("alloc")
        kept = {name: [values[name][index] for index in keep] for name in schema.names}
        self._span(kept)
        arrays = [
            pa.array(kept[item.name], pa.string()).dictionary_encode() if pa.types.is_dictionary(item.type)
            else pa.array(kept[item.name], item.type)
            for item in schema
        ]  # fmt: skip
        self.batches.append(pa.record_batch(arrays, names=schema.names))

    def _held(
        self, column: dict[str, Any], times: dict[str, list[int | None]], states: list[str | None]
    ) -> tuple[list[int | None], list[int | None]]:
        """Return when hardware was given and given back; never for a job that did not start, not yet for an open one.

        Older releases print the end as the start of a job that was cancelled while it was pending.
        """
        nodes = column.get("nodelist")
        starts, ends = [], []
        for index, (start, end, state) in enumerate(zip(times["start"], times["end"], states, strict=True)):
            nowhere = nodes is None or nodes[index] in NOWHERE
            given = nodes is not None and nowhere
            never = start == end and nowhere and (state == "CANCELLED" or given)
            starts.append(None if never or state in UNSTARTED_STATES else start)
            ends.append(None if state in OPEN_STATES else end)
        return starts, ends

    def _held_gpus(self, column: dict[str, Any], starts: list[int | None], count: int) -> list[int | None]:
        """Return the GPUs held: none without hardware, unknown where the record does not say."""
        texts = column.get("alloctres")
        if texts is None:
            return [None] * count
        timed = "start" in column
        held = []
        for text, start in zip(texts, starts, strict=True):
            found = self._gpus(text)
            self.mentions_gpus = self.mentions_gpus or bool(found)
            if timed and start is None:
                held.append(0)  # some releases fill in what a job that never ran would have got
            else:
                held.append(0 if found is None and text else found)
        return held

    def _clocks(self, column: dict[str, Any], times: dict[str, list[int | None]], count: int) -> list[str]:
        named = [name for name in times if name in column]
        return [self._clock_of([column[name][index] for name in named]) for index in range(count)]

    def _clock_of(self, stamps: list[bytes]) -> str:
        lengths = {len(stamp) for stamp in stamps if stamp not in cells.NOTHING}
        return "none" if not lengths else self._local if 19 in lengths else "exact"

    def _span(self, kept: dict[str, list[Any]]) -> None:
        stamps = [value for name in ("submit_us", "start_us", "end_us") for value in kept[name] if value is not None]
        if stamps:
            self.first_us = min(stamps) if self.first_us is None else min(self.first_us, min(stamps))
            self.last_us = max(stamps) if self.last_us is None else max(self.last_us, max(stamps))
        self.clocks.update(kept["clock"])

    def table(self) -> pa.Table:
        """Return all rows; where no record of the file names a GPU, whether any was held is not known."""
        import pyarrow as pa

        schema = arrow_schema("alloc")
        table = pa.Table.from_batches(self.batches, None if self.batches else schema)
        if not self.mentions_gpus:
            index = table.schema.get_field_index("gpus")
            table = table.set_column(index, "gpus", pa.nulls(table.num_rows, pa.int32()))
        return table.unify_dictionaries()
