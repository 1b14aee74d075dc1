"""Lakes that lack something, and words that every command can be asked with: the matrix of commands and empties."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import click

import ettlog
from tests.conftest import ROOT
from tests.test_docs import command as command_of

if TYPE_CHECKING:
    from pathlib import Path

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
    "before": ["finch-7b", "wren-3b"],
    "after": [],
    "shell": ["fish"],
    "relation": [],
    "logs": [str(TINY)],
    "what": ["job", "finch-7b"],
}
"""Words for each argument of a command, by the argument's name."""
OPTIONS = {"what-if": ["--halve", "restore"]}
"""Options without which a command has nothing to answer."""
WRITERS = ("Write", "Print", "Read", "Make", "Simulate", "Export", "Save")
"""Verbs that begin the sentence of a command that makes files; all others answer with a table."""


def words(name: str, folder: Path) -> list[str]:
    """Return words that ask a command; what it writes goes into a folder."""
    found = command_of(name)
    arguments = [parameter for parameter in found.params if isinstance(parameter, click.Argument)]
    options = {text for parameter in found.params for text in parameter.opts}
    asked = [word for parameter in arguments for word in ASKED[str(parameter.name)]]
    out = ["-o", str(folder / "out")] if "--output" in options and "--format" not in options else []
    return [name, *asked, *OPTIONS.get(name, []), *out]


def make(lack: str, folder: Path) -> Path:
    """Return a lake made of the logs that a function of this module writes."""
    writer = {function.__name__: function for function in LAKES}[lack]
    logs = folder / "logs"
    logs.mkdir()
    writer(logs)
    lake = folder / f"{lack}.lake"
    ettlog.ingest([logs], lake)
    return lake
