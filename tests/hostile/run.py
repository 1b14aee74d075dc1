"""Runs commands inside this process as a terminal sees them, and holds what they print and write against the rules."""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.hostile.case import READ, REFUSED, REJECTED, SKIPPED, Case

if TYPE_CHECKING:
    from collections.abc import Iterator

SAID = frozenset("\n\t")
_FORBIDDEN = (
    {chr(code) for code in (*range(0x20), 0x7F, *range(0x80, 0xA0), 0x2028, 0x2029, 0x200E, 0x200F, 0xFEFF)}
    | {chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A), *range(0xD800, 0xE000))}
) - SAID
"""What must not come out raw: C0 but newline and tab, DEL, C1, line separators, bidi controls, surrogates."""


class Ran(NamedTuple):
    """What one command did."""

    args: Sequence[str]
    code: int
    out: bytes
    err: bytes
    seconds: float

    def faults(self, codes: Iterable[int] = (0,), *, binary: bool = False) -> list[str]:
        """Return what is wrong: another exit code, a traceback, a byte that a terminal obeys."""
        told = f"ettlog {' '.join(self.args)[:120]}"
        found = [] if self.code in set(codes) else [f"{told}: exit {self.code}: {self.err[-400:]!r}"]
        if b"Traceback" in self.err or b"in a way it should not" in self.err:
            found.append(f"{told}: {self.err[-400:]!r}")
        for name, data in (("stdout", b"" if binary else self.out), ("stderr", self.err)):
            bad = sorted(_FORBIDDEN.intersection(data.decode("utf-8", "surrogateescape")))
            found += [f"{told}: raw {bad[:5]!r} on {name}"] if bad else []
        return found


class _Stream(io.TextIOWrapper):
    """A terminal that keeps the bytes."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", errors="strict", write_through=True)

    def bytes(self) -> bytes:
        """Return what was written."""
        self.flush()
        data: Any = self.buffer
        found: bytes = data.getvalue()
        return found


def ettlog(*args: str | Path) -> Ran:
    """Run one command in this process, with streams of its own; a defect of the program is raised as it is."""
    from ettlog.cli import main

    words = [str(arg) for arg in args]
    out, err, hook = _Stream(), _Stream(), sys.excepthook
    kept, begun = (sys.stdout, sys.stderr), time.monotonic()
    sys.stdout, sys.stderr = out, err
    code = 0
    try:
        main(words)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0
    finally:
        sys.stdout, sys.stderr = kept
        sys.excepthook = hook
    return Ran(words, code, out.bytes(), err.bytes(), time.monotonic() - begun)


QUERY = "select * from job order by 1"
Ask = tuple[tuple[str, ...], tuple[int, ...], bool]
ASKS: tuple[Ask, ...] = (
    (("ett",), (0, 5), False),
    (("ett", "--by", "job", "--format", "csv"), (0, 5), False),
    (("jobs",), (0, 5), False),
    (("status",), (0,), False),
    (("report", "-o", "{out}/report.html"), (0, 5), False),
    (("export", "csv"), (2,), False),
    (("export", "prometheus"), (0, 5), False),
    (("export", "perfetto", "-o", "{out}/trace.pftrace"), (0, 5), True),
    (("sql", QUERY), (0,), False),
    (("check",), (0, 1), False),
)
"""What every lake is asked, the exit codes that are right, and whether the answer is binary. Tables as CSV come from
`--format csv`: `export csv` is no form and says so."""


def asked(lake: Path, out: Path) -> Iterator[tuple[Ran, list[str]]]:
    """Ask a lake everything; yield each run with its faults."""
    for words, codes, binary in ASKS:
        ran = ettlog(*(word.format(out=out) for word in words), "--lake", lake)
        yield ran, ran.faults(codes, binary=binary)


@contextmanager
def nothing_elsewhere(root: Path, allowed: Sequence[Path]) -> Iterator[list[str]]:
    """Hold everything below a folder still but some places; the list gets the names of what changed."""
    before, changed = _tree(root, allowed), list[str]()
    yield changed
    after = _tree(root, allowed)
    changed += sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def _tree(root: Path, allowed: Sequence[Path]) -> dict[str, tuple[int, int, int]]:
    found = {}
    for where, folders, files in os.walk(root):
        here = Path(where)
        folders[:] = [name for name in folders if here / name not in allowed]
        for name in files:
            path = here / name
            if path not in allowed:
                info = path.lstat()
                found[str(path)] = (info.st_size, info.st_mtime_ns, info.st_mode)
    return found


@contextmanager
def opened_once() -> Iterator[None]:
    """Let all commands share one open fleet for the same manifest: its relations are computed once."""
    import ettlog as package

    plain, known = package.open, dict[tuple[str, bytes, str], Any]()

    def once(path: Path | str, *more: Any, **options: Any) -> Any:
        key = str(Path(path).resolve()), _digest(Path(path) / "manifest.jsonl"), repr((more, options))
        if key not in known:
            known[key] = plain(path, *more, **options)
        return known[key]

    package.open = once
    try:
        yield
    finally:
        package.open = plain


def _digest(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


def verdicts(cases: Sequence[Case], lake: Path, said: Ran) -> list[str]:
    """Return the cases that did not end as they must, a sentence each."""
    from ettlog.discover import plain
    from ettlog.lake import Lake

    held = Lake.open(lake, verify=True)
    entries = held.state.current
    text = said.err.decode()
    found: list[str] = []
    for case in cases:
        name = f"logs/{plain(case.name)}"
        entry = entries.get(name)
        fate = READ if entry else SKIPPED if f"{_shown(name)}: " in text else "unknown"
        fate = REJECTED if fate == SKIPPED and _under(text, "rejected", _shown(name)) else fate
        if fate != case.fate:
            found.append(f"{case.name}: {fate} and not {case.fate}")
        elif entry is None:
            found += [] if case.why in text else [f"{case.name}: {case.why!r} is not said"]
        else:
            found += [f"{case.name}: {wrong}" for wrong in _wrong(case, entry)]
    return found


def _shown(name: str) -> str:
    from ettlog.sink import display

    return display(name)


def _under(text: str, title: str, name: str) -> bool:
    """Tell whether a name is listed under a title of the account."""
    under = ""
    for line in text.splitlines():
        under = line.split()[0] if line[:1].strip() else under
        if under == title and line.strip().startswith(name):
            return True
    return False


def _wrong(case: Case, entry: Any) -> Iterable[str]:
    lines = dict(entry.lines)
    if sum(lines.values()) != entry.n_lines:
        yield f"outcomes {lines} do not add up to {entry.n_lines} lines"
    if case.lines is not None and lines != dict(case.lines):
        yield f"lines {lines} and not {dict(case.lines)}"
    if case.total is not None and entry.n_lines != case.total:
        yield f"{entry.n_lines} lines and not {case.total}"
    if case.state is not None and entry.state != case.state and not (case.state == REFUSED and not entry.state):
        yield f"state {entry.state} and not {case.state}"
    if case.why and not any(case.why in sentence for sentence in entry.inferences):
        yield f"{case.why!r} is not among {entry.inferences}"


def watched(work: Callable[[], list[str]], seconds: float) -> list[str]:
    """Do some work and add a fault where it takes longer than `seconds` of processor time."""
    begun = time.process_time()
    found = work()
    took = time.process_time() - begun
    return [*found, f"it took {took:.1f} s, more than {seconds} s"] if took > seconds else found
