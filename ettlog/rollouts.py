"""Rollouts that nobody wrote down: where logs show that something changed, as a registry for a person to confirm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from ettlog import registry as registries
from ettlog import rollouts_find, rollouts_text
from ettlog.lifecycle import PART_BY_NAME
from ettlog.rollouts_find import NEAR_US, PER_START, SIGNALS, Change, falls, switches
from ettlog.tables import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from ettlog.fleet import Fleet
    from ettlog.registry import Registry

    Array = NDArray[np.float64]

PROPOSAL: dict[str, pl.DataType] = {
    "name": pl.String(), "owner": pl.String(), "parts": pl.List(pl.String), "model": pl.String(),
    "platform": pl.String(), "since": pl.Datetime("us", "UTC"), "found_by": pl.String(), "starts_before": pl.Int64(),
    "starts_after": pl.Int64(), "before": pl.Float64(), "after": pl.Float64(), "unit": pl.String(),
    "registered": pl.String(), "evidence": pl.String(),
}  # fmt: skip
"""Columns of the proposals, one row per optimization and model: `before` and `after` are shares of starts or seconds
per start, as `unit` says; `registered` names an optimization of the registry that is there already, or is empty.
"""


@dataclass(frozen=True)
class Rollouts:
    """Proposed rollouts: a frame with the columns of `PROPOSAL`, the TOML of those not registered yet, sentences."""

    proposals: pl.DataFrame
    toml: str
    notes: tuple[str, ...]


def rollouts(fleet: Fleet, *, registry: Registry | None = None) -> Rollouts:
    """Propose a registry from cache hits, asynchronous saves, publishing that ends, and change points of start times.

    A proposal is no finding: a person has to say what was done, by whom, and whether it was an optimization at all.
    `registry` is what is known already, by default the lake's own.
    """
    known = registry or _known(fleet)
    starts = rollouts_find.starts(fleet)
    found = [*switches(fleet, starts), *falls(fleet, starts)]
    rows = [row for group in _grouped(found) for row in _rows(group, known)]
    frame = pl.DataFrame(rows, schema=PROPOSAL).sort("name", "model", "platform", "since")
    fresh = frame.filter(pl.col("registered") == "")
    return Rollouts(frame, rollouts_text.toml(fresh), tuple(_notes(frame, fresh, starts)))


def _known(fleet: Fleet) -> Registry:
    path = fleet.lake.registry_path if fleet.lake else None
    return registries.read(path) if path else registries.EMPTY


def _grouped(found: list[Change]) -> Iterator[list[Change]]:
    """Yield the changes of one optimization: marks by what they are, falls by the parts that fell together."""
    marks = [change for change in found if change.unit != PER_START]
    falls = [fall for fall in found if fall.unit == PER_START and not any(_same(fall, mark) for mark in marks)]
    groups: dict[tuple[str, frozenset[str]], list[Change]] = {}
    for change in [*marks, *_joined(falls)]:
        groups.setdefault((change.found_by, change.parts), []).append(change)
    yield from groups.values()


def _same(fall: Change, mark: Change) -> bool:
    """Tell whether a fall is what a mark already tells of: same model, same place, about the same time."""
    near = abs(fall.since_us - mark.since_us) <= NEAR_US
    return near and (fall.model, fall.platform) == (mark.model, mark.platform) and bool(fall.parts & mark.parts)


def _joined(falls: list[Change]) -> list[Change]:
    """Join falls of one component of a model within a week: one optimization seldom speeds one part up alone."""
    made: list[Change] = []
    for fall in sorted(falls, key=lambda one: (one.model, one.platform, one.since_us)):
        twin = next((at for at, other in enumerate(made) if _together(other, fall)), None)
        if twin is None:
            made.append(fall)
        else:
            other = made[twin]
            sums = tuple(one + two for one, two in zip(other.levels, fall.levels, strict=True))
            made[twin] = other._replace(parts=other.parts | fall.parts, levels=(sums[0], sums[1]))
    return made


def _together(one: Change, other: Change) -> bool:
    places = [{PART_BY_NAME[part].component for part in change.parts} for change in (one, other)]
    near = abs(one.since_us - other.since_us) <= NEAR_US and not one.parts & other.parts
    return near and (one.model, one.platform) == (other.model, other.platform) and places[0] == places[1]


def _rows(group: list[Change], known: Registry) -> Iterator[dict[str, Any]]:
    from ettlog.windows import moment

    signal = next((one for one in SIGNALS.values() if one.found_by == group[0].found_by), None)
    name = signal.name if signal else "faster-" + "-".join(sorted(group[0].parts)).replace("_", "-")
    owners = sorted({PART_BY_NAME[part].owner for part in group[0].parts})
    for change in group:
        yield {
            "name": name, "owner": " + ".join(owners), "parts": sorted(change.parts), "model": change.model,
            "platform": change.platform, "since": moment(change.since_us - change.since_us % 1_000_000),
            "found_by": change.found_by, "starts_before": change.counts[0], "starts_after": change.counts[1],
            "before": change.levels[0], "after": change.levels[1], "unit": change.unit,
            "registered": _registered(change, known), "evidence": change.evidence,
        }  # fmt: skip


def _registered(change: Change, known: Registry) -> str:
    """Return the optimizations of the registry that came to the same place of the model then, or within a week."""
    names = [
        item.name
        for item in known.optimizations
        if item.parts & change.parts
        and any(
            change.last_us - NEAR_US <= at <= change.since_us + NEAR_US
            for at in item.boundaries(change.model, change.platform)
        )
    ]
    return ", ".join(names)


def _notes(frame: pl.DataFrame, fresh: pl.DataFrame, starts: pl.DataFrame) -> Iterator[str]:
    models = starts.select("model", "platform").n_unique()
    yield (
        f"{count(fresh['name'].n_unique(), 'optimization')} proposed, {count(fresh.height, 'rollout')}, from "
        f"{count(starts.height, 'start')} of {count(models, 'model')}; a person has to confirm each"
    )
    if frame.height > fresh.height:
        names = ", ".join(frame.filter(pl.col("registered") != "")["registered"].unique().sort())
        yield f"{frame.height - fresh.height} more are in the registry already: {names}"
