"""A process that has everything imported and forks a child for each case: a fault a case, at a tenth of a start's time.

`with Nursery() as nursery: nursery.run(["ingest", ...], trap)` runs the command line in a child under the shim.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.conftest import ROOT
from tests.torture import acts, shim

PATIENCE_S = 120.0
"""A process that takes longer hangs: these logs take a tenth of a second where a core is free."""
LOADED = (
    "pandas", "pyarrow.compute", "pyarrow.csv", "pyarrow.parquet", "ettlog.ingest",
    "ettlog.parse.records", "ettlog.parse.scan", "ettlog.cli.ingest",
)  # fmt: skip


@dataclass(frozen=True)
class Ended:
    """How a child ended: exit code (negative: the signal's number), what it said, whether it hung."""

    code: int
    out: str
    err: str
    hung: bool
    seconds: float

    @property
    def polite(self) -> bool:
        """Tell whether it ended well, or with an error in four parts."""
        parts = all(f"\n  {name}:" in self.err for name in ("where", "why", "do"))
        return self.code == 0 or (self.code in (1, 2, 3) and parts and "should not" not in self.err)


@dataclass
class Nursery:
    """The parent's end of the process; a context manager."""

    folder: Path
    _process: subprocess.Popen[str] = field(init=False)
    _number: int = 0

    def __enter__(self) -> Nursery:
        """Start the process and wait until everything is imported."""
        self.folder.mkdir(parents=True, exist_ok=True)
        more = {"PYTHONPATH": str(ROOT)}
        if (library := shim.library()) is not None:
            more["LD_PRELOAD"] = str(library)
        command = [sys.executable, "-m", "tests.torture.nursery", str(self.folder)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=os.environ | more)
        assert self._ask({}) == {"ready": True}
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def run(self, args: list[str], trap: shim.Trap | None = None, **more: Any) -> Ended:
        """Run a command in a child and wait for its end; `more` are the fields of `start`."""
        return self.wait(self.start(args, trap, **more))

    def start(self, args: list[str], trap: shim.Trap | None = None, **more: Any) -> tuple[int, int]:
        """Start a command; `more`: `bug` and `clock` (see acts.py), `memory` (bytes of RLIMIT_AS), `code` to run."""
        self._number += 1
        case = {"args": args, "number": self._number, "trap": trap and trap.plain(), **more}
        return int(self._ask({"start": case})["pid"]), self._number

    def wait(self, child: tuple[int, int], patience_s: float = PATIENCE_S) -> Ended:
        """Wait for a child that was started; kill it when it takes longer than `patience_s`."""
        told = self._ask({"wait": child[0], "patience": patience_s})
        texts = [(self.folder / f"{child[1]}.{name}") for name in ("out", "err")]
        said = [path.read_text(errors="replace") if path.exists() else "" for path in texts]
        for path in texts:
            path.unlink(missing_ok=True)
        return Ended(told["code"], said[0], said[1], told["hung"], told["seconds"])

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer


def serve(folder: Path) -> None:
    """Answer requests until the other end closes."""
    begun: dict[int, float] = {}
    for line in sys.stdin:
        request = json.loads(line)
        if "start" in request:
            pid = _fork(request["start"], folder)
            begun[pid] = time.monotonic()
            answer: dict[str, Any] = {"pid": pid}
        elif "wait" in request:
            pid = request["wait"]
            answer = _wait(pid, request["patience"]) | {"seconds": time.monotonic() - begun.pop(pid)}
        else:
            answer = {"ready": True}
        print(json.dumps(answer), flush=True)


def _wait(pid: int, patience_s: float) -> dict[str, Any]:
    deadline, hung, nap = time.monotonic() + patience_s, False, 0.001
    while not (ended := os.waitpid(pid, os.WNOHANG))[0]:
        if time.monotonic() > deadline and not hung:
            hung = True
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        time.sleep(nap)
        nap = min(0.02, nap * 1.5)
    return {"code": os.waitstatus_to_exitcode(ended[1]), "hung": hung}


def _fork(case: dict[str, Any], folder: Path) -> int:
    pid = os.fork()
    if pid:
        return pid
    os.setsid()
    for name, target in (("out", 1), ("err", 2)):
        handle = os.open(folder / f"{case['number']}.{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(handle, target)
        os.close(handle)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    if case.get("memory"):
        resource.setrlimit(resource.RLIMIT_AS, (case["memory"], case["memory"]))
    acts.act(case)
    os._exit(0)


if __name__ == "__main__":
    for module in LOADED:
        importlib.import_module(module)
    # Formats are loaded once here, not in each child.
    formats: Any = importlib.import_module("ettlog.parse.format")
    formats.load_all = functools.partial(lambda loaded, *_args: loaded, formats.load_all(()))
    serve(Path(sys.argv[1]))
