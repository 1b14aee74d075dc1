"""Steps that are too many for memory: the same facts and the same bytes as in memory, wherever the chunks end."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from ettlog import workers
from ettlog.ingest import IngestOptions, ingest
from ettlog.packing import parquet
from ettlog.parse import chunks, event_rows, facts, passes, scan, step_table
from ettlog.parse import format as formats_of
from ettlog.parse.event_rows import Event
from ettlog.parse.event_table import EventTable
from ettlog.parse.parsed import Limits, Parsed, ScanOptions
from ettlog.parse.step_table import StepTable
from tests.conftest import ROOT
from tests.ingesting import tree

FIXTURES = sorted(
    path for path in (ROOT / "fixtures").glob("*/logs/**/*") if path.suffix in (".out", ".log", ".err", ".txt")
)


def read(path: Path, block: int, zone: str = "UTC") -> Parsed:
    """Scan a file in blocks of a size."""
    return scan.scan(path, formats_of.load_all(()), ScanOptions(zone=zone, limits=Limits(block=block)))


@pytest.fixture
def no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no row stay in memory, and events come in twos or threes."""
    monkeypatch.setattr(chunks, "KEPT_ROWS", 0)
    monkeypatch.setattr(step_table, "KEPT_ROWS", 0)
    monkeypatch.setattr(facts, "FLUSH", 2)


def everything(parsed: Parsed) -> tuple[bytes, bytes, dict[str, int], dict[str, str]]:
    """Return what must not hang on memory: the Parquet files of steps and events, the counts, the identity."""
    return parquet("step", parsed.steps), parquet("event", parsed.events), parsed.lines, parsed.hints


def hard(folder: Path, seed: int) -> Path:
    """Write a log of launches whose steps come in chunks: undated ones, bars with totals, tiers, an interval of ten."""
    rng, lines = random.Random(seed), []
    for launch in range(4):
        lines.append(
            f"[2031-05-06 0{launch}:00:00,000] torch.distributed.run: [WARNING] Setting OMP_NUM_THREADS environment "
            "variable for each process to be 1 in default, to avoid your system being overloaded"
        )
        style = rng.randrange(3)
        for step in range(rng.randrange(1, 60)):
            if rng.random() < 0.1:
                lines.append(f"[2031-05-06 0{launch}:{step:02d}:30,000] noise with a clock")
            if style == 0:
                lines.append(
                    f" iteration {10 * step:8d}/    1000 | consumed samples: {step * 64:12d} | "
                    f"elapsed time per iteration (ms): {rng.randrange(900, 1100)}.5 | learning rate: 1.0E-04 |"
                )
            elif style == 1:
                lines.append(
                    f"{step:3d}%|####      | {step}/60 [00:{step:02d}<00:{59 - step:02d},  1.0{step % 10}s/it]"
                )
            else:
                lines.append(
                    f" [2031-05-06 0{launch}:{step:02d}:00] iteration {step:8d}/    1000 | "
                    f"consumed samples: {step * 64:12d} | "
                    f"elapsed time per iteration (ms): 1000.{step % 10} | learning rate: 1.0E-04 |"
                )
            if rng.random() < 0.05:
                lines.append("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB")
    path = folder / "hard.log"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("seed", range(6))
def test_steps_on_disk_are_those_in_memory(tmp_path: Path, seed: int, request: pytest.FixtureRequest) -> None:
    """A log of undated steps, bars and failures gives the same bytes when each chunk of a few steps waits on disk."""
    path = hard(tmp_path, seed)
    expected = read(path, 700)
    assert expected.steps.num_rows > 5
    told = everything(expected)
    request.getfixturevalue("no_memory")
    found = read(path, 700)
    assert isinstance(found.steps, StepTable)
    assert isinstance(found.events, EventTable)
    assert everything(found) == told
    assert found.steps.to_pylist() == expected.steps.to_pylist()
    assert found.events.to_pylist() == expected.events.to_pylist()


@pytest.mark.parametrize("path", FIXTURES[:: max(1, len(FIXTURES) // 12)], ids=lambda path: path.name)
def test_fixtures_on_disk_are_those_in_memory(path: Path, request: pytest.FixtureRequest) -> None:
    """Every twelfth of the example logs reads the same, chunk by chunk."""
    told = everything(read(path, 2048))
    request.getfixturevalue("no_memory")
    assert everything(read(path, 2048)) == told


def test_a_confined_worker_may_let_steps_wait_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes that may write temporary files only read what is too much for memory; the lake is that of one."""
    logs = tmp_path / "logs"
    logs.mkdir()
    for seed in range(2):
        hard(tmp_path, seed).rename(logs / f"{seed}.log")
    ingest([logs], tmp_path / "one", options=IngestOptions(workers=1))
    monkeypatch.setattr(workers, "serve", serve_without_memory)
    assert ingest([logs], tmp_path / "two", options=IngestOptions(workers=2)).states == {"new": 2}
    assert tree(tmp_path / "two") == tree(tmp_path / "one")


def serve_without_memory(pipe: object, format_dirs: object, roots: object, parent: int) -> None:
    """Serve like a worker in which no row stays in memory."""
    chunks.KEPT_ROWS = 0
    setattr(step_table, "KEPT_ROWS", 0)  # noqa: B010
    workers.serve(pipe, format_dirs, roots, parent)  # type: ignore[arg-type]


def test_chunks_are_read_as_they_came_as_often_as_one_likes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows come in parts of five at least, the last ones as they are; types stay; empty chunks leave nothing."""
    monkeypatch.setattr(chunks, "KEPT_ROWS", 5)
    held = chunks.Chunks()
    parts = [np.arange(3), np.arange(2), np.arange(0), np.arange(4), np.arange(1), np.arange(2)]
    for part in parts:
        held.add((part.astype(np.int64), part.astype(np.int8)))
    assert held.rows == 12
    for _ in range(2):
        found = list(held)
        assert [column.tolist() for column, _ in found] == [[0, 1, 2, 0, 1], [0, 1, 2, 3, 0], [0, 1]]
        assert all(wide.dtype == np.int64 and narrow.dtype == np.int8 for wide, narrow in found)
        assert all(wide.flags.writeable for wide, _ in found)
        assert [end[0].tolist() for end in held.ends()] == [[0, 1, 2, 0, 1], [0, 1]]


@pytest.mark.parametrize(
    "numbers",
    [[7, 7, 7], [-3, 252], [-3, 253], [0, 65_535], [0, 65_536], [5, 2**32 + 4], [5, 2**32 + 5], [-(2**63), 2**63 - 1],
     [-(2**63), 7, -(2**63), 9], [-(2**63), -3, 251], [-(2**63), -3, 252], [9, -(2**63)], [-(2**63)] * 3,
     [-(2**63), 1 - 2**63, 4 - 2**63], [-(2**63), 5, 2**32 + 3], [-(2**63), 5, 2**32 + 4]],
)  # fmt: skip
def test_numbers_of_any_width_come_back(monkeypatch: pytest.MonkeyPatch, numbers: list[int]) -> None:
    """Constants, and spans at the edges of one, two, four and eight bytes, are what they were; single columns too."""
    monkeypatch.setattr(chunks, "KEPT_ROWS", 0)
    held = chunks.Chunks()
    held.add((np.array(numbers, np.int64), np.arange(len(numbers), dtype=np.int16)))
    assert [column.tolist() for chunk in held for column in chunk] == [numbers, list(range(len(numbers)))]
    assert [chunk[0].tolist() for chunk in held.some((1,))] == [list(range(len(numbers)))]


@pytest.mark.parametrize(
    ("numbers", "size"),
    [([5, 260], 1), ([5, 261], 2), ([-(2**63), 5, 259], 1), ([-(2**63), 5, 260], 2), ([-(2**63), 5, 2**40], 8)],
)
def test_a_column_takes_as_many_bytes_as_its_span_asks_for(numbers: list[int], size: int) -> None:
    """What is missing takes one of the values of a type and does not widen it; where all are alike nothing is left."""
    rest = chunks.narrow(np.array(numbers, np.int64)).rest
    assert rest is not None and rest.itemsize == size
    assert chunks.narrow(np.full(3, -(2**63))).rest is None


def test_a_full_disk_is_an_error_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where temporary files have no room, the reader hears so: its file is rejected, not half read."""

    def full(**_more: object) -> object:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(chunks, "KEPT_ROWS", 0)
    monkeypatch.setattr("tempfile.TemporaryFile", full)
    with pytest.raises(OSError, match="No space"):
        chunks.Chunks().add((np.arange(3),))


def test_words_of_other_batches_are_in_the_dictionary_of_each(no_memory: None) -> None:  # noqa: ARG001
    """Batches of different patterns share one dictionary, as the columns of one table do."""
    path = next(path for path in FIXTURES if path.parent.parent.name == "tiny" and path.suffix == ".out")
    table = read(path, 512).steps
    assert isinstance(table, StepTable)
    batches = list(table.batches())
    assert len(batches) > 1
    assert len({tuple(batch["pattern"].dictionary.to_pylist()) for batch in batches}) == 1
    assert pa.Table.from_batches(batches).num_rows == table.num_rows


def test_one_step_stands_for_all_between_two_marks() -> None:
    """Of a million steps of one pattern between two marked lines, one line is kept a stretch and marked line."""
    line, at = np.arange(1, 1_000_001), np.array([10, 500_000])
    for cuts in ([], [10], [11, 500_001], [3, 400_000, 999_999]):
        parts = np.split(line, cuts)
        lines, patterns = passes._one_of_each(((part, np.full_like(part, 2)) for part in parts), at, 3)
        assert lines.tolist() == [1, 10, 11, 500_000, 500_001]
        assert patterns.tolist() == [2] * 5


def test_texts_of_events_come_back_in_memory_and_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts of any letters, empty ones and none lie where they were, the first ones in memory; read twice."""
    monkeypatch.setattr(chunks, "KEPT_ROWS", 3)
    names: list[list[str | None]] = [["a", "", None], ["ü", None], [None, None], ["", "long" * 60, "z"]]
    rows = event_rows.EventRows()
    line = 0
    for part in names:
        events = []
        for name in part:
            line += 1
            events.append(Event(line, 0, line, 0, 0, {} if name is None else {"name": name}))
        rows.add(events)
    for _ in range(2):
        found = [text for _, texts in rows.parts() for text in texts.to_pylist()]
        assert found == [name for part in names for name in part]
        next(rows.parts())  # a pass that ends early must not disturb the next one


def test_a_few_more_events_lie_behind_those_of_their_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of events on lines 2, 5, 5 | 5, 9 with more on 1, 5 and 12: each new one stands behind all of its line."""
    for kept in (100, 0):
        monkeypatch.setattr(chunks, "KEPT_ROWS", kept)
        rows = event_rows.EventRows()
        for part in ([2, 5, 5], [5, 9]):
            rows.add([Event(line, 0, 7, 0, 0, {"name": f"old {line}", "node": "n"}) for line in part])
        more = [Event(line, 0, 8, 0, 0, {"step": line}) for line in (12, 5, 1)]
        parts = list(rows.parts(more))
        assert [line for numbers, _ in parts for line in numbers[event_rows.LINE].tolist()] == [
            1, 2, 5, 5, 5, 5, 9, 12
        ]  # fmt: skip
        assert [text for _, texts in parts for text in texts.to_pylist()] == [
            None, "old 2", "old 5", "old 5", "old 5", None, "old 9", None
        ]  # fmt: skip
