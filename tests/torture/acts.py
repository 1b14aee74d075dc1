"""What a child of the nursery does: sets its trap, plants a known bug if it is told to, and runs the command line."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ettlog
from ettlog import durable, lake
from ettlog.errors import EttlogError
from ettlog.ingest import IngestOptions
from tests.torture import dying, shim


def act(case: dict[str, Any]) -> None:
    """Run one case to its end; the process ends with the exit code of the command."""
    batches: Any = importlib.import_module("ettlog.ingest")
    batches.BATCH_SECONDS = 1e9  # how much is written at once must not hang on the speed of the machine
    if case.get("bug"):
        BUGS[case["bug"]]()
    if case.get("dying"):
        dying.prepare(case["dying"])
    if case.get("clock"):
        shim.move_clock(*case["clock"])
    trap = shim.Trap(**case["trap"]) if case.get("trap") else None
    if trap is not None:
        shim.arm(trap)
    code = CALLS[case["call"]](case["args"]) if case.get("call") else _command(case["args"])
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.flush()
    sys.stderr.flush()
    if trap is not None and trap.seen:
        Path(trap.seen).write_text(json.dumps(shim.counted()))
    os._exit(code)


def _command(args: list[str]) -> int:
    from ettlog import __main__

    sys.argv = ["ettlog", *args]
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    except KeyboardInterrupt:  # it came before there was anything to interrupt
        return __main__.INTERRUPTED
    try:
        __main__.main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    except BaseException as error:  # noqa: BLE001  (what a real process would do with it)
        sys.excepthook(type(error), error, error.__traceback__)
        return 1
    return 0


def _account(args: list[str]) -> int:
    """Ingest a folder (logs, lake) and print what became of each file, in place of the words of the command."""
    try:
        report = ettlog.ingest([args[0]], args[1], options=IngestOptions(workers=1))
    except EttlogError as error:
        print(f"ettlog: {error}", file=sys.stderr)
        return error.exit_code
    files = {file.name: file.state for file in report.files}
    print(json.dumps({"files": files, "not_read": [item.name for item in report.not_read]}))
    return 0


def _measured(args: list[str]) -> int:
    """Ingest a folder (logs, lake), and print last how much more memory that held at most than before it began."""
    before = _held("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the mark of the highest begins here, not in the parent
    code = _account(args)
    print(f"{max(0, _held('VmHWM') - before) >> 10:,} MiB")
    return code


def _held(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


CALLS: dict[str, Callable[[list[str]], int]] = {"account": _account, "measured": _measured}
"""What a child may do other than run the command line."""


def _no_data_fsync() -> None:
    durable._sync_all = lambda handles: None  # noqa: ARG005


def _no_folder_fsync() -> None:
    durable.sync_folder = lambda path: None  # noqa: ARG005


def _no_manifest_fsync() -> None:
    real = durable.append

    def append(path: Path, data: bytes) -> None:
        kept, os.fsync = os.fsync, lambda handle: None  # type: ignore[assignment]  # noqa: ARG005
        try:
            real(path, data)
        finally:
            os.fsync = kept

    durable.append = append


def _no_newline_repair() -> None:
    lake._heal = lambda path: lake.manifest.read(path)  # type: ignore[attr-defined]


BUGS: dict[str, Callable[[], None]] = {
    "no data fsync": _no_data_fsync,
    "no folder fsync": _no_folder_fsync,
    "no manifest fsync": _no_manifest_fsync,
    "no newline repair": _no_newline_repair,
}
"""Mistakes a commit protocol can have; a test of it that passes with one of them proves nothing."""
