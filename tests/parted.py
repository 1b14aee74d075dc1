"""Packed files of many parts, and what damage makes of them; `python -m tests.parted 2000` reads as many damaged ones
whole and in parts, and compares."""

from __future__ import annotations

import contextlib
import gzip
import struct
import sys
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import zstandard

from ettlog.parse import ahead
from ettlog.parse import format as formats_of
from ettlog.parse.ahead import Ahead
from ettlog.parse.blocks import OUTPUT_BUDGET, open_source
from ettlog.parse.unpacked import LongLineError
from tests.pieces import differences, sized

EOF = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
"""The empty member at the end of a BGZF file, as its specification prints it."""
SMALL = {"GROUP": 3000, "PART_TEXT": 3 << 17, "PART_STORED": 20_000}
"""Limits of parts under which a small file has many."""


def blocked(text: bytes) -> bytes:
    """Pack at most 64 KiB as one member of a BGZF file."""
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    data = packer.compress(text) + packer.flush()
    head = b"\x1f\x8b\x08\x04" + bytes(4) + b"\0\xff" + struct.pack("<HBBHH", 6, 66, 67, 2, len(data) + 25)
    return head + data + struct.pack("<II", zlib.crc32(text), len(text))


def bgzf(text: bytes, size: int = 0xFF00) -> bytes:
    """Pack a text as `bgzip` does."""
    return b"".join(blocked(text[at : at + size]) for at in range(0, len(text), size)) + EOF


def frame(text: bytes, *, sized: bool = True, checksum: bool = True, flushed: int = 0) -> bytes:
    """Pack a text as one zstd frame that says its size or not, with a block for each `flushed` bytes."""
    packer = zstandard.ZstdCompressor(write_checksum=checksum, write_content_size=sized)
    if not flushed:
        return packer.compress(text)
    stream = packer.compressobj(len(text)) if sized else packer.compressobj()
    parts = [text[at : at + flushed] for at in range(0, len(text), flushed)]
    data = [stream.compress(one) + stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK) for one in parts]
    return b"".join(data) + stream.flush()


def skippable(size: int) -> bytes:
    """Return a zstd frame without text, such as `pzstd` and seekable files have."""
    return b"\x5a\x2a\x4d\x18" + struct.pack("<I", size) + b"s" * size


def log(rng: Random, lines: int) -> bytes:
    """Return step lines, and others of any length."""
    step = (
        " [2031-03-09 {:02d}:{:02d}:{:02d}] iteration {:8d}/  500000 | consumed samples: {:12d} | elapsed time per "
        "iteration (ms): {}.0 | learning rate: 1.0E-04 | global batch size: 8 | lm loss: 2.0E+00 | loss scale: 1.0 | "
        "number of skipped iterations: 0 | number of nan iterations: 0 |"
    )
    found = []
    for number in range(1, lines + 1):
        at = number * 7
        found.append(step.format(at // 3600 % 24, at // 60 % 60, at % 60, number, 8 * number, rng.randrange(900, 1100)))
        if rng.random() < 0.2:
            found.append(f"{number} something else {'x' * rng.randrange(40)} {rng.getrandbits(64)}")
    return ("\n".join(found) + "\n").encode()


def made(rng: Random) -> tuple[bytes, bytes]:
    """Return a packed file of parts of any kind, and its text."""
    kind, rest = rng.choice(("zst", "zst", "bgzf", "gz")), log(rng, rng.randrange(50, 250))
    parts, text = [], rest
    while rest:
        size = rng.randrange(rng.choice((1, 30, 500, 3000, 9000, 60_000))) + 1
        one, rest = rest[:size], rest[size:]
        if kind == "zst":
            parts += [skippable(rng.choice((0, 4, 300, 25_000)))] * (rng.random() < 0.3)
            flushed = rng.choice((0, 0, 50, 1000, 7000))
            parts.append(frame(one, sized=rng.random() < 0.5, checksum=rng.random() < 0.5, flushed=flushed))
        elif kind == "bgzf":
            parts += [*([gzip.compress(b"", mtime=0)] * (rng.random() < 0.1)), blocked(one)]
        else:
            parts.append(gzip.compress(one, mtime=0))
    return b"".join(parts), text


def damaged(rng: Random, packed: bytes) -> bytes:
    """Return a packed file in which some bytes are others, are gone or too many."""
    data = bytearray(packed)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at, how = rng.randrange(len(data) + 1), rng.randrange(6)
        if how == 0:
            del data[at:]
        elif how == 1:
            del data[at : at + rng.randrange(1, 50)]
        elif how == 2:
            data[at:at] = rng.choice((rng.randbytes(7), bytes(3), bytes(600), packed[:30], packed[-30:]))
        elif how == 3:
            data += rng.choice((bytes(100), b"junk", b"\x1f", b"\x28\xb5\x2f", b"\x1f\x8b\x08\x04"))
        elif at < len(data):
            data[at] ^= 1 << rng.randrange(8)
    return bytes(data)


class Told(NamedTuple):
    """All that a source tells of its bytes."""

    text: bytes
    torn: str
    digest: str
    text_digest: str
    swollen: list[str]
    n_bytes: int


def told(path: Path, sizes: Sequence[int] = (1 << 16,), threads: int = 0, budget: int = OUTPUT_BUDGET) -> Told:
    """Read a packed file into targets of some sizes in turn, by threads from the second on where there are any."""
    parts, count = list[bytes](), 0
    room = memoryview(bytearray(max(sizes)))
    helpers = Ahead(threads)
    with open_source(path, budget=budget) as source:
        try:
            while got := source.readinto(room[: sizes[count % len(sizes)]]):
                parts.append(bytes(room[:got]))
                if not count and threads:
                    source.spread(helpers)
                count += 1
        finally:
            helpers.close()
        digest = source.digest()
        found = (source.torn, digest, source.text_digest(), source.swollen(), source.n_bytes)
    return Told(b"".join(parts), *found)


def differs(path: Path, rng: Random, budget: int = OUTPUT_BUDGET) -> bool:
    """Tell whether a packed file tells another thing when it is read by threads, or into other targets."""
    whole = told(path, budget=budget)
    few, some = [rng.choice((700, 5000, 1 << 17)), 700], rng.choice(([700], [700, 5000], [500, 1 << 18]))
    return whole != told(path, few, 0, budget) or whole != told(path, some, rng.choice((1, 3)), budget)


def main(count: int, seed: int = 1) -> int:
    """Compare as many damaged files; print what differs and return how many do."""
    for name, value in SMALL.items():
        setattr(ahead, name, value)
    formats, wrong, torn = formats_of.load_all(()), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.log"
        for number in range(count):
            rng = Random(seed * 1_000_000 + number)
            path.write_bytes(damaged(rng, made(rng)[0]))
            found = ["text"] * differs(path, rng)
            with contextlib.suppress(LongLineError):  # then one process reads it
                found += differences(path, formats, sized(rng.choice((700, 2048, 8192))), rng.choice((1, 2)))
            torn += bool(told(path).torn)
            wrong += bool(found)
            if found:
                print(f"{seed * 1_000_000 + number}: {', '.join(found)}")
    print(f"{count} damaged files, {torn} torn, {wrong} not the same in parts")
    return wrong


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), *map(int, sys.argv[2:])) > 0)
