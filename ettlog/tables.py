"""Frames as bytes for machines (JSON, JSON lines, CSV, Parquet, Markdown) and as cells for people."""

from __future__ import annotations

import csv
import io
import json
import math
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

import ettlog
from ettlog import markup, sink

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import polars as pl

SCHEMA_VERSION = 1
"""Version of the JSON object that `--format json` writes."""

FORMATS = ("table", "json", "jsonl", "csv", "parquet", "md")
SUFFIXES = {".json": "json", ".jsonl": "jsonl", ".csv": "csv", ".parquet": "parquet", ".md": "md", ".txt": "table"}


class Shown(NamedTuple):
    """One column of a readable table: where it comes from, its title, and how its values are written."""

    column: str
    title: str
    kind: str = "text"
    """One of `KINDS`."""


class View(NamedTuple):
    """A result ready to be written: the whole frame for machines, the shown columns and sentences for people."""

    frame: pl.DataFrame
    header: Sequence[str] = ()
    """Sentences above the table: window and conventions."""
    notes: Sequence[str] = ()
    """Sentences below the table: what a reader must know before using a number."""
    shown: Sequence[Shown] = ()
    """Columns of the readable table; all columns of the frame when empty."""
    readable: pl.DataFrame | None = None
    """Another frame for the readable table, where people need another arrangement than machines."""

    def html(self) -> str:
        """Return header, readable table and notes as HTML for a notebook; a table without rows is left out."""
        columns, lines = readable(self)
        made = markup.table([item.title for item in columns], lines, [numeric(item.kind) for item in columns])
        notes = [f"note: {line}" for line in self.notes]
        return markup.paragraphs(self.header) + (made if lines else "") + markup.paragraphs(notes)


def encode(view: View, form: str, *, header: bool = True, raw_csv: bool = False) -> bytes:
    """Return a view in one of the machine formats, or Markdown, as bytes."""
    makers: dict[str, Callable[[], bytes]] = {
        "json": lambda: _json(view),
        "jsonl": lambda: _jsonl(view.frame),
        "csv": lambda: _csv(view.frame, header=header, raw=raw_csv),
        "parquet": lambda: _parquet(view.frame),
        "md": lambda: _markdown(view, header=header),
    }
    return makers[form]()


def readable(view: View) -> tuple[list[Shown], list[list[str]]]:
    """Return the columns and the cells, as text, of the readable table of a view; chosen columns without a value go."""
    frame = view.frame if view.readable is None else view.readable
    chosen = [item for item in view.shown if item.column in frame.columns and _says(frame, item.column)]
    shown = chosen if view.shown else _all_columns(frame)
    lines = frame.select([item.column for item in shown]).iter_rows()
    return shown, [[human(value, item.kind) for value, item in zip(line, shown, strict=True)] for line in lines]


def human(value: object, kind: str) -> str:
    """Return one value as text for people; a missing value is empty."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return KINDS[kind](value)


def numeric(kind: str) -> bool:
    """Tell whether a kind of column is set to the right."""
    return kind not in ("text", "stamp", "day")


def span(us: float) -> str:
    """Return microseconds as `[d-]hh:mm:ss`, with three decimals of a second below a minute."""
    seconds = abs(us) / 1e6
    sign = "-" if us < 0 else ""
    if round(seconds, 3) < 60:
        return f"{sign}{seconds:.3f}s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"{sign}{f'{days}-' if days else ''}{hours:02d}:{minutes:02d}:{rest:02d}"


def _hours(value: float) -> str:
    size = abs(value)
    if 0 < size < 0.005:
        return "<0.01" if value > 0 else ">-0.01"
    return f"{value:,.0f}" if size >= 1000 else f"{value:.1f}" if size >= 10 else f"{value:.2f}" if size else "0"


def _p(value: float) -> str:
    return "<0.001" if value < 0.0005 else f"{value:.3f}"


def _rounded(value: float) -> str:
    return f"{round(value, 1) + 0.0:.1f}"  # adding zero turns -0.0 into 0.0


def _signed(value: float, decimals: int) -> str:
    rounded = round(value, decimals)
    return f"{rounded:+.{decimals}f}" if rounded else f"{0:.{decimals}f}"


def count(number: int, noun: str) -> str:
    """Return a number with its noun in the singular or plural: `1 job`, `2 jobs`, `2 recoveries`."""
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{number:,} {noun if number == 1 else plural}"


def _stamp(value: object) -> str:
    if isinstance(value, int):
        from ettlog.windows import moment

        value = moment(value)
    return f"{value:%Y-%m-%d %H:%M:%S}"


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, datetime):
        return _stamp(value)
    return sink.display(str(value))


KINDS: dict[str, Callable[..., str]] = {
    "text": _plain,
    "int": lambda value: f"{value:,}",
    "number": _plain,
    "hours": _hours,
    "p": _p,
    "level": lambda value: f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}",
    "q": lambda value: f"{value:.4f}".lstrip("0") if value >= 0.0001 else "<.0001",
    "percent": lambda value: f"{_rounded(100 * value)} %",
    "ratio": lambda value: _rounded(100 * value),
    "points": lambda value: _signed(100 * value, 1),
    "signed": lambda value: _signed(value, 2),
    "span": span,
    "stamp": _stamp,
    "day": lambda value: f"{value:%Y-%m-%d}",
}
"""How the values of a column are written for people; ratios as percent, with the sign or under a title that has it."""


def _says(frame: pl.DataFrame, column: str) -> bool:
    return frame.is_empty() or frame[column].null_count() < frame.height


def _all_columns(frame: pl.DataFrame) -> list[Shown]:
    kinds = {name: "number" if dtype.is_numeric() else "text" for name, dtype in frame.schema.items()}
    return [Shown(name, sink.display(name), kind) for name, kind in kinds.items()]


def _base(value: object) -> object:
    """Return a value in base units for JSON and CSV: stamps in ISO with Z, spans in seconds, no NaN and no infinity."""
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {str(key): _base(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_base(item) for item in value]
    return value


def _dump(value: object, indent: int | None = None) -> str:
    # ASCII only: no control character, bidi mark or lone surrogate of a log reaches a terminal. DEL is ASCII: by hand.
    return json.dumps(value, ensure_ascii=True, allow_nan=False, indent=indent, default=str).replace("\x7f", "\\u007f")


def _rows(frame: pl.DataFrame) -> Iterable[dict[str, object]]:
    return ({name: _base(value) for name, value in row.items()} for row in frame.iter_rows(named=True))


def _json(view: View) -> bytes:
    document = {
        "schema_version": SCHEMA_VERSION,
        "generated_by": f"ettlog {ettlog.__version__}",
        "window": next((line.removeprefix("window: ") for line in view.header if line.startswith("window: ")), None),
        "header": list(view.header),
        "notes": list(view.notes),
        "rows": list(_rows(view.frame)),
    }
    return (_dump(document, indent=1) + "\n").encode()


def _jsonl(frame: pl.DataFrame) -> bytes:
    return "".join(_dump(row) + "\n" for row in _rows(frame)).encode()


def _csv(frame: pl.DataFrame, *, header: bool, raw: bool) -> bytes:
    def text(value: object) -> object:
        plain = _base(value)
        plain = _dump(plain) if isinstance(plain, (dict, list)) else plain
        if not isinstance(plain, str):
            return plain
        return plain if raw else sink.cell(plain)

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    if header:
        writer.writerow([text(name) for name in frame.columns])
    writer.writerows([text(value) for value in line] for line in frame.iter_rows())
    return out.getvalue().encode("utf-8", errors="backslashreplace")


def _parquet(frame: pl.DataFrame) -> bytes:
    out = io.BytesIO()
    frame.write_parquet(out)
    return out.getvalue()


def _markdown(view: View, *, header: bool) -> bytes:
    shown, lines = readable(view)
    rule = ["---:" if numeric(item.kind) else "---" for item in shown]
    table = [[item.title for item in shown], rule, *lines]
    body = ["| " + " | ".join(line if line is rule else map(sink.markdown, line)) + " |" for line in table]
    above = [*(sink.markdown(line) + "  " for line in view.header), ""] if header and view.header else []
    below = ["", *(f"- {sink.markdown(line)}" for line in view.notes)] if view.notes else []
    return ("\n".join([*above, *body, *below]) + "\n").encode("utf-8", errors="backslashreplace")
