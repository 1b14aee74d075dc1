"""The ways of counting ETT that a user may choose from: groupings, conventions and their values, and their words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict

from ettlog.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WHOLE = ("model", "job", "cluster", "platform", "start-kind", "day", "week", "month")
"""Groupings whose groups have a wall time of their own."""
DIVIDED = ("owner", "component", "part", "stage")
"""Groupings that divide one wall time: their shares are of the wall around them, and they have no ETT of their own."""
GROUPINGS = WHOLE + DIVIDED


class Conventions(TypedDict, total=False):
    """How ETT is counted; every result names these."""

    basis: Literal["allocated", "elapsed", "submitted"]
    waste: Literal["new_data", "lost"]
    ttr: Literal["first_new_step", "first_step"]
    evaluation: Literal["wasted", "effective"]
    weight: Literal["gpu", "none"]
    mean: Literal["ratio-of-sums", "mean-of-ratios"]


WORDS: dict[str, dict[str, str]] = {
    "basis": {
        "allocated": "basis allocated (hardware held)",
        "elapsed": "basis elapsed (first allocation to last release)",
        "submitted": "basis submitted (first submission to last release)",
    },
    "waste": {
        "new_data": "waste new_data (replays are the waste)",
        "lost": "waste lost (steps that did not survive are the waste)",
    },
    "ttr": {"first_new_step": "TTR to the first new step", "first_step": "TTR to the first step of any kind"},
    "evaluation": {"wasted": "evaluation is waste", "effective": "evaluation counts as training"},
    "weight": {"gpu": "weighted by GPUs", "none": "not weighted by GPUs"},
    "mean": {"ratio-of-sums": "ratio of sums", "mean-of-ratios": "mean of the jobs' ratios"},
}
"""Each convention, the values it takes (the first is the default), and the words a result states it in."""


CONFIGURED = ("basis", "evaluation")
"""Conventions whose default ettlog.toml may change, as `ett.basis` and `ett.evaluation`."""


def settle(conventions: Mapping[str, object]) -> dict[str, str]:
    """Return all conventions with their values, the defaults filled in.

    Raises:
        UsageError: a convention or its value is not known.
    """
    for name in conventions:
        _member(name, "conventions", tuple(WORDS))
    chosen = {name: str(conventions.get(name) or next(iter(values))) for name, values in WORDS.items()}
    for name, value in chosen.items():
        _member(value, name, tuple(WORDS[name]))
    return chosen


def groupings(by: str | Sequence[str] | None) -> list[str]:
    """Return the keys that `by` asks for, as a list.

    Raises:
        UsageError: a key is not one of `GROUPINGS`.
    """
    keys = [by] if isinstance(by, str) else list(by or ())
    for key in keys:
        _member(key, "by", GROUPINGS)
    return list(dict.fromkeys(keys))


def sentence(chosen: Mapping[str, str]) -> str:
    """Return one line that states all conventions."""
    return " · ".join(WORDS[name][value] for name, value in chosen.items())


def _member(value: str, place: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise UsageError(
            f"{value!r} is not known here",
            where=place,
            why=f"{place} takes {', '.join(allowed)}",
            todo="use one of these",
        )


FRAMES = {
    "credit": "credit",
    "models": "what each model's first and last period hold",
    "effects": "evidence for a cause: staggered rollouts and their gates",
    "study": "the event study: share saved by week since the rollout",
    "overlap": "what optimizations of one place would get by other rules",
    "cells": "overhead per 100 effective hours of every model and component, with p and q",
    "shift": "the fleet's ETT inside models against mix, entry, exit",
    "ledger": "the exact ledger, link by link and cell by cell",
}
"""The frames of an attribution, each with its words."""
