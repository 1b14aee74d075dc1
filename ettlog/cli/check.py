"""`ettlog check`: does what the lake says hold together?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ettlog.cli import COMMANDS
from ettlog.cli.options import Output, lake, output_options
from ettlog.tables import Shown

if TYPE_CHECKING:
    from pathlib import Path

SHOWN = (
    Shown("level", "level"),
    Shown("check", "check"),
    Shown("subject", "subject"),
    Shown("gpu_hours", "GPU-h", "hours"),
    Shown("detail", "finding"),
    Shown("todo", "what to do"),
)


@click.command("check", short_help=COMMANDS["check"])
@lake
@click.option("--fix", "mend", is_flag=True, help="First heal the manifest's end and remove files it does not list.")
@click.option(
    "--verify/--no-verify",
    default=True,
    show_default=True,
    help="Compare every data file with its hash, or only with its length.",
)
@output_options
@click.pass_context
def command(ctx: click.Context, /, lake: Path, mend: bool, verify: bool, out: Output) -> None:
    """Check the files of the lake against its manifest, and its relations against their invariants; say what to log.

    An error is something that does not hold (exit 1); a warning says that the evidence of one job is thin; advice is
    about the fleet: what its logs do not say, what rests on that, and what would make them say it. Each by the
    GPU-hours at stake: of a warning all GPU time of its job, of advice the time that rests on it.
    """
    import ettlog
    from ettlog.check import ADVICE, ERROR, fix
    from ettlog.cli.output import emit
    from ettlog.relations import checks
    from ettlog.tables import View, count

    if mend:
        mended = count(fix(lake), "problem")
        click.echo(f"mended {mended}", err=True)
    found = ettlog.check(lake, verify=verify)
    wrong = int((found["level"] == ERROR).sum())
    advice = int((found["level"] == ADVICE).sum())
    thin = count(found.height - wrong - advice, "warning")
    header = [f"{count(1 + len(checks()), 'check')}: {count(wrong, 'error')}, {thin}; {count(advice, 'thing')} to log"]
    emit(View(found, header, shown=SHOWN), out)
    ctx.exit(1 if wrong else 0)
