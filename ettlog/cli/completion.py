"""`ettlog completion`: the script that lets a shell complete commands and options."""

from __future__ import annotations

import click

from ettlog.cli import COMMANDS

SHELLS = ("bash", "zsh", "fish")


@click.command("completion", short_help=COMMANDS["completion"])
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print the script that completes ettlog's commands and options in SHELL.

    bash: ettlog completion bash > ~/.local/share/bash-completion/completions/ettlog
    """
    from click.shell_completion import get_completion_class

    from ettlog.cli import app

    kind = get_completion_class(shell)
    if kind is not None:
        click.echo(kind(app, {}, "ettlog", "_ETTLOG_COMPLETE").source())
