"""Reading a source: bounded, plain or packed, hashed, and cut into whole lines."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from blake3 import blake3
from hypothesis import given, settings
from hypothesis import strategies as st

from ettlog.parse.blocks import SourceRefusedError, open_source
from ettlog.parse.cut import blocks

TEXT = b"".join(b"line %d of a log that repeats itself a little\n" % number for number in range(40_000))


def _zst(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": _zst,
}


def _read(path: Path) -> tuple[bytes, str, str]:
    with open_source(path) as source:
        return source.read_all(1 << 30), source.torn, source.digest()


@pytest.mark.parametrize("name", PACKERS)
def test_packed_text_is_recognised_by_its_bytes_not_its_name(name: str, tmp_path: Path) -> None:
    """A packed log under a plain name gives its text, and the digest of the bytes as stored."""
    path = tmp_path / "train.out"
    path.write_bytes(PACKERS[name](TEXT))
    assert _read(path) == (TEXT, "", blake3(path.read_bytes()).hexdigest())


@pytest.mark.parametrize("name", PACKERS)
def test_members_behind_each_other_are_one_text(name: str, tmp_path: Path) -> None:
    """Logs that were packed piece by piece and put together read as one."""
    path = tmp_path / "train.out"
    path.write_bytes(PACKERS[name](TEXT) + PACKERS[name](b"") + PACKERS[name](b"the end\n"))
    assert _read(path)[:2] == (TEXT + b"the end\n", "")


@pytest.mark.parametrize("name", PACKERS)
def test_a_torn_tail_keeps_what_came_before_it(name: str, tmp_path: Path) -> None:
    """A packed file cut off gives a beginning of its text and says that it is torn."""
    path = tmp_path / "train.out"
    whole = PACKERS[name](TEXT) + PACKERS[name](TEXT)
    path.write_bytes(whole[: len(whole) - 300])
    text, torn, digest = _read(path)
    assert torn
    assert len(text) >= len(TEXT)
    assert (TEXT + TEXT).startswith(text)
    assert digest == blake3(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("name", PACKERS)
def test_bytes_behind_the_last_member_are_told(name: str, tmp_path: Path) -> None:
    """Garbage behind packed data loses nothing of the text and does not pass in silence."""
    path = tmp_path / "train.out"
    path.write_bytes(PACKERS[name](TEXT) + b"no packed data")
    text, torn, _ = _read(path)
    assert text == TEXT
    assert torn


def test_zero_padding_behind_gzip_is_no_damage(tmp_path: Path) -> None:
    """Tapes and block devices pad with zeros, which gzip passes over."""
    path = tmp_path / "train.gz"
    path.write_bytes(gzip.compress(TEXT) + bytes(512))
    assert _read(path)[:2] == (TEXT, "")


def test_a_packed_bomb_ends_at_the_budget(tmp_path: Path) -> None:
    """Text beyond the budget for decompressed bytes is left out, and the source counts as torn."""
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(bytes(8_000_000)))
    with open_source(path, budget=1_000_000) as source:
        text = source.read_all(1 << 30)
        assert len(text) < 4_000_000
        assert "budget" in source.torn


def test_no_more_is_read_than_was_there_at_open(tmp_path: Path) -> None:
    """A log that grows under the reader gives the bytes it had when it was opened, and their digest."""
    path = tmp_path / "train.log"
    path.write_bytes(b"first\n")
    with open_source(path) as source, path.open("ab") as log:
        log.write(b"second\n")
        log.flush()
        assert source.read_all(100) == b"first\n"
        assert (source.n_bytes, source.digest()) == (6, blake3(b"first\n").hexdigest())


def test_a_log_cut_short_under_the_reader_ends_early(tmp_path: Path) -> None:
    """A file truncated after it was opened gives what is left; nothing crashes."""
    path = tmp_path / "train.log"
    path.write_bytes(b"x" * 100_000)
    with open_source(path) as source:
        os.truncate(path, 1000)
        assert source.read_all(1 << 20) == b"x" * 1000


def test_links_pipes_and_folders_are_refused(tmp_path: Path) -> None:
    """Only a regular file is read: a link may lead out of the tree and a pipe may never end."""
    (tmp_path / "real.log").write_bytes(b"text\n")
    (tmp_path / "link.log").symlink_to(tmp_path / "real.log")
    os.mkfifo(tmp_path / "pipe.log")
    for name in ("link.log", "pipe.log", ".", "absent.log"):
        with pytest.raises(SourceRefusedError):
            open_source(tmp_path / name)


class _Bytes:
    """Bytes as a source that fills buffers."""

    def __init__(self, data: bytes) -> None:
        self._file = io.BytesIO(data)

    def readinto(self, target: memoryview) -> int:
        return self._file.readinto(target)


@given(st.lists(st.binary(max_size=40), max_size=40), st.integers(50, 120), st.booleans())
@settings(deadline=None)
def test_blocks_hold_every_line_once(lines: list[bytes], size: int, ended: bool) -> None:
    """Blocks of any size put together are the text, and each ends with a newline of its own or an added one."""
    text = b"\n".join(line.replace(b"\n", b"") for line in lines) + (b"\n" if ended else b"")
    parts = []
    for block in blocks(_Bytes(text), size, 50):
        assert block.data[block.end - 1] == 10
        parts.append(bytes(block.data[: block.end - (not block.whole)]))
    assert b"".join(parts) == text


def test_a_line_longer_than_the_buffer_is_one_clipped_block() -> None:
    """Of a line beyond the buffer its beginning is handed out once, whatever its length, and the next line is whole."""
    text = b"before\n" + b"y" * 1000 + b"\nafter\n"
    found = [(bytes(block.data[: block.end]), block.clipped) for block in blocks(_Bytes(text), 100, 50)]
    assert found == [(b"before\n", False), (b"y" * 50 + b"\n", True), (b"after\n", False)]


def test_memory_does_not_grow_with_the_length_of_a_line() -> None:
    """Cutting a line of 60 MB takes a few MB."""

    class Endless:
        left = 60_000_000

        def readinto(self, target: memoryview) -> int:
            got = min(len(target), self.left)
            target[:got] = b"z" * got
            self.left -= got
            return got

    tracemalloc.start()
    count = sum(block.clipped for block in blocks(Endless(), 1 << 20, 1 << 16))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 1
    assert peak < 8_000_000


def test_what_was_looked_at_twice_is_read_once(tmp_path: Path) -> None:
    """A second, longer or shorter look at the head loses nothing, of plain and of packed files."""
    for name, data in (("plain", TEXT), ("packed", gzip.compress(TEXT))):
        (tmp_path / name).write_bytes(data)
        for sizes in ((100, 1 << 20), (1 << 20, 100), (len(TEXT) * 2, 1 << 20)):
            with open_source(tmp_path / name) as source:
                seen = [bytes(source.peek(size)) for size in sizes]
                assert seen == [TEXT[:size] for size in sizes]
                assert source.read_all(1 << 30) == TEXT


@pytest.mark.parametrize(("stored", "told"), [(b"0" * 3_000_000, True), (TEXT, False)], ids=["zeros", "a log"])
def test_text_that_is_thousands_of_times_the_file_is_told(
    stored: bytes, told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A megabyte of zeros in a few hundred packed bytes is read whole, and said to be odd; a log is not."""
    monkeypatch.setattr("ettlog.parse.blocks.SWOLLEN_BYTES", 1 << 20)
    path = tmp_path / "packed"
    path.write_bytes(_zst(stored))
    with open_source(path) as source:
        assert source.read_all(1 << 30) == stored
        assert source.swollen() == (
            [f"its text is {3_000_000 // path.stat().st_size:,} times as long as the packed file: is it a log?"]
            if told
            else []
        )
