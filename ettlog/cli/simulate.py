"""`ettlog simulate`: fleets with a known truth, written as real logs."""

from __future__ import annotations

from pathlib import Path

import click

from ettlog.cli import COMMANDS


@click.command("simulate", short_help=COMMANDS["simulate"])
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, help="Folder to write into; new or empty."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Same seed, same bytes.")
@click.option(
    "--models", "-M", type=click.IntRange(1, 10_000), help="Models of the fleet; 6 if the scenario says nothing."
)
@click.option(
    "--jobs",
    "-J",
    type=click.IntRange(1, 1_000_000),
    help="Jobs of all models together; 90 if the scenario says nothing.",
)
@click.option(
    "--days", "-D", type=click.IntRange(1, 10_000), help="Days in which jobs start; 180 if the scenario says nothing."
)
@click.option("--ranks", type=click.IntRange(1, 64), help="Rank logs of a start; 1 if the scenario says nothing.")
@click.option(
    "--dialect", "dialects", multiple=True, help="Dialect to write, repeatable; the scenario's if none is named."
)
@click.option(
    "--faults", default="", help="Faults of the logs: all, or some of torn,rotated,gzip,...; none if left out."
)
@click.option("--scenario", type=click.Path(path_type=Path), help="TOML of the fleet; what it leaves out is built in.")
def command(
    output: Path,
    seed: int,
    models: int | None,
    jobs: int | None,
    days: int | None,
    ranks: int | None,
    dialects: tuple[str, ...],
    faults: str,
    scenario: Path | None,
) -> None:
    """Write a simulated fleet: logs to ingest, and the truth beside them.

    OUTPUT/logs holds one folder a job, an accounting dump a cluster, ettlog.toml and optimizations.toml; OUTPUT/truth
    the true segments, starts, jobs, what each optimization truly saved, and the totals of the same fleet without it.
    All of it is invented; nothing in it was measured.
    """
    from ettlog import simulate
    from ettlog.simulate.faults import parse
    from ettlog.simulate.results import results
    from ettlog.simulate.whole import refuse_full

    refuse_full(output)
    given = {"models": models, "jobs": jobs, "days": days, "ranks": ranks, "dialects": list(dialects) or None}
    spec = simulate.read(scenario) if scenario else simulate.default()
    spec = spec.having(**{name: value for name, value in given.items() if value is not None})
    counts = results(simulate.fleet(spec, seed), output, parse(faults))
    click.echo(
        f"{counts['jobs']:,} jobs, {counts['starts']:,} starts, {counts['segments']:,} true segments; "
        f"{counts['files']:,} files, {counts['bytes'] / 1e6:,.1f} MB in {output / 'logs'}, truth in {output / 'truth'}",
        err=True,
    )
    click.echo(f"next: ettlog --help; ettlog ingest {output / 'logs'}; ettlog ett; ettlog attribute", err=True)
