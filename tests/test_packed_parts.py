"""A packed file of many parts is unpacked by threads where its parts say where they end, and tells the same."""

from __future__ import annotations

import gzip
import os
import struct
import threading
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
import zstandard
from blake3 import blake3

from ettlog import together
from ettlog.ingest import IngestOptions, ingest
from ettlog.parse import ahead, pieced, scan, zones
from ettlog.parse import format as formats_of
from ettlog.parse.ahead import Ahead, Part
from ettlog.parse.blocks import open_source
from ettlog.parse.format import FormatSet
from ettlog.parse.parsed import Limits, ScanOptions
from tests.parted import EOF, SMALL, bgzf, blocked, damaged, differs, frame, log, made, skippable, told
from tests.pieces import differences, sized
from tests.test_pieces import lake_bytes

TEXT = log(Random(5), 250)
"""Some 70 KB."""
HUGE = log(Random(6), 3400)
"""A megabyte, more than a part of a small file may hold."""
PIECES = [TEXT[at : at + 5000] for at in range(0, len(TEXT), 5000)]


@pytest.fixture(scope="module")
def formats() -> FormatSet:
    """Load the shipped formats once."""
    return formats_of.load_all(())


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let small files have many parts."""
    for name, value in SMALL.items():
        monkeypatch.setattr(ahead, name, value)


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> list[Part]:
    """Note the parts that are given to threads."""
    seen: list[Part] = []
    readinto = Ahead.readinto

    def noted(self: Ahead, target: memoryview, following: Callable[[], Part | None]) -> int:
        def next_one() -> Part | None:
            part = following()
            seen.extend([part] if part else [])
            return part

        return readinto(self, target, next_one)

    monkeypatch.setattr(Ahead, "readinto", noted)
    return seen


FILES: dict[str, tuple[bytes, bytes]] = {
    "frames.zst": (b"".join(map(frame, PIECES)), TEXT),
    "streamed.zst": (b"".join(frame(one, sized=False, checksum=False) for one in PIECES), TEXT),
    "flushed.zst": (b"".join(frame(one, flushed=70) for one in PIECES), TEXT),
    "skippable.zst": (b"".join(skippable(12) + frame(one) for one in PIECES) + skippable(300), TEXT),
    "passed.zst": (skippable(30_000).join(map(frame, PIECES)), TEXT),
    "tiny.zst": (b"".join(frame(line) for line in TEXT.splitlines(keepends=True)), TEXT),
    "empty.zst": (frame(b"").join(map(frame, PIECES)) + frame(b""), TEXT),
    "tiny-huge.zst": (frame(b"1\n") + frame(TEXT) + frame(HUGE) + frame(TEXT), b"1\n" + TEXT + HUGE + TEXT),
    "bgzf.gz": (bgzf(TEXT, 3000), TEXT),
    "two-bgzf.gz": (bgzf(TEXT, 3000) * 2, TEXT * 2),
    "bgzf-and-gzip.gz": (bgzf(TEXT, 3000) + gzip.compress(HUGE) + bgzf(TEXT), TEXT + HUGE + TEXT),
    "padded.gz": (bgzf(TEXT, 3000) + bytes(512), TEXT),
    "no-eof.gz": (bgzf(TEXT, 3000)[: -len(EOF)], TEXT),
}


@pytest.mark.parametrize("name", FILES)
def test_parts_are_unpacked_by_threads_to_the_same_text(
    name: str, formats: FormatSet, tmp_path: Path, apart: list[Part]
) -> None:
    """Frames and blocked members are unpacked apart; text, digests, facts and counts are those of one reader."""
    packed, text = FILES[name]
    path = tmp_path / name
    path.write_bytes(packed)
    for found in (told(path), told(path, [900], 1), told(path, [900, 5000], 3)):
        assert (found.text, found.torn, found.n_bytes) == (text, "", len(packed))
        assert (found.digest, found.text_digest) == (blake3(packed).hexdigest(), blake3(text).hexdigest())
    assert len(apart) > 1
    assert differences(path, formats, sized(4096), 2) == []


@pytest.mark.parametrize("name", ["joined.gz", "one.zst", "one.gz"])
def test_what_does_not_say_where_its_parts_end_is_unpacked_as_it_comes(
    name: str, tmp_path: Path, apart: list[Part]
) -> None:
    """Ordinary members of gzip end where their text does, and one large frame has no parts: no thread gets any."""
    files = {"joined.gz": b"".join(map(gzip.compress, PIECES)), "one.zst": frame(HUGE), "one.gz": gzip.compress(HUGE)}
    (tmp_path / name).write_bytes(files[name])
    found = told(tmp_path / name, [900], 2)
    assert (found.text, found.torn) == (TEXT if name == "joined.gz" else HUGE, "")
    assert apart == []


def _flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]


_FRAMES = [frame(one) for one in PIECES]
_MEMBERS = [blocked(one) for one in PIECES]
_OF_5 = len(b"".join(_FRAMES[:5])), len(b"".join(_MEMBERS[:5]))
_ZST, _GZ = b"".join(_FRAMES), b"".join(_MEMBERS) + EOF
DAMAGE: dict[str, tuple[bytes, int | None, str]] = {
    "crc.gz": (_flipped(_GZ, _OF_5[1] - 8), 4, "damaged"),
    "size.gz": (_flipped(_GZ, _OF_5[1] - 4), 4, "damaged"),
    "deflate.gz": (_flipped(_GZ, _OF_5[1] + 60), 5, "damaged"),
    "said-size.gz": (_flipped(_GZ, _OF_5[1] + 16), None, ""),
    "magic-only.gz": (b"\x1f\x8b\x08", 0, "ends in the middle"),
    "magic-only.zst": (b"\x28\xb5\x2f\xfd", 0, "ends in the middle"),
    "cut.gz": (_GZ[: _OF_5[1] + 400], 5, "ends in the middle"),
    "cut-head.gz": (_GZ[: _OF_5[1] + 13], 5, "ends in the middle"),
    "junk.gz": (_GZ[: _OF_5[1]] + b"junk" + _GZ[_OF_5[1] :], 5, "follow the last member"),
    "nul.gz": (_GZ[: _OF_5[1]] + bytes(600), 5, ""),
    "nul-between.gz": (_GZ[: _OF_5[1]] + bytes(600) + _GZ[_OF_5[1] :], 5, "follow the last member"),
    "far-junk.gz": (_GZ + bytes(400_000) + b"junk", None, "follow the last member"),
    "crc.zst": (_flipped(_ZST, _OF_5[0] - 2), 4, "damaged"),
    "content.zst": (_flipped(_ZST, _OF_5[0] + 6), 5, "damaged"),
    "block.zst": (_flipped(_ZST, _OF_5[0] + 9), 5, ""),
    "cut.zst": (_ZST[: _OF_5[0] + 400], 5, "ends in the middle"),
    "cut-head.zst": (_ZST[: _OF_5[0] + 3], 5, "ends in the middle"),
    "cut-skippable.zst": (_ZST[: _OF_5[0]] + skippable(600)[:-1], 5, "ends in the middle"),
    "junk.zst": (_ZST[: _OF_5[0]] + b"junk" + _ZST[_OF_5[0] :], 5, "damaged"),
    "nul.zst": (_ZST[: _OF_5[0]] + bytes(600), 5, "damaged"),
}
"""A damaged file, how many pieces stand before the damage (None: all are there), and words of the verdict."""


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_in_any_part_is_told_as_by_one_reader(name: str, formats: FormatSet, tmp_path: Path) -> None:
    """All text before the damage is there, of the part that is damaged as much as one reader has, and nothing behind
    it; verdict, facts and counts are the same."""
    packed, whole, why = DAMAGE[name]
    path = tmp_path / name
    path.write_bytes(packed)
    found = told(path)
    for sizes, threads in (([700], 0), ([700], 1), ([500, 1 << 17], 3)):
        assert told(path, sizes, threads) == found
    least, most = (len(b"".join(PIECES[:count])) for count in (whole or 0, 99 if whole is None else whole + 1))
    assert TEXT.startswith(found.text) and least <= len(found.text) <= most
    assert why in found.torn and bool(found.torn) == bool(why or name == "block.zst")
    assert (found.digest, found.n_bytes) == (blake3(packed).hexdigest(), len(packed))
    assert differences(path, formats, sized(1024), 2) == []


def test_any_damage_is_told_as_by_one_reader(tmp_path: Path) -> None:
    """Bytes that are changed, gone or too many anywhere: text, verdict and digests do not hang on threads, nor on how
    much is asked for at once (`python -m tests.parted` compares the facts too)."""
    path = tmp_path / "run.log"
    for seed in range(150):
        rng = Random(seed)
        packed, text = made(rng)
        path.write_bytes(damaged(rng, packed))
        budget = rng.choice((1 << 40, len(text), len(text) // 2))
        assert not differs(path, rng, budget), seed


def _claims(content: int) -> bytes:
    """Return a frame of one raw block that says it holds `content` bytes."""
    return b"\x28\xb5\x2f\xfd\xe0" + struct.pack("<Q", content) + b"\x29\0\0" + b"hello"


@pytest.mark.parametrize("content", [30 << 20, 1 << 40])
def test_a_frame_that_claims_much_gets_no_memory_for_it(
    content: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a frame says of its content is believed as far as its blocks can hold it."""
    monkeypatch.undo()
    path = tmp_path / "run.zst"
    path.write_bytes(frame(TEXT) + _claims(content) * 3)
    tracemalloc.start()
    found = told(path, [900], 2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == told(path) and found.text.startswith(TEXT) and "damaged" in found.torn
    assert peak < 4 << 20


def test_bombs_end_at_the_budget_in_parts_too(tmp_path: Path) -> None:
    """Text beyond the budget is left out at the same byte, whoever unpacks it."""
    path = tmp_path / "bomb"
    for packed in (frame(bytes(100_000)) * 50, blocked(bytes(60_000)) * 80, frame(bytes(3_000_000))):
        path.write_bytes(packed)
        for sizes, threads in (([1 << 16], 0), ([900], 1), ([70_000], 2)):
            found = told(path, sizes, threads, budget=1_234_567)
            assert found.text == bytes(1_234_567)
            assert "budget" in found.torn


def test_a_member_that_holds_more_than_it_may_is_read_by_one(tmp_path: Path) -> None:
    """A blocked member with more than 64 KiB of text is no damage: it is good gzip, and read as such."""
    path = tmp_path / "run.gz"
    path.write_bytes(blocked(TEXT[:100]) * 9 + blocked(HUGE[:70_000]) + blocked(TEXT[:100]) * 9)
    assert told(path, [50], 2).text == told(path).text == TEXT[:100] * 9 + HUGE[:70_000] + TEXT[:100] * 9


def test_memory_is_that_of_a_few_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred megabytes of text in parts of four take a few of them at a time."""
    monkeypatch.undo()
    path = tmp_path / "run.zst"
    path.write_bytes(frame(HUGE * 4) * 30)
    tracemalloc.start()
    with open_source(path) as source:
        helpers, room, total = Ahead(2), memoryview(bytearray(1 << 20)), 0
        source.spread(helpers)
        while got := source.readinto(room):
            total += got
        helpers.close()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total == 120 * len(HUGE) > 100_000_000
    assert peak < 6 * 4 * len(HUGE)


def _folder(tmp_path: Path, ending: str) -> Path:
    """Lay a log of 23 MB, packed in parts."""
    text, size = HUGE * 24, 1_000_000
    parts = [text[at : at + size] for at in range(0, len(text), size)]
    folder = tmp_path / "logs"
    folder.mkdir()
    data = bgzf(text) if ending == "gz" else b"".join(frame(one, sized=at % 2 == 0) for at, one in enumerate(parts))
    (folder / f"run.log.{ending}").write_bytes(data)
    return folder


@pytest.mark.parametrize("ending", ["gz", "zst"])
def test_lakes_of_any_number_of_workers_are_the_same(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One worker, two and eight make the same lake of a file of many parts, byte for byte."""
    monkeypatch.undo()
    monkeypatch.setattr(together, "PACKED_BYTES", 1 << 14)
    folder = _folder(tmp_path, ending)
    for workers in (1, 2, 8):
        options = IngestOptions(workers=workers, confine="always")
        assert not ingest([folder], tmp_path / f"{workers}", options=options).rejected
    lakes = [lake_bytes(tmp_path / f"{workers}") for workers in (1, 2, 8)]
    assert lakes[0] == lakes[1] == lakes[2]
    assert any(name.startswith("step/") for name in lakes[0])


def test_threads_begin_behind_the_last_fork_and_end_with_the_text(
    formats: FormatSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, apart: list[Part]
) -> None:
    """No process is forked from one with threads, and none is left when the tables are made, or a helper died."""
    path = tmp_path / "run.zst"
    path.write_bytes(b"".join(map(frame, PIECES)) * 100)
    before, forks, tables = threading.active_count(), list[int](), list[int]()
    fork, parsed = os.fork, scan.parsed

    def forked() -> int:
        forks.append(threading.active_count())
        return fork()

    def noted(*given: object, **more: object) -> object:
        tables.append(threading.active_count())
        return parsed(*given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(together, "PACKED_BLOCKS", 1)
    monkeypatch.setattr(os, "fork", forked)
    monkeypatch.setattr(pieced, "parsed", noted)
    options = ScanOptions(limits=Limits(block=zones.HEAD))
    with open_source(path) as source:
        lines = together.scan_open(source, path, formats, options, 2).n_lines
    assert lines == 100 * TEXT.count(b"\n") and len(apart) > 100
    assert forks == [before] * 2 and tables == [before]
    monkeypatch.setattr(pieced, "_fits", _fails)
    with open_source(path) as source:
        assert together.scan_open(source, path, formats, options, 2).n_lines == lines
    assert threading.active_count() == before


def _fails(*_: object) -> bool:
    raise EOFError


def test_the_header_of_a_blocked_member_is_the_one_of_its_specification() -> None:
    """The members that the tests make are such as other programs read: the end marker is one, and zlib knows them."""
    assert zlib.decompress(EOF, 31) == b"" and EOF[16:18] == struct.pack("<H", len(EOF) - 1)
    assert b"".join(zlib.decompress(one, 31) for one in _MEMBERS) == gzip.decompress(_GZ) == TEXT
    assert zstandard.ZstdDecompressor().stream_reader(_ZST, read_across_frames=True).read() == TEXT
