"""`ettlog support-bundle`: what to send along with a report, without a word of any log."""

from __future__ import annotations

from pathlib import Path

import click

from ettlog.cli import COMMANDS
from ettlog.cli.options import file_option, lake, quiet_options


@click.command("support-bundle", short_help=COMMANDS["support-bundle"])
@lake
@file_option
@quiet_options
def command(lake: Path, path: Path | None, quiet: bool, verbose: int) -> None:
    """Write versions and counts as JSON: of files, lines, rows, formats, clocks and findings.

    It holds no line, path, name, number of a job or value of a setting, so it may be sent to anybody. Read it before
    you do: it is short.
    """
    import json

    import ettlog
    from ettlog.cli.options import Output
    from ettlog.cli.output import emit_text

    text = json.dumps(ettlog.support_bundle(lake), indent=1) + "\n"
    out = Output(None, path, (), True, False, quiet, verbose)
    emit_text(text, ["versions and counts only: no line, path or name of yours is in it"], out)
