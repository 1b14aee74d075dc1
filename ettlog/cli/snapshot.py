"""`ettlog snapshot`: one file that answers like the lake, to keep or to mail."""

from __future__ import annotations

from pathlib import Path

import click

from ettlog.cli import COMMANDS
from ettlog.cli.options import lake, quiet_options

MEGABYTE = 1_000_000


@click.command("snapshot", short_help=COMMANDS["snapshot"])
@lake
@click.option(
    "-o",
    "--output",
    "path",
    required=True,
    type=click.Path(path_type=Path),
    help="Write here, whole or not at all: NAME.duckdb is one DuckDB file, a name without suffix a folder of Parquet.",
)
@click.option("--redact", is_flag=True, help="Put pseudonyms in place of the names of users, hosts and paths.")
@click.option(
    "--redact-key",
    "key",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Derive the pseudonyms from this file's bytes, so that later snapshots use the same ones; implies --redact.",
)
@click.option("--steps", is_flag=True, help="Hold every logged step too, which no answer needs.")
@quiet_options
def command(lake: Path, path: Path, redact: bool, key: Path | None, steps: bool, quiet: bool, verbose: int) -> None:
    """Write every relation of the lake, with a sentence for each column, into one file or folder.

    The file opens in the DuckDB command line and in any DuckDB from version 1.0 on; every command answers from it with
    `--lake fleet.duckdb` as from the lake. Without --redact-key the key of the pseudonyms is random and forgotten, so
    two such snapshots cannot be joined. Names of jobs and models stay, but for users, hosts and paths inside them.
    """
    import ettlog
    from ettlog.cli.output import say

    secret = key.read_bytes() if key else None
    rows = ettlog.snapshot(ettlog.open(lake), path, redact=redact or key is not None, key=secret, steps=steps)
    size = sum(file.stat().st_size for file in path.iterdir()) if path.is_dir() else path.stat().st_size
    told = [f"wrote {path}: {len(rows)} tables, {sum(rows.values()):,} rows, {size / MEGABYTE:.1f} MB"]
    if verbose:
        told += [f"  {name}: {count:,} rows" for name, count in rows.items()]
    say([*told, f"ask it with --lake {path}, or open it in any DuckDB"], quiet=quiet)
