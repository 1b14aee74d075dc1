"""The sides of a comparison: what a word on the command line or a line of pairs.toml means, in jobs and windows."""

from __future__ import annotations

import tomllib
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ettlog import windows
from ettlog.errors import NoDataError, UsageError
from ettlog.tables import count

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from ettlog.windows import Window

FIELDS = ("name", "before", "after")
KEYS = ("job", "model", "cluster", "platform")
"""What a side may be chosen by, as `KEY:GLOB`."""
BETWEEN = ".."


class Pair(NamedTuple):
    """Two sides that differ in what is being asked about, and in nothing else that anybody knows of."""

    name: str
    before: str
    after: str


class Side(NamedTuple):
    """One side of a pair: its jobs, the window that is looked at, and how it was asked for."""

    text: str
    jobs: tuple[str, ...]
    span: Window


def read(path: str | Path) -> tuple[Pair, ...]:
    """Read a file of `[[pair]]` tables (`before`, `after`, and a `name` if wanted).

    Raises UsageError naming every mistake at once, with its place in the file.
    """
    file = Path(path)
    try:
        rows = tomllib.loads(file.read_text(encoding="utf-8-sig")).get("pair")
    except (OSError, ValueError) as error:  # TOMLDecodeError and UnicodeDecodeError are ValueErrors
        raise UsageError(
            "the pairs cannot be read", where=str(file), why=str(error), todo="give the path of a TOML file"
        ) from error
    if not isinstance(rows, list) or not rows:
        raise UsageError(
            "the file holds no pair", where=str(file), why="there is no [[pair]] table in it",
            todo='write [[pair]] with before = "JOB" and after = "JOB"',
        )  # fmt: skip
    errors = [wrong for index, row in enumerate(rows) for wrong in _mistakes(row, f"pair[{index}]")]
    if errors:
        raise UsageError(
            f"the pairs have {len(errors)} mistake{'s' if len(errors) > 1 else ''}", where=str(file),
            why="\n         ".join(errors), todo="correct the lines named above",
        )  # fmt: skip
    return tuple(Pair(row.get("name", row["after"]), row["before"], row["after"]) for row in rows)


def _mistakes(row: Any, where: str) -> list[str]:
    if not isinstance(row, dict):
        return [f"{where}: a table with before and after is needed"]
    found = [f"{where}.{key}: unknown field; known are {', '.join(FIELDS)}" for key in row if key not in FIELDS]
    for key in FIELDS:
        given = key in row or key != "name"
        if given and not (isinstance(row.get(key), str) and row[key].strip()):
            found.append(f"{where}.{key}: a text is needed")
    return found


def side(text: str, job: pl.DataFrame, span: Window) -> Side:
    """Return the jobs and the window that a text stands for, among the jobs of a `job` frame.

    `FROM..TO` is a window (dates, or `now-30d`); `model:GLOB`, `job:`, `cluster:`, `platform:` choose jobs; a bare text
    is a job, else a model, else a glob over job names. Raises NoDataError where nothing matches, UsageError for a
    window that is none.
    """
    names = [str(name) for name in job["job"]]
    if BETWEEN in text:
        return Side(text, tuple(sorted(names)), _window(text, span))
    found = _chosen(text, job.select(KEYS).to_dicts())
    if not found:
        raise NoDataError(
            f"no job is meant by {text!r}", where=text,
            why=f"{count(len(names), 'job')} here, none of such a name or model",
            todo="see `ettlog jobs`; write model:GLOB, job:GLOB, cluster:GLOB or FROM..TO",
        )  # fmt: skip
    return Side(text, tuple(sorted(found)), span)


def _window(text: str, span: Window) -> Window:
    since, _, until = text.partition(BETWEEN)
    newest = span.until_us - 1
    return windows.resolve(newest, oldest_us=span.since_us, since=since or None, until=until or None)


def _chosen(text: str, rows: list[dict[str, Any]]) -> list[str]:
    key, _, glob = text.partition(":")
    if key in KEYS and glob:
        return _matching(rows, key, glob)
    exact = [row["job"] for row in rows if row["job"] == text] or [row["job"] for row in rows if row["model"] == text]
    return exact or _matching(rows, "job", text) or _matching(rows, "model", text)


def _matching(rows: list[dict[str, Any]], key: str, glob: str) -> list[str]:
    return [row["job"] for row in rows if fnmatchcase(row[key] or "", glob)]


def overlap(before: Side, after: Side) -> Mapping[str, str]:
    """Return what makes two sides one: the jobs they share in overlapping windows; empty for honest pairs."""
    apart = before.span.until_us <= after.span.since_us or after.span.until_us <= before.span.since_us
    return {} if apart else {name: after.text for name in before.jobs if name in after.jobs}
