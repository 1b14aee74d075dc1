"""A huge source that is read in pieces holds what it does when it is read whole, whatever stands at the cuts."""

from __future__ import annotations

import gzip
import hashlib
import os
import pickle
import random
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import zstandard

from ettlog import together
from ettlog.ingest import IngestOptions, ingest
from ettlog.parse import format as formats_of
from ettlog.parse import pieced, pieces, scan
from ettlog.parse.blocks import open_source
from ettlog.parse.clock import ClockState
from ettlog.parse.cut import blocks
from ettlog.parse.engine import engine
from ettlog.parse.folded import Folded
from ettlog.parse.format import FormatSet
from ettlog.parse.parsed import Limits, Parsed, ScanOptions
from ettlog.parse.pieces import PieceReader, State
from ettlog.parse.ranges import Bytes, Range, ranges
from ettlog.tasks import Task
from tests.pieces import behind, differences, is_text, sized

STEP = (
    " [2031-03-09 {clock}] iteration {step:8d}/  500000 | consumed samples: {step:12d} | elapsed time per iteration "
    "(ms): 1000.0 | learning rate: 1.0E-04 | global batch size: 8 | lm loss: 2.0E+00 | loss scale: 1.0 | number of "
    "skipped iterations: 0 | number of nan iterations: 0 |"
)
UNDATED = STEP.replace(" [2031-03-09 {clock}]", "")
BAR = "\r".join(f"{share:3d}%|###   | {share}/100 [00:0{share % 10}<01:00,  1.00it/s]" for share in range(0, 100, 9))


@pytest.fixture(scope="module")
def formats() -> FormatSet:
    """Load the shipped formats once."""
    return formats_of.load_all(())


def of_day(second: int) -> str:
    """Return a time of day; days follow each other."""
    return f"{second // 3600 % 24:02d}:{second // 60 % 60:02d}:{second % 60:02d}"


def dated(number: int) -> list[str]:
    """Steps with their instants, and a save now and then."""
    more = [f"  successfully saved checkpoint at iteration {number:7d} to /ckpt"] if number % 50 == 0 else []
    return [STEP.format(step=number, clock=of_day(3600 + number)), *more]


def undated(number: int) -> list[str]:
    """Steps without instants, dated lines far from each other."""
    hour = f"[before the start of training step] datetime: 2031-03-09 {of_day(number * 7)} "
    return [UNDATED.format(step=number), *([hour] if number % 97 == 0 else [])]


def ranks(number: int) -> list[str]:
    """Lines of eight ranks in each other's way, a warning between them."""
    lines = [f"[rank{rank}]:{STEP.format(step=number, clock=of_day(number))}" for rank in random.sample(range(8), 3)]
    return [*lines, f"{number % 8}: UserWarning: something of no interest"]


def glog(number: int) -> list[str]:
    """Stamps without a year, from one year into the next; one whole stamp shows late which year it is."""
    day = 25 + number // 60
    name = f"12{day}" if day <= 31 else f"01{day - 31:02d}"
    at = f"I{name} {of_day(number * 1440)}.000000 42 torch/distributed/launcher/api.py:195]"
    whole = [STEP.replace("2031-03-09", "2032-01-05").format(step=1, clock="00:00:00")] if number == 660 else []
    return [f"{at} Starting elastic_operator with launch configs:", *whole]


def midnight(number: int) -> list[str]:
    """Stamps with a time of day only, behind one with a date: days go by."""
    first = ["2031-03-09 23:00:00,000 - INFO - the job begins"] if not number else []
    return [*first, f"{of_day(82_800 + number * 300)} INFO saved", UNDATED.format(step=number + 1)]


def bars(number: int) -> list[str]:
    """Progress bars with carriage returns, a dated loss now and then."""
    return [BAR, f"{{'loss': 2.0, 'learning_rate': 1e-05, 'epoch': {number / 100}}}"]


def zone(number: int) -> list[str]:
    """Local stamps beside epoch values, from which the zone is learnt."""
    epoch = 1_930_000_000 + number
    local = f"2031-02-27 {of_day(14 * 3600 + 26 * 60 + 40 + number)}"
    return [f"{local},000 INFO step", f':::MLLOG {{"time_ms": {epoch}000, "key": "x"}}', UNDATED.format(step=number)]


def long_lines(number: int) -> list[str]:
    """A line longer than a block, zeros and all, between steps."""
    return [STEP.format(step=number, clock=of_day(number)), *(["x\0y" * 3000] if number % 40 == 7 else [])]


LOGS = (dated, undated, ranks, glog, midnight, bars, zone, long_lines)


def lay(path: Path, lines: Sequence[str], end: str = "\n") -> Path:
    """Write a log."""
    path.write_bytes(("\n".join(lines) + end).encode())
    return path


@pytest.mark.parametrize("log", LOGS)
@pytest.mark.parametrize(("block", "count"), [(1000, 1), (4096, 3)])
def test_pieces_hold_what_the_whole_does(
    log: Callable[[int], list[str]], block: int, count: int, formats: FormatSet, tmp_path: Path
) -> None:
    """Whatever a log is made of, its facts, counts, inferences and samples are the same however it is read."""
    random.seed(5)
    lines = [line for number in range(720) for line in log(number)]
    path = lay(tmp_path / "run.log", lines, end="")
    os.truncate(path, min(path.stat().st_size, 70 * block))
    more = {} if count == 1 else {"zone": "Europe/Paris", "year_hint": 2030}
    assert differences(path, formats, sized(block, **more), count) == []


def test_samples_of_all_dialects_are_read_in_pieces_as_whole(formats: FormatSet, tmp_path: Path) -> None:
    """Samples of every format, mixed and in their order, give the same facts in small pieces and whole."""
    lines = [sample.line for pattern in formats.patterns for sample in pattern.samples]
    texts = [line if isinstance(line, str) else line.decode("utf-8", "replace") for line in lines]
    for seed in (1, 2):
        random.seed(seed)
        path = lay(tmp_path / f"{seed}.log", random.sample(texts, len(texts)) + texts[::3])
        assert differences(path, formats, sized(8192), 3) == []


@pytest.mark.parametrize("log", [dated, undated, bars, long_lines])
@pytest.mark.parametrize("near", [1, 40, 700])
def test_a_guess_from_few_bytes_is_a_guess(
    log: Callable[[int], list[str]], near: int, formats: FormatSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However few bytes before a range are looked at, less than a line of them, too, the facts are exact."""
    monkeypatch.setattr(pieces, "NEAR", near)
    path = lay(tmp_path / "run.log", [line for number in range(200) for line in log(number)])
    assert differences(path, formats, sized(4096), 2) == []


def test_a_guess_begins_with_a_whole_line(formats: FormatSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the bytes before a range the first line is left out, of which the begin may be cut off; with no whole line
    among them the block is read."""
    path = lay(tmp_path / "run.log", ["a" * 99, "b" * 49, "c" * 29, "d" * 99])  # lines begin at 0, 100, 150, 180
    options = sized(4096)
    with path.open("rb") as file:
        reader = PieceReader(partial(Bytes, file.fileno()), 280, engine(formats, options.steps), options)
        found = []
        for near in (29, 30, 31, 79, 80, 81, 180, 500):
            monkeypatch.setattr(pieces, "NEAR", near)
            found.append(reader._near(Range(1, 0, 180, 280)))
    assert found == [0, 0, 150, 150, 150, 100, 0, 0]


@pytest.mark.parametrize("log", [undated, glog, bars])
def test_wrong_guesses_cost_time_only(log: Callable[[int], list[str]], formats: FormatSet, tmp_path: Path) -> None:
    """Where a reader of a piece is told nonsense of what stands before it, the facts are still exact."""
    lines = [line for number in range(300) for line in log(number)]
    path = lay(tmp_path / "run.log", lines)
    nonsense = ClockState(1, 2, 3_600_000_000, "", 86_400_000_000)

    def wrong(reader: PieceReader, one: Range, left: Sequence[State | None]) -> State:
        told = behind(reader, one, left)
        twins: pieces.Twins = {2: ((5, 7, 0, 2), (6, 8, 0, 1))}
        return State(nonsense, twins, not told.waiting, frozenset()) if one.number % 2 else told

    assert differences(path, formats, sized(2048), 2, wrong) == []


def test_what_stands_before_a_piece_is_most_often_guessed(
    formats: FormatSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In ordinary logs no piece is read twice: neither dated nor undated ones, whose stamps are far from each other."""
    again: list[bool] = []
    fits = pieced._fits

    def noted(reading: pieces.Reading, left: State) -> bool:
        again.append(fits(reading, left))
        return again[-1]

    monkeypatch.setattr(pieced, "_fits", noted)
    for log in (dated, undated):
        path = lay(tmp_path / "run.log", [line for number in range(1200) for line in log(number)])
        assert differences(path, formats, sized(4096), 2) == []
    assert len(again) > 40 and all(again)


@pytest.mark.parametrize("seed", range(4))
def test_ranges_begin_where_blocks_do(seed: int, tmp_path: Path) -> None:
    """The blocks of all ranges, one behind the other, are those of one reader, long lines and torn ends included."""
    rng = random.Random(seed)
    lines = [rng.choice((b"", b"short", b"x" * rng.randrange(300), b"y" * 5000)) for _ in range(400)]
    path = tmp_path / "text"
    path.write_bytes(b"\n".join(lines))
    size = path.stat().st_size
    with open_source(path) as source:
        told = [one for part in ranges(source.handle, size, 1024, 3) for one in _cut(source.handle, part)]
        assert told == list(_cut(source.handle, Range(0, 0, 0, size)))
        found = ranges(source.handle, size, 1024, 3)
    assert [one.begin for one in found[1:]] == [one.end for one in found[:-1]] and found[-1].end == size


def _cut(handle: int, one: Range) -> Iterator[tuple[bytes, bool, bool]]:
    for block in blocks(Bytes(handle, one.begin, one.end), 1024, 100):
        yield bytes(block.data[: block.end]), block.whole, block.clipped


@pytest.mark.parametrize("log", [dated, undated, ranks, glog])
@pytest.mark.parametrize("ending", ["gz", "zst"])
def test_packed_text_is_read_in_pieces_as_whole(
    log: Callable[[int], list[str]], ending: str, formats: FormatSet, tmp_path: Path
) -> None:
    """A packed log, its members torn or not, holds the same in ranges of its text and whole."""
    random.seed(7)
    text = "\n".join(line for number in range(400) for line in log(number)).encode()
    pack = gzip.compress if ending == "gz" else zstandard.ZstdCompressor().compress
    path = tmp_path / f"run.log.{ending}"
    for data in (pack(text[:30_000]) + pack(text[30_000:]), pack(text)[:-20]):
        path.write_bytes(data)
        assert differences(path, formats, sized(4096), 3) == []


@pytest.fixture
def huge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a log that counts as huge, and a small one."""
    monkeypatch.setattr(together, "LEAST_BYTES", 1 << 18)
    monkeypatch.setattr(together, "PACKED_BYTES", 1 << 14)
    folder = tmp_path / "logs"
    folder.mkdir()
    lay(folder / "run.log", [line for number in range(6000) for log in (dated, ranks) for line in log(number)])
    lay(folder / "other.log", [line for number in range(5) for line in dated(number)])
    return folder


def lake_bytes(folder: Path) -> dict[str, str]:
    """Return the digests of all files of a lake by their names."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.parametrize("confined", ["never", "always"])
def test_a_huge_file_is_read_by_several_to_the_same_lake(huge: Path, confined: str, tmp_path: Path) -> None:
    """One process and three make the same lake of it, byte for byte; three share the huge file, which is packed where
    they are confined."""
    if confined == "always":
        data = (huge / "run.log").read_bytes()
        (huge / "run.log").unlink()
        (huge / "run.log.gz").write_bytes(gzip.compress(data * 6, 1))
    for workers in (1, 3):
        options = IngestOptions(workers=workers, confine=confined)
        assert not ingest([huge], tmp_path / f"{workers}", options=options).rejected
    assert lake_bytes(tmp_path / "1") == lake_bytes(tmp_path / "3")


def test_only_a_file_beyond_its_share_is_shared(huge: Path) -> None:
    """A file that is nearly all there is gets all processes, a small one and equal ones one each."""
    tasks = [Task(path.name, path, ScanOptions()) for path in sorted(huge.iterdir())]
    assert [task.hands for task in together.dealt(tasks, 3)] == [1, 3]
    assert [task.hands for task in together.dealt([tasks[1]] * 3, 3)] == [1, 1, 1]
    assert [task.hands for task in together.dealt(tasks, 1)] == [1, 1]


def several(path: Path, formats: FormatSet) -> tuple[int, str]:
    """Read a file by two processes; return its lines and digest."""
    options = ScanOptions(limits=Limits(block=1 << 16))
    with open_source(path) as source:
        parsed = together.scan_open(source, path, formats, options, 2)
    return parsed.n_lines, parsed.digest


def test_where_a_helper_dies_the_file_is_read_alone(
    huge: Path, formats: FormatSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A helper that is killed costs time and no line."""
    wanted = several(huge / "run.log", formats)
    me, read = os.getpid(), PieceReader.read

    def fatal(self: PieceReader, one: Range, before: State | None) -> pieces.Reading:
        if os.getpid() != me and one.number == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return read(self, one, before)

    monkeypatch.setattr(PieceReader, "read", fatal)
    assert several(huge / "run.log", formats) == wanted
    assert wanted[0] == (huge / "run.log").read_bytes().count(b"\n")


def test_what_is_held_of_a_range_takes_few_bytes_a_step(formats: FormatSet, tmp_path: Path) -> None:
    """Ten numbers are known of a step, of eight bytes for the most part; a reading, as it is sent, takes 16 bytes a
    step beside what it takes without any."""
    path = lay(tmp_path / "run.log", [line for number in range(4000) for line in dated(number)])
    options = ScanOptions(zone="UTC")
    with open_source(path) as source:
        size = source.size
        reader = PieceReader(partial(Bytes, source.handle), size, engine(formats, options.steps), options)
        found = reader.read(Range(0, 0, 0, size), None)
    assert sum(call.rows for call in found.calls if isinstance(call, Folded) and call.steps) == 4000
    assert len(pickle.dumps(found)) - len(pickle.dumps(replace(found, calls=[]))) < 16 * 4000


def test_helpers_are_gone_before_the_facts_become_tables(
    huge: Path, formats: FormatSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What helpers hold and what the tables take never add up: no child is left when the first table is made."""
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    before, seen, tables = children.read_text(), list[str](), scan.parsed

    def noted(*given: Any, **more: Any) -> Parsed:
        seen.append(children.read_text())
        return tables(*given, **more)

    monkeypatch.setattr(pieced, "parsed", noted)
    assert several(huge / "run.log", formats)[0] == (huge / "run.log").read_bytes().count(b"\n")
    assert seen == [before]


def test_a_file_that_changes_under_its_readers_is_read_alone(
    huge: Path, formats: FormatSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytes that are other ones when they are put together are read again, so that facts and digest tell of the
    same."""
    path, me, read = huge / "run.log", os.getpid(), PieceReader.read

    def changing(self: PieceReader, one: Range, before: State | None) -> pieces.Reading:
        reading = read(self, one, before)
        if os.getpid() != me and not one.number:
            with path.open("r+b") as file:
                file.seek(1000)
                file.write(b"X")
        return reading

    monkeypatch.setattr(PieceReader, "read", changing)
    found = several(path, formats)
    monkeypatch.undo()
    with open_source(path) as source:
        parsed = together.scan_open(source, path, formats, ScanOptions(), 1)
    assert found == (parsed.n_lines, parsed.digest)


def test_a_packed_file_with_a_line_longer_than_a_block_is_read_alone(formats: FormatSet, tmp_path: Path) -> None:
    """Where a range of text could be of any length, one process reads it, from the begin."""
    path = tmp_path / "run.log.gz"
    steps = "\n".join(dated(number)[0] for number in range(1, 40))
    path.write_bytes(gzip.compress(f"{steps}\n{'x' * (5 << 20)}\n{steps}\n".encode(), 1))
    options = ScanOptions(limits=Limits(block=1 << 20))
    with open_source(path) as source:
        parsed = together.scan_open(source, path, formats, options, 2)
    assert (parsed.n_lines, parsed.lines["long"], parsed.steps.num_rows) == (79, 1, 78)


@pytest.mark.shared
def test_real_logs_are_read_in_pieces_as_whole(shared: Path, formats: FormatSet) -> None:
    """Some thirty real logs of all kinds hold the same in small pieces and whole (`python -m tests.pieces` reads
    all)."""
    files = [path for path in sorted((shared / "data").rglob("*")) if path.is_file() and not path.is_symlink()]
    files = [path for path in files if 20_000 < path.stat().st_size < 250_000 and is_text(path)]
    random.seed(3)
    told = {path.name: differences(path, formats, sized(8192), 2) for path in random.sample(files, min(30, len(files)))}
    assert len(told) >= 20
    assert {name: found for name, found in told.items() if found} == {}
