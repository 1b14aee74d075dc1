"""The command line: one small module per command, imported when the command is used."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

import click

import ettlog
from ettlog.errors import EttlogError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import NoReturn

# its threads would be started, and wait, in every process that reads logs, for products too small to share
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Arrow's own allocators keep what was freed; the system's hands it to whoever asks next
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

COMMANDS = {
    "ingest": "Read logs into the lake; files that did not change are skipped.",
    "merge": "Merge lakes, or the shards of one, into the lake that one ingest makes.",
    "status": "Show what was read, file by file, and what was made of it.",
    "jobs": "List the jobs: wall time, starts, failures, end and ETT.",
    "timeline": "Show one job moment by moment, with the lines it rests on.",
    "ett": "Show where the wall time went: ETT, components, TTS, TTR, failures.",
    "attribute": "Show what changed in a window, and whose work changed it.",
    "rollouts": "Propose a registry of optimizations from what changed in the logs.",
    "compare": "Compare two runs, models or windows, or pairs of them, with intervals.",
    "plan": "Plan an experiment: pairs needed for a gain, and when to kill its runs.",
    "reliability": "Show how often jobs fail, by cause, model, cluster or node, with intervals.",
    "advise": "Advise how often to save, from measured stalls and failures.",
    "what-if": "Show what a change would be worth, under the observed faults.",
    "alerts": "Show regressions, burning budgets, and effects that came, per owner.",
    "report": "Write one HTML page to look at: fleet or job, with pictures.",
    "plot": "Draw one picture of the fleet or a job, as PNG or SVG.",
    "format": "Describe a dialect of your own, try it, and list those known.",
    "export": "Write traces, metrics, rules or dashboards for other tools.",
    "snapshot": "Write every relation into one file that answers like the lake.",
    "explain": "Show the log lines that a job, start or part rests on.",
    "sql": "Ask the relations in SQL.",
    "schema": "Show the relations, or the columns of one.",
    "check": "Check that the lake and its relations hold together.",
    "simulate": "Write a simulated fleet as logs, with the truth beside them.",
    "support-bundle": "Write versions and counts to send along with a report of a defect.",
    "completion": "Print the completion script of a shell.",
}
"""Every command with its sentence, in the order a newcomer needs them; NAME is `ettlog.cli.NAME.command`.

The sentences stand here so that `ettlog --help` imports no command.
"""

INTERRUPTED = 130
CLOSED_PIPE = 141
QUERY_INTERRUPTED = "Query interrupted"
"""What DuckDB raises for a Ctrl-C that it notices before Python does."""


class Commands(click.Group):
    """A group whose commands are imported on use, and which offers the nearest name for a misspelt one."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return list(COMMANDS)

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        """Import and return one command; None for a name that is none."""
        if name not in COMMANDS:
            return None
        command: click.Command = import_module(f"ettlog.cli.{name.replace('-', '_')}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that `args` begin with; a usage error names the nearest one."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib

            from ettlog import sink

            near = difflib.get_close_matches(args[0], list(COMMANDS), n=1)
            hint = f" Did you mean {near[0]!r}?" if near else f" Commands: {', '.join(COMMANDS)}."
            ctx.fail(f"No such command {sink.display(args[0])!r}.{hint}")
        return super().resolve_command(ctx, args)


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "auto_envvar_prefix": "ETTLOG"},
)
@click.version_option(ettlog.__version__, "--version", prog_name="ettlog", help="Show the version and exit.")
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Set a key of ettlog.toml for this call; repeatable."
)
@click.option("--memory-limit", metavar="SIZE", help="Memory that questions may take, such as 4GB; 1GiB without it.")
@click.option("--spill", metavar="FOLDER", help="Folder for what memory cannot hold; a private one without it.")
@click.option("--trust-lake", is_flag=True, help="Use a lake also where others own it or can write into it.")
@click.pass_context
def app(
    ctx: click.Context, settings: tuple[str, ...], memory_limit: str | None, spill: str | None, trust_lake: bool
) -> None:
    """Where a training fleet's GPU time went, who can win it back, and whose work won it back.

    ettlog reads the logs a fleet already writes into a lake (a folder of Parquet files), and answers from it. Without a
    command it says what to do next.
    """
    limits = {"limits.memory": memory_limit, "limits.spill": spill}
    settings += tuple(f"{key}={value}" for key, value in limits.items() if value is not None)
    if settings:
        from ettlog import config

        ctx.call_on_close(config.override(settings))
    if trust_lake:
        from ettlog import guard

        ctx.call_on_close(guard.trust_any_lake())
    if ctx.invoked_subcommand is None:
        from ettlog.cli.hint import advise

        click.echo(advise(os.environ.get("ETTLOG_LAKE", "ettlog.lake")))


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit with its code; no error a user can cause ends in a traceback."""
    sys.excepthook = _unexpected
    _plain_streams()
    stream = sys.stdout
    try:
        code = app.main(args=args, prog_name="ettlog", standalone_mode=False)
        sys.stdout.flush()
    except EttlogError as error:
        code = _say(str(error), error.exit_code)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        code = _say("interrupted", INTERRUPTED)
    except RuntimeError as error:
        if str(error) != QUERY_INTERRUPTED:
            raise
        code = _say("interrupted", INTERRUPTED)
    except BrokenPipeError:
        code = _left_alone()
    except SystemExit as ended:  # click ends so when it writes where nobody reads, and puts another stream there
        code = ended.code if sys.stdout is stream else _left_alone()
    sys.exit(code if isinstance(code, int) else 0)


def _left_alone() -> int:
    """The reader has left: say nothing more, and let nothing be flushed into the closed pipe at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return CLOSED_PIPE


def _say(message: str, code: int) -> int:
    from ettlog import sink

    click.echo(f"ettlog: {sink.paragraph(message)}", err=True)
    return code


def _plain_streams() -> None:
    """Let no character of a log fail at a stream: what its encoding lacks is written as an escape."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _unexpected(kind: type[BaseException], value: BaseException, trace: TracebackType | None) -> None:
    """Report a defect of ettlog itself in four parts; with -vv, its traceback too."""
    import traceback

    from ettlog import sink
    from ettlog.parse.redaction import redact_text

    frames = traceback.extract_tb(trace)
    where = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "unknown"
    detail = sink.display(redact_text("".join(traceback.format_exception_only(kind, value)).strip()))
    message = EttlogError(
        "ettlog failed in a way it should not",
        where=where,
        why=detail,
        todo="please report this with the command you ran; -vv shows the traceback",
    )
    _say(str(message), 1)
    if any(arg.startswith("-vv") for arg in sys.argv):
        told = redact_text("".join(traceback.format_exception(kind, value, trace)))
        click.echo(sink.paragraph(told), err=True)
