"""A lake and its logs as a machine that hypothesis drives: what may happen to either, and what must hold after it.

After every ingest that ended, the lake must hold what a fresh lake of the final logs holds. Logs that were deleted stay
in an attic, for their facts stay too, unless a log that is called after one begins with it: then it is that log, grown.
"""

from __future__ import annotations

import gzip
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import zstandard
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ettlog import durable, manifest
from ettlog.check import fix
from ettlog.errors import LakeError
from ettlog.lake import Lake, data_path
from tests.ingesting import HEAD, accounting, tree
from tests.reading_once import ingest_again
from tests.torture.registry import memory

BASES = ("a.log", "sub/b.log", "c.log")
NEWEST = 3
"""Rotations of a log that are kept."""
PACKED: dict[str, Callable[[bytes], bytes]] = {
    ".gz": lambda data: gzip.compress(data, mtime=0),
    ".zst": zstandard.compress,
}
STEPS = ("publish", "sync_folder", "append", "replace_file", "truncate")


class Fresh(NamedTuple):
    """What must be equal in two lakes of the same logs."""

    keys: dict[str, str]
    owners: set[str]
    facts: dict[str, bytes]
    problems: list[str]


class KilledError(BaseException):
    """Where a process would have died."""


def text_of(name: str, data: bytes) -> bytes:
    """Return the text in a file."""
    if name.endswith(".gz"):
        return gzip.decompress(data)
    return zstandard.decompress(data) if name.endswith(".zst") else data


class LakeMachine(RuleBasedStateMachine):
    """Actions on a folder of logs and on the lake made of it."""

    def __init__(self) -> None:
        """Begin without logs and without a lake."""
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="ettlog-machine-", dir=memory()))
        self.logs, self.lake, self.attic = self.folder / "logs", self.folder / "lake", self.folder / "attic"
        (self.logs / "sub").mkdir(parents=True)
        self.job = 0
        self.seen: dict[str, bytes] = {}
        """Texts of the last ingest that ended, by name: what the lake must hold until the next one."""
        self.torn = False
        """Something was interrupted or damaged since."""
        self.hurt = False
        """Facts were damaged since."""
        self.fresh: tuple[dict[str, bytes], Fresh] | None = None
        """Texts, and what a fresh lake of them holds."""

    def teardown(self) -> None:
        """End with an ingest, whatever happened, and remove the folder."""
        try:
            self.ingest()
            self.ingest()
        finally:
            shutil.rmtree(self.folder)

    def _job(self, count: int) -> str:
        """Return accounting of jobs that were never written before."""
        self.job += count
        return accounting(*range(self.job - count, self.job))

    def _now(self) -> dict[str, bytes]:
        return {f"logs/{name}": text_of(name, data) for name, data in tree(self.logs).items()}

    @initialize()
    def begin(self) -> None:
        """Write the first log."""
        self.write(BASES[0], 2)

    @rule(base=st.sampled_from(BASES), count=st.integers(0, 3))
    @precondition(lambda self: not self.torn)
    def write(self, base: str, count: int) -> None:
        """Write a log, or truncate the one that is there and write another."""
        (self.logs / base).write_text(self._job(count))

    @rule(base=st.sampled_from(BASES), cut=st.integers(0, 60))
    def grow(self, base: str, cut: int) -> None:
        """Append a job to a log, now and then without the end of its line; the next one completes it."""
        path = self.logs / base
        if path.exists():
            more = self._job(1).removeprefix(HEAD + "\n")
            path.write_bytes(path.read_bytes() + more[: len(more) - cut * (cut < 30)].encode())

    @rule(base=st.sampled_from(BASES), again=st.booleans())
    @precondition(lambda self: not self.torn)
    def rotate(self, base: str, again: bool) -> None:
        """Rename a log and its rotations, packed or not; begin it anew, or let it be missing."""
        for number in range(NEWEST, -1, -1):
            for suffix in ("", *PACKED):
                old = self.logs / (f"{base}.{number}{suffix}" if number else f"{base}{suffix}")
                if old.exists():
                    old.rename(self.logs / f"{base}.{number + 1}{suffix}")
        if again:
            (self.logs / base).write_text(self._job(1))

    @rule(base=st.sampled_from(BASES))
    @precondition(lambda self: not self.torn)
    def copy_and_truncate(self, base: str) -> None:
        """Copy a log to its first rotation, and empty it."""
        path = self.logs / base
        if path.exists():
            shutil.copy(path, self.logs / f"{base}.1")
            path.write_bytes(b"")

    @rule(pick=st.integers(0, 99), suffix=st.sampled_from(sorted(PACKED)))
    @precondition(lambda self: not self.torn)
    def pack(self, pick: int, suffix: str) -> None:
        """Compress a log, live or rotated."""
        path = self._one(pick)
        if path is not None and path.suffix not in PACKED:
            path.with_name(path.name + suffix).write_bytes(PACKED[suffix](path.read_bytes()))
            path.unlink()

    @rule(pick=st.integers(0, 99))
    @precondition(lambda self: not self.torn)
    def copy(self, pick: int) -> None:
        """Put a copy of a log beside it."""
        path = self._one(pick)
        if path is not None and path.suffix not in PACKED and path.name != "copy.txt":
            shutil.copy(path, self.logs / "copy.txt")

    @rule(pick=st.integers(0, 99))
    @precondition(lambda self: not self.torn)
    def delete(self, pick: int) -> None:
        """Delete a log, as its owner does when it was read."""
        path = self._one(pick)
        if path is not None:
            path.unlink()

    def _one(self, pick: int) -> Path | None:
        files = sorted(path for path in self.logs.rglob("*") if path.is_file())
        return files[pick % len(files)] if files else None

    @rule()
    def ingest(self) -> None:
        """Ingest; the lake is that of a fresh ingest, and a second run changes nothing."""
        now, before = self._now(), self.seen
        ingest_again(self.logs, self.lake)
        self.seen = {**_outlive(before, now), **now}
        if self.hurt:
            self._without_lost(before, now)
        self.torn = self.hurt = False
        self._fresh()

    def _without_lost(self, before: dict[str, bytes], now: dict[str, bytes]) -> None:
        """Expect no copy that is gone of a log that grew, whose facts may have been the damaged ones: it begins so."""
        listed = Lake.open(self.lake).state.current
        grown = {
            before[name] for name, text in now.items() if text != before.get(name, text) and _grew(before, name, text)
        }
        self.seen = {
            name: text for name, text in self.seen.items() if name in now or name in listed or text not in grown
        }

    def _fresh(self) -> None:
        """Hold the lake against a fresh one of all texts that it must hold."""
        if self.fresh is None or self.seen != self.fresh[0]:
            self.fresh = (self.seen, self._made_anew())
        assert _held(self.lake) == self.fresh[1]

    def _made_anew(self) -> Fresh:
        """Ingest all texts that the lake must hold into a new one."""
        shutil.rmtree(self.attic, ignore_errors=True)
        (self.attic / "logs").mkdir(parents=True)
        for name, text in self.seen.items():
            path = self.attic / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text)
        ingest_again(self.attic / "logs", self.attic / "lake")
        return _held(self.attic / "lake")

    @rule(at=st.integers(0, 9), half=st.booleans())
    def kill(self, at: int, half: bool) -> None:
        """Kill an ingest at one of its changes of the disk, before it or half way."""
        with _trap(at, half):
            try:
                ingest_again(self.logs, self.lake)
            except KilledError:
                self.torn = True
                return
        self.ingest()

    @rule(pick=st.integers(0, 99), act=st.sampled_from(["cut", "flip", "remove"]))
    @precondition(lambda self: self.lake.exists() and not self.torn)
    def damage_facts(self, pick: int, act: str) -> None:
        """Damage the data file of a log that is still there; opening with all hashes notices."""
        state = manifest.read(self.lake / manifest.NAME)
        there = self._now()
        files = [data_path(self.lake, table, key) for table, key, _ in state.listed() if state.owners[key] in there]
        if not files or there != {name: self.seen.get(name) for name in there}:
            return
        path = files[pick % len(files)]
        data = path.read_bytes()
        path.unlink()
        if act != "remove":
            flipped = bytes([data[pick] ^ 1]) if act == "flip" else b""
            path.write_bytes(data[:pick] + flipped + (data[pick + 1 :] if act == "flip" else b""))
        self.torn = self.hurt = True
        with pytest.raises(LakeError):
            Lake.open(self.lake, verify=True)

    @rule(pick=st.integers(0, 99), act=st.sampled_from(["flip", "cut the end"]))
    @precondition(lambda self: self.lake.exists() and not self.torn)
    def damage_manifest(self, pick: int, act: str) -> None:
        """Damage a line that speaks of a log that is still there, or cut the last one short."""
        path = self.lake / manifest.NAME
        lines = path.read_bytes().splitlines(keepends=True)
        there = self._now()
        spoken = [n for n, line in enumerate(lines) if manifest.decode(line).path in there]
        if not spoken or there.keys() != self.seen.keys():  # what is gone cannot be read again
            return
        number = spoken[pick % len(spoken)] if act == "flip" else len(lines) - 1
        at = min(pick, len(lines[number]) - 2)
        end = lines[number][at + 1 :] if act == "flip" else b""
        lines[number] = lines[number][:at] + bytes([lines[number][at] ^ 1]) + end
        path.write_bytes(b"".join(lines))
        self.torn = True

    @rule()
    @precondition(lambda self: (self.lake / manifest.NAME).exists())
    def mend(self) -> None:
        """Let `check --fix` heal what it can: it removes leftovers only, and nothing beside a damaged line."""
        damaged = manifest.read(self.lake / manifest.NAME).damaged
        before = tree(self.lake) if damaged else {}
        fix(self.lake)
        if damaged:
            assert tree(self.lake) == before
            return
        left = Lake.open(self.lake, strict=False).problems()
        assert [text for text in left if "listed nowhere" in text or manifest.NAME in text] == []

    @invariant()
    def reopened(self) -> None:
        """Opened anew at any time, an undamaged lake holds exactly what the last ingest that ended acknowledged."""
        if self.torn or not self.lake.exists():
            return
        lake = Lake.open(self.lake, verify=True)
        assert lake.state.current.keys() == self.seen.keys()
        assert lake.problems() == []
        every = lake.state.current.values()
        assert [one.path for one in lake.duplicates()] == sorted(one.path for one in every if one.op == "duplicate")


def _outlive(before: dict[str, bytes], now: dict[str, bytes]) -> dict[str, bytes]:
    """Return the texts of logs that are gone and stand for themselves still."""
    changed = {name: text for name, text in now.items() if before.get(name) != text}
    return {
        name: text
        for name, text in before.items()
        if name not in now and not any(_is(name, text, new, longer) for new, longer in changed.items())
    }


def _grew(before: dict[str, bytes], name: str, text: bytes) -> bool:
    """Tell whether a log begins with what it was."""
    return bool(before[name]) and text.startswith(before[name])


def _is(name: str, text: bytes, new: str, longer: bytes) -> bool:
    """Tell whether a changed file is a log that is gone: called `NAME.something`, and longer."""
    plain = not name.endswith(tuple(PACKED))
    return bool(plain and text and new.startswith(f"{name}.") and longer != text and longer.startswith(text))


def _held(lake: Path) -> Fresh:
    opened = Lake.open(lake, verify=True)
    keys = {path: one.key for path, one in opened.state.current.items()}
    return Fresh(keys, set(opened.state.owners), _facts(lake), opened.problems())


def _facts(lake: Path) -> dict[str, bytes]:
    return {name: data for name, data in tree(lake).items() if "/" in name}


@contextmanager
def _trap(at: int, half: bool) -> Iterator[None]:
    """Let the `at`-th change of the disk raise what no code catches, before it is made or half way."""
    left = [at]
    with pytest.MonkeyPatch.context() as patch:
        for name in STEPS:
            patch.setattr(durable, name, _spoiled(name, getattr(durable, name), left, half))
        yield


def _spoiled(name: str, real: Callable[..., Any], left: list[int], half: bool) -> Callable[..., Any]:
    def spoiled(*told: Any) -> Any:
        left[0] -= 1
        if left[0] >= 0:
            return real(*told)
        if half and name == "append" and told[1]:
            real(told[0], told[1][: len(told[1]) // 2])
        elif half and name == "publish":
            real(told[0][: len(told[0]) // 2])
            (told[0][-1].folder / f"{durable.TEMP_MARK}9-{told[0][-1].name}").write_bytes(b"PAR1")
        raise KilledError

    return spoiled
