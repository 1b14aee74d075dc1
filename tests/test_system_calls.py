"""Whatever is asked, ettlog writes below its lake, its output and its cache only, and calls nobody."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests import system_calls
from tests.system_calls import Seen

BY_UNSHARE = {f"/proc/self/{name}" for name in ("uid_map", "gid_map", "setgroups")}
"""What is written to give the process a network namespace of its own."""
FONTS = "fc-list"
"""What matplotlib starts once, where it has no list of the fonts of this machine yet."""


def run(folder: Path) -> tuple[Seen, bool]:
    """Run the commands under strace, or where it is not here or may not trace, under an audit hook."""
    traces = system_calls.can_trace()
    return (system_calls.traced if traces else system_calls.hooked)(folder), traces


def test_commands_write_where_they_were_told_and_call_nobody(tmp_path: Path) -> None:
    """Files opened to write lie below lake, `-o` and cache; no socket, no connection, no program but the workers.

    Where that can be had, there is no network that they could call: all commands end well in a namespace without one.
    """
    seen, traces = run(tmp_path)
    lake, out, cache = tmp_path / "lake", tmp_path / "out", tmp_path / "cache"
    assert any(Path(name).is_relative_to(lake) for name in seen.written)
    assert str(out / "report.html") in seen.written
    assert seen.outside(lake, out, cache) - {os.devnull, *BY_UNSHARE} == set()
    assert seen.sockets == []
    python = {Path(sys.executable).name, Path(sys.executable).resolve().name}
    started = [Path(name).name for name in seen.programs]
    assert set(started) <= {*python, *system_calls.ALONE, FONTS}
    # The process itself, its worker, and what Python starts beside one; a hook in the first sees none of them.
    assert (sum(name in python for name in started) > 1) is traces


def test_a_trace_is_read_as_strace_writes_it() -> None:
    """Writes that worked, all sockets and programs are seen; what was only read, or failed, is not."""
    log = """7 execve("/usr/bin/python", ["python", "-m"], 0x7f /* 9 vars */) = 0
7 openat(AT_FDCWD, "/etc/passwd", O_RDONLY|O_CLOEXEC) = 3
7 openat(AT_FDCWD, "/lake/a \\"b\\"", O_WRONLY|O_CREAT, 0600) = 3
8 openat(AT_FDCWD, "/no", O_RDWR) = -1 EACCES (Permission denied)
8 linkat(AT_FDCWD, "/lake/x", AT_FDCWD, "/lake/y", 0) = 0
8 connect(3, {sa_family=AF_INET, sin_port=htons(80)}, 16) = -1 ECONNREFUSED (Connection refused)
8 socket(AF_INET, SOCK_STREAM, 0) = 3
8 execve("/usr/bin/python3", ["python3"], 0x7f /* 9 vars */ <unfinished ...>
7 openat(AT_FDCWD, "/lake/z", O_WRONLY|O_CREAT <unfinished ...>
8 <... execve resumed>) = 0
7 <... openat resumed>, 0600) = 4
8 execve("/bin/none", ["none"], 0x7f) = -1 ENOENT (No such file or directory)
"""
    seen = system_calls.read(log)
    assert seen.written == {'/lake/a "b"', "/lake/x", "/lake/y", "/lake/z"}
    assert len(seen.sockets) == 2
    assert seen.programs == ["/usr/bin/python", "/usr/bin/python3"]
    assert seen.outside(Path("/lake")) == set()
    assert seen.outside(Path("/elsewhere")) == seen.written
