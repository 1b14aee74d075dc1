"""`ettlog ett`: where the wall time went."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ettlog.cli import COMMANDS, ett_terms, spark
from ettlog.cli.options import Output, convention_options, lake, output_options, selection_options
from ettlog.conventions import DIVIDED, GROUPINGS
from ettlog.tables import Shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import polars as pl

    from ettlog.ett import Selection
    from ettlog.tables import View

WHOLE = (
    Shown("jobs", "jobs", "int"),
    Shown("starts", "starts", "int"),
    Shown("failures", "fail", "int"),
    Shown("preemptions", "preempt", "int"),
    Shown("wall_gpu_hours", "wall GPU-h", "hours"),
    Shown("ett", "ETT %", "ratio"),
    Shown("ett_low", "low", "ratio"),
    Shown("ett_high", "high", "ratio"),
    Shown("ett_formula", "formula", "ratio"),
    Shown("residual", "residual", "points"),
    Shown("tts_hours", "TTS h", "hours"),
    Shown("ttr_hours", "TTR h", "hours"),
    Shown("scheduling_share", "sched %", "ratio"),
    Shown("trainer_init_share", "init", "ratio"),
    Shown("compilation_share", "compile", "ratio"),
    Shown("wasted_training_share", "wasted", "ratio"),
    Shown("shutdown_share", "shutdown", "ratio"),
    Shown("unknown_share", "unknown", "ratio"),
)
PARTS = (Shown("jobs", "jobs", "int"), Shown("gpu_hours", "GPU-h", "hours"), Shown("share", "% of wall", "ratio"))
TRENDS = (["model"], ["cluster"], ["platform"])
"""Groupings that show a trend: what lasts long enough to have one."""
TOTAL = (
    Shown("name", ""),
    Shown("gpu_hours", "GPU-h", "hours"),
    Shown("share", "of wall", "percent"),
    Shown("detail", ""),
)


def keys(_ctx: click.Context, _param: click.Parameter, value: str | None) -> list[str]:
    """Return the groupings of `--by`, a comma-separated list."""
    names = [name.strip() for name in value.split(",")] if value else []
    for name in names:
        if name not in GROUPINGS:
            raise click.BadParameter(f"{name!r} is not one of {', '.join(GROUPINGS)}.")
    return names


def offered(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[str]:
    """Return the groupings that go on with what was typed, for completion in a shell."""
    before, _, last = begun.rpartition(",")
    return [f"{before},{name}" if before else name for name in GROUPINGS if name.startswith(last)]


@click.command("ett", short_help=COMMANDS["ett"])
@click.option(
    "--by",
    callback=keys,
    shell_complete=offered,
    help=f"Group by {', '.join(GROUPINGS[:-1])} or {GROUPINGS[-1]}; several with commas.",
)
@click.option("--logged", is_flag=True, help="Count only jobs of which a trainer's log was read.")
@ett_terms.options
@selection_options
@convention_options
@lake
@output_options
def command(
    by: list[str],
    logged: bool,
    terms: str | None,
    selection: Selection,
    conventions: dict[str, Any],
    lake: Path,
    out: Output,
    **inputs: float | None,
) -> None:
    """Show where the wall time of the fleet went.

    ETT is the share of the wall that trained on new data. The formula view, 1 - (TTS + NoF x TTR) / wall, stands beside
    it, and the residual between the two is a row of its own: what start-up and recovery do not explain.

    --terms counts the same jobs by the definitions that others publish, each printed with what it leaves out.
    """
    import ettlog
    from ettlog.cli.output import emit
    from ettlog.ett import describe, matching, owners
    from ettlog.lacks import lacks

    fleet = ettlog.open(lake)
    selection["logged"] = logged
    if terms is not None:
        view = ett_terms.view(fleet, terms, by, selection, {**conventions, **inputs})
        emit(view._replace(shown=titled(view.shown, conventions)), out)
        return
    frame = ettlog.ett(fleet, by=by, **selection, **conventions)
    header = describe(fleet, selection, **conventions)
    if not by:
        view = spark.below(whole(frame, owners(fleet)), spark.trend(fleet, selection, conventions))
    else:
        divided = set(by) & set(DIVIDED)
        view = grouped(frame, by, None if divided else ettlog.ett(fleet, **selection, **conventions))
        if by in TRENDS:
            view = spark.beside(view, spark.trend(fleet, selection, conventions, by[0]), by[0])
    names = matching(fleet.table("job"), selection["jobs"], selection["models"])
    missing = [*view.notes, *lacks(fleet, names)]
    emit(view._replace(header=header, shown=titled(view.shown, conventions), notes=missing), out)


def whole(frame: pl.DataFrame, owner: Mapping[str, str]) -> View:
    """Arrange the one row of a fleet as a table of components, then of the terms of the formula."""
    import polars as pl

    from ettlog.tables import View

    row = frame.row(0, named=True)
    lines = [*_components(row, owner), *_terms(row)]
    schema = {"name": pl.String, "gpu_hours": pl.Float64, "share": pl.Float64, "detail": pl.String}
    return View(frame, (), notes(frame), TOTAL, pl.DataFrame(lines, schema=schema, orient="row"))


def grouped(frame: pl.DataFrame, by: list[str], total: pl.DataFrame | None) -> View:
    """Arrange one row per group, with a last row over all groups where the groups have walls of their own."""
    import polars as pl

    from ettlog.tables import View

    shown = [*[Shown(key, key.replace("-", " ")) for key in by], *(PARTS if total is None else WHOLE)]
    named = [pl.col(key).dt.strftime(DATES.get(key, "%Y-%m-%d")) for key in by if frame[key].dtype == pl.Date]
    named += [pl.col(key).fill_null("(unknown)") for key in by if frame[key].dtype != pl.Date]
    readable = frame.with_columns(named)
    if total is not None:
        label = total.with_columns(pl.lit("all" if key == by[0] else "").alias(key) for key in by)
        readable = pl.concat([readable, label.select(readable.columns)])
    return View(frame, (), notes(frame, by), shown, readable)


def notes(frame: pl.DataFrame, by: list[str] | None = None) -> list[str]:
    """Return what a reader must know before using the numbers."""
    return [*_few_jobs(frame, by), *_unknown_time(frame), *(line for key in by or () for line in _unnamed(frame, key))]


def _unnamed(frame: pl.DataFrame, key: str) -> list[str]:
    import polars as pl

    from ettlog.tables import count

    jobs = int(frame.filter(pl.col(key).is_null())["jobs"].sum()) if key in NAMED_BY else 0
    return [f"{count(jobs, 'job')} without a {key}: ettlog.toml can name it ({NAMED_BY[key]})"] if jobs else []


def _few_jobs(frame: pl.DataFrame, by: list[str] | None) -> list[str]:
    import polars as pl

    few = frame.filter((pl.col("jobs") < FEW_JOBS) & pl.col("ett_low").is_not_null()).height
    if not by or not few:
        return []
    return [f"few jobs: {few} of {frame.height} intervals rest on less than {FEW_JOBS} jobs, and cover less than 95 %"]


def _unknown_time(frame: pl.DataFrame) -> list[str]:
    import polars as pl

    unknown, wall = frame.select(pl.col("unknown_gpu_hours").sum(), pl.col("gpu_hours").sum()).row(0)
    if not wall or unknown / wall <= UNKNOWN_BUDGET:
        return []
    share, budget = f"{100 * unknown / wall:.1f} %", f"{100 * UNKNOWN_BUDGET:.0f} %"
    cure = "--logged leaves out jobs that only the scheduler knows"
    return [f"{share} of the wall is unknown: the logs say nothing there (budget {budget}); {cure}"]


NAMED_BY = {"model": "jobs.models", "cluster": "paths.cluster", "platform": "paths.templates"}
"""Key of ettlog.toml that names what logs do not."""
DATES = {"month": "%Y-%m"}
"""How periods are written; a week by its Monday."""
FEW_JOBS = 30
"""Jobs under which the interval of ETT covers less than it says."""
UNKNOWN_BUDGET = 0.05
"""Share of the wall that may be unknown before a result says so."""


def _components(row: dict[str, Any], owner: Mapping[str, str]) -> list[tuple[object, ...]]:
    from ettlog.lifecycle import COMPONENTS, PARTS
    from ettlog.tables import count

    lines: list[tuple[object, ...]] = []
    for name in COMPONENTS:
        named = dict.fromkeys(owner[part.part] for part in PARTS if part.component == name and owner[part.part])
        owned = f"owner: {', '.join(named)}" if named else None
        lines.append((name, row[f"{name}_gpu_hours"], row[f"{name}_share"], owned))
    counts = f"{count(row['jobs'], 'job')}, {count(row['starts'], 'start')}"
    return [*lines, ("wall", row["wall_gpu_hours"], 1.0, counts)]


def _terms(row: dict[str, Any]) -> list[tuple[object, ...]]:
    from ettlog.tables import count

    nof = row["failures"] + row["preemptions"]
    cold = row["starts"] - nof
    each = [_each(row["tts_hours"], cold, "cold start"), _each(row["ttr_hours"], nof, "recovery")]
    causes = f"{count(row['failures'], 'failure')} + {count(row['preemptions'], 'preemption')}"
    beside = f"{count(row['planned'], 'planned restart')} beside them"
    if row["unexplained"]:
        beside += f", and {count(row['unexplained'], 'start')} that no log explains"
    return [
        (None, None, None, None),
        ("TTS", row["tts_gpu_hours"], row["tts_share"], each[0]),
        ("TTR", row["ttr_gpu_hours"], row["ttr_share"], each[1]),
        ("NoF", None, None, f"{nof:,} = {causes}; {beside}"),
        (None, None, None, None),
        ("ETT", None, row["ett"], "effective training / wall" + _sure(row)),
        ("ETT, formula", None, row["ett_formula"], "1 - (TTS + NoF x TTR) / wall"),
        ("residual", None, row["residual"], "formula - ETT: losses outside start-up and recovery"),
    ]


def _sure(row: dict[str, Any]) -> str:
    """Return the interval of ETT over jobs in words; nothing where there is none."""
    if row["ett"] is None:
        return ", of which no log tells"
    if row["ett_low"] is None:
        return ""
    few = ", few jobs" if row["jobs"] < FEW_JOBS else ""
    return f"; {100 * row['ett_low']:.1f} to {100 * row['ett_high']:.1f} % over jobs (95 %, logit-t{few})"


def _each(hours: float | None, number: int, noun: str) -> str:
    """Return the number of starts behind a term, and their mean length."""
    from ettlog.tables import count, span

    return f"{count(number, noun)}, {span(hours * 3.6e9)} each" if hours is not None else count(number, noun)


def titled(shown: Sequence[Shown], conventions: dict[str, Any]) -> list[Shown]:
    """Call the hours GPU-hours only where GPUs weigh."""
    plain = conventions.get("weight") == "none"
    return [item._replace(title=item.title.replace("GPU-h", "hours")) if plain else item for item in shown]
