"""The manifest: lines that prove themselves, the state they add up to, and what damage does to both."""

from __future__ import annotations

import json
import random
import zlib
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from ettlog import manifest
from ettlog.errors import LakeError
from ettlog.manifest import DataFile, SourceEntry, State
from ettlog.schema import LAKE_VERSION

KEY_A, KEY_B = "a" * 32, "b" * 32
FILE = DataFile("0" * 64, 321, 7)


def entry(path: str, key: str = KEY_A, **more: object) -> SourceEntry:
    """Make an `add` entry."""
    facts: dict[str, object] = {"digest": "d", "bytes": 10, "lines": {"matched": 2, "ignored": 1}, "n_lines": 3}
    return SourceEntry("add", path, key, **(facts | {"files": {"event": FILE}, "state": "whole", "parser": 1} | more))  # type: ignore[arg-type]


def write(folder: Path, data: bytes) -> Path:
    """Write a manifest and return its path."""
    path = folder / manifest.NAME
    path.write_bytes(data)
    return path


def signed(record: dict[str, object]) -> bytes:
    """Make a line of any record with the checksum that fits it."""
    body = json.dumps(record, separators=(",", ":")).encode()[:-1]
    return body + b',"crc":"%08x"}\n' % zlib.crc32(body)


def test_a_line_is_read_back_as_it_was_written() -> None:
    """Every field survives the way through a line."""
    whole = entry(
        "logs/a.log",
        formats={"gpt_neox": 5},
        inferences=("local times read as UTC",),
        unmatched={"x <n>": 3},
        hints={"allocation": "77"},
        first_us=1,
        last_us=2,
        clock="zone_set",
        supersedes=KEY_B,
        relation="grown",
    )
    assert manifest.decode(manifest.encode(whole)) == whole


def test_a_line_is_ascii_json_with_fixed_order_and_checksum() -> None:
    """The text of a line does not depend on the order in which maps were filled."""
    one = entry("logs/ü.log", lines={"matched": 2, "ignored": 1})
    two = entry("logs/ü.log", lines={"ignored": 1, "matched": 2})
    line = manifest.encode(one)
    assert line == manifest.encode(two)
    assert line.isascii()
    body = line[: line.rindex(b',"crc"')]
    assert json.loads(line)["crc"] == f"{zlib.crc32(body):08x}"
    assert list(json.loads(line))[:3] == ["v", "op", "path"]


def test_every_flipped_bit_of_a_line_is_noticed() -> None:
    """No change of one bit in a line gives another entry: the checksum or the JSON does not fit."""
    line = manifest.encode(entry("logs/a.log"))
    for place in range(len(line) - 1):
        flipped = line[:place] + bytes([line[place] ^ 1 << place % 8]) + line[place + 1 :]
        with pytest.raises(manifest.DamagedError):
            manifest.decode(flipped)


def test_a_manifest_cut_at_any_byte_keeps_its_whole_lines(tmp_path: Path) -> None:
    """Whatever the length a crash left, the lines before the cut count and the torn one is named."""
    first, second = manifest.encode(entry("a")), manifest.encode(entry("b", KEY_B))
    for size in range(len(first) + len(second)):
        state = manifest.read(write(tmp_path, (first + second)[:size]))
        whole = 0 if size < len(first) - 1 else 1 if size < len(first) + len(second) - 1 else 2
        assert len(state.current) == whole
        torn = size not in (0, len(first) - 1, len(first), len(first) + len(second) - 1)
        assert len(state.problems) == torn, size
        assert state.whole_bytes == (0 if size < len(first) else len(first))


def test_damage_in_the_middle_is_named_with_its_line(tmp_path: Path) -> None:
    """A bad line is left out, the others count."""
    lines = [manifest.encode(entry("a")), b"{}\n", manifest.encode(entry("c", KEY_B))]
    state = manifest.read(write(tmp_path, b"".join(lines)))
    assert sorted(state.current) == ["a", "c"]
    assert state.problems == ["manifest.jsonl:2: this line is left out: it has no checksum"]


@pytest.mark.parametrize("tail", [b"\0" * 4096, b"\xff", b'{"v":1'])
def test_a_tail_of_rubbish_is_a_torn_line(tmp_path: Path, tail: bytes) -> None:
    """What follows the last newline and is no entry is reported as torn."""
    first = manifest.encode(entry("a"))
    state = manifest.read(write(tmp_path, first + tail))
    assert list(state.current) == ["a"]
    assert "torn" in state.problems[0]
    assert state.whole_bytes == len(first)


def test_repeated_lines_and_foreign_line_ends_change_nothing(tmp_path: Path) -> None:
    """A line that stands twice, or ends with a carriage return, is the same entry."""
    line = manifest.encode(entry("a"))
    state = manifest.read(write(tmp_path, line + line + line.replace(b"\n", b"\r\n")))
    assert (list(state.current), state.problems) == (["a"], [])


def test_a_newer_layout_is_refused_politely(tmp_path: Path) -> None:
    """A line of a later version stops the reader with all four parts."""
    with pytest.raises(LakeError) as caught:
        manifest.read(write(tmp_path, signed({"v": 99, "op": "add", "path": "a", "key": KEY_A})))
    assert "newer ettlog" in caught.value.what
    assert all((caught.value.where, caught.value.why, caught.value.todo))


@pytest.mark.parametrize("path", ["/etc/passwd", "../up", "a/../../b", "", "a\0b"])
def test_a_path_that_leads_out_is_refused(tmp_path: Path, path: str) -> None:
    """A manifest from a stranger cannot name files outside."""
    state = manifest.read(write(tmp_path, signed({"v": 1, "op": "add", "path": path, "key": KEY_A})))
    assert not state.current
    assert "path" in state.problems[0]


@pytest.mark.parametrize(
    "change",
    [
        {"op": "destroy"},
        {"key": "../../../../etc/passwd"},
        {"key": KEY_A.upper()},
        {"files": {"other": {"sha256": "0" * 64, "bytes": 1, "rows": 1}}},
        {"files": {"event": {"sha256": "zz", "bytes": 1, "rows": 1}}},
        {"files": {"event": {"sha256": "0" * 64, "bytes": -1, "rows": 1}}},
        {"files": ["event"]},
        {"n_lines": -5},
        {"lines": {"matched": "many"}},
        {"surprise": 1, "bytes": "x"},
    ],
)
def test_fields_of_other_shapes_are_refused(tmp_path: Path, change: dict[str, object]) -> None:
    """A line whose checksum fits but whose fields do not is left out with a reason."""
    record = {"v": 1, "op": "add", "path": "a", "key": KEY_A} | change
    state = manifest.read(write(tmp_path, signed(record)))
    assert not state.current
    assert "left out" in state.problems[0]


def test_the_newest_entry_of_a_path_is_current(tmp_path: Path) -> None:
    """A grown file supersedes its older self, and the facts of the older one are no longer listed."""
    older, newer = entry("a"), entry("a", KEY_B, supersedes=KEY_A, relation="grown")
    state = manifest.read(write(tmp_path, manifest.encode(older) + manifest.encode(newer)))
    assert [e.key for e in state.sources()] == [KEY_B]
    assert [key for _, key, _ in state.listed()] == [KEY_B]


def test_a_removed_path_is_gone(tmp_path: Path) -> None:
    """After `remove` neither the source nor its facts are current."""
    lines = manifest.encode(entry("a")) + manifest.encode(SourceEntry("remove", "a"))
    state = manifest.read(write(tmp_path, lines))
    assert (state.sources(), list(state.listed())) == ([], [])


def test_a_duplicate_names_where_its_facts_lie_now(tmp_path: Path) -> None:
    """When the facts move on to another path, the duplicates that rest on them follow."""
    lines = [entry("b"), SourceEntry("duplicate", "c", KEY_A, of="b"), entry("a"), entry("b", KEY_B, supersedes=KEY_A)]
    state = manifest.read(write(tmp_path, b"".join(map(manifest.encode, lines))))
    assert [(e.path, e.of) for e in state.duplicates()] == [("c", "a")]
    assert [(e.path, e.key) for e in state.sources()] == [("a", KEY_A), ("b", KEY_B)]


def test_no_manifest_is_an_empty_state(tmp_path: Path) -> None:
    """A lake that was never written to has no sources and no problems."""
    state = manifest.read(tmp_path / "none.jsonl")
    assert (state.sources(), state.problems, state.size) == ([], [], 0)


def test_what_says_nothing_is_not_written() -> None:
    """Empty texts, fields without a value and an empty list of names that were are left out; counts of 0 are told."""
    line = manifest.encode(SourceEntry("remove", "logs/a.log"))
    counted = '"bytes":0,"lines":{},"n_lines":0,"files":{},"formats":{}'
    told = '"inferences":[],"unmatched":{},"hints":{},"clock":"none","parser":0'
    body = f'{{"v":{LAKE_VERSION},"op":"remove","path":"logs/a.log",{counted},{told}'.encode()
    assert line == body + b',"crc":"%08x"}\n' % zlib.crc32(body)
    assert b'"was":["logs/b.log"]' in manifest.encode(SourceEntry("add", "logs/a.log", KEY_A, was=("logs/b.log",)))


def test_a_line_without_counts_has_none() -> None:
    """A line that tells operation, path and key alone is read, with nothing counted."""
    found = manifest.decode(signed({"v": 1, "op": "add", "path": "logs/a.log", "key": KEY_A}))
    assert (found.bytes, found.n_lines, found.parser, found.lines, found.was) == (0, 0, 0, {}, ())


def test_an_entry_does_not_change() -> None:
    """Entries are shared by all that a lake is asked."""
    with pytest.raises(FrozenInstanceError):
        entry("logs/a.log").bytes = 11  # type: ignore[misc]


def test_shapes_of_lines_are_in_the_order_of_their_count_then_their_text() -> None:
    """The most frequent one first; of two that are as frequent, the one that sorts first."""
    line = manifest.encode(entry("logs/a.log", unmatched={"b": 1, "a": 1, "c": 2}))
    assert b'"unmatched":{"c":2,"a":1,"b":1}' in line


def test_a_number_that_is_none_is_not_written() -> None:
    """JSON knows no NaN, and no reader of a manifest shall have to."""
    with pytest.raises(ValueError, match="JSON"):
        manifest.encode(entry("logs/a.log", lines={"matched": float("nan")}))


@pytest.mark.parametrize("field", ["bytes", "first_us", "last_us"])
def test_the_largest_number_of_a_column_is_taken_and_the_next_is_not(field: str) -> None:
    """64 bits with a sign hold 9,223,372,036,854,775,807; an instant is a whole number."""
    record: dict[str, object] = {"v": 1, "op": "add", "path": "logs/a.log", "key": KEY_A}
    most = 9_223_372_036_854_775_807
    assert getattr(manifest.decode(signed({**record, field: most})), field) == most
    for wrong in (most + 1, 1.5, True):
        with pytest.raises(manifest.DamagedError, match="that is none"):
            manifest.decode(signed({**record, field: wrong}))


def test_a_torn_line_is_named_by_its_number_and_the_rest_measured(tmp_path: Path) -> None:
    """The third of three lines is torn: the bytes of two are whole, and none that has an end is left out."""
    lines = manifest.encode(entry("logs/a.log")) + manifest.encode(entry("logs/b.log", KEY_B))
    state = manifest.read(write(tmp_path, lines + b'{"v":1,"op"'))
    assert [text.partition(":")[2].split(":")[0] for text in state.problems] == ["3"]
    assert (state.whole_bytes, state.size, state.left_out, state.unended) == (len(lines), len(lines) + 11, 0, False)


def test_a_line_that_lacks_its_newline_alone_counts(tmp_path: Path) -> None:
    """It is whole; the next ingest ends it."""
    lines = manifest.encode(entry("logs/a.log")) + manifest.encode(entry("logs/b.log", KEY_B))[:-1]
    state = manifest.read(write(tmp_path, lines))
    assert (sorted(state.current), state.problems, state.unended) == (["logs/a.log", "logs/b.log"], [], True)


def test_chains_name_what_each_change_superseded(tmp_path: Path) -> None:
    """The second line supersedes the first; one that only half says so tells of no change; damage is passed."""
    grown = entry("logs/a.log", KEY_B, supersedes=KEY_A, relation="grown")
    lines = [entry("logs/a.log"), grown, entry("logs/c.log", relation="grown"), entry("logs/d.log", supersedes=KEY_B)]
    path = write(tmp_path, b"damaged\n".join(manifest.encode(one) for one in lines))
    assert manifest.chains(path) == {("logs/a.log", KEY_B): (KEY_A, "grown")}


def test_sound_lines_are_kept_as_they_stand_and_ended(tmp_path: Path) -> None:
    """What is damaged goes; a line with a foreign end, and one without any, end as all others do."""
    one, other = manifest.encode(entry("logs/a.log")), manifest.encode(entry("logs/b.log", KEY_B))
    path = write(tmp_path, one[:-1] + b"\r\n" + b"damaged\n" + other[:-1])
    assert manifest.sound_lines(path) == one + other


def test_an_unknown_table_is_named_by_its_first_40_characters() -> None:
    """Whatever a line holds, what is said of it stays short."""
    record = {
        "v": 1,
        "op": "add",
        "path": "a",
        "key": KEY_A,
        "files": {"x" * 41: {"sha256": "", "bytes": 0, "rows": 0}},
    }
    with pytest.raises(manifest.DamagedError) as told:
        manifest.decode(signed(record))
    assert str(told.value) == f"it names the unknown table '{'x' * 40}'"


def copies(state: State, key: str | None = None) -> list[tuple[str, str | None]]:
    """Return path and owner of the duplicates of a state, looked for among all entries."""
    found = [one for one in state.current.values() if one.op == "duplicate" and key in (None, one.key)]
    return sorted((one.path, state.owners.get(one.key, one.of)) for one in found)


@pytest.mark.parametrize("seed", range(5))
def test_duplicates_are_known_by_the_key_of_their_facts(seed: int) -> None:
    """Whatever comes in any order, those of a key are the ones that a look at every entry finds."""
    dice, state = random.Random(seed), State()
    for _ in range(300):
        path, key = f"logs/{dice.choice('abcdefgh')}", dice.choice("abc") * 32
        was = tuple(dice.sample([*state.current], dice.randrange(2) and min(1, len(state.current))))
        op = dice.choice(["add", "duplicate", "duplicate", "remove"])
        state.apply(SourceEntry(op, path, "" if op == "remove" else key, of="logs/z", was=was))
        if dice.random() < 0.1:
            state.forget(path)
        for wanted in (None, *(letter * 32 for letter in "abc")):
            assert [(one.path, one.of) for one in state.duplicates(wanted)] == copies(state, wanted)


def test_a_copy_without_facts_is_no_duplicate_any_more(tmp_path: Path) -> None:
    """The line of the facts that two logs share is damaged: neither is listed, and both logs are new again."""
    copy = SourceEntry("duplicate", "logs/b.log", KEY_A, of="logs/a.log", digest="d", state="whole")
    data = manifest.encode(entry("logs/a.log")).replace(b"whole", b"torn!") + manifest.encode(copy)
    state = manifest.read(write(tmp_path, data))
    assert (state.duplicates(), state.duplicates(KEY_A), state.current) == ([], [], {})
