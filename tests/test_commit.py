"""The account of an ingest, and after how many files, bytes and seconds what was read is made durable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from ettlog import packing, tasks
from ettlog.commit import Committer, FileReport, IngestReport
from ettlog.manifest import ADD, DUPLICATE, DataFile, SourceEntry, State

FACTS: dict[str, Any] = {
    "digest": "d1", "text": "", "bytes": 70, "n_lines": 9, "state": "whole", "formats": {"sacct": 5}, "parser": 1,
    "rules": "r", "lines": {"matched": 5, "unmatched": 4}, "unmatched": {"a N": 3, "b N": 1}, "inferences": ("seen",),
}  # fmt: skip


class Kept:
    """A lake's writer that only remembers."""

    def __init__(self, *entries: SourceEntry) -> None:
        """Begin with a lake of some entries."""
        self.state = State()
        for entry in entries:
            self.state.apply(entry)
        self.added: list[SourceEntry] = []
        self.published: list[str] = []
        self.flushes: list[int] = []
        self.since = 0

    def add(self, entry: SourceEntry) -> None:
        """Remember an entry."""
        self.added.append(entry)
        self.state.apply(entry)

    def broken(self, _entry: SourceEntry) -> bool:
        """Tell that no facts are damaged."""
        return False

    def publish(self, key: str, _tables: Mapping[str, bytes]) -> None:
        """Remember whose facts were written."""
        self.published.append(key)
        self.since += 1

    def flush(self) -> None:
        """Remember how many sources were written since the last time."""
        self.flushes.append(self.since)
        self.since = 0


def answer(number: int, name: str = "", **more: Any) -> tasks.Answer:
    """Return what reading a source of its own text gave."""
    told = {"key": f"{number:032x}", "facts": {**FACTS, "digest": f"d{number}"}, **more}
    return tasks.Answer(name or f"logs/{number:04}.txt", tasks.PARSED, **told)


def committed(writer: Kept, *answers: tasks.Answer) -> IngestReport:
    """Commit answers and return the account."""
    report = IngestReport()
    Committer(writer, report).take(answers)  # type: ignore[arg-type]
    return report


def test_an_account_begins_with_nothing() -> None:
    """No file, line, fact or source is counted before one was read."""
    report = IngestReport()
    numbers = (report.n_lines, report.events, report.steps, report.records, report.sources)
    assert numbers == (0, 0, 0, 0, 0)
    assert (report.states, report.unclaimed, report.rejected, report.unmatched) == ({}, [], [], [])
    assert FileReport("a", "new").claimed is True


def test_what_was_read_is_counted_by_table() -> None:
    """Lines, formats, facts by table, inferences and shapes of two sources add up; a copy of one adds only a file."""
    writer = Kept()
    tables = {"event": b"e", "step": b"st", "alloc": b"all"}
    rows = {"event": 2, "step": 30, "alloc": 4}
    report = committed(writer, answer(1, tables=tables, rows=rows), answer(2), answer(1, "logs/copy.txt"))
    assert report.states == {"new": 2, "duplicate": 1}
    assert (report.n_lines, report.events, report.steps, report.records) == (18, 2, 30, 4)
    assert (report.lines, report.formats) == ({"matched": 10, "unmatched": 8}, {"sacct": 10})
    assert report.inferences == [("logs/0001.txt", "seen"), ("logs/0002.txt", "seen")]
    assert report.unmatched == [("a N", 6), ("b N", 2)]
    assert [(one.op, one.of) for one in writer.added] == [(ADD, None), (ADD, None), (DUPLICATE, "logs/0001.txt")]
    assert writer.added[0].files["step"] == packing.describe(b"st", 30)


def test_a_file_without_a_known_line_is_unclaimed_unless_it_is_empty() -> None:
    """Of files that are new or skipped; a rejected one is told with its reason instead."""
    silent, empty = {**FACTS, "formats": {}}, {**FACTS, "formats": {}, "n_lines": 0}
    writer = Kept(SourceEntry(ADD, "logs/old.txt", "f" * 32, n_lines=3))
    report = committed(
        writer,
        answer(1, facts=silent),
        answer(2, facts=empty),
        answer(3),
        tasks.Answer("logs/old.txt", tasks.SAME, key="f" * 32),
        tasks.Answer("logs/bad.txt", tasks.REJECTED, reason="it is a door"),
    )
    assert report.unclaimed == ["logs/0001.txt", "logs/old.txt"]
    assert report.rejected == [FileReport("logs/bad.txt", "rejected", "it is a door")]
    assert report.states == {"new": 3, "skipped": 1, "rejected": 1}


def test_the_twenty_most_frequent_shapes_are_shown() -> None:
    """Of equal counts the first by the alphabet; the 21st is left out."""
    report = IngestReport()
    report.shapes.update({f"{number:02}": 5 for number in reversed(range(30))} | {"zz": 6})
    assert report.unmatched == [("zz", 6), *((f"{number:02}", 5) for number in range(19))]


@pytest.mark.parametrize(("files", "flushes"), [(64, [64, 0]), (65, [64, 1]), (130, [64, 64, 2])])
def test_sixty_four_files_are_made_durable_together(files: int, flushes: list[int]) -> None:
    """Then anew from zero; what is left goes with the end."""
    writer = Kept()
    committed(writer, *map(answer, range(files)))
    assert writer.flushes == flushes


def test_thirty_two_mebibytes_are_made_durable_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte less waits for the next file, and the count of bytes begins anew."""
    monkeypatch.setattr(packing, "describe", lambda _data, rows: DataFile("0" * 64, 1, rows))

    class Large(bytes):
        size = 0

        def __len__(self) -> int:
            return self.size

    def weighing(number: int, size: int) -> tasks.Answer:
        data = Large()
        data.size = size
        return answer(number, tables={"step": data}, rows={"step": 1})

    writer = Kept()
    limit = 32 << 20
    committed(writer, weighing(1, limit - 1), weighing(2, 1), weighing(3, limit - 1), weighing(4, 5), weighing(5, 1))
    assert writer.flushes == [2, 2, 1]


def test_what_is_older_than_two_seconds_is_made_durable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exactly two seconds are not more; the clock starts anew with each time."""
    now = 100.0
    monkeypatch.setattr("ettlog.commit.time.monotonic", lambda: now)

    def answers() -> Iterator[tasks.Answer]:
        nonlocal now
        for number, wait in enumerate((2.0, 0.1, 2.0, 0.1)):
            now += wait
            yield answer(number)

    writer = Kept()
    Committer(writer, IngestReport(), flushed=now).take(answers())  # type: ignore[arg-type]
    assert writer.flushes == [2, 2, 0]


def test_a_source_that_changed_names_what_it_supersedes() -> None:
    """Grown by the reader's word, replaced without one; facts that are written anew after damage change no entry."""
    old = SourceEntry(ADD, "logs/0001.txt", "e" * 32, digest="d0", relation="replaced", supersedes="c" * 32)
    for relation, told in (("grown", "grown"), (None, "replaced")):
        writer = Kept(old)
        report = committed(writer, answer(1, relation=relation))
        assert [(one.relation, one.supersedes) for one in writer.added] == [(told, "e" * 32)]
        assert report.states == {told: 1}
    report = committed(writer, answer(1))
    assert (len(writer.added), writer.published) == (1, [f"{1:032x}"] * 2)
    assert report.states == {"new": 1}


def test_a_copy_stands_for_facts_whose_owner_changed() -> None:
    """The first copy by name becomes their owner, with its own digest; the owner's new facts supersede the old ones."""
    owner = SourceEntry(
        ADD, "logs/0001.txt", "e" * 32, digest="d0", bytes=5, n_lines=7, relation="grown", supersedes="a" * 32
    )
    copies = [
        SourceEntry(DUPLICATE, f"logs/{name}", "e" * 32, digest=name, bytes=6, of="logs/0001.txt") for name in "yx"
    ]
    writer = Kept(owner, *copies)
    committed(writer, answer(1, relation="grown"))
    assert [(one.op, one.path, one.digest, one.bytes, one.n_lines, one.relation) for one in writer.added] == [
        (ADD, "logs/x", "x", 6, 7, None),
        (ADD, "logs/0001.txt", "d1", 70, 9, "grown"),
    ]
    committed(writer, answer(2, "logs/y", relation="grown"))  # a copy that changes takes no facts from anybody
    assert [one.path for one in writer.added[2:]] == ["logs/y"]


def test_a_rotated_log_ends_the_entries_it_began_with() -> None:
    """The longest names what is superseded; a copy of a beginning that is there still stands for its facts."""
    short, long = (SourceEntry(ADD, f"logs/{name}", name * 32, digest=name) for name in "ab")
    twin = SourceEntry(DUPLICATE, "logs/twin", "b" * 32, digest="t", of="logs/b")
    other = SourceEntry(DUPLICATE, "logs/copy", "c" * 32, digest="o", of="logs/c")
    writer = Kept(short, long, twin, other)
    committed(writer, answer(1, was=("logs/a", "logs/gone", "logs/b")))
    assert [(one.path, one.was, one.supersedes, one.relation) for one in writer.added] == [
        ("logs/twin", (), None, None),
        ("logs/0001.txt", ("logs/a", "logs/b"), "b" * 32, "grown"),
    ]
    assert sorted(writer.state.current) == ["logs/0001.txt", "logs/copy", "logs/twin"]
