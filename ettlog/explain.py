"""From a number down to the lines of log that it rests on, with every inference on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ettlog.errors import UsageError
from ettlog.explain_rows import Chosen, choose
from ettlog.tables import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import polars as pl

    from ettlog.fleet import Fleet

_EVIDENCE = r"^(.*):(\d+)(?: \((.*)\))?$"
LINE_COLUMNS = ("kind", "format", "pattern", "clock")
COLUMNS = (
    "job", "start", "part", "stage", "begin_at", "end_at", "gpu_hours", "path", "line", "note", *LINE_COLUMNS,
    "inferences",
)  # fmt: skip
CLOCK_WORDS = {
    "zone_set": "local stamp, zone from ettlog.toml",
    "zone_inferred": "local stamp, zone from an epoch value beside it",
    "zone_assumed": "local stamp without a zone, read as UTC",
    "relative": "counted from the start of a trace",
    "date_inferred": "the stamp lacks year or date",
    "date_nominal": "no year or date is shown: only differences are true",
    "carried": "no stamp on the line: taken from a neighbour",
    "none": "no clock",
}
"""What an instant rests on that is not exact, in words."""
UNTOLD = "no line tells what went on"
INFERRED = "an inference: an instant of it, or what went on, is not printed as such"
ADRIFT = "an inference: lines of its start lie outside its allocation, so a clock is wrong"
DATELESS = ("date_inferred", "date_nominal", "carried", "none")
"""Clocks of lines that may owe their year to something else."""
ABOUT_YEARS = "the year of stamps without one"
"""How a sentence about a source begins that concerns such lines alone."""
MICROS_PER_HOUR = 3_600_000_000


def explain(fleet: Fleet, row: str) -> pl.DataFrame:
    """Return the segments that a row rests on with their lines, in order of time; of a sum the largest first.

    A row is `JOB`, `JOB@START`, `JOB@START@PART`, `JOB@MOMENT` (an ISO stamp), a row of `ett` as `KEY=VALUE,...` (keys
    of `conventions.GROUPINGS`), or a row of `attribute` (`optimization=NAME,tier=TIER,model=NAME`).

    Columns: `job`, `start`, `part`, `stage`, `begin_at` and `end_at` (UTC stamps), `gpu_hours` (unknown GPUs weigh
    one), `path` and `line` of the log line the segment rests on, `note` (how it was read), what that line says
    (`kind`, `format`, `pattern`, `clock`), and `inferences`: all that is not printed as such on the way, in sentences.

    Raises:
        UsageError: `row` is not of this form, or names nothing in the lake.
    """
    import polars as pl

    chosen = choose(fleet, row)
    found = _with_lines(chosen, fleet)
    sources = _source_words(fleet, set(found["path"].drop_nulls().to_list()))
    adrift = _adrift(fleet)
    sentences = [
        _sentences(each, sources, adrift=(each["job"], each["start"]) in adrift) for each in found.iter_rows(named=True)
    ]
    return found.with_columns(pl.Series("inferences", sentences, pl.String)).select(COLUMNS)


def reasons(fleet: Fleet, row: str) -> list[str]:
    """Return sentences about a row as a whole: what it sums, why its starts were made, where its hardware is from.

    Raises:
        UsageError: as `explain`.
    """
    chosen = choose(fleet, row)
    total = _weighed(chosen.segment)["gpu_hours"].sum()
    lines = [f"{chosen.told}: {count(chosen.segment.height, 'segment')}, {total:,.2f} GPU-hours"]
    if chosen.whole:
        return lines
    job = str(chosen.segment["job"][0])
    numbers = sorted(set(chosen.segment["start"].drop_nulls().to_list()))
    return [*lines, *_start_reasons(fleet, job, numbers), *_held_reasons(fleet, job)]


def _start_reasons(fleet: Fleet, job: str, numbers: list[int]) -> list[str]:
    import polars as pl

    started = fleet.table("start").filter(pl.col("job") == job)
    if not {"end_state", "cause", "evidence"} <= set(started.columns):
        return []
    by_k = {row["k"]: row for row in started.iter_rows(named=True)}
    lines = []
    for k in numbers[:SOME]:
        before = by_k.get(k - 1)
        why = f": start {k - 1} ended {before['end_state']}" if before else ""
        why += f" ({before['cause']})" if before and before["cause"] else ""
        lines.append(f"start {k} is {by_k[k]['kind']}{why}; its first line is {by_k[k]['evidence']}")
    return lines


def _held_reasons(fleet: Fleet, job: str) -> list[str]:
    """Return where the scheduler's records of a job are; a note in them says how they were given to the job."""
    import polars as pl

    if fleet.lake is None:
        return []
    records = fleet.table("allocation").filter(pl.col("job") == job)["evidence"].to_list()
    return [f"hardware by {record}" for record in records[:SOME]] or [
        "no scheduler's record: the log shows what it held"
    ]


SOME = 5
"""How many starts and records are told of as reasons."""


def _weighed(segment: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    us = (pl.col("end_us") - pl.col("begin_us")).cast(pl.Int128) * pl.col("gpus").fill_null(1)
    return segment.with_columns(gpu_hours=us.cast(pl.Float64) / MICROS_PER_HOUR)


def _with_lines(chosen: Chosen, fleet: Fleet) -> pl.DataFrame:
    import polars as pl

    frame = _weighed(chosen.segment)
    order = ["gpu_hours", "job", "begin_us"] if chosen.whole else ["begin_us"]
    found = frame.sort(order, descending=[name == "gpu_hours" for name in order]).with_columns(
        begin_at=pl.from_epoch("begin_us", time_unit="us"),
        end_at=pl.from_epoch("end_us", time_unit="us"),
        path=pl.col("evidence").str.extract(_EVIDENCE, 1),
        line=pl.col("evidence").str.extract(_EVIDENCE, 2).cast(pl.Int64),
        note=pl.col("evidence").str.extract(_EVIDENCE, 3),
    )
    told = _lines(fleet, found.select("path", "line").drop_nulls().unique())
    return found.join(told, on=["path", "line"], how="left", maintain_order="left")


def _lines(fleet: Fleet, wanted: pl.DataFrame) -> pl.DataFrame:
    """Return what the wanted lines of log say: events, else steps, else records of a scheduler."""
    import polars as pl

    source = fleet.table("source").select("key", "path").join(wanted, on="path")
    found: list[pl.DataFrame] = []
    for table, kind in (("event", None), ("step", "step"), ("alloc", "scheduler record")):
        if source.is_empty():
            break
        facts = _facts(fleet, table)
        if facts is None:
            continue
        said = facts.join(source, on=["key", "line"]).unique(["path", "line"], keep="first", maintain_order=True)
        named = said.with_columns(pl.lit(kind).alias("kind")) if kind else said
        have = [pl.col(name).cast(pl.String) if name in named.columns else pl.lit(None, pl.String).alias(name)
                for name in LINE_COLUMNS]  # fmt: skip
        found.append(named.select("path", "line", *have))
        source = source.join(said, on=["path", "line"], how="anti")
    schema = {"path": pl.String, "line": pl.Int64, **dict.fromkeys(LINE_COLUMNS, pl.String)}
    return pl.concat(found) if found else pl.DataFrame(schema=schema)


def _facts(fleet: Fleet, table: str) -> pl.DataFrame | None:
    """Return a fact table; None where a snapshot has left it in its lake."""
    try:
        return fleet.table(table)
    except UsageError:
        return None


def _source_words(fleet: Fleet, paths: set[str]) -> Mapping[str, list[str]]:
    """Return path -> what was inferred about the source as a whole: its state, its clock, whose it is."""
    from ettlog.parse import identity

    if fleet.lake is None or fleet.config is None:
        return {}
    words = {}
    for entry in fleet.lake.sources():
        if entry.path in paths:
            how = identity.resolve(entry.path, entry.hints, fleet.config).how
            known = [f"{name} by {how[name]}" for name in ("job_name", "allocation") if name in how]
            state = [] if entry.state == "whole" else [f"the file is {entry.state}"]
            words[entry.path] = [*state, *entry.inferences, *known]
    return words


def _adrift(fleet: Fleet) -> set[tuple[str, int]]:
    """Return the starts whose lines lie outside their allocation; none where a snapshot has left them out."""
    frame = _facts(fleet, "_adrift")
    return set() if frame is None else set(frame.select("job", "k").rows())


def _sentences(row: Mapping[str, object], sources: Mapping[str, list[str]], *, adrift: bool) -> str:
    found: list[str] = []
    if row["path"] is None:
        found.append(UNTOLD)
    if row["inferred"]:
        found.append(ADRIFT if adrift else INFERRED)
    if row["note"]:
        found.append(str(row["note"]))
    if row["clock"] in CLOCK_WORDS:
        found.append(CLOCK_WORDS[str(row["clock"])])
    if row["gpus"] is None:
        found.append("the number of GPUs is not known")
    dateless = row["clock"] in DATELESS
    of_source = [text for text in sources.get(str(row["path"]), []) if dateless or not text.startswith(ABOUT_YEARS)]
    return "; ".join(_unique([*found, *of_source]))


def _unique(sentences: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(sentences))
