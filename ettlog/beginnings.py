"""Whether one source is the beginning of another, by their facts: a lake keeps no text to compare.

Who reads a log while it grows, and who reads it after it grew and was rotated, hold the same facts of its beginning:
both must never stand side by side. All that a reader of more lines cannot see otherwise must be alike, line by line.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ettlog import moved, shards
from ettlog.errors import LakeError
from ettlog.held import Held, full, tables

if TYPE_CHECKING:
    import pyarrow as pa

_FIRM = ("exact", "zone_set", "zone_assumed")
"""Clocks of instants that do not depend on what stands further down."""
_TIMES = ("ts", "submit_us", "eligible_us", "start_us", "ready_us", "end_us")
_MEASURED = ("duration_us", "elapsed_us", "gpu_us")
"""Columns that two runs never share row by row: they tell that the rows are those of one."""


class Verdict(NamedTuple):
    """Whether one source is the beginning of another, and why that cannot be told."""

    begins: bool
    doubt: str


NO = Verdict(False, "")


def beginnings(sources: Sequence[Held]) -> dict[str, list[Held]]:
    """Return, by path, the sources of other lakes that were read before this one grew and was renamed: its beginnings.

    Raise LakeError where two sources with steps may be one, and nobody can tell.
    """
    held = {one.entry.path: one for one in sources}
    early = moved.Missing(moved.Gone(path, one.entry.bytes, one.entry.digest) for path, one in held.items())
    still = {one.lake.path: shards.gone(one.lake.path) for one in sources}
    found = defaultdict(list)
    for path, new in held.items():
        for old in (held[gone.name] for gone in early.of(path)):
            names = still[old.lake.path]  # of a shard: its last ingest saw whether the log is there under its name
            if old.lake.path == new.lake.path or (names is not None and old.entry.path not in names):
                continue
            verdict = look(old, new)
            if verdict.doubt:
                raise _doubtful(old, new, verdict.doubt)
            if verdict.begins:
                found[path].append(old)
    return found


def rotated(old: Held, sources: Sequence[Held]) -> bool:
    """Tell whether a source is the beginning of another one that is called after it."""
    return any(moved.called_after(new.entry.path, old.entry.path) and look(old, new).begins for new in sources)


def begins(old: Held, new: Held) -> bool:
    """Tell whether `new` surely holds all facts of `old`, in the same lines, and more lines or facts."""
    return _extent(old) < _extent(new) and look(old, new).begins


def _extent(held: Held) -> tuple[int, int]:
    entry = full(held).entry
    return entry.n_lines, sum(file.rows for file in entry.files.values())


def look(old: Held, new: Held) -> Verdict:
    """Tell whether `new` holds all facts of `old`, in the same lines, and goes on after, or why that cannot be told."""
    old, new = full(old), full(new)
    if not _may_begin(old, new) or not old.entry.files.keys() <= new.entry.files.keys():
        return NO
    mine, other = _read(old), _read(new)
    length = old.entry.n_lines
    told = _alike(mine, other, length)
    if told is None:  # a torn last line: more may be known of it now, or something else
        told = _alike(mine, other, length - 1)
        if told and any(len(_up_to(table, length)) > len(_up_to(table, length - 1)) for table in mine.values()):
            return Verdict(False, "all their lines say the same, but for the shorter one's last, which may be torn")
    if told == 0 and "step" in mine:
        return Verdict(False, "their steps are the same, and no instant or duration would tell two runs apart")
    return Verdict(bool(told), "")


def _may_begin(old: Held, new: Held) -> bool:
    """Tell whether the accounts of two sources let one be the beginning of the other."""
    one, two = old.entry, new.entry
    made = (one.parser, one.rules) == (two.parser, two.rules) and one.key != two.key
    return made and one.n_lines <= two.n_lines and _less(one.lines, two.lines) and _less(one.formats, two.formats)


def _less(few: Mapping[str, int], many: Mapping[str, int]) -> bool:
    """Compare counts; the last line of the shorter source may have been torn."""
    return all(count <= many.get(name, 0) + 1 for name, count in few.items())


def _read(held: Held) -> dict[str, pa.Table]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    found = {name: pq.read_table(pa.BufferReader(data)) for name, data in tables(held).items()}
    return {name: _plain(table) for name, table in found.items() if table.num_rows}


def _plain(table: pa.Table) -> pa.Table:
    """Return a table without dictionaries: two of the same words may count them otherwise."""
    import pyarrow as pa

    words = [pa.field(f.name, pa.string() if pa.types.is_dictionary(f.type) else f.type) for f in table.schema]
    return table.cast(pa.schema(words))


def _alike(old: Mapping[str, pa.Table], new: Mapping[str, pa.Table], most: int) -> int | None:
    """Return how many measured values two sources share up to a line, and None where they differ."""
    if any(len(_up_to(table, most)) for name, table in new.items() if name not in old):
        return None
    found = [_shared(_up_to(table, most), _up_to(new[name], most)) for name, table in old.items()]
    return None if None in found else sum(one or 0 for one in found)


def _up_to(table: pa.Table, most: int) -> pa.Table:
    import pyarrow.compute as pc

    return table.filter(pc.less_equal(table["line"], most))


def _shared(one: pa.Table, two: pa.Table) -> int | None:
    import pyarrow.compute as pc

    steady = [name for name in one.column_names if name not in (*_TIMES, "clock")]
    if not one.select(steady).equals(two.select(steady)):
        return None
    firm = pc.and_(*(pc.is_in(table["clock"], _words(_FIRM)) for table in (one, two)))
    times = [(one[name], two[name]) for name in _TIMES if name in one.column_names]
    for mine, other in times:
        same = pc.or_(pc.fill_null(pc.equal(mine, other), False), pc.and_(pc.is_null(mine), pc.is_null(other)))
        if not pc.all(pc.or_(same, pc.invert(firm)), min_count=0).as_py():
            return None
    instants = sum(pc.sum(pc.equal(mine, other)).as_py() or 0 for mine, other in times)
    return int(instants + sum(len(one) - one[name].null_count for name in _MEASURED if name in one.column_names))


def _words(words: tuple[str, ...]) -> pa.Array:
    import pyarrow as pa

    return pa.array(words, pa.string())


def _doubtful(old: Held, new: Held, doubt: str) -> LakeError:
    return LakeError(
        "one source may be the beginning of another, and would be counted twice",
        where=f"{old.lake.path}: {old.entry.path}; {new.lake.path}: {new.entry.path}",
        why=doubt,
        todo="ingest the logs of both in one run, which compares their bytes; or, where these are two logs, ingest one "
        "of them again with --as LABEL",
    )
