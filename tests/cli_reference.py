"""Write the reference of the command line from its own help: `python -m tests.cli_reference > docs/cli.md`."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

import click

from ettlog.cli import COMMANDS, app

WIDTH = 100
HEAD = """# Command line

Written from `ettlog COMMAND --help` by `make docs`; a test compares them.

Every option can also be set by an environment variable, `ETTLOG_COMMAND_OPTION`, such as `ETTLOG_ETT_BASIS=elapsed`;
the lake also by `ETTLOG_LAKE`. Data goes to stdout, everything else to stderr. `NO_COLOR` is heeded.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | failed, or a check does not hold |
| 2 | the command, an option, the configuration or the registry is wrong |
| 3 | more lines were rejected than `--max-rejected` allows |
| 4 | an alert fires (`ettlog alerts`) |
| 5 | there is no data to answer from |
| 130 | interrupted |
"""


def reference() -> str:
    """Return the page, in Markdown."""
    pages = [HEAD, _page("", app), *(page for name in COMMANDS for page in _pages(name))]
    return "\n".join(pages)


def command(name: str) -> click.Command:
    """Return one command."""
    found: click.Command = import_module(f"ettlog.cli.{name.replace('-', '_')}").command
    return found


def _pages(name: str) -> Iterator[str]:
    """Yield the page of a command, then those of its own commands."""
    found = command(name)
    yield _page(name, found)
    if isinstance(found, click.Group):
        yield from (_page(f"{name} {inner}", one) for inner, one in found.commands.items())


def _page(name: str, command: click.Command) -> str:
    title = f"ettlog {name}".strip()
    settings = {**app.context_settings, "max_content_width": WIDTH, "terminal_width": WIDTH}
    parent = click.Context(app, info_name="ettlog", **settings)
    context = click.Context(command, info_name=name, parent=parent) if name else parent
    help_text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
    return f"## {title}\n\n```\n{help_text}\n```\n"


if __name__ == "__main__":
    print(reference(), end="")
