"""`ettlog export`: timelines, metrics, rules and dashboards in the forms of other tools."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ettlog.cli import COMMANDS
from ettlog.cli.options import file_option, lake, quiet_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from ettlog.fleet import Fleet

TRACES = ("perfetto", "chrome", "otlp")
METRICS = ("prometheus", "openmetrics")
FILES = ("rules", "grafana", "grafana-duckdb")
BINARY = ("perfetto",)


@click.command("export", short_help=COMMANDS["export"])
@click.argument("form", type=click.Choice((*TRACES, *METRICS, *FILES)), metavar="FORM")
@click.argument("names", nargs=-1, metavar="[JOB]...")
@click.option("-j", "--job", "jobs", multiple=True, help="Export only jobs whose name matches a glob; repeatable.")
@click.option("-m", "--model", "models", multiple=True, help="Export only jobs whose model matches a glob; repeatable.")
@lake
@file_option
@quiet_options
def command(
    form: str,
    names: tuple[str, ...],
    jobs: tuple[str, ...],
    models: tuple[str, ...],
    lake: Path,
    path: Path | None,
    quiet: bool,
    verbose: int,  # noqa: ARG001
) -> None:
    """Write what the lake knows in a form that another tool reads.

    \b
    perfetto        a trace for ui.perfetto.dev: job = process, start = thread
    chrome          the same as JSON, for chrome://tracing
    otlp            OpenTelemetry traces as OTLP/JSON lines, one request per job
    prometheus      metrics as Prometheus text, for a textfile collector
    openmetrics     the same as OpenMetrics
    rules           recording and alert rules for Prometheus (needs no lake)
    grafana         a dashboard over these metrics and rules (needs no lake)
    grafana-duckdb  a dashboard over a snapshot, for the DuckDB plugin (needs no lake)

    JOB is a name that `ettlog jobs` shows, or a part of one that no other job has; without any, all jobs.
    """
    import ettlog
    from ettlog import export
    from ettlog.cli.output import replace, say

    fixed: dict[str, Callable[[], bytes]] = {
        "rules": export.rules, "grafana": export.grafana, "grafana-duckdb": lambda: export.grafana("duckdb"),
    }  # fmt: skip
    _refuse_binary(form, path)
    if form in fixed:
        data = fixed[form]()
    else:
        fleet = ettlog.open(lake)
        chosen = _chosen(fleet, names, jobs, models)
        made = getattr(export, form) if form in TRACES else None
        data = made(fleet, chosen) if made else _metrics(fleet, form, chosen, bool(names or jobs or models))
    if path is None or str(path) == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    replace(path, data)
    say([f"wrote {path}"], quiet=quiet)


def _metrics(fleet: Fleet, form: str, chosen: list[str], narrowed: bool) -> bytes:
    from ettlog import export

    return export.metrics(fleet, jobs=_globs(chosen) if narrowed else None, openmetrics=form == METRICS[1])


def _globs(names: list[str]) -> list[str]:
    import glob

    return [glob.escape(name) for name in names]


def _chosen(fleet: Fleet, names: tuple[str, ...], jobs: tuple[str, ...], models: tuple[str, ...]) -> list[str]:
    """Return the jobs that were named or match; raise NoDataError where none does."""
    import ettlog
    from ettlog.jobs import named

    if names:
        return list(dict.fromkeys(named(fleet, name) for name in names))
    found: list[str] = ettlog.jobs(fleet, jobs=jobs or None, models=models or None)["job"].to_list()
    return found


def _refuse_binary(form: str, path: Path | None) -> None:
    from ettlog.errors import UsageError

    if form in BINARY and (path is None or str(path) == "-") and sys.stdout.isatty():
        raise UsageError(
            "a trace is not for a terminal",
            where=f"ettlog export {form}",
            why="it is a binary format",
            todo="add -o trace.pftrace, or pipe it",
        )
