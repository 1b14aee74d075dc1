"""What changed in the logs of a model, start by start: marks that begin and stay, levels that fall."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from ettlog.lifecycle import COMPONENTS, LOADED, PARTS, RECOVERY_KINDS, SAVE_STALL, WARMTHS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from ettlog.fleet import Fleet

    Array = NDArray[np.float64]

LEAST = 2
"""Starts on each side of a switch: one alone may be chance."""
CLEAR = 0.8
"""Share of the starts on each side that have to agree with the switch."""
FALL = 0.85
"""A level after a change point, over that before, that is worth a proposal: 15 % less."""
FEWEST = 12
"""Starts of a series before change points are looked for."""
JUMP = 4.0
"""Robust standard deviations of a step between two starts beyond which it is a change of level, not noise."""
NEAR_US = 7 * 86_400_000_000
COLD_KINDS = ("first", "planned")
PUBLISH = "publish"


class Signal(NamedTuple):
    """A mark in the logs that an optimization leaves on every start that has it."""

    name: str
    parts: frozenset[str]
    found_by: str


PER_START = "s per start"
SIGNALS = {
    "cached": Signal(
        "compile-cache", frozenset(part.part for part in PARTS if part.component == COMPONENTS[2]), "cache hits begin"
    ),
    "staged": Signal("async-save", frozenset({SAVE_STALL}), "saves go on behind the loop"),
    "elsewhere": Signal(
        "standalone-publishing", frozenset(part.part for part in PARTS if part.role == "shutdown"),
        "jobs end without publishing",
    ),
}  # fmt: skip


class Change(NamedTuple):
    """One thing that changed for a model on a platform, at the launch of the first start that shows it."""

    model: str
    platform: str
    parts: frozenset[str]
    found_by: str
    since_us: int
    """Launch of the first start that shows it; it came at some time after `last_us`, that of the last that does not."""
    last_us: int
    counts: tuple[int, int]
    levels: tuple[float, float]
    unit: str
    evidence: str


def starts(fleet: Fleet) -> pl.DataFrame:
    """Return one row per dated start in order of launch: job, k, kind, model, platform, launched_us, evidence."""
    dated = pl.col("start").is_not_null() & pl.col("launched_us").is_not_null()
    rows: pl.DataFrame = fleet.table("ledger").filter(dated)
    facts = [pl.col(name).first() for name in ("kind", "model", "platform")]
    found = rows.group_by("job", pl.col("start").alias("k")).agg(*facts, pl.col("launched_us").min())
    lines = fleet.table("start").select("job", "k", "evidence")
    named = found.join(lines, on=["job", "k"], how="left").with_columns(pl.col("model", "platform").fill_null(""))
    return named.sort("model", "platform", "launched_us", "job", "k")


def switches(fleet: Fleet, among: pl.DataFrame) -> Iterator[Change]:
    """Yield where a mark begins to stand on a model's starts, and stays."""
    for name, flags in (("cached", _cached(fleet)), ("staged", _staged(fleet)), ("elsewhere", _elsewhere(fleet))):
        marked = among.join(flags, on=["job", "k"]).sort("launched_us", "job", "k")
        if name == "cached":  # a recovery may find what its own first start compiled, without any shared cache
            marked = marked.filter(pl.col("kind").is_in(COLD_KINDS))
        for _, group in marked.group_by("model", "platform", maintain_order=True):
            at = switch(group["flag"].to_list())
            if at is not None:
                levels = (float(group["flag"][:at].mean()), float(group["flag"][at:].mean()))  # type: ignore[arg-type]
                yield _change(group, at, SIGNALS[name].parts, SIGNALS[name].found_by, levels, "share of starts")


def _change(
    group: pl.DataFrame, at: int, parts: frozenset[str], found_by: str, levels: tuple[float, float], unit: str
) -> Change:
    row = group.row(at, named=True)
    counts = (at, group.height - at)
    return Change(
        row["model"], row["platform"], parts, found_by, row["launched_us"], int(group["launched_us"][at - 1]), counts,
        levels, unit, row["evidence"] or "",
    )  # fmt: skip


def switch(flags: Sequence[bool]) -> int | None:
    """Return the place from which on a flag is set, where most before it are not and most after it are; else None."""
    whole, n = sum(flags), len(flags)
    seen, best, place = 0, n + 1, None
    for at in range(n):
        wrong = seen + (n - at) - (whole - seen)
        if at >= LEAST and n - at >= LEAST and flags[at] and wrong < best:
            best, place = wrong, at
        seen += flags[at]
    if place is None:
        return None
    before, after = sum(flags[:place]) / place, sum(flags[place:]) / (n - place)
    return place if before <= 1 - CLEAR and after >= CLEAR else None


def _cached(fleet: Fleet) -> pl.DataFrame:
    told = fleet.table("compilation").filter(pl.col("warmth") != WARMTHS[-1])
    return told.select("job", "k", (pl.col("hits") > 0).alias("flag"))


def _staged(fleet: Fleet) -> pl.DataFrame:
    saves = fleet.table("checkpoint").filter(pl.col("state") != LOADED)
    return saves.group_by("job", "k").agg((pl.col("state") == "staged").any().alias("flag"))


def _elsewhere(fleet: Fleet) -> pl.DataFrame:
    """Tell of every start that shut down whether it did so without publishing."""
    ends = fleet.table("ledger").filter((pl.col("role") == "shutdown") & pl.col("start").is_not_null())
    seen = ends.group_by("job", pl.col("start").alias("k")).agg((pl.col("part") == PUBLISH).any().alias("published"))
    return seen.select("job", "k", (~pl.col("published")).alias("flag"))


def falls(fleet: Fleet, launched: pl.DataFrame) -> Iterator[Change]:
    """Yield where the time of a part per start falls to a new level, on logarithms and drawn in against hung starts."""
    spent = fleet.table("ledger").filter(pl.col("start").is_not_null())
    by_part = spent.group_by("job", pl.col("start").alias("k"), "part").agg(pl.col("us").sum())
    for part in PARTS:
        if part.role not in ("startup", "recovery", "shutdown"):
            continue
        mine = by_part.filter(pl.col("part") == part.part)
        if mine.is_empty():
            continue
        kinds = RECOVERY_KINDS if part.role == "recovery" else COLD_KINDS
        among = launched if part.role == "shutdown" else launched.filter(pl.col("kind").is_in(kinds))
        yield from _levels(among.join(mine, on=["job", "k"]).sort("launched_us", "job", "k"), part.part)


def _levels(rows: pl.DataFrame, part: str) -> Iterator[Change]:
    from ettlog.attribute import changes

    for _, group in rows.group_by("model", "platform", maintain_order=True):
        if group.height < FEWEST:
            continue
        seconds = (group["us"] / 1e6).to_numpy()
        logs = changes.winsorised((group["us"] / 1e6).log1p().to_numpy())
        edges = [0, *changes.partition(logs, _penalty(logs)), group.height]
        for begin, at, end in zip(edges, edges[1:], edges[2:], strict=False):
            levels = (float(seconds[begin:at].mean()), float(seconds[at:end].mean()))
            if levels[1] <= FALL * levels[0]:
                yield _change(group, at, frozenset({part}), "time per start falls", levels, PER_START)


def _penalty(logs: Array) -> float:
    """Return the price of a change point: 3 ln(n) long-run variances of the series with its jumps drawn in.

    A clean step among few starts is most of their variance, and would hide itself.
    """
    import numpy as np

    from ettlog.attribute import changes

    steps = np.diff(logs)
    spread = 1.4826 * float(np.median(np.abs(steps - np.median(steps))))
    calm = np.cumsum(np.clip(steps, -JUMP * spread, JUMP * spread))
    return 3 * float(np.log(len(logs))) * max(changes.noise(calm), 1e-3) ** 2
