"""Takes secrets and personal details out of a text before it is kept or shown: one function for each place."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ettlog.parse.redaction_kinds import KINDS, SECRETS

if TYPE_CHECKING:
    import pyarrow as pa

    from ettlog.parse.spool import Spool

_NEEDS = tuple((place, kind.need) for place, kind in enumerate(KINDS) if kind.need is not None)
_IN_NAMES = len(SECRETS) + 1
"""Of the kinds, how many are taken out of names that facts are joined by: secrets, and the first personal one."""
_HOME = next(kind for kind in KINDS if kind.name == "user of a home folder").regex
_TEXTS = {"event": ("name",), "alloc": ("name", "task", "reason")}
"""Columns of the lake that hold a text as the log has it."""
_WORTH = r"(?i)pass|pwd|secret|token|key|credential|auth|bearer|basic|cookie|://|@|sig=|/home/|/users/|/u/|[\w+/-]{20}"
"""What a stored text must hold to be worth the search: RE2 finds it in a column at once."""
_WORTH_HERE = re.compile(_WORTH.encode())
_SMALL = 1 << 18
"""Bytes of a column up to which it is searched without RE2."""


@functools.lru_cache(1)
def _finder() -> tuple[Any, tuple[int, ...]]:
    """Return what finds all literals in one pass, and of each literal the place of its kind."""
    from ahocorasick_rs import BytesAhoCorasick

    pairs = [(mark, place) for place, kind in enumerate(KINDS) for mark in kind.marks]
    return BytesAhoCorasick([mark for mark, _ in pairs]), tuple(place for _, place in pairs)


def _worth(line: bytes) -> list[int]:
    """Return the places of the kinds that are worth a search in this line, in order."""
    finder, places = _finder()
    low = line.lower()
    found = {places[match[0]] for match in finder.find_matches_as_indexes(low, overlapping=True)}
    found.update(place for place, need in _NEEDS if need.search(low))
    return sorted(found)


def redact(line: bytes) -> bytes:
    """Return a line without secrets and personal details; each is replaced by `***` or a word such as `<email>`."""
    for place in _worth(line):
        line = KINDS[place].regex.sub(KINDS[place].mask, line)
    return line


def redact_text(text: str) -> str:
    """Return a text of any number of lines without secrets and personal details."""
    return redact(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")


def kinds_in(line: bytes) -> list[str]:
    """Return the names of the kinds that redaction finds in a line, in the order in which they are looked for."""
    names = []
    for place in _worth(line):
        changed = KINDS[place].regex.sub(KINDS[place].mask, line)
        names += [KINDS[place].name] if changed != line else []
        line = changed
    return names


def stored(name: str) -> str:
    """Return a text as the lake may keep it: without secrets and mail addresses, the users of home folders by number.

    A checkpoint's path is what two logs are joined by, so the users of two home folders must stay apart: each becomes
    six digits of a hash. Whoever knows a user's name can find it again; only `--pseudonymize` prevents that.
    """
    line = name.encode("utf-8", "surrogateescape")
    for place in _worth(line):
        if place < _IN_NAMES:
            line = KINDS[place].regex.sub(KINDS[place].mask, line)
    return _HOME.sub(_numbered, line).decode("utf-8", "surrogateescape")


def _numbered(found: re.Match[bytes]) -> bytes:
    user = found[0][len(found[1]) :]
    return found[1] + b"<user-" + hashlib.blake2b(user, digest_size=3).hexdigest().encode() + b">"


@dataclass(frozen=True)
class Cleaned:
    """The rows of a spool as the lake may keep them, batch by batch."""

    rows: Spool
    change: Callable[[pa.RecordBatch], pa.RecordBatch]

    @property
    def num_rows(self) -> int:
        """Return how many rows there are."""
        return self.rows.num_rows

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows in the order in which they came."""
        return map(self.change, self.rows.batches())


def cleaned(table: str, rows: Any, changes: Iterable[tuple[str, Callable[[str], str]]] = ()) -> Any:
    """Return the rows of a fact table with the texts in them as the lake may keep them; the same object where nothing
    is to be changed. `changes` are further (column, function) pairs, which come first."""
    import pyarrow as pa

    todo = [*changes, *((column, stored) for column in _TEXTS.get(table, ()))]
    if isinstance(rows, pa.Table):
        return _changed(rows, todo)
    return Cleaned(rows, lambda batch: _changed(batch, todo)) if todo else rows


def _changed(rows: Any, changes: Iterable[tuple[str, Callable[[str], str]]]) -> Any:
    for column, change in changes:
        at = rows.schema.get_field_index(column)
        if at < 0 or not rows.num_rows:
            continue
        old = rows.column(at)
        new = _column(old, change)
        if new is not old:
            rows = rows.set_column(at, rows.schema.field(at), new)
    return rows


def _column(column: Any, change: Callable[[str], str]) -> Any:
    """Return a column of texts or words with each value changed; the same object where none changes."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        chunks = [_column(chunk, change) for chunk in column.chunks]
        same = all(new is old for new, old in zip(chunks, column.chunks, strict=True))
        return column if same else pa.chunked_array(chunks, column.type)
    if isinstance(column, pa.DictionaryArray):
        words = _column(column.dictionary, change)
        return column if words is column.dictionary else _recoded(column, words)
    if change is stored and not _may_change(column):
        return column
    values = column.to_pylist()
    known = {value: change(value) for value in set(values) if value is not None}
    if all(old == new for old, new in known.items()):
        return column
    return pa.array([None if value is None else known[value] for value in values], column.type)


def _may_change(column: Any) -> bool:
    """Tell whether a column of texts holds one that is worth the search."""
    text = column.buffers()[2]
    if text is None or text.size < _SMALL:  # to import RE2's home would cost more
        return text is not None and _WORTH_HERE.search(text) is not None
    import pyarrow.compute as pc

    return bool(pc.any(pc.match_substring_regex(column, _WORTH)).as_py())


def _recoded(column: Any, words: Any) -> Any:
    """Return a column of words under other words: two words may have become one."""
    import pyarrow as pa

    distinct = list(dict.fromkeys(words.to_pylist()))
    number = {word: index for index, word in enumerate(distinct)}
    codes = [None if code is None else number[words[code].as_py()] for code in column.indices.to_pylist()]
    return pa.DictionaryArray.from_arrays(pa.array(codes, column.indices.type), pa.array(distinct, words.type))
