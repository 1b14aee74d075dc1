"""A process that has everything imported and forks a child for each case: a fault a case, at a tenth of a start's time.

`with Nursery() as nursery: nursery.run(["ingest", ...], trap)` runs the command line in a child under the shim.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import os
import pkgutil
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.conftest import ROOT
from tests.torture import acts, shim

PATIENCE_S = 120.0
"""A process that sleeps or computes for longer hangs: these logs take a tenth of a second where a core is free. Time in
which it waits for a core does not count."""
LOADED = ("pandas", "pyarrow.compute", "pyarrow.csv", "pyarrow.parquet", "duckdb", "ettlog.fleet", "ettlog.cli.ingest")
PACKAGES = ("ettlog.parse",)
"""Packages whose modules are imported too, all of them: readers are imported where a log's head calls for them."""


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
    loaded: tuple[str, ...] = ()
    """Modules to import beside those of an ingest."""
    _process: subprocess.Popen[str] = field(init=False)
    _number: int = 0

    def __enter__(self) -> Nursery:
        """Start the process and wait until everything is imported."""
        self.folder.mkdir(parents=True, exist_ok=True)
        more = {"PYTHONPATH": str(ROOT)}
        if (library := shim.library()) is not None:
            more["LD_PRELOAD"] = str(library)
        command = [sys.executable, "-m", "tests.torture.nursery", str(self.folder), *self.loaded]
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
        """Run a command in a child and wait for its end, at most `patience` seconds; the rest is for `start`."""
        patience_s = more.pop("patience", PATIENCE_S)
        return self.wait(self.start(args, trap, **more), patience_s)

    def start(self, args: list[str], trap: shim.Trap | None = None, **more: Any) -> tuple[int, int]:
        """Start a command; `more`: `bug` and `clock` (see acts.py), `memory` (bytes it may map beside what the
        parent has), `pipe` (a FIFO to print to, which somebody reads), `dying` and `call` (see acts.py).
        """
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


_LENT: list[Nursery] = []
"""A process that several areas may use one after the other."""


@contextlib.contextmanager
def lent(folder: Path, loaded: tuple[str, ...] = ()) -> Iterator[Nursery]:
    """Give the process that is there, or one of one's own: its start costs more than many a sample."""
    if _LENT:
        yield _LENT[-1]
        return
    with Nursery(folder, loaded) as nursery:
        yield nursery


@contextlib.contextmanager
def lending(folder: Path, loaded: tuple[str, ...]) -> Iterator[None]:
    """Let all areas that are run meanwhile use one process."""
    with Nursery(folder, loaded) as nursery:
        _LENT.append(nursery)
        try:
            yield
        finally:
            _LENT.pop()


def _mapped() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def _modules() -> Iterator[str]:
    for package in PACKAGES:
        found = importlib.import_module(package)
        yield from (module.name for module in pkgutil.iter_modules(found.__path__, f"{package}."))


def warm(*more: str) -> None:
    """Import what an ingest imports, and `more` modules, and load the formats, once here and not in each child."""
    for module in (*LOADED, *more, *_modules()):
        importlib.import_module(module)
    formats: Any = importlib.import_module("ettlog.parse.format")
    formats.load_all = functools.partial(lambda loaded, *_args: loaded, formats.load_all(()))


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
    slept, hung, nap, last = 0.0, False, 0.001, time.monotonic()
    while not (ended := os.waitpid(pid, os.WNOHANG))[0]:
        time.sleep(nap)
        nap = min(0.02, nap * 1.5)
        now = time.monotonic()
        state, computed = _state(pid)
        slept += now - last if state in "SD" else 0.0
        last = now
        if max(slept, computed) > patience_s and not hung:
            hung = True
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
    return {"code": os.waitstatus_to_exitcode(ended[1]), "hung": hung}


def _state(pid: int) -> tuple[str, float]:
    """Return what a process does (R, S, D, T, Z) and the seconds it has computed; anything where nobody tells."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "S", 0.0
    return fields[0], (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _fork(case: dict[str, Any], folder: Path) -> int:
    # A pipe is opened here, so that whoever reads it may leave as soon as the child is there.
    pipe = os.open(case["pipe"], os.O_WRONLY) if case.get("pipe") else None
    pid = os.fork()
    if pid:
        if pipe is not None:
            os.close(pipe)
        return pid
    os.setsid()
    for name, target in (("out", 1), ("err", 2)):
        if target == 1 and pipe is not None:
            os.dup2(pipe, target)
            os.close(pipe)
            continue
        handle = os.open(folder / f"{case['number']}.{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(handle, target)
        os.close(handle)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    if case.get("memory"):
        limit = case["memory"] + _mapped()
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    acts.act(case)
    os._exit(0)


if __name__ == "__main__":
    warm(*sys.argv[2:])
    # Ctrl-C waits until a child runs its command.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    serve(Path(sys.argv[1]))
