"""Runs the command line under strace, or under an audit hook of Python, and says what it wrote and whom it called.

`python -m tests.system_calls FOLDER` is what is watched: an ingest and several questions in one process.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.conftest import ROOT

CALLS = "open,openat,openat2,creat,connect,socket,execve,execveat,link,linkat,rename,renameat2,unlink,unlinkat,mkdir"
ALONE = ("unshare", "--map-root-user", "--net")
"""What puts a command where there is no network at all."""
_CALL = re.compile(r"^(?:\[pid +\d+\] +|\d+ +)?(?P<name>\w+)\((?P<told>.*)\) += +(?P<gave>-?\d+)")
UNFINISHED = " <unfinished ...>"
_RESUMED = re.compile(r"^\d+ +<\.\.\. \w+ resumed>(.*)$")
_PATH = re.compile(r'"((?:[^"\\]|\\.)*)"')
WRITES = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC")


@dataclass
class Seen:
    """What a run did: files it opened to write, made, renamed or removed, sockets, connections, programs."""

    written: set[str] = field(default_factory=set)
    sockets: list[str] = field(default_factory=list)
    programs: list[str] = field(default_factory=list)

    def outside(self, *inside: Path) -> set[str]:
        """Return the files that lie below none of these folders."""
        return {name for name in self.written if not any(Path(name).is_relative_to(folder) for folder in inside)}


def commands(folder: Path) -> list[list[str]]:
    """Return what is run: every way in which ettlog writes, and one question of each kind."""
    lake, out = str(folder / "lake"), folder / "out"
    return [
        ["ingest", str(ROOT / "fixtures/tiny/logs"), "--lake", lake, "-q", "--confine", "always"],
        ["ett", "--lake", lake],
        ["sql", "select count(*) from segment", "--lake", lake],
        ["export", "prometheus", "--lake", lake, "-o", str(out / "metrics.prom")],
        ["report", "--lake", lake, "-o", str(out / "report.html"), "-q"],
        ["check", "--lake", lake],
    ]


def environment(folder: Path) -> dict[str, str]:
    """Return an environment whose home, cache and temporary folder lie in `folder`."""
    told = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "HOME": str(folder / "home"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return told | {"XDG_CACHE_HOME": str(folder / "cache"), "MPLCONFIGDIR": str(folder / "cache/matplotlib")}


def lay_out(folder: Path) -> list[str]:
    """Make the folders of a run, and return the command that is watched."""
    for name in ("out", "home", "cache"):
        (folder / name).mkdir()
    return [*ALONE, sys.executable, "-m", "tests.system_calls", str(folder)] if can_be_alone() else _bare(folder)


def _bare(folder: Path) -> list[str]:
    return [sys.executable, "-m", "tests.system_calls", str(folder)]


def can_be_alone() -> bool:
    """Tell whether a process may have a network namespace of its own, in which there is no interface that is up."""
    if shutil.which(ALONE[0]) is None:
        return False
    return subprocess.run([*ALONE, "true"], check=False, capture_output=True).returncode == 0


def traced(folder: Path) -> Seen:
    """Run all commands under strace."""
    log = folder / "calls"
    asked = [
        "strace",
        "-f",
        "-qq",
        "--seccomp-bpf",
        "-e",
        f"trace={CALLS}",
        "-e",
        "signal=none",
        "-s",
        "4096",
        "-o",
        str(log),
    ]
    subprocess.run([*asked, *lay_out(folder)], env=environment(folder), cwd=folder, check=True, capture_output=True)
    return read(log.read_text(errors="replace"))


def can_trace() -> bool:
    """Tell whether strace is here and may trace."""
    if shutil.which("strace") is None:
        return False
    asked = ["strace", "-f", "-qq", "--seccomp-bpf", "-o", os.devnull, "true"]
    return subprocess.run(asked, check=False, capture_output=True).returncode == 0


def read(log: str) -> Seen:
    """Read what strace wrote: calls that failed changed nothing, but a refused connection was tried."""
    seen = Seen()
    for line in _joined(log):
        call = _CALL.match(line)
        if call is None:
            continue
        name, told, done = call["name"], call["told"], int(call["gave"]) >= 0
        paths = [path.encode().decode("unicode_escape") for path in _PATH.findall(told)]
        if name in ("socket", "connect"):
            seen.sockets.append(line)
        elif name.startswith("exec") and done:
            seen.programs.append(paths[0])
        elif done and (not name.startswith("open") or WRITES.search(told)):
            seen.written.update(paths)
    return seen


def _joined(log: str) -> Iterator[str]:
    """Yield the lines of a trace; a call that another process broke into stands on two lines, put together here."""
    begun: dict[str, str] = {}
    for line in log.splitlines():
        pid = line.split(" ", 1)[0]
        if line.endswith(UNFINISHED):
            begun[pid] = line.removesuffix(UNFINISHED)
        elif (rest := _RESUMED.match(line)) is not None:
            yield begun.pop(pid, "") + rest[1]
        else:
            yield line


def hooked(folder: Path) -> Seen:
    """Run all commands under an audit hook, which sees what Python itself opens, connects and starts."""
    told = environment(folder) | {"SEEN": str(folder / "seen.jsonl")}
    subprocess.run(lay_out(folder), env=told, cwd=folder, check=True, capture_output=True)
    seen = Seen()
    for line in (folder / "seen.jsonl").read_text().splitlines():
        kind, text = json.loads(line)
        if kind == "written":
            seen.written.add(text)
        else:
            (seen.sockets if kind == "socket" else seen.programs).append(text)
    return seen


def _watch(file: str) -> None:
    """Write down from now on what this process opens to write, connects to and starts."""
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def hook(event: str, told: tuple[Any, ...]) -> None:
        said = None
        if event == "open" and isinstance(told[0], (str, bytes)) and told[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            said = ("written", os.fsdecode(told[0]))
        elif event == "socket.connect" or (event == "socket.__new__" and told[1] != socket.AF_UNIX):  # a worker's pipe
            said = ("socket", f"{event} {told[1:]}")
        elif event in ("os.exec", "os.posix_spawn", "subprocess.Popen"):
            said = ("program", os.fsdecode(told[0]))
        if said:
            os.write(handle, json.dumps(said).encode() + b"\n")

    sys.addaudithook(hook)


def main(folder: Path) -> None:
    """Run all commands in this process; each must end well."""
    from ettlog import cli

    if "SEEN" in os.environ:
        _watch(os.environ["SEEN"])
    for words in commands(folder):
        try:
            cli.main(words)
        except SystemExit as ended:
            assert not ended.code, words


if __name__ == "__main__":
    main(Path(sys.argv[1]))
