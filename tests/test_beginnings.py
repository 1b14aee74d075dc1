"""A log that one lake read before it grew, and another one after: merged, no fact of it is there twice."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from ettlog import beginnings, manifest, packing, shards
from ettlog.errors import LakeError
from ettlog.held import Held
from ettlog.ingest import ingest
from ettlog.lake import Lake
from ettlog.manifest import SourceEntry, State
from ettlog.merge import merge
from ettlog.schema import TABLES, arrow_schema
from tests.ingesting import ALONE, accounting, tree


def lake_of(folder: Path, **texts: str) -> Path:
    """Write logs (`_` stands for a dot in their names), and ingest them into a lake of their own."""
    logs = folder / "logs"
    logs.mkdir(parents=True)
    for name, text in texts.items():
        (logs / name.replace("_", ".")).write_text(text)
    ingest([logs], folder / "lake", options=ALONE)
    return folder / "lake"


@pytest.mark.parametrize("order", [1, -1])
def test_a_log_that_grew_and_was_rotated_is_kept_once(tmp_path: Path, order: int) -> None:
    """The lake of the last state is the merged one, byte for byte, in whichever order the two are named."""
    early = lake_of(tmp_path / "early", a_log=accounting(1, 2))
    late = lake_of(tmp_path / "late", a_log_1=accounting(1, 2, 3))
    merge([early, late][::order], tmp_path / "out")
    assert tree(tmp_path / "out") == tree(late)


def test_the_log_that_took_the_name_of_a_rotated_one_is_another(tmp_path: Path) -> None:
    """Two files of one name are no error where a third one is the older of them, grown."""
    early = lake_of(tmp_path / "early", a_log=accounting(1, 2))
    late = lake_of(tmp_path / "late", a_log_1=accounting(1, 2, 3), a_log=accounting(9))
    for order in (1, -1):
        merge([early, late][::order], tmp_path / f"out{order}")
        assert tree(tmp_path / f"out{order}") == tree(late)


def test_a_log_that_grew_under_its_name_is_taken_as_read_later(tmp_path: Path) -> None:
    """Two lakes read one file at different times, and neither saw the other's text."""
    early = lake_of(tmp_path / "early", a_log=accounting(1, 2))
    late = lake_of(tmp_path / "late", a_log=accounting(1, 2, 3))
    for order in (1, -1):
        merge([early, late][::order], tmp_path / f"out{order}")
        assert tree(tmp_path / f"out{order}") == tree(late)


def test_what_a_lake_holds_already_grows_and_never_shrinks(tmp_path: Path) -> None:
    """Into a lake that holds the beginning comes the rest; the beginning into a lake that holds all is skipped."""
    early = lake_of(tmp_path / "early", a_log=accounting(1), b_log=accounting(5))
    late = lake_of(tmp_path / "late", a_log_1=accounting(1, 2), b_log=accounting(5, 6))
    out = tmp_path / "out"
    merge([early], out)
    assert merge([late], out).states == {"grown": 2}
    current = Lake.open(out, verify=True).state.current
    assert {path: entry.was for path, entry in current.items()} == {"logs/a.log.1": ("logs/a.log",), "logs/b.log": ()}
    before = tree(out)
    assert merge([early], out).states == {"skipped": 1}
    assert tree(out) == before


def test_logs_that_begin_alike_are_two(tmp_path: Path) -> None:
    """One job differs before the end of the shorter: both are kept, as two files of one folder are."""
    early = lake_of(tmp_path / "early", a_log=accounting(1, 2, 4))
    late = lake_of(tmp_path / "late", a_log_1=accounting(1, 3, 4, 5))
    merge([early, late], tmp_path / "out")
    assert [entry.path for entry in Lake.open(tmp_path / "out").sources()] == ["logs/a.log", "logs/a.log.1"]


def test_a_last_line_that_was_torn_may_say_more(tmp_path: Path) -> None:
    """A line that said nothing yet is completed; one that says something else now leaves a doubt, which is told."""
    late = lake_of(tmp_path / "late", a_log_1=accounting(1, 2, 3))
    text = accounting(1, 2)
    merge([lake_of(tmp_path / "torn", a_log=text + "3"), late], tmp_path / "out")
    assert tree(tmp_path / "out") == tree(late)
    with pytest.raises(LakeError, match="counted twice") as caught:
        merge([lake_of(tmp_path / "other", a_log=accounting(1, 2, 33)), late], tmp_path / "none")
    assert ("torn" in caught.value.why, "--as" in caught.value.todo) == (True, True)
    assert tree(tmp_path / "none") == {"lock": b"", "manifest.jsonl": b""}


def test_a_shard_knows_which_logs_are_still_there(tmp_path: Path) -> None:
    """A copy that is there beside the longer log stays a source; when it is gone, it was the beginning of that."""
    logs, lake = tmp_path / "logs", tmp_path / "lake"
    logs.mkdir()
    (logs / "a.log").write_text(accounting(1))
    (logs / "a.log.1").write_text(accounting(1, 2))
    count = next(
        n for n in range(2, 99) if shards.Shard(1, n).holds("logs/a.log") != shards.Shard(1, n).holds("logs/a.log.1")
    )
    for states in ({"new": 2}, {"skipped": 1}):
        for number in range(1, count + 1):
            ingest([logs], lake, options=replace(ALONE, shard=shards.Shard(number, count)))
        assert merge([], lake).states == states
        (logs / "a.log").unlink(missing_ok=True)


def held(folder: Path, name: str, steps: Sequence[tuple[int, int | None, str, int | None]], n_lines: int) -> Held:
    """Make a source of steps: line, instant, clock and duration of each."""
    lines, instants, clocks, durations = zip(*steps, strict=True)
    values = {"line": lines, "step": lines, "ts": instants, "clock": clocks, "duration_us": durations}
    columns = {one.name: values.get(one.name, [None] * len(lines)) for one in TABLES["step"]}
    table = pa.table({name: list(column) for name, column in columns.items()}, schema=arrow_schema("step"))
    data = packing.parquet("step", table)
    key = f"{len(name):032x}"
    (folder / "step").mkdir(exist_ok=True)
    (folder / f"step/{key}.parquet").write_bytes(data)
    files = {"step": packing.describe(data, len(lines))}
    entry = SourceEntry(manifest.ADD, name, key, files=files, n_lines=n_lines, lines={"matched": len(lines)})
    return Held(Lake(folder, State()), entry)


OLD = [(1, 100, "exact", None), (2, 200, "exact", None)]


@pytest.mark.parametrize(
    ("new", "begins", "doubt"),
    [
        ([(1, 100, "exact", None), (2, 200, "exact", None), (3, 300, "exact", None)], True, ""),
        ([(1, 100, "exact", None), (2, 201, "exact", None), (3, 300, "exact", None)], False, "torn"),
        ([(1, 101, "exact", None), (2, 200, "exact", None), (3, 300, "exact", None)], False, ""),
        ([(1, 100, "exact", None), (2, 7, "carried", None), (3, 300, "exact", None)], True, ""),
        ([(1, 5, "carried", None), (2, 7, "carried", None), (3, 300, "exact", None)], False, "tell two runs apart"),
        ([(1, 5, "carried", 9), (2, 7, "carried", None), (3, 300, "exact", None)], False, ""),
    ],
)
def test_instants_that_hang_on_other_lines_may_differ(
    tmp_path: Path, new: list[tuple[int, int | None, str, int | None]], begins: bool, doubt: str
) -> None:
    """Firm instants must be equal; inferred ones may differ, but one measured value at least has to be shared."""
    verdict = beginnings.look(held(tmp_path, "a", OLD, 2), held(tmp_path, "a.1", new, 3))
    assert verdict.begins is begins
    assert bool(re.search(doubt, verdict.doubt)) if doubt else verdict.doubt == ""


def test_durations_tell_runs_apart_without_any_clock(tmp_path: Path) -> None:
    """Equal printed durations on every line are those of one run; other parsers' facts are never compared."""
    old = [(1, None, "none", 1_000_001), (2, None, "none", 1_000_007)]
    one, other = held(tmp_path, "a", old, 2), held(tmp_path, "a.1", [*old, (3, None, "none", 1_000_003)], 3)
    assert beginnings.begins(one, other)
    assert not beginnings.begins(other, one)
    assert not beginnings.begins(Held(one.lake, replace(one.entry, parser=7)), other)


def test_damaged_facts_are_not_compared(tmp_path: Path) -> None:
    """Facts whose SHA-256 is not the manifest's decide nothing."""
    one, other = held(tmp_path, "a", OLD, 2), held(tmp_path, "a.1", [*OLD, (3, 300, "exact", None)], 3)
    shutil.copy(tmp_path / f"step/{other.entry.key}.parquet", tmp_path / f"step/{one.entry.key}.parquet")
    with pytest.raises(LakeError, match="not what its manifest says"):
        beginnings.begins(one, other)
