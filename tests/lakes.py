"""Lakes that lack something, and words that every command can be asked with: the matrix of commands and empties."""

from __future__ import annotations

import shutil
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

import click

import ettlog
from ettlog import fleet as fleets
from ettlog.cli import COMMANDS
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from ettlog.fleet import Fleet

TINY = ROOT / "fixtures/tiny/logs"
REGISTRY = """[[optimization]]
name = "faster-init"
owner = "trainer"
components = ["trainer_init"]
rollouts = [{ since = 2031-05-06 }]
"""
UNTIL_STEP_60 = 15
"""Lines of finch-7b's log up to its first hang: the job trains, and nothing has ended."""
HEADER = "JobID|JobIDRaw|JobName|Cluster|Partition|State|Submit|Eligible|Start|End|NNodes|AllocTRES|ExitCode\n"
RUNNING = (
    "501001|501001|finch-7b|maple|train|RUNNING|2031-05-06T08:00:00|2031-05-06T08:00:00|2031-05-06T08:02:00|Unknown|2|"
    "cpu=32,gres/gpu=16,node=2|0:0\n"
)


def nothing(logs: Path) -> None:
    """Write a file in which no format knows a line."""
    (logs / "notes.txt").write_text("remember the milk\nand the bread\n")


def one_job(logs: Path) -> None:
    """Write the log of one job and its accounting."""
    shutil.copy(TINY / "finch-7b-501001.out", logs)
    lines = (TINY / "sacct.txt").read_text().splitlines(keepends=True)
    (logs / "sacct.txt").write_text("".join(line for line in lines if "finch" in line or line == HEADER))
    (logs / "optimizations.toml").write_text(REGISTRY)


def no_scheduler(logs: Path) -> None:
    """Write trainers' logs only, with a registry."""
    for path in (*TINY.glob("*.out"), *TINY.glob("*.log")):
        shutil.copy(path, logs)
    (logs / "optimizations.toml").write_text(REGISTRY)


def no_trainer(logs: Path) -> None:
    """Write accounting only."""
    shutil.copy(TINY / "sacct.txt", logs)


def no_registry(logs: Path) -> None:
    """Write all three jobs, and name no optimization."""
    shutil.copytree(TINY, logs, dirs_exist_ok=True)


def all_running(logs: Path) -> None:
    """Write the beginning of a job that still runs."""
    lines = (TINY / "finch-7b-501001.out").read_text().splitlines(keepends=True)
    (logs / "finch-7b-501001.out").write_text("".join(lines[:UNTIL_STEP_60]))
    (logs / "sacct.txt").write_text(HEADER + RUNNING)


LAKES = (nothing, one_job, no_scheduler, no_trainer, no_registry, all_running)
"""What is there; `no lake` stands beside them."""

ASKED = {
    "job": ["finch-7b"],
    "row": ["finch-7b@0"],
    "query": ["select count(*) as n from job"],
    "before": ["finch-7b"],
    "after": ["wren-3b"],
    "file": [str(ROOT / "ettlog/parse/formats/slurm_srun.toml")],
    "logs": [str(TINY / "robin-1b.log")],
}
"""Words for the arguments that mean something in a lake, by the argument's name."""
OPTIONS = {"what-if": ["--halve", "restore"], "simulate": ["--models", "1", "--jobs", "1", "--days", "2"]}
"""Options without which a command has nothing to answer, or too much."""


SUFFIX = {"snapshot": "duckdb"}
"""Suffix of what a command writes, where it tells the form."""


def commands() -> dict[str, click.Command]:
    """Return every command, those of groups too, by the words that name it."""
    found: dict[str, click.Command] = {}
    for name in COMMANDS:
        one: click.Command = import_module(f"ettlog.cli.{name.replace('-', '_')}").command
        inner = one.commands if isinstance(one, click.Group) else {"": one}
        found |= {f"{name} {inside}".strip(): leaf for inside, leaf in inner.items()}
    return found


def words(name: str, folder: Path) -> list[str]:
    """Return words that ask a command; what it writes goes into a folder."""
    command = commands()[name]
    asked = [word for item in command.params if isinstance(item, click.Argument) for word in _word(item)]
    out = ["-o", str(folder / f"{name}.{SUFFIX.get(name, 'out')}")] if writes(command) else []
    return [*name.split(), *asked, *OPTIONS.get(name, []), *out]


def writes(command: click.Command) -> bool:
    """Tell whether a command makes a file or a folder, and no table."""
    options = {text for item in command.params for text in item.opts}
    return "--output" in options and "--format" not in options


def _word(argument: click.Argument) -> list[str]:
    """Return a word for an argument: a known one, the first of a choice, a log for a path."""
    if argument.name in ASKED:
        return ASKED[argument.name]
    if not argument.required:
        return []
    if isinstance(argument.type, click.Choice):
        return [str(argument.type.choices[0])]
    return [str(TINY / "robin-1b.log")]


def make(lack: str, folder: Path) -> Path:
    """Return a lake made of the logs that a function of this module writes."""
    writer = {function.__name__: function for function in LAKES}[lack]
    logs = folder / "logs"
    logs.mkdir()
    writer(logs)
    lake = folder / f"{lack}.lake"
    ettlog.ingest([logs], lake)
    return lake


@cache
def open_once(path: Path) -> Fleet:
    """Return an open lake, the same one for the same path: its relations are computed once."""
    return fleets.open(path)
