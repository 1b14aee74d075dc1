"""Things in a folder that are no logs: pipes, sockets, devices, links, loops, odd names, deep folders."""

from __future__ import annotations

import functools
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.hostile.case import READ, REJECTED, SKIPPED, Case, step

A = step(1)
ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
"""Everything can be read."""


ZERO = 0o20600
"""A device of characters that its owner may read and write."""


@functools.cache
def makes_devices() -> bool:
    """Tell whether devices can be made here: root may, but not in a user namespace of its own."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            os.mknod(f"{folder}/zero", ZERO, os.makedev(1, 5))
        except OSError:
            return False
    return True


def cases() -> Iterator[Case]:
    """Yield special files; each is named with its reason and none is opened."""
    yield Case("pipe", lambda path: os.mkfifo(path), fate=SKIPPED, why="not a regular file: pipe")
    yield Case("socket", _socket, fate=SKIPPED, why="not a regular file: socket")
    if makes_devices():
        yield Case("zero", lambda path: os.mknod(path, ZERO, os.makedev(1, 5)), fate=SKIPPED, why="device")
        yield Case("disk", lambda path: os.mknod(path, 0o60600, os.makedev(7, 250)), fate=SKIPPED, why="device")
    else:  # those of the system, which nobody may link to otherwise
        yield Case("zero", lambda path: path.symlink_to("/dev/zero"), fate=SKIPPED, why="symbolic link")
        yield Case("disk", lambda path: path.symlink_to("/dev/full"), fate=SKIPPED, why="symbolic link")
    yield Case("link-to-file", lambda path: path.symlink_to("/etc/hostname"), fate=SKIPPED, why="symbolic link")
    yield Case("link-to-memory", lambda path: path.symlink_to("/proc/self/mem"), fate=SKIPPED, why="symbolic link")
    yield Case("link-to-folder", lambda path: path.symlink_to("/sys"), fate=SKIPPED, why="symbolic link")
    yield Case("link-dangling", lambda path: path.symlink_to("nowhere"), fate=SKIPPED, why="symbolic link")
    yield Case("link-to-itself", lambda path: path.symlink_to(path.name), fate=SKIPPED, why="symbolic link")
    yield Case("folder-loop/up", lambda path: path.symlink_to(".."), fate=SKIPPED, why="symbolic link")
    yield Case("closed.log", _closed, {"matched": 1, "unmatched": 1} if ROOT else None, fate=READ if ROOT else REJECTED)
    yield Case(".hidden.log", A, fate=SKIPPED, why="hidden")
    yield Case("n" * 251 + ".log", A + b"a\n", {"matched": 1, "unmatched": 1})
    yield Case(os.fsdecode(b"not-utf-8-\xff\xfe.log"), A + b"b\n", {"matched": 1, "unmatched": 1})
    yield Case("line\nfeed\x1b[31m.log", A + b"c\n", {"matched": 1, "unmatched": 1})
    yield Case("/".join(["deep"] * 31), _deep, fate=SKIPPED, why="too many folders inside each other")
    yield Case("hard-link.log", _hard, {"matched": 1, "unmatched": 1})


def _socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # a socket's path may have 108 bytes only
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def _closed(path: Path) -> None:
    path.write_bytes(A + b"e\n")
    path.chmod(0)


def _deep(path: Path) -> None:
    """Put folders inside each other, more than are looked into."""
    inner = path / "deep/deeper"
    inner.mkdir(parents=True)
    (inner / "a.log").write_bytes(A)


def _hard(path: Path) -> None:
    other = path.parent / "other"
    other.mkdir()
    (other / "name.log").write_bytes(A + b"d\n")
    path.hardlink_to(other / "name.log")
