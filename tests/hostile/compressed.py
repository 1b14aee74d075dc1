"""Packed logs that are cut, damaged, padded, named wrongly, or that would fill any disk when unpacked."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping

import zstandard

from tests.hostile.case import BINARY, TORN, WHOLE, Case, step

CONFIG = b"[limits]\noutput_bytes = 16777216\n"
"""Limits that the whole class is read with: 16 MiB of text from one file."""
LINES = 300
TEXT = b"".join(step(number) for number in range(1, LINES + 1))
BOMB = 64 << 20


def _zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=3, write_checksum=True).compress(data)


PACKERS: Mapping[str, Callable[[bytes], bytes]] = {
    "gz": lambda data: gzip.compress(data, mtime=0),
    "zst": _zstd,
    "bz2": bz2.compress,
    "xz": lzma.compress,
}
UNPACK: Mapping[str, Callable[[bytes], bytes]] = {
    "gz": lambda data: zlib.decompressobj(31).decompress(data),
    "bz2": lambda data: bz2.BZ2Decompressor().decompress(data),
    "xz": lambda data: lzma.LZMADecompressor().decompress(data),
    "zst": lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data),
}
"""Other decompressors than the product's, to know how many lines a cut file still holds."""


def _held(form: str, data: bytes) -> dict[str, int]:
    """Return the fate of the lines that can still be had: whole step lines are read, a cut one is torn."""
    text = UNPACK[form](data) if data else b""
    whole, rest = text.count(b"\n"), text.rpartition(b"\n")[2]
    # A step line is understood as soon as its duration stands there; what follows may be missing.
    cut = {"torn": 1} if rest and b"(ms): 12000.0 |" not in rest else {}
    read = whole + (1 if rest and not cut else 0)
    return ({"matched": read} if read else {}) | cut


def cases() -> Iterator[Case]:
    """Yield the packed logs of the class."""
    yield from _cut()
    yield from _damaged()
    yield from _odd()
    for form, pack in PACKERS.items():
        yield Case(f"bomb.log.{form}", pack(bytes(BOMB)), None, TORN, why="budget")
    yield Case("nested.log.gz", gzip.compress(gzip.compress(bytes(BOMB), 1, mtime=0), mtime=0), None, BINARY)
    yield Case("window.log.zst", _window(30), {}, TORN, why="damaged")


def _cut() -> Iterator[Case]:
    """Yield each form cut at many points: the complete lines before the cut are kept."""
    for form, pack in PACKERS.items():
        packed = pack(TEXT)
        for part in range(1, 14 if form in ("gz", "zst") else 13):
            data = packed[: len(packed) * part // 14]
            yield Case(f"cut-{part:02d}.log.{form}", data, _held(form, data), TORN, why="ends in the middle")


def _damaged() -> Iterator[Case]:
    gz, zst, xz, bz = (PACKERS[form](TEXT) for form in ("gz", "zst", "xz", "bz2"))
    yield Case("crc.log.gz", gz[:-8] + b"\0\0\0\0" + gz[-4:], None, TORN, why="damaged")
    yield Case("crc.log.zst", zst[:-4] + b"\0\0\0\0", None, TORN, why="damaged")
    yield Case("crc.log.bz2", bz[:-8] + b"\0\0\0\0" + bz[-4:], None, TORN, why="damaged")
    yield Case("crc.log.xz", xz[:-12] + b"\0\0\0\0" + xz[-8:], None, TORN, why="damaged")
    yield Case("junk.log.gz", gz + b"junk behind the end", {"matched": LINES}, TORN, why="follow the last member")
    yield Case("flip.log.gz", gz[: len(gz) // 2] + b"\xff" * 40 + gz[len(gz) // 2 + 40 :], None, TORN)


def _odd() -> Iterator[Case]:
    for number, (form, pack) in enumerate(PACKERS.items(), 3):  # one text in two forms is read once
        yield Case(f"two-members.log.{form}", pack(step(1)) + pack(step(number)), {"matched": 2})
    yield Case("padded.log.gz", PACKERS["gz"](TEXT) + b"\0" * 512, {"matched": LINES}, WHOLE)
    yield Case("plain-inside.gz", step(1) + step(2), {"matched": 2})
    yield Case("packed-inside.log", PACKERS["zst"](step(1)), {"matched": 1})
    yield Case("empty-inside.log.gz", gzip.compress(b"", mtime=0), {}, "empty")


def _window(log: int) -> bytes:
    """Return a zstd frame that asks for a window of 2**log bytes: magic, descriptor, window, one raw block."""
    return b"\x28\xb5\x2f\xfd\x00" + bytes([(log - 10) << 3]) + (1 | len(step(1)) << 3).to_bytes(3, "little") + step(1)
