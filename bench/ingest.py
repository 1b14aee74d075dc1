"""Measures ettlog's reading of logs beside ripgrep, in one run on the same files: CPU seconds, MB/s, ratio, peak
memory.

    python -m bench.generate bench/data/text --mb 1000
    python -m bench.ingest bench/data/text --mode events --mode all
    python -m bench.ingest bench/data/packed --mode events --workers 2

ettlog: one ingest into a lake of its own, start-up included. ripgrep: `rg -c` (`-z` for packed files) with as many
threads as workers, given the union of the regexes of all loaded patterns, in byte mode as ettlog reads them; with
`--literals` the literals of the same patterns (`-F -f`). Ratio: rg's CPU seconds over ettlog's.
"""

from __future__ import annotations

import argparse
import compileall
import contextlib
import ctypes
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import zstandard

from ettlog.lifecycle import KIND_BY_NAME
from ettlog.parse.format import Pattern, load_all

STEP = KIND_BY_NAME["step"].kind
LOOK = re.compile(r"\(\?<?[=!]")


class Cost(NamedTuple):
    """What a command took."""

    cpu: float
    wall: float
    peak_mib: float
    output: str


PR_SET_CHILD_SUBREAPER = 36


def measure(command: Sequence[str], *, watched: bool = True) -> Cost:
    """Run a command and return its CPU seconds (all processes that it leaves behind included), wall seconds and the
    peak memory of its process tree.

    To look at the memory of four processes fifty times a second costs them a tenth of their time: where the time
    counts, nobody looks, and the peak is 0.
    """
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # what outlives the command is waited for here
    before, start = os.times(), time.perf_counter()
    with tempfile.TemporaryFile() as out, subprocess.Popen(command, stdout=out) as process:
        watch = _Watch(process.pid)
        if watched:
            watch.start()
        process.wait()
        watch.stop.set()
        if watched:
            watch.join()
        out.seek(0)
        output = out.read().decode()
    wall = time.perf_counter() - start
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    after = os.times()
    if process.returncode not in (0, 1):
        raise SystemExit(f"{command[0]} failed")
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return Cost(cpu, wall, watch.peak / 1024, output)


class _Watch(threading.Thread):
    """Reads the memory of a process and its children every few milliseconds."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid, self.peak, self.stop = pid, 0, threading.Event()

    def run(self) -> None:
        while not self.stop.wait(0.02):
            self.peak = max(self.peak, sum(_memory(pid) for pid in _tree(self.pid)))


def _tree(pid: int) -> list[int]:
    found = [pid]
    for one in found:
        try:
            found += [int(child) for child in Path(f"/proc/{one}/task/{one}/children").read_text().split()]
        except OSError:
            continue
    return found


def _memory(pid: int) -> int:
    """Return the proportional set size in KiB, or the resident size where that may not be read."""
    for name, key in (("smaps_rollup", "Pss:"), ("status", "VmRSS:")):
        try:
            text = Path(f"/proc/{pid}/{name}").read_text()
        except OSError:
            continue
        for line in text.splitlines():
            if line.startswith(key):
                return int(line.split()[1])
    return 0


def ripgrep(program: str, folder: Path, mode: str, workers: int, packed: bool, union: bool) -> list[str]:
    """Return the rg command for the patterns of a mode: their literals, or the union of their regexes."""
    patterns = [one for one in load_all().patterns if mode == "all" or one.kind != STEP]
    command = [program, "--no-config", "-c", f"-j{workers}", *(["-z"] if packed else [])]
    if union:  # ettlog's regexes are of bytes: in Unicode mode `\w` would be another set, and too big an automaton
        command += ["--no-unicode", "--regex-size-limit", "1G"]
        return [*command, "-e", "|".join(dict.fromkeys(_union_part(one) for one in patterns)), str(folder)]
    listed = Path(tempfile.gettempdir()) / f"ettlog-literals-{os.getpid()}"
    listed.write_bytes(b"\n".join(dict.fromkeys(one.anchor for one in patterns)))
    return [*command, "-F", "-f", str(listed), str(folder)]


TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?<?[=!]|\(\?>|\(\?P<\w+>|\(\?:|\{[\d,]+\}|[()]|.", re.DOTALL)


FOREIGN = re.compile(rb"\(\?(?:<?[=!]|P=|\()|(?<!\\)(?:\\\\)*\\[1-9]")
"""Look-around, back-references and conditions: rg has none."""


def _union_part(pattern: Pattern) -> str:
    """Return the regex in Rust's syntax, or its literal where rg has nothing like it."""
    if FOREIGN.search(pattern.expression):
        return re.escape(pattern.anchor.decode())
    return _rust(pattern)


def _rust(pattern: Pattern) -> str:
    """Return the regex in Rust's syntax: possessive repeats, look-around, atomic groups and group names are dropped."""
    found: list[str] = []
    hidden, depth, repeat = 0, 0, False
    for token in TOKEN.findall(pattern.expression.decode()):
        depth += token.startswith("(") - (token == ")")
        if not hidden and LOOK.fullmatch(token):
            hidden = depth
        elif hidden and token == ")" and depth < hidden:
            hidden = 0
        elif not hidden and not (repeat and token == "+"):
            found.append("(?:" if token.startswith("(") else {r"\Z": r"\z"}.get(token, token))
        repeat = not repeat and (token in "*+?" or token.startswith("{"))
    return "(?:" + "".join(found) + ")"


def ettlog(folder: Path, mode: str, workers: int) -> list[str]:
    """Return the command that ingests a folder."""
    return [sys.executable, "-m", "bench.pipeline", str(folder), mode, str(workers)]


def text_bytes(folder: Path, packed: bool) -> int:
    """Return the bytes of text in a folder; for packed files as their first member or frame says."""
    files = [path for path in sorted(folder.iterdir()) if path.is_file()]
    if not packed:
        return sum(path.stat().st_size for path in files)
    return sum(_unpacked(path) for path in files)


def _unpacked(path: Path) -> int:
    if path.suffix == ".zst":
        return zstandard.frame_content_size(path.read_bytes()[:64])
    return int.from_bytes(path.read_bytes()[-4:], "little")


def main() -> None:
    """Measure the modes asked for and print one table row each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--mode", action="append", choices=("events", "all"))
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rg", default=shutil.which("rg"), help="path of ripgrep")
    parser.add_argument("--literals", action="store_true", help="give rg the literals, not the union of the regexes")
    options = parser.parse_args()
    packed = any(path.suffix in (".gz", ".zst") for path in options.folder.iterdir())
    size = text_bytes(options.folder, packed) / 1e6
    print(
        "| mode | workers | text MB | ettlog CPU s | MB/s of CPU | peak MiB | rg CPU s | ratio | "
        "ettlog wall s | rg wall s | rg MiB |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    compileall.compile_dir(Path(__file__).parent.parent / "ettlog", quiet=1)  # as an installed package is
    for mode in options.mode or ("events", "all"):
        ours, theirs = [], []
        command = ettlog(options.folder, mode, options.workers)
        other = ripgrep(options.rg, options.folder, mode, options.workers, packed, not options.literals)
        for _ in range(options.rounds):
            ours.append(measure(command, watched=False))
            theirs.append(measure(other, watched=False))
        us, rg = sorted(ours)[len(ours) // 2], sorted(theirs)[len(theirs) // 2]
        peak, their_peak = measure(command).peak_mib, measure(other).peak_mib
        print(
            f"| {mode} | {options.workers} | {size:.0f} | {us.cpu:.2f} | {size / us.cpu:.0f} | {peak:.0f} | "
            f"{rg.cpu:.2f} | "
            f"{rg.cpu / us.cpu:.2f} | {us.wall:.2f} | {rg.wall:.2f} | {their_peak:.0f} |"
        )
        print(
            f"  {us.output.strip()}; rg: {sum(int(line.rpartition(':')[2]) for line in rg.output.split())} lines",
            file=sys.stderr,
        )


if __name__ == "__main__":
    main()
