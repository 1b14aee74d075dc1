"""What an attribution says about itself: header, notes of the whole, and the note of each row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import polars as pl

from ettlog import cascade, windows
from ettlog.attribute import celled, choices, exposure, frames, reliability, scheduling, uncertainty
from ettlog.lifecycle import RECOVERY_KINDS
from ettlog.tables import human

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ettlog.attribute.engine import Work
    from ettlog.attribute.panel import Left

FEWEST_PAIRS = 3
"""Models from which on the gains of models are summed up as pairs."""
SIDES = ("before", "after")
FEWEST_MET = 10
"""Recoveries from which on their rates are worth comparing."""
MANY_CELLS = 20
"""Tested changes from which on chance alone would make some of them look real."""


class Figures(Protocol):
    """The part of a credit row that its note speaks of."""

    @property
    def optimization(self) -> str:
        """Return the optimization or bundle."""

    @property
    def tier(self) -> str:
        """Return the tier."""

    @property
    def saved(self) -> float:
        """Return the saving in GPU-hours."""

    @property
    def bound(self) -> float:
        """Return the bound in GPU-hours."""

    @property
    def note(self) -> str:
        """Return why there is no interval, or nothing."""


def row(figures: Figures, name: str, assumed: bool) -> str:
    """Return a row's note: bundle, pass-through against the bound, refusal of an interval."""
    parts: list[str] = []
    if assumed:
        parts.append(f"split of {figures.optimization} on declared effects: assumed")
    elif " + " in name:
        parts.append("bundle: same place and date, not separable")
    if figures.tier == "cascade" and name and figures.bound > 0:
        parts.append(f"measured; pass-through {cascade.pass_through(figures.bound, figures.saved):.2f} of the bound")
        if figures.saved > figures.bound:
            parts.append("above the bound: recoveries saved more than first starts")
    if figures.note:
        parts.append(figures.note)
    return "; ".join(parts)


def header(work: Work, models: pl.DataFrame) -> dict[str, Any]:
    """Return what every figure of the attribution rests on."""
    paired = models.drop_nulls(["ett_before", "ett_after"])
    made, window = work.choices, work.window
    jobs, factor = _factor(work)
    return {
        "since": windows.moment(window.since_us).isoformat(),
        "until": windows.moment(window.until_us).isoformat(),
        "window": window.text,
        "basis": made.basis,
        "basis_text": choices.BASES[made.basis],
        "method": made.method.__name__,
        "baseline": choices.baseline_text(made.baseline),
        "chain": choices.CHAINS[made.chain],
        "split": choices.SPLITS[made.split],
        "aggregation": "ratio of sums, weighted by GPU time held",
        "mean_points": paired["points"].mean(),
        "mean_points_text": "unweighted mean over models",
        "models": models.height,
        "jobs": jobs,
        "starts": work.panel.every.height,
        "nof": factor.estimate - 1 if factor else None,
        "factor": factor.estimate if factor else None,
        "factor_low": factor.low if factor else None,
        "factor_high": factor.high if factor else None,
        "factor_method": factor.method if factor else None,
        "seed": made.seed,
        "replicates": made.replicates,
        "interval": f"95 % basic bootstrap, {choices.CLUSTERS[made.cluster]}",
        "registry": work.registry.path,
        "optimizations": len(work.registry.optimizations),
    }


def _factor(work: Work) -> tuple[int, uncertainty.Interval | None]:
    """Return the number of jobs, and 1 + NoF with its interval over jobs: a property of these jobs, no constant."""
    came = (
        work.panel.every.group_by("job", maintain_order=True)
        .agg(pl.col("kind").is_in(RECOVERY_KINDS).sum().alias("n"))["n"]
        .to_list()
    )
    if not came:
        return 0, None
    rate = reliability.failure_rate(came, [1.0] * len(came))
    mean, low, high = (cascade.factor(value) for value in (rate.estimate, rate.low, rate.high))
    return len(came), uncertainty.Interval(mean, low, high, len(came), rate.method)


def sentences(work: Work, credit: pl.DataFrame, models: pl.DataFrame, cells: pl.DataFrame) -> Iterator[str]:
    """Yield the notes of the whole, most telling first."""
    yield from _transfers(credit)
    yield from _pairs(models)
    yield from _failures(models)
    yield from scheduling.sentences(work)
    yield from _many(cells)
    yield from exposure.sentences(work, credit)
    yield from _grounds(models)
    straddling = work.panel.starts.group_by("job").agg(pl.col("slot").n_unique() > 1)["slot"].sum()
    if straddling:
        which = "1 job has" if straddling == 1 else f"{straddling:,} jobs have"
        yield f"{which} starts in more than one period; each start counts where it was launched"
    aside = work.panel.every.height - work.panel.starts.height
    if aside:
        yield f"{aside:,} of {work.panel.every.height:,} starts lie in no period that is compared (baseline, chain)"
    yield from _left(work.panel.left)
    unclear = credit.filter((pl.col("model") == frames.ALL) & pl.col("optimization").str.contains(" + ", literal=True))
    for name in unclear["optimization"].unique(maintain_order=True):
        yield f"{name} rolled out together on the same place: reported as one bundle"


def _failures(models: pl.DataFrame) -> Iterator[str]:
    """Compare the rates of recoveries of the models that stayed: what stands behind failure_count."""
    both = models.drop_nulls(["ett_before", "ett_after"])
    counts = [int(both[f"{name}_{when}"].sum()) for when in SIDES for name in ("failures", "preemptions")]
    met = counts[0] + counts[1], counts[2] + counts[3]
    days = [float(both[f"gpu_hours_{when}"].sum()) / 24 for when in SIDES]
    if sum(met) < FEWEST_MET or min(days) <= 0:
        return
    found = reliability.rate_ratio(met, (days[0], days[1]))
    rates = [1000 * count / span for count, span in zip(met, days, strict=True)]
    sides = (f"{rate:.3g} {when} (n = {n:,})" for rate, when, n in zip(rates, SIDES, met, strict=True))
    bounds = f"{found.low:.2f} to {found.high:.2f} (95 %, exact; too narrow where they come in bursts)"
    yield f"recoveries per 1,000 GPU-days: {', '.join(sides)}; ratio {found.ratio:.2f}, {bounds}"


def _many(cells: pl.DataFrame) -> Iterator[str]:
    """Say how many of the many changes are more than chance."""
    tested = cells.drop_nulls("p")
    if tested.height >= MANY_CELLS:
        raw, sure = (int((tested[name] <= celled.SURE).sum()) for name in ("p", "q"))
        yield (
            f"of {tested.height:,} changes (model x component) {raw:,} have p at most .05, {sure:,} q at most .05: "
            "false discoveries held at 5 % (Benjamini-Hochberg)"
        )


def _left(left: Left) -> Iterator[str]:
    if left.by_wall:
        yield "no job tells how many GPUs it held: hours are hours of wall time, every job weighs as one GPU"
    if left.undated_us:
        yield f"{left.undated_us / frames.GPU_HOUR:,.1f} GPU-hours of jobs without any dated start are left out"
    if left.unsized_us and not left.by_wall:
        yield f"{left.unsized_us / frames.GPU_HOUR:,.1f} h of wall time on an unknown number of GPUs are left out"


def _transfers(credit: pl.DataFrame) -> Iterator[str]:
    """Say whose rows the cascade moved out of: without it those seconds would stand as recovery's."""
    fleet = credit.filter((pl.col("model") == frames.ALL) & (pl.col("optimization") != ""))
    moved = fleet.filter(pl.col("tier") == "cascade").select("optimization", "share", "points")
    whole = 100 * float(fleet.filter(pl.col("tier").is_in(["cascade", "recovery_only"]))["share"].sum() or 0.0)
    for name, share, points in moved.rows():
        if share is not None and abs(points) >= 0.005:
            yield (
                f"{100 * share:.1f} points of the saving's 100 moved from recovery to {name} (its cascade, measured): "
                f"recovery {whole:.1f} -> {whole - 100 * share:.1f}; {points:+.2f} points of ETT"
            )
            whole -= 100 * share


def _pairs(models: pl.DataFrame) -> Iterator[str]:
    """Say what the models' own gains show together, where there are enough of them to say anything."""
    gains = models.drop_nulls("points")["points"].to_list()
    if len(gains) < FEWEST_PAIRS:
        return
    found, p = uncertainty.t_interval(gains), human(uncertainty.sign_flip(gains), "p")
    yield (
        f"mean gain over {len(gains)} models, unweighted: {found.estimate:+.1f} points, "
        f"{found.low:.1f} to {found.high:.1f} (95 %, t over models); sign-flip p {p}"
    )


def _grounds(models: pl.DataFrame) -> Iterator[str]:
    for ground, count in models.group_by("cut").len().sort("cut").rows():
        if ground != "rollout":
            which = "1 model without a rollout of its own is" if count == 1 else f"{count} models without a rollout are"
            yield f"{which} cut at the {ground}; what changed there is drift"
