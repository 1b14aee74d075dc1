"""F6: every state in which a power cut may leave a disk, worked out from the calls that were made on it.

The model is the one file systems promise, and no more: what was written to a file since its last fsync may be there in
full, in part, or as zeros of the right length; names made or removed in a folder since its last fsync may be there or
not, each by itself; a rename is whole. States are enumerated after every call, made on a disk in memory, and ingested
again. The same enumeration must fail for four mistakes that a commit protocol can have.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

FEW = 3
"""Up to so many unsettled names, every subset is tried; of more, each prefix, each alone, and all but each."""


class Call(NamedTuple):
    """One call that changed the disk: `node` is the inode, `data` what was written at `offset`."""

    op: str
    node: int
    path: str
    other: str
    offset: int
    data: bytes


def read_log(log: Path, root: str) -> list[Call]:
    """Return the calls the shim wrote down, with paths below `root`."""
    raw, place, calls = log.read_bytes(), 0, []
    while place < len(raw):
        end = raw.index(b"\n", place)
        op, node, path, other, offset, size = raw[place:end].decode().split("\t")
        place = end + 1 + int(size)
        names = [os.path.relpath(name, root) if name else "" for name in (path, other)]
        calls.append(Call(op, int(node), names[0], names[1], int(offset), raw[end + 1 : place]))
    return calls


class Disk:
    """Names and contents that are durable, and what was done since and may be lost."""

    def __init__(self, root: Path) -> None:
        """Begin with what lies below `root`, all of it durable."""
        self.names: dict[str, int] = {}
        self.files: dict[int, bytes] = {}
        self.folders: set[str] = {"."}
        self.pending_names: list[Call] = []
        self.pending_data: dict[int, list[Call]] = {}
        for item in sorted(root.rglob("*")):
            name = str(item.relative_to(root))
            if item.is_dir():
                self.folders.add(name)
            else:
                self.names[name] = item.stat().st_ino
                self.files[item.stat().st_ino] = item.read_bytes()

    def take(self, call: Call) -> None:
        """Take one call: fsync settles, all others wait."""
        if call.op in ("write", "truncate"):
            self.pending_data.setdefault(call.node, []).append(call)
        elif call.op != "fsync":
            self.pending_names.append(call)
        elif call.path in self.folders or any(
            one.op == "mkdir" and one.path == call.path for one in self.pending_names
        ):
            self._settle_names(call.path)
        else:
            self.files[call.node] = content(self.files.get(call.node, b""), self.pending_data.pop(call.node, []))

    def _settle_names(self, folder: str) -> None:
        """Make the names of a folder durable, and what they rest on: a folder that has a name is there."""
        mine = [call for call in self.pending_names if _folder(call) == folder]
        self.names, self.folders = after(self.names, self.folders, mine)
        self.pending_names = [call for call in self.pending_names if call not in mine]

    def states(self) -> Iterator[tuple[dict[str, int], set[str], dict[int, bytes]]]:
        """Yield every state a power cut may leave now: names, folders, contents by inode."""
        contents = [list(self._contents(node)) for node in self.pending_data]
        for kept in subsets(len(self.pending_names)):
            names, folders = after(self.names, self.folders, [self.pending_names[place] for place in kept])
            for chosen in _few_products(contents):
                yield names, folders, self.files | dict(zip(self.pending_data, chosen, strict=True))

    def _contents(self, node: int) -> Iterator[bytes]:
        """Yield what a file may hold: each prefix of what was written, the last write by half, or zeros instead."""
        old, calls = self.files.get(node, b""), self.pending_data[node]
        for count in range(len(calls) + 1):
            yield content(old, calls[:count])
        last = calls[-1]
        if last.op == "write":
            before = content(old, calls[:-1])
            half = last._replace(data=last.data[: len(last.data) // 2])
            yield content(before, [half])
            yield content(before, [last._replace(data=bytes(len(last.data)))])


def _few_products(contents: list[list[bytes]]) -> Iterator[tuple[bytes, ...]]:
    """Yield combinations: all of them for few files, else each file's choices with the others whole, or all lost."""
    if len(contents) <= 2:
        yield from itertools.product(*contents)
        return
    for index, choices in enumerate(contents):
        for choice in choices:
            for rest in (0, -3):
                chosen = [one[rest] for one in contents]
                chosen[index] = choice
                yield tuple(chosen)


def _folder(call: Call) -> str:
    return os.path.dirname(call.other or call.path) or "."  # noqa: PTH120  (names here are no paths of this disk)


def content(old: bytes, calls: list[Call]) -> bytes:
    """Return the bytes of a file after some calls on it."""
    data = bytearray(old)
    for call in calls:
        if call.op == "truncate":
            del data[call.offset :]
        else:
            data.extend(bytes(max(0, call.offset - len(data))))
            data[call.offset : call.offset + len(call.data)] = call.data
    return bytes(data)


def after(names: dict[str, int], folders: set[str], calls: list[Call]) -> tuple[dict[str, int], set[str]]:
    """Return names and folders after some calls; what needs a folder that is lost is lost with it."""
    names, folders = dict(names), set(folders)
    for call in calls:
        if _folder(call) not in folders:
            continue
        if call.op == "mkdir":
            folders.add(call.path)
        elif call.op == "unlink":
            names.pop(call.path, None)
        elif call.op == "create":
            names[call.path] = call.node
        else:
            names[call.other] = call.node
            if call.op == "rename":
                names.pop(call.path, None)
    return names, folders


def subsets(count: int) -> Iterator[tuple[int, ...]]:
    """Yield which of `count` unsettled things happened: every subset of few; of many the prefixes, and all but each."""
    places = tuple(range(count))
    if count <= FEW:
        for size in range(count + 1):
            yield from itertools.combinations(places, size)
        return
    yield from (places[:size] for size in range(count + 1))
    yield from (places[:place] + places[place + 1 :] for place in places[:-1])
    yield from ((place,) for place in places[1:])
