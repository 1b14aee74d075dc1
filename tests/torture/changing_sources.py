"""F12: a log changes while it is read; what is kept is one whole state of it, or is marked, never a mixture."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ettlog.lake import Lake
from ettlog.parse import blocks
from tests.ingesting import accounting, tree
from tests.torture import lakes
from tests.torture.registry import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.torture.registry import Scope

OLD, NEW = accounting(*range(100, 400)), accounting(*range(700, 1200))
MORE = accounting(5).split("\n", 1)[1]


def append(path: Path) -> None:
    """Let it grow."""
    with path.open("a") as stream:
        stream.write(MORE)


def rename(path: Path) -> None:
    """Put another file in its place."""
    other = path.with_suffix(".new")
    other.write_text(NEW)
    other.replace(path)


def closed(path: Path) -> None:
    """Take away the right to read it (from all but root)."""
    path.chmod(0)


def pipe(path: Path) -> None:
    """Put a pipe in its place, on which an `open` without care waits for ever."""
    path.unlink()
    os.mkfifo(path)


def folder(path: Path) -> None:
    """Put a folder in its place."""
    path.unlink()
    path.mkdir()


CHANGES: dict[str, Callable[[Path], object]] = {
    "append": append,
    "truncated to nothing": lambda path: os.truncate(path, 0),
    "truncated and rewritten longer": lambda path: path.write_text(NEW),
    "replaced by rename": rename,
    "deleted": Path.unlink,
    "closed to all": closed,
    "becomes a pipe": pipe,
    "becomes a folder": folder,
}
MOMENTS = ("before it is opened", "after its head was read", "after all of it was read")


def run(scope: Scope) -> Outcome:
    """Change a log in each way at each moment, and hold what the lake has of it against its whole states."""
    found = Outcome()
    whole = {
        text: _facts_of(text, scope.folder / str(number)) for number, text in enumerate((OLD, OLD + MORE, NEW, ""))
    }
    for what, change in CHANGES.items():
        for moment, name in enumerate(MOMENTS):
            found.counts["faults"] += 1
            case = scope.folder / "case"
            shutil.rmtree(case, ignore_errors=True)
            (case / "logs").mkdir(parents=True)
            (case / "logs/a.txt").write_text(OLD)
            with changing(case / "logs/a.txt", change, moment):
                report = lakes.again(case)
            sources = Lake.open(case / "lake", verify=True).sources()
            marked = bool(report.rejected) or any(entry.state == "changed" for entry in sources)
            found.expect(marked or _facts(case) in whole.values(), f"{what} {name}: the lake holds a mixture")
    return found


def _facts_of(text: str, case: Path) -> dict[str, bytes]:
    (case / "logs").mkdir(parents=True)
    (case / "logs/a.txt").write_text(text)
    lakes.again(case)
    return _facts(case)


def _facts(case: Path) -> dict[str, bytes]:
    return {name: data for name, data in tree(case / "lake").items() if "/" in name}


@contextmanager
def changing(path: Path, change: Callable[[Path], object], moment: int) -> Iterator[None]:
    """Change a file once: when it is opened, after the first bytes of it were read, or after the last."""
    real_open, real_read, done = os.open, blocks.Stored.readinto, [False]

    def now(due: bool) -> None:
        if due and not done[0]:
            done[0] = True
            change(path)

    def opening(name: Any, *args: Any, **more: Any) -> int:
        now(moment == 0 and Path(os.fsdecode(name)) == path)
        return real_open(name, *args, **more)

    def reading(self: blocks.Stored, target: memoryview) -> int:
        got = real_read(self, target)
        now(moment == 1 or (moment == 2 and not self.left))
        return got

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", opening)
        patch.setattr(blocks.Stored, "readinto", reading)
        yield
