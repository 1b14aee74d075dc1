"""From records of scheduler accounting to rows of the `alloc` table: some thousand at a time, each column at once.

The joiner has counted the delimiters of every record, so Arrow's CSV reader can cut them; Python sees only the distinct
values of a column.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from ettlog.parse import columns as arrow
from ettlog.parse import sacct_cells as cells
from ettlog.parse.sacct_cells import ABSENT, BAD, SECOND
from ettlog.parse.sacct_lines import JOB_ID, TIMES, Layout, Record
from ettlog.parse.slurm_words import Restarts
from ettlog.parse.spool import Spool
from ettlog.parse.template import NULL
from ettlog.schema import arrow_schema

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

OPEN_STATES = frozenset(("PENDING", "RUNNING", "SUSPENDED", "CONFIGURING", "REQUEUE_HOLD"))
"""States in which the end that a record shows is a forecast or a leftover, never an end."""
UNSTARTED_STATES = frozenset(("PENDING", "REQUEUE_HOLD"))
NOWHERE = frozenset((b"", b"None assigned", b"None", b"(null)", b"N/A"))
ASSUMED = "local times of an unknown zone read as UTC"
HOUR = 3600 * SECOND


class Cut(NamedTuple):
    """One batch of records cut into cells."""

    columns: dict[str, pa.Array]
    rows: int

    def first(self, *names: str) -> pa.Array | None:
        """Return the first of these columns that is there."""
        return next((self.columns[name] for name in names if name in self.columns), None)


def cut(records: Sequence[Record], layout: Layout) -> Cut:
    """Cut records into columns of bytes; a line end inside a record becomes a blank."""
    import pyarrow as pa
    from pyarrow import csv

    text = b"\n".join(
        [record.text if record.lines == 1 else record.text.replace(b"\n", b" ") for record in records]
    ).replace(b"\r", b" ")
    delimiter = layout.delimiter
    if len(delimiter) > 1:
        single = next(bytes((code,)) for code in (31, 30, 29, 28, 1, 2, 3, 4, 5, 6) if code not in text)
        text, delimiter = text.replace(delimiter, single), single
    names = [f"f{index}" for index in range(len(layout.fields) + layout.trailing)]
    table = csv.read_csv(
        pa.BufferReader(text + b"\n"),
        read_options=csv.ReadOptions(column_names=names, block_size=len(text) + 2, use_threads=False),
        parse_options=csv.ParseOptions(delimiter=delimiter.decode("latin-1"), quote_char=False, escape_char=False),
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.binary()), null_values=[], strings_can_be_null=False
        ),
    )
    columns = {name: table.column(index).combine_chunks() for index, name in enumerate(layout.fields)}
    return Cut(columns, table.num_rows)


def each(column: pa.Array | None, read: Callable[[bytes], Any], kind: pa.DataType, count: int) -> pa.Array:
    """Read a column value by distinct value; all null where the column is not there."""
    import pyarrow as pa

    if column is None:
        return pa.nulls(count, kind)
    coded = column.dictionary_encode()
    return arrow.column([read(value) for value in coded.dictionary.to_pylist()], kind).take(coded.indices)


def _level(job: bytes) -> str:
    match = JOB_ID.match(job)
    return "step" if match and match[2] else "job"


def _job(job: bytes) -> str:
    match = JOB_ID.match(job)
    return cells.text(match[1] if match else job)


@dataclass
class Rows:
    """Collects rows; `lines` counts lines by outcome, instants are microseconds since 1970 UTC."""

    layout: Layout
    zone: str | None
    lines: Counter[str] = field(default_factory=Counter)
    mentions_gpus: bool = False
    first_us: int | None = None
    last_us: int | None = None
    clocks: Counter[str] = field(default_factory=Counter)
    restarts: Restarts = field(default_factory=Restarts)

    def __post_init__(self) -> None:
        """Make the clock of local times, and room for the rows."""
        self.spool = Spool(arrow_schema("alloc"))
        self._clock = cells.Clock(self.zone)

    def add(self, records: Sequence[Record]) -> None:
        """Read records that passed the joiner; those with an unusable id or time are counted and left out."""
        import numpy as np
        import pyarrow as pa

        if not records:
            return
        read = cut(records, self.layout)
        times = {name: self._clock.column(read.columns.get(name), read.rows) for name in TIMES}
        elapsed = each(read.first("elapsed", "elapsedraw"), cells.duration, pa.int64(), read.rows)
        self._repair_ends(read, times, elapsed)
        good = self._outcomes(records, read, times)
        batch = self._batch(records, read, times, elapsed)
        kept = batch.filter(arrow.flags(good)) if not good.all() else batch
        stamps = np.concatenate([times[name][good] for name in ("submit", "start", "end")])
        self._span(stamps[stamps > ABSENT])
        self.clocks.update({str(c["values"]): c["counts"] for c in kept.column("clock").value_counts().to_pylist()})
        self._count_restarts(kept)
        self.spool.add(kept)

    def _count_restarts(self, batch: pa.RecordBatch) -> None:
        """Look at the restarts of the jobs that have any: attempts may be missing."""
        import pyarrow as pa
        import pyarrow.compute as pc

        jobs = pc.equal(batch.column("record").cast(pa.string()), arrow.texts(["job"])[0])
        again = batch.filter(pc.and_(jobs, pc.greater(batch.column("restarts"), arrow.number(0, pa.int32()))))
        for raw, count in zip(again.column("raw").to_pylist(), again.column("restarts").to_pylist(), strict=True):
            self.restarts.saw(raw, count)

    def _repair_ends(self, read: Cut, times: dict[str, np.ndarray[Any, Any]], elapsed: pa.Array) -> None:
        """Move an end that a clock change put before its start: the printed duration tells whether that happened."""
        start, end = times["start"], times["end"]
        for index in ((end < start) & (end > ABSENT) & (start > ABSENT)).nonzero()[0]:
            later = self._clock.later(read.columns["end"][index].as_py())
            if later is not None and later >= start[index]:
                end[index] = later
            elif elapsed[index].as_py() == end[index] + HOUR - start[index]:
                end[index] += HOUR

    def _outcomes(
        self, records: Sequence[Record], read: Cut, times: dict[str, np.ndarray[Any, Any]]
    ) -> np.ndarray[Any, Any]:
        """Return which records are good; count the lines of all by outcome."""
        import numpy as np
        import pyarrow as pa

        ids = read.first("jobid", "jobidraw")
        named = arrow.values(each(ids, lambda job: JOB_ID.match(job) is not None, pa.bool_(), read.rows))
        start, end = times["start"], times["end"]
        timed = ~np.logical_or.reduce([column == BAD for column in times.values()])
        timed &= ~((end < start) & (end > ABSENT) & (start > ABSENT))
        lines = np.fromiter((record.lines for record in records), np.int64, len(records))
        self.lines["matched"] += int(lines[named & timed].sum())
        self.lines["bad_time"] += int(lines[named & ~timed].sum())
        self.lines["bad_record"] += int(lines[~named].sum())
        return np.asarray(named & timed)

    def _batch(
        self, records: Sequence[Record], read: Cut, times: dict[str, np.ndarray[Any, Any]], elapsed: pa.Array
    ) -> pa.RecordBatch:
        import pyarrow as pa
        import pyarrow.compute as pc

        words = {"cluster": "cluster", "name": "jobname", "user": "user", "partition": "partition", "reason": "reason"}
        numbers = {"nodes": ("nnodes", "allocnodes"), "restarts": ("restarts",), "cpus": ("alloccpus", "ncpus")}
        ids, count = read.first("jobid", "jobidraw"), read.rows
        states = each(read.first("state"), cells.state, pa.string(), count)
        start, end = self._held(read, times, states)
        values: dict[str, pa.Array] = {
            "line": arrow.column([record.line for record in records], pa.int64()),
            "record": each(ids, _level, pa.string(), count),
            "id": each(ids, cells.text, pa.string(), count),
            "raw": each(read.first("jobidraw", "jobid"), _job, pa.string(), count),
            "state": states,
            "submit_us": instants(times["submit"]),
            "eligible_us": instants(times["eligible"]),
            "start_us": start,
            "end_us": end,
            "clock": self._clocks(read, times),
            "elapsed_us": elapsed,
            "suspended_us": each(read.first("suspended"), cells.duration, pa.int64(), count),
            "gpus": self._gpus(read, start),
            "gpus_requested": each(read.first("reqtres", "tres"), cells.gpus, pa.int32(), count),
            "exit_code": each(read.first("exitcode"), lambda cell: cells.exit_code(cell)[0], pa.int32(), count),
            "exit_signal": each(read.first("exitcode"), lambda cell: cells.exit_code(cell)[1], pa.int32(), count),
        }
        values |= {name: each(read.first(column), cells.word, pa.string(), count) for name, column in words.items()}
        values |= {name: each(read.first(*found), cells.number, pa.int32(), count) for name, found in numbers.items()}
        schema = arrow_schema("alloc")
        columns = [(item.type, values.get(item.name)) for item in schema]
        arrays = [
            pa.nulls(count, kind)
            if column is None
            else pc.dictionary_encode(column)
            if pa.types.is_dictionary(kind)
            else column
            for kind, column in columns
        ]
        return pa.record_batch(arrays, names=schema.names)

    def _held(self, read: Cut, times: dict[str, np.ndarray[Any, Any]], states: pa.Array) -> tuple[pa.Array, pa.Array]:
        """Return when hardware was given and given back; never for a job that did not start, not yet for an open one.

        Older releases print the end as the start of a job that was cancelled while it was pending.
        """
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        def is_one_of(names: frozenset[str]) -> np.ndarray[Any, Any]:
            return arrow.values(pc.is_in(states, value_set=arrow.texts(sorted(names))))

        if (nodes := read.columns.get("nodelist")) is None:
            nowhere = is_one_of(frozenset(("CANCELLED",)))
        else:
            nowhere = arrow.values(each(nodes, lambda cell: cell in NOWHERE, pa.bool_(), read.rows))
        never = (times["start"] == times["end"]) & nowhere
        start = np.where(never | is_one_of(UNSTARTED_STATES), ABSENT, times["start"])
        end = np.where(is_one_of(OPEN_STATES), ABSENT, times["end"])
        return instants(start), instants(end)

    def _gpus(self, read: Cut, start: pa.Array) -> pa.Array:
        """Return the GPUs held: none without hardware, unknown where the record does not say."""
        import pyarrow as pa
        import pyarrow.compute as pc

        texts = read.first("alloctres", "tres")
        if texts is None:
            return pa.nulls(read.rows, pa.int32())
        found = each(texts, cells.gpus, pa.int32(), read.rows)
        none = arrow.number(0, pa.int32())
        self.mentions_gpus = self.mentions_gpus or bool(pc.any(pc.greater(found, none)).as_py())
        held = pc.if_else(pc.and_(pc.is_null(found), pc.greater(pc.binary_length(texts), none)), none, found)
        # Some releases fill in what a job that never ran would have got.
        return pc.if_else(pc.is_null(start), none, held) if "start" in read.columns else held

    def _clocks(self, read: Cut, times: dict[str, np.ndarray[Any, Any]]) -> pa.Array:
        """Return the clock of every record: that of its local stamps, where it has any."""
        import numpy as np
        import pyarrow.compute as pc

        local, dated = np.zeros(read.rows, bool), np.zeros(read.rows, bool)
        for name in TIMES:
            if name in read.columns:
                known = times[name] > ABSENT
                length = arrow.values(pc.binary_length(read.columns[name]))
                local |= known & (length == cells.STAMP_BYTES)
                dated |= known
        names = np.where(local, "zone_set" if self.zone else "zone_assumed", np.where(dated, "exact", "none"))
        return arrow.texts(names.tolist())

    def _span(self, stamps: np.ndarray[Any, Any]) -> None:
        if len(stamps):
            low, high = int(stamps.min()), int(stamps.max())
            self.first_us = low if self.first_us is None else min(self.first_us, low)
            self.last_us = high if self.last_us is None else max(self.last_us, high)

    def table(self) -> pa.Table | Spool:
        """Return all rows; where no record of the file names a GPU, whether any was held is not known."""
        if not self.mentions_gpus:
            self.spool.clear("gpus")
        return self.spool.table()


def instants(values: np.ndarray[Any, Any]) -> pa.Array:
    """Return instants as Arrow integers, null where there is none."""
    import numpy as np
    import pyarrow as pa

    return arrow.integers(np.where(values <= ABSENT, NULL, values), pa.int64())
