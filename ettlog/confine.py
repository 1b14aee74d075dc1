"""What a process that reads untrusted logs may still do: no core dumps, few files, bounded memory, no new privileges,
and with Landlock (Linux 5.13 and newer) only reading the logs and its own libraries, and no network.

Every step is soft: what a kernel does not have is left out, and `confinement()` says what is in force.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

MEMORY = 4 << 30
"""Bytes that a worker may map beside what its libraries have mapped before the first line is read: Arrow, numpy and
Hyperscan map over 1 GiB, more with every processor, and touch a tenth of it."""
FILES = 256
MANY = 64
"""Folders beyond which a worker may read the one that holds them all."""

PR_SET_NO_NEW_PRIVS = 38
PR_SET_PDEATHSIG = 1
CREATE, ADD_RULE, RESTRICT = 444, 445, 446
"""Numbers of the system calls of Landlock, the same on all machines."""
VERSION = 1
PATH_BENEATH = 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
_ALL = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
"""Rights over files that each version of Landlock can take away."""
_CHANGE = WRITE_FILE | 1 << 5 | 1 << 8 | 1 << 14
"""Write, remove and make a regular file, cut it: what the folder for temporary files needs."""
_TCP = 3
"""Bind and connect (from version 4)."""

ALWAYS, AUTO, NEVER = "always", "auto", "never"
WHEN = (ALWAYS, AUTO, NEVER)
"""When logs are read in confined processes only; `auto`: where they are many, or any of them is another user's."""

SYSTEM = ("/usr", "/lib", "/lib64", "/etc", "/proc", "/sys", "/dev", "/opt")
"""Where libraries, time zones and locales lie."""


class _Rules(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def landlock() -> int:
    """Return the version of Landlock that this kernel has; 0 where it has none."""
    if not sys.platform.startswith("linux"):
        return 0
    return max(0, _call(CREATE, None, 0, VERSION))


def _call(number: int, *arguments: object) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    return int(libc.syscall(number, *arguments))


def confine(sources: Iterable[Path], scratch: Path, memory: int = MEMORY) -> list[str]:
    """Give up in this process all that reading `sources` does not need; return what is in force, a few words each.

    Temporary files may only be made in `scratch`. Nothing of it can be undone, and child processes inherit it.
    """
    done = _limits(memory)
    if not sys.platform.startswith("linux"):
        return done
    if ctypes.CDLL(None).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0:
        done.append("no new privileges")
        done += _fence(list(sources), scratch)
    return done


def end_with(parent: int) -> None:
    """Have the kernel kill this process when its parent is gone (Linux), and end now if it is gone already."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != parent:
        os._exit(0)


def _limits(memory: int) -> list[str]:
    try:
        import resource
    except ImportError:
        return []
    done = []
    limits = (memory + _mapped(), 0, FILES)
    kinds = (resource.RLIMIT_AS, resource.RLIMIT_CORE, resource.RLIMIT_NOFILE)
    for what, limit, words in zip(kinds, limits, _words(memory), strict=True):
        hard = resource.getrlimit(what)[1]
        least = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(what, (least, least))
            done.append(words)
    return done


def _words(memory: int) -> tuple[str, ...]:
    return f"{memory / (1 << 30):g} GiB of memory", "no core dumps", f"{FILES} open files"


def _mapped() -> int:
    """Return the bytes that this process has mapped, where the system tells."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _fence(sources: Sequence[Path], scratch: Path) -> list[str]:
    version = landlock()
    if not version:
        return []
    rights = _ALL[min(version, max(_ALL))]
    rules = _Rules(rights, _TCP if version >= 4 else 0, 0)
    size = 8 if version < 4 else 16
    handle = _call(CREATE, ctypes.byref(rules), size, 0)
    if handle < 0:
        return []
    try:
        for folder in readable(sources):
            _allow(handle, folder, READ_FILE | READ_DIR)
        _allow(handle, scratch, rights & (_CHANGE | READ_FILE | READ_DIR))
        _allow(handle, Path(os.devnull), READ_FILE | WRITE_FILE)
        if _call(RESTRICT, handle, 0) != 0:
            return []
    finally:
        os.close(handle)
    return [_told(version)]


def _told(version: int) -> str:
    rest = ", no TCP" if version >= 4 else ""
    return f"Landlock {version}: read logs and libraries, write temporary files only{rest}"


def _allow(handle: int, path: Path, rights: int) -> None:
    """Allow rights on a file or below a folder; a path that is not there needs none."""
    with contextlib.suppress(OSError):
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            if not path.is_dir():
                rights &= READ_FILE | WRITE_FILE | EXECUTE | 1 << 14
            rule = _Beneath(rights, opened)
            _call(ADD_RULE, handle, PATH_BENEATH, ctypes.byref(rule), 0)
        finally:
            os.close(opened)


def roots(paths: Sequence[Path]) -> tuple[Path, ...]:
    """Return the folders that these files lie in, or where there are many of them the one that holds all."""
    folders = sorted({os.path.realpath(path.parent) for path in paths})
    if len(folders) > MANY:
        folders = [os.path.commonpath(folders)]
    return tuple(map(Path, folders))


def strange(paths: Iterable[Path]) -> bool:
    """Tell whether any of these files belongs to another user than the one who reads it."""
    for path in paths:
        with contextlib.suppress(OSError):  # what cannot be looked at is not read either
            if hasattr(os, "geteuid") and path.stat().st_uid != os.geteuid():
                return True
    return False


def readable(sources: Iterable[Path]) -> list[Path]:
    """Return the files and folders that a worker reads: the logs, and where Python finds its modules and data."""
    own = [Path(name) for name in (sys.prefix, sys.base_prefix, sys.exec_prefix, *sys.path) if name]
    found = [*map(Path, SYSTEM), *own, Path(__file__).parent, *sources]
    return list(dict.fromkeys(found))


def confinement() -> list[str]:
    """Return what worker processes run under on this machine, a few words each."""
    if not sys.platform.startswith("linux"):
        return list(_words(MEMORY))
    version = landlock()
    fence = _told(version) if version else "no Landlock in this kernel: workers can read and write what you can"
    return [*_words(MEMORY), "no new privileges", fence]
