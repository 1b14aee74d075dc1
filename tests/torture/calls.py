"""N1: the system calls of whole commands: files opened for writing, programs started, connections opened."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT
from tests.torture.registry import Outcome, Scope

WATCHED = "openat,open,creat,rename,renameat2,link,linkat,symlinkat,mkdir,mkdirat,connect,socket,execve"
COMMANDS = (
    "ingest {logs} --workers 2",
    "ingest {logs}", "status -v", "ett --by model", "jobs", "check", "report -o {out}/r.html",
    "export perfetto -o {out}/p", "export prometheus -o {out}/m", "snapshot -o {out}/s", "sql select~1",
    "support-bundle -o {out}/b.json",
)  # fmt: skip
_OPENED = re.compile(r'\b(?:openat\(AT_FDCWD, |open\(|creat\()"([^"]+)", ([A-Z_|]+)')
_MADE = re.compile(r'\b(?:mkdir|link|linkat|symlinkat|rename|renameat2|mkdirat)\((?:AT_FDCWD, )?"([^"]+)"')
_REACHED = re.compile(r"\b(?:connect\(|socket\(AF_INET)")
_STARTED = re.compile(r'\bexecve\("([^"]+)", (\[.*?\])')
FONTS = "/fc-list"
"""The one other program: matplotlib asks it for the fonts when its cache of them is empty."""
DEVICES = ("/dev/null", "/dev/tty", "/proc/self/")


def run(scope: Scope) -> Outcome:
    """Run every command under strace, and look at what it asked the kernel for."""
    found = Outcome()
    if shutil.which("strace") is None:
        found.skipped.append("strace is not installed (apt install strace)")
        return found
    logs, out, lake, cache = (scope.folder / name for name in ("logs", "out", "lake", "cache"))
    shutil.copytree(ROOT / "fixtures" / "tiny" / "logs", logs)
    out.mkdir()
    for command in COMMANDS if scope.full else (*COMMANDS[:2], *COMMANDS[6:8], COMMANDS[-1]):
        words = [word.replace("~", " ") for word in command.format(logs=logs, out=out).split()]
        text = _traced([*words, "--lake", str(lake)], scope.folder, cache)
        found.counts["executions"] += 1
        _hold(found, command, text, (lake, out, cache))
    return found


def _traced(words: list[str], folder: Path, cache: Path) -> str:
    trace = folder / "trace"
    env = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(cache), "PYTHONDONTWRITEBYTECODE": "1",
           "MPLCONFIGDIR": str(cache / "mpl")}  # fmt: skip
    strace = ["strace", "-f", "--seccomp-bpf", "-qq", "-s", "400", "-e", f"trace={WATCHED}", "-o", str(trace)]
    command = [*strace, sys.executable, "-m", "ettlog", *words]
    subprocess.run(command, env=env, cwd=folder, capture_output=True, timeout=900, check=False)
    return trace.read_text(errors="replace")


def _hold(found: Outcome, command: str, text: str, allowed: tuple[Path, ...]) -> None:
    """Expect writing below the allowed folders only, no connection, and no program but Python itself."""
    lines = [line for line in text.splitlines() if " = -1 " not in line]
    written = {name for line in lines if (name := _written(line))}
    stray = [name for name in written if not _below(name, allowed)]
    found.expect(not stray, f"{command}: wrote {sorted(stray)[:5]}")
    reached = [line for line in lines if _REACHED.search(line)]
    found.expect(not reached, f"{command}: {reached[:2]}")
    started = [match for line in lines if (match := _STARTED.search(line))]
    others = [match[0] for match in started[1:] if "multiprocessing" not in match[2] and not match[1].endswith(FONTS)]
    found.expect(not others, f"{command}: started {others[:2]}")
    found.expect(bool(started), f"{command}: nothing was traced")


def _written(line: str) -> str:
    """Return the name that a system call makes, changes or opens for writing; empty for reading."""
    opened = _OPENED.search(line)
    if opened:
        writes = {"O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_TMPFILE"} & set(opened[2].split("|"))
        return opened[1] if writes or "creat(" in line else ""
    made = _MADE.search(line)
    return made[1] if made else ""


def _below(name: str, allowed: tuple[Path, ...]) -> bool:
    if name.startswith(DEVICES):
        return True
    path = os.path.normpath(allowed[0].parent / name)
    return any(path == str(folder) or path.startswith(f"{folder}/") for folder in allowed)
