"""One process of the matrix of circumstances: makes the circumstances it was told, then everything ettlog can make.

`python -m tests.torture.circumstance CASE.json` reads what `circumstances.py` wrote there and leaves in the folder
`out` every file that must not depend on the circumstances: lake, relations, answers, exports and the report.
"""

from __future__ import annotations

import ctypes
import json
import locale
import os
import random
import shutil
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ettlog.fleet import Fleet
    from ettlog.ingest import IngestOptions

ANSWERS = (
    ("ett", "--by", "model"), ("ett", "--by", "component"), ("jobs",), ("status",), ("check",), ("reliability",),
    ("advise",), ("alerts",), ("explain", "tiny/robin-1b"), ("timeline", "tiny/finch-7b"),
    ("sql", "select job, part, sum(end_us - begin_us) as us from segment group by all order by all"),
)  # fmt: skip
FEW = ANSWERS[:1]
EXPORTS = ("perfetto", "chrome", "otlp", "prometheus", "openmetrics", "rules", "grafana", "grafana-duckdb")
NEW_UTS = 0x04000000
SHIFTS = {"now": 0, "1999": -852_000_000, "2100": 2_350_000_000}
"""Seconds by which the clock is moved: decades back and on, whatever today is."""


def main(case: dict[str, Any]) -> None:
    """Make the circumstances, ingest, ask everything, and leave it in the case's folder."""
    axes, out = case["axes"], Path(case["out"])
    _surround(axes)
    lake = out / "lakes" / axes["lake"]
    lake.parent.mkdir(parents=True)
    _ingest(Path(case["logs"]), lake, axes)
    kept: Any = import_module("ettlog.kept")
    kept.KEEP_ROWS = 0 if axes["relations"] == "kept" else kept.KEEP_ROWS
    import ettlog

    ettlog.open(lake).keep()  # where relations are kept, every answer below rests on them
    fleet = ettlog.open(lake)
    real = vars(import_module("ettlog.fleet"))["open"]
    vars(ettlog)["open"] = lambda *_args, **_more: fleet  # opened once: commands would each assemble it anew
    _ask(fleet, lake, out, whole=case["whole"])
    kept.KEEP_ROWS = 0
    real(lake).keep()
    lake.rename(out / "lake")
    shutil.rmtree(out / "lakes")


def _surround(axes: dict[str, str]) -> None:
    """Set what a process can set for itself; its environment was set by whoever started it."""
    os.umask(int(axes["umask"], 8))
    os.chdir(axes["cwd"])
    with suppress(locale.Error):  # a machine may lack a locale: the area says so
        locale.setlocale(locale.LC_ALL, "")
    with suppress(OSError):
        if axes["host"] != "as it is" and not ctypes.CDLL(None).unshare(NEW_UTS):
            socket.sethostname(axes["host"])
    if axes["clock"] != "now":
        from tests.torture import shim

        shim.move_clock(SHIFTS[axes["clock"]])
    _order(axes["order"])
    _threads(int(axes["threads"]))


def _order(word: str) -> None:
    """Let folders list their files in another order."""
    real = os.scandir
    if word == "as listed":
        return

    @contextmanager
    def scandir(path: Any = ".") -> Iterator[Iterator[os.DirEntry[str]]]:
        with real(path) as items:
            found = sorted(items, key=lambda item: item.name, reverse=True)
        if word != "reversed":
            random.Random(word).shuffle(found)
        yield iter(found)

    import_module("ettlog.discover").os = _Namesake(os, scandir=scandir)  # type: ignore[attr-defined]


class _Namesake:
    """A module, but for some of its functions."""

    def __init__(self, real: Any, **others: Any) -> None:
        self._real = real
        vars(self).update(others)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def _threads(count: int) -> None:
    database: Any = import_module("ettlog.database")
    real = database._config
    database._config = lambda *told: {**real(*told), "threads": count}


def _ingest(logs: Path, lake: Path, axes: dict[str, str]) -> None:
    """Ingest, in one go or killed after the second commit and begun again."""
    from ettlog.ingest import IngestOptions

    ingesting: Any = import_module("ettlog.ingest")
    real, block = ingesting.scan_options, int(axes["block"])

    def scan_options(*told: Any) -> Any:
        options = real(*told)
        return replace(options, limits=replace(options.limits, block=block))

    ingesting.scan_options = scan_options
    options = IngestOptions(workers=int(axes["workers"]))
    if axes["course"] == "killed":
        _killed(logs, lake, options)
    ingesting.ingest([logs], lake, options=options)


def _killed(logs: Path, lake: Path, options: IngestOptions) -> None:
    """Ingest in a child that dies between a data file and the line that lists it."""
    child = os.fork()
    if not child:
        import_module("ettlog.commit").BATCH_FILES = 1  # type: ignore[attr-defined]
        durable: Any = import_module("ettlog.durable")
        real, left = durable.append, [4]

        def append(path: Path, data: bytes) -> None:
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)
            real(path, data)

        durable.append = append
        import_module("ettlog.ingest").ingest([logs], lake, options=replace(options, workers=1))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def _ask(fleet: Fleet, lake: Path, out: Path, whole: bool) -> None:
    """Write every relation, answer, export and the report, each to a file of its own."""
    from ettlog.relations import relations

    for name in relations():
        rows = "\n".join(map(repr, fleet.ordered(name).fetchall()))
        (out / f"relation-{name}").write_text(rows, encoding="utf-8", errors="surrogatepass")
    sizes = fleet.ordered("source").columns.index("n_bytes")
    bare = [row[:sizes] + row[sizes + 1 :] for row in fleet.ordered("source").fetchall()]
    (out / "relation-source-unsized").write_text("\n".join(map(repr, bare)))
    for words in ANSWERS if whole else FEW:
        file = out / f"answer-{'-'.join(words[:3]).replace('/', '-')}"
        _run([*words, "--lake", str(lake), "--format", "json"], file)
        named = json.dumps(str(lake), ensure_ascii=False)[1:-1]  # the header of status says which lake it is
        file.write_text(file.read_text(encoding="utf-8").replace(named, "LAKE"), encoding="utf-8")
    for form in EXPORTS:
        _run(["export", form, "--lake", str(lake), "-o", str(out / f"export-{form}")], out / f"said-{form}")
    if whole:
        _run(["report", "--lake", str(lake), "-o", str(out / "report.html")], out / "said-report")
        _run(["snapshot", "--lake", str(lake), "-o", str(out / "snapshot")], out / "said-snapshot")


def _run(words: list[str], file: Path) -> None:
    """Run a command in this process with stdout and its exit code in a file; what it says on stderr names paths."""
    from ettlog import cli

    kept = os.dup(1)
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(handle, 1)
    code: Any = 0
    try:
        cli.main([*words, "-q"] if words[0] not in ("sql",) else words)
    except SystemExit as ended:
        code = ended.code
    finally:
        sys.stdout.flush()
        os.write(1, f"exit code {code}\n".encode())
        os.dup2(kept, 1)
        os.close(handle)
        os.close(kept)


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()))
