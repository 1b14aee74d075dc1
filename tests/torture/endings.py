"""F14: a command is interrupted, terminated, hung up on, or nobody reads what it prints: it ends at once, without a
traceback, leaves no process behind, and what it wrote is whole or not there.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import ettlog
from ettlog.ingest import IngestOptions
from tests.conftest import ROOT
from tests.ingesting import accounting, tree
from tests.torture.nursery import Nursery, lent
from tests.torture.outputs import LOADED
from tests.torture.registry import Outcome

if TYPE_CHECKING:
    from tests.torture.registry import Scope

TINY = ROOT / "fixtures/tiny/logs"
LAKE = ["--lake", "{lake}"]
COMMANDS = {
    "ingest": ["ingest", "{logs}", "--lake", "{out}/lake", "--workers", "2", "-v"],
    "status": ["status", "-v", *LAKE],
    "jobs": ["jobs", *LAKE],
    "timeline": ["timeline", "finch", *LAKE],
    "ett": ["ett", "--by", "model", *LAKE, "--format", "csv"],
    "explain": ["explain", "finch", *LAKE],
    "report": ["report", *LAKE, "-o", "-"],
    "export": ["export", "chrome", *LAKE],
    "sql": ["sql", "select * from segment, range(20)", *LAKE],
    "check": ["check", *LAKE],
    "alerts": ["alerts", "--exit-zero", *LAKE],
    "simulate": ["simulate", "-o", "{out}/fleet", "-M", "1", "-J", "1", "-D", "5"],
}
SIGNALS = {"SIGINT": signal.SIGINT, "SIGTERM": signal.SIGTERM, "SIGHUP": signal.SIGHUP, "SIGPIPE": signal.SIGPIPE}
HEAD, CLOSED = "| head", "closed stdout"
ENDS = (*SIGNALS, HEAD, CLOSED)
ALLOWED = {"SIGINT": {130}, "SIGTERM": {143, -15}, "SIGHUP": {129, -1}, "SIGPIPE": {141}, HEAD: {141}, CLOSED: set()}
"""Exit codes beside 0; a negative one is a signal's number, which a shell shows as 128 more."""
LINGER_S = 10.0


class Case(NamedTuple):
    """A command, and how it is ended."""

    name: str
    end: str


class Ended(NamedTuple):
    """What became of a process: exit code, what it said on stderr, its session."""

    code: int
    err: str
    session: int


def run(scope: Scope) -> Outcome:
    """End every command in every way, at a seeded moment of its run."""
    found = Outcome()
    chance = random.Random(scope.seed)
    folder = scope.folder
    (folder / "logs").mkdir(parents=True)
    for number in range(6):
        (folder / f"logs/{number}.txt").write_text(accounting(number))
    ettlog.ingest([TINY], folder / "lake", options=IngestOptions(workers=1))
    untouched = tree(folder / "lake")
    cases = scope.some([Case(name, end) for name in COMMANDS for end in ENDS], 12)
    with lent(folder / "nursery", LOADED) as nursery:
        lasts: dict[str, float] = {}
        for number, case in enumerate(cases):
            found.counts["faults"] += 1
            words = _words(case.name, folder, number)
            if case.end in SIGNALS and case.name not in lasts:
                lasts[case.name] = nursery.run(_words(case.name, folder, -1)).seconds
            ended = _ended(nursery, case, words, folder, chance.uniform(0, 1) * lasts.get(case.name, 0))
            out = folder / str(number)
            found.failures.extend(
                f"{case.name}, {case.end}: {text}" for text in _broken(nursery, case, ended, words, out)
            )
    found.expect(tree(folder / "lake") == untouched, "I5: the lake that was asked has changed")
    return found


def _words(name: str, folder: Path, number: int) -> list[str]:
    out = folder / str(number)
    out.mkdir(exist_ok=True)
    return [word.format(lake=folder / "lake", logs=folder / "logs", out=out) for word in COMMANDS[name]]


def _ended(nursery: Nursery, case: Case, words: list[str], folder: Path, after_s: float) -> Ended:
    if case.end == CLOSED:
        return _with_closed_stdout(words)
    if case.end == HEAD:
        return _unread(nursery, words, folder / "pipe")
    child = nursery.start(words)
    time.sleep(after_s)
    # Ctrl-C reaches every process of a terminal's foreground, the other signals the one that they are sent to.
    (os.killpg if case.end == "SIGINT" else os.kill)(child[0], SIGNALS[case.end])
    done = nursery.wait(child)
    return Ended(-9 if done.hung else done.code, done.err, child[0])


def _unread(nursery: Nursery, words: list[str], pipe: Path) -> Ended:
    """Let the reader of a pipe leave before anything is printed."""
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    child = nursery.start(words, pipe=str(pipe))
    os.close(reader)
    done = nursery.wait(child)
    return Ended(-9 if done.hung else done.code, done.err, child[0])


def _with_closed_stdout(words: list[str]) -> Ended:
    """Start a process of its own, whose stdout is closed from the beginning."""
    command = ["/bin/sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-m", "ettlog", *words]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, start_new_session=True)
    _, said = process.communicate()
    return Ended(process.returncode, said, process.pid)


def _broken(nursery: Nursery, case: Case, ended: Ended, words: list[str], out: Path) -> Iterator[str]:
    if ended.code not in ALLOWED[case.end] | {0}:
        yield f"exit code {ended.code}: {ended.err[-300:]!r}"
    if "Traceback" in ended.err or "should not" in ended.err or "Exception ignored" in ended.err:
        yield f"it said: {ended.err[-400:]!r}"
    if left := _still_there(ended.session):
        yield f"I9: processes are left behind: {left}"
    if case.name not in ("ingest", "simulate"):
        return
    if ended.code == 0 and case.name == "simulate":
        return
    again = nursery.run(words)
    if again.code:
        yield f"I3: the same command again ends with {again.code}: {again.err[-300:]!r}"
    if case.name == "ingest":
        nursery.run([*words[:3], str(out / "sound"), *words[4:]])
        if tree(out / "lake") != tree(out / "sound"):
            yield "I3: the same command again does not give the lake of an undisturbed run"


def _still_there(session: int) -> list[int]:
    """Return the processes of a session that have not ended soon after their first one."""
    until = time.monotonic() + LINGER_S
    while (left := list(_members(session))) and time.monotonic() < until:
        time.sleep(0.05)
    return left


def _members(session: int) -> Iterator[int]:
    for item in Path("/proc").iterdir():
        if item.name.isdigit():
            try:
                fields = (item / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == session and fields[0] != "Z":
                yield int(item.name)
