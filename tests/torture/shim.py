"""The shim of shim.c: compiled once, told from Python which call of a process to spoil, and how."""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import shutil
import subprocess
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).with_name("shim.c")

CREATE, WRITE, FSYNC, LINK, UNLINK, RENAME, TRUNCATE, MKDIR, CHMOD = (1 << place for place in range(9))
OPEN, READ, STAT, FSTAT, LIST = (1 << place for place in range(9, 14))
CHANGES = 511
"""All calls that change a disk."""
KINDS = {
    CREATE: "create", WRITE: "write", FSYNC: "fsync", LINK: "link", UNLINK: "unlink", RENAME: "rename",
    TRUNCATE: "truncate", MKDIR: "mkdir", CHMOD: "chmod", OPEN: "open", READ: "read", STAT: "stat", FSTAT: "fstat",
    LIST: "list",
}  # fmt: skip

NOTHING, KILL_BEFORE, KILL_AFTER, KILL_HALF, FAIL, FAIL_HALF, SHORT = range(7)
KILLS = (KILL_BEFORE, KILL_AFTER, KILL_HALF)
ACTIONS = {
    "killed before": (KILL_BEFORE, 0),
    "killed after": (KILL_AFTER, 0),
    "killed half way": (KILL_HALF, 0),
    "EIO": (FAIL, errno.EIO),
    "ENOSPC": (FAIL, errno.ENOSPC),
    "half, then ENOSPC": (FAIL_HALF, errno.ENOSPC),
    "short": (SHORT, 0),
}
"""What can be done to one call; the half ones and `short` are for writes only."""
OF_WRITES = ("killed half way", "half, then ENOSPC", "short")


@dataclass(frozen=True)
class Trap:
    """Which call to spoil: the `at`-th of the `kinds` below `root`; 0 spoils none and only counts."""

    root: str
    at: int = 0
    action: int = NOTHING
    error: int = 0
    kinds: int = CHANGES
    once: bool = True
    log: str = ""
    """File that takes every change of the disk, for the enumerator of states."""
    seen: str = ""
    """File that takes the kinds of all calls that were counted, when the process ends by itself."""

    def plain(self) -> dict[str, Any]:
        """Return the fields, to be sent to another process."""
        return asdict(self)


@functools.cache
def library() -> Path | None:
    """Compile the shim and return where it lies; None where there is no C compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        return None
    made = Path(tempfile.gettempdir()) / f"ettlog-shim-{os.getuid()}-{SOURCE.stat().st_mtime_ns}.so"
    if not made.exists():
        fresh = made.with_suffix(f".{os.getpid()}")
        command = [compiler, "-shared", "-fPIC", "-O2", "-U_FORTIFY_SOURCE", "-o", str(fresh), str(SOURCE), "-ldl"]
        subprocess.run(command, check=True, capture_output=True)
        fresh.replace(made)
    return made


def arm(trap: Trap) -> None:
    """Set the trap in this process, which must have been started with the shim."""
    log = os.open(trap.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600) if trap.log else -1
    _calls().shim_arm(os.fsencode(trap.root), trap.kinds, trap.at, trap.action, trap.error, int(trap.once), log)


def move_clock(shift_s: int, drift_s: int = 0) -> None:
    """Shift the wall clock of this process, and by `drift_s` more at each look at it."""
    _calls().shim_clock(shift_s, drift_s)


def counted() -> list[int]:
    """Return the kinds of the calls counted since the trap was set."""
    calls = _calls()
    return [int(calls.shim_kind(number)) for number in range(1, calls.shim_seen() + 1)]


@functools.cache
def _calls() -> ctypes.CDLL:
    calls = ctypes.CDLL(None)
    calls.shim_arm.argtypes = [ctypes.c_char_p, *[ctypes.c_int] * 6]
    calls.shim_clock.argtypes = [ctypes.c_long, ctypes.c_long]
    return calls
