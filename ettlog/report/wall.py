"""Where the wall time went: the headline, the components over time, the owners and the models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ettlog import plot
from ettlog.errors import EttlogError
from ettlog.lifecycle import COMPONENTS, PARTS
from ettlog.report import budgets
from ettlog.report.page import Bar, Block, Notes, Picture, Section, Share, Table, Tiles
from ettlog.tables import Shown, count, human, span

if TYPE_CHECKING:
    import polars as pl

    from ettlog.report.scope import Scope

REPLICATES = 1000
FEWEST = 5
"""Jobs below which no interval is given: resampling so few says nothing."""
LEAST = 0.05
"""Share of the usual GPU-hours below which a period is not drawn: its shares are those of the end of one job."""
FEW_WEEKS = 4
"""With fewer weeks than this, but more than one, the trend is drawn by day."""
UNKNOWN = next(part.component for part in PARTS if part.role == "unknown")
US_PER_HOUR = 3.6e9

METRIC = (
    "ETT is the share of the wall that trained on new data: effective GPU-hours divided by all GPU-hours held.",
    (
        "The formula view is 1 - (TTS + NoF x TTR) / wall; the residual between the two is what start-up and recovery"
        " do not explain: save stalls, evaluation, shutdown, unknown time."
    ),
    (
        f"The interval resamples whole jobs {REPLICATES:,} times with a fixed seed (95 %, percentiles); it tells how "
        "much ETT depends on which jobs ran. docs/metric.md has every definition."
    ),
)
MODELS = (
    Shown("model", "model"), Shown("jobs", "jobs", "int"), Shown("starts", "starts", "int"),
    Shown("failures", "fail", "int"), Shown("preemptions", "preempt", "int"),
    Shown("wall_gpu_hours", "GPU-h", "hours"), Shown("ett", "ETT %", "ratio"),
    *(Shown(f"{name}_share", f"{plot.SHORT[name]} %", "ratio") for name in COMPONENTS if name != plot.EFFECTIVE),
    Shown("tts_hours", "TTS h", "hours"), Shown("ttr_hours", "TTR h", "hours"),
)  # fmt: skip
OWNERS = (
    Shown("owner", "owner"), Shown("gpu_hours", "GPU-h", "hours"), Shown("share", "% of wall", "ratio"),
    Shown("saved_gpu_hours", "credited saving, GPU-h", "hours"), Shown("points", "ETT points", "signed"),
    Shown("slo", "budget (SLO)"),
)  # fmt: skip


def headline(scope: Scope) -> Section:
    """Return ETT with its interval, what moved it, the terms of the formula, and the components."""
    row = scope.total()
    shares = [Share(name, plot.COLOURS[name], 100 * row[f"{name}_share"]) for name in _order()]
    blocks: list[Block] = [Tiles(_tiles(scope, row)), Bar("Components, share of wall", shares)]
    if lines := moved(scope):
        blocks.append(Notes(lines))
    models = scope.by("model")
    if models.height > 1:
        blocks.append(Table("By model", models, MODELS))
    return Section("headline", "Where the time went", blocks, scope.command("ett", "--by", "model"), METRIC)


def over_time(scope: Scope) -> Section:
    """Return the components over time, as shares of the wall and per effective hour."""
    import polars as pl

    weeks = scope.by("week").height
    key = "day" if 1 < weeks < FEW_WEEKS else "week" if weeks <= 60 else "month"
    frame = scope.by(key)
    drawn = frame.filter(pl.col("wall_gpu_hours") >= LEAST * pl.col("wall_gpu_hours").median())
    blocks: list[Block] = []
    if drawn.height > 1:
        blocks += _trend(drawn, key)
    else:
        blocks.append(Notes([f"All of it lies in one {key}: a second one would show a trend."], "missing"))
    shown = (Shown(key, key, "day"), *MODELS[1:])
    if drawn.height < frame.height:
        left = count(frame.height - drawn.height, key)
        blocks.append(Notes([f"{left} with less than {100 * LEAST:.0f} % of the usual GPU-hours not drawn."]))
    blocks.append(Table(f"The same as a table, by {key}", frame, shown, folded=True))
    counted = [f"Segments are cut at the edges of each {key} (UTC); counts are of what began in it."]
    return Section("time", "Components over time", blocks, scope.command("ett", "--by", key), counted)


def _trend(frame: pl.DataFrame, key: str) -> list[Block]:
    share = plot.svg(plot.components(frame, key, plot.axes(10, 2.7)), "share", f"components by {key}, share of wall")
    ax = plot.components(frame, key, plot.axes(10, 2.5), per_effective=True)
    over = plot.svg(ax, "over", f"overhead per effective hour by {key}")
    said = f"Overhead, GPU-hours per effective GPU-hour, by {key}"
    return [Picture(f"Share of wall by {key}", share, legend=True), Picture(said, over)]


def owners(scope: Scope) -> Section:
    """Return what each owner's parts took, what was credited to the owner, and whether the owner keeps to budgets."""
    import polars as pl

    frame = scope.by("owner").select("owner", "gpu_hours", "share").sort("gpu_hours", descending=True)
    found = scope.attribution
    if not scope.narrowed and not isinstance(found, EttlogError):
        saved = found.summary("owner").select("owner", "saved_gpu_hours", "points")
        claimed = sorted(set(found.credit["owner"].to_list()) - {""})
        frame = frame.join(saved.filter(saved["owner"].is_in(claimed)), on="owner", how="full", coalesce=True)
        frame = frame.sort("gpu_hours", "owner", descending=[True, False], nulls_last=True)
    counted = [
        (
            "Each part of the wall has one owner (ettlog.toml can name others); names in brackets are components that "
            "nobody owns. The credited saving is that of the owner's optimizations, wherever in the wall it fell."
        ),
    ]
    kept = budgets.budgets(scope)
    state = budgets.states(kept)
    frame = frame.with_columns(slo=frame["owner"].replace_strict(state, default=None, return_dtype=pl.String))
    blocks: list[Block] = [Table("What each owner's parts took", frame, OWNERS), budgets.block(kept)]
    command = scope.command("ett", "--by", "owner")
    return Section("owners", "Owners", blocks, command, [*counted, budgets.COUNTED])


def moved(scope: Scope) -> list[str]:
    """Return what moved ETT: the change of the window, and the largest credits; nothing for very few jobs."""
    import polars as pl

    from ettlog.report.credit import whole

    found = scope.attribution
    if scope.narrowed or isinstance(found, EttlogError):
        return []
    head = found.header
    if head["jobs"] < FEWEST:
        return []
    verb = "rose" if head["points"] >= 0 else "fell"
    levels = f"{human(head['ett_before'], 'percent')} to {human(head['ett_after'], 'percent')}"
    lines = [f"ETT {verb} by {abs(head['points']):.1f} points within the window, {levels}."]
    sums = whole(found).group_by("optimization").agg(pl.col("points").sum())
    for name, points in (
        sums.filter(sums["optimization"] != "").sort("points", "optimization").tail(3).reverse().iter_rows()
    ):
        lines.append(f"{name}: {points:+.2f} points")
    return lines


def interval(jobs: pl.DataFrame) -> tuple[float, float] | None:
    """Return the 95 % interval of ETT over resampled jobs (frame of `ett` by job), or None for fewer than `FEWEST`."""
    import numpy as np

    if jobs.height < FEWEST:
        return None
    jobs = jobs.sort("job")
    effective, wall = jobs[f"{plot.EFFECTIVE}_gpu_hours"].to_numpy(), jobs["wall_gpu_hours"].to_numpy()
    draw = np.random.default_rng(0)
    ratios = []
    for _ in range(REPLICATES):
        chosen = draw.integers(0, len(wall), len(wall))
        ratios.append(effective[chosen].sum() / wall[chosen].sum())
    low, high = np.percentile(ratios, [2.5, 97.5])
    return float(low), float(high)


def _order() -> list[str]:
    return [plot.EFFECTIVE, *(name for name in COMPONENTS if name != plot.EFFECTIVE)]


def _tiles(scope: Scope, row: dict[str, float]) -> list[tuple[str, str, str]]:
    found = interval(scope.by("job"))
    said = f"95 % interval {100 * found[0]:.1f} to {100 * found[1]:.1f} %" if found else "too few jobs for an interval"
    recoveries = int(row["failures"] + row["preemptions"])
    causes = f"{count(int(row['failures']), 'failure')}, {count(int(row['preemptions']), 'preemption')}"
    size = f"{count(int(row['jobs']), 'job')}, {count(int(row['starts']), 'start')}"
    residual = human(row["residual"], "points")
    return [
        ("ETT", human(row["ett"], "percent"), said),
        ("Wall, GPU-hours held", human(row["wall_gpu_hours"], "hours"), size),
        ("Recoveries (NoF)", f"{recoveries:,}", causes),
        ("TTS, each cold start", _took(row["tts_hours"]), f"{human(row['tts_share'], 'percent')} of wall in all"),
        ("TTR, each recovery", _took(row["ttr_hours"]), f"{human(row['ttr_share'], 'percent')} of wall in all"),
        ("ETT by the formula", human(row["ett_formula"], "percent"), f"residual {residual} points"),
        ("Unknown time", human(row[f"{UNKNOWN}_share"], "percent"), "of wall, never spread over the rest"),
    ]


def _took(hours: float | None) -> str:
    return "none" if hours is None else span(hours * US_PER_HOUR)
