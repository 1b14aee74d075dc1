"""`ettlog ett --terms`: the same jobs by each public definition of useful time, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ettlog.tables import Shown

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    import polars as pl

    from ettlog.ett import Selection
    from ettlog.fleet import Fleet
    from ettlog.tables import View

    F = TypeVar("F", bound=Callable[..., Any])

VALUES = (
    Shown("value", "%", "ratio"),
    Shown("numerator_hours", "useful GPU-h", "hours"),
    Shown("denominator_hours", "of GPU-h", "hours"),
    Shown("jobs", "jobs", "int"),
    Shown("left_out", "left out", "int"),
)
WORDS = (Shown("definition", "useful / of what"),)
FREE = ("weight", "mean")
"""Conventions that hold for every definition; each fixes the others itself."""
INPUTS = (
    ("step_seconds", "Seconds of a reference step, for resiliency; by default the median step of each job."),
    ("step_tflop", "Work of one step over all GPUs in TFLOP, for mfu; by default what the log prints."),
    ("peak_tflops", "Peak of one GPU in TFLOP/s, for mfu."),
    ("sliding_hours", "Length of the sliding window in hours, for byterobust-sliding; by default 1."),
)


def options(function: F) -> F:
    """Give a command `--terms` and what some definitions need."""
    for name, text in reversed(INPUTS):
        bounded = click.FloatRange(min=0, min_open=True)
        option = click.option(f"--{name.replace('_', '-')}", name, type=bounded, help=f"With --terms: {text}")
        function = option(function)
    return click.option(
        "--terms",
        help="Count by other definitions beside ETT: ett, goodput, ettr, byterobust, megascale, nvidia, resiliency, mfu"
        " or all; several with commas.",
    )(function)


def view(fleet: Fleet, names: str, by: list[str], selection: Selection, given: dict[str, Any]) -> View:
    """Count by the named definitions and arrange them for people: values first, then what each leaves out.

    Raises:
        UsageError: a name is not known, or more than one grouping was asked for.
    """
    from ettlog.errors import UsageError
    from ettlog.tables import View
    from ettlog.terms import BY, terms

    if len(by) > 1:
        raise UsageError(
            "definitions stand side by side in one grouping", where="--by", why=f"{len(by)} were given",
            todo=f"use one of {', '.join(BY)}",
        )  # fmt: skip
    rules = {name: given[name] or default for name, default in zip(FREE, ("gpu", "ratio-of-sums"), strict=True)}
    inputs = {name: given[name] for name, _ in INPUTS}
    asked = [name.strip() for name in names.split(",")]
    plain: Selection = {key: value for key, value in selection.items() if key != "logged"}  # type: ignore[assignment]
    frame = terms(fleet, asked, by=by[0] if by else None, **rules, inputs=inputs, **plain)  # type: ignore[arg-type]
    shown = [Shown("term", "definition"), *[Shown(key, key) for key in by], *VALUES, *(() if by else WORDS)]
    return View(frame, header(fleet, selection, rules), notes(frame, grouped=bool(by)), shown, _readable(frame, by))


def header(fleet: Fleet, selection: Selection, rules: dict[str, str]) -> list[str]:
    """Return the sentences that state the window and the conventions."""
    from ettlog import conventions
    from ettlog.ett import describe

    window, _ = describe(fleet, selection)
    words = " · ".join(conventions.WORDS[name][value] for name, value in rules.items())
    fixed = "wall basis, waste, TTR and evaluation are fixed by each definition"
    return [window, f"counted: jobs of which a trainer's log was read · {words} · {fixed}"]


def notes(frame: pl.DataFrame, *, grouped: bool) -> list[str]:
    """Return what each definition leaves out, where it comes from, and why jobs have no such number."""
    from ettlog.tables import count
    from ettlog.terms import TERMS

    missing = {term.name: term.missing for term in TERMS}
    lines = []
    for (name,), rows in frame.group_by("term", maintain_order=True):
        row, left = rows.row(0, named=True), int(rows["left_out"].sum())
        defined = f"{row['definition']}; " if grouped else ""
        lines.append(f"{name}: {defined}leaves out: {row['leaves_out']} [{row['source']}]")
        if left:
            lines.append(f"{name}: {count(left, 'job')} without it: {missing[str(name)]}")
    return lines


def _readable(frame: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    import polars as pl

    return frame.with_columns(pl.col(key).fill_null("(unknown)") for key in by)
