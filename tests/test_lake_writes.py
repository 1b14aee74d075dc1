"""In which order a lake is written, what is healed before and removed after, and what opening it refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ettlog import durable, lake, manifest, packing
from ettlog.errors import LakeError
from ettlog.manifest import SourceEntry
from tests.test_lake import KEY_A, KEY_B, events, put


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """Return a lake of one source."""
    with lake.writer(tmp_path / "lake") as writer:
        put(writer, "logs/a", KEY_A)
        writer.flush()
    return tmp_path / "lake"


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """Return the changes of the disk that are asked for from now on, with the name of what they change."""
    told: list[tuple[str, Any]] = []

    def watched(name: str, say: Callable[..., Any]) -> None:
        real = getattr(durable, name)

        def call(*args: Any) -> Any:
            told.append((name, say(*args)))
            return real(*args)

        monkeypatch.setattr(durable, name, call)

    watched("publish", lambda files: [f"{file.folder.name}/{file.name[:1]}" for file in files])
    watched("sync_folder", lambda folder: folder.name)
    watched("append", lambda path, data: (path.name, data.count(b"\n")))
    watched("truncate", lambda path, size: (path.name, size))
    watched("replace_file", lambda _folder, name, data: (name, data.count(b"\n")))
    return told


def test_facts_and_their_names_are_durable_before_they_are_listed(made: Path, calls: list[tuple[str, Any]]) -> None:
    """Files, then each folder once, then all lines at once; nothing more at the next flush."""
    with lake.writer(made) as writer:
        calls.clear()
        data = packing.parquet("event", events(1))
        writer.publish(KEY_B, {"event": data, "step": b"s"})
        writer.publish("c" * 32, {"event": data})
        writer.add(
            SourceEntry(
                "add", "logs/b", KEY_B, files={"event": packing.describe(data, 1), "step": packing.describe(b"s", 1)}
            )
        )
        writer.add(SourceEntry("add", "logs/c", "c" * 32, files={"event": packing.describe(data, 1)}))
        assert sorted(writer.state.current) == ["logs/a", "logs/b", "logs/c"]
        writer.flush()
        expected = [
            ("publish", ["event/b", "step/b", "event/c"]), ("sync_folder", "event"), ("sync_folder", "step"),
            ("append", ("manifest.jsonl", 2)),
        ]  # fmt: skip
        assert calls == expected
        writer.flush()
        writer.add(SourceEntry("remove", "logs/b"))
        writer.flush()
        assert calls == [*expected, ("append", ("manifest.jsonl", 1))]
    assert lake.Lake.open(made, verify=True).problems() == []


def test_what_a_line_no_longer_stands_for_is_removed_at_the_end(made: Path, calls: list[tuple[str, Any]]) -> None:
    """Superseded facts go when the ingest ends, durably; a lake without leftovers is not touched."""
    with lake.writer(made) as writer:
        assert calls == []
        writer.add(SourceEntry("remove", "logs/a"))
        writer.flush()
        assert (made / f"event/{KEY_A}.parquet").exists()
        calls.clear()
    assert not (made / f"event/{KEY_A}.parquet").exists()
    assert calls == [("sync_folder", "event")]


def test_a_leftover_that_is_gone_already_is_no_error_and_one_that_stays_is_named(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else may have removed it; a folder of that name cannot be removed, and the first one is told."""
    with lake.writer(made) as writer:
        monkeypatch.setattr(lake, "_leftovers", lambda *_: [made / "event/gone"])
        assert writer.sweep() == 1
        for name in ("one", "two"):
            (made / f"event/{name}").mkdir()
        monkeypatch.setattr(lake, "_leftovers", lambda *_: [made / "event/one", made / "event/two"])
        with pytest.raises(LakeError, match="cannot remove a leftover") as caught:
            writer.sweep()
        monkeypatch.undo()
    assert caught.value.where == str(made / "event/one")


def test_a_new_lake_has_its_folders_and_an_empty_manifest_at_once(tmp_path: Path, calls: list[tuple[str, Any]]) -> None:
    """Who opens it then finds a lake without sources; tables are as readable for the group as the lake."""
    folder = tmp_path / "new/lake"
    with lake.writer(folder):
        assert lake.Lake.open(folder).sources() == []
        assert {item.name for item in folder.iterdir()} == {"event", "step", "alloc", "lock", "manifest.jsonl"}
    assert ("append", ("manifest.jsonl", 0)) in calls
    (folder / "step").rmdir()
    folder.chmod(0o750)
    with lake.writer(folder):
        assert (folder / "step").stat().st_mode & 0o777 == 0o750


def test_the_end_of_a_manifest_is_healed_once(made: Path, calls: list[tuple[str, Any]]) -> None:
    """A sound one is left alone; a missing newline is added, half a line cut off, a damaged line left out."""
    path = made / manifest.NAME
    whole = path.read_bytes()
    cases: list[tuple[bytes, list[tuple[str, Any]]]] = [
        (whole, []),
        (whole[:-1], [("append", (path.name, 1))]),
        (whole + b'{"v"', [("truncate", (path.name, len(whole)))]),
        (b"?\n" + whole, [("replace_file", (path.name, 1)), ("sync_folder", "lake")]),
    ]
    for text, expected in cases:
        path.write_bytes(text)
        calls.clear()
        with lake.writer(made):
            assert (path.read_bytes(), calls) == (whole, expected)


def test_a_manifest_that_cannot_be_read_is_told_by_reader_and_writer(made: Path) -> None:
    """A folder in its place has no lines; the error names it."""
    (made / manifest.NAME).unlink()
    (made / manifest.NAME).mkdir()
    with pytest.raises(LakeError, match="this folder is not a lake"):
        lake.Lake.open(made)
    with pytest.raises(LakeError, match="cannot read the manifest") as caught, lake.writer(made):
        pass
    assert caught.value.where == str(made / manifest.NAME)


def test_a_reader_is_told_that_the_disk_fails(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of the system while the manifest is read names the manifest."""

    def broken(_path: Path) -> manifest.State:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(manifest, "read", broken)
    with pytest.raises(LakeError, match="cannot read the manifest") as caught:
        lake.Lake.open(made)
    assert caught.value.where == str(made / manifest.NAME)


@pytest.mark.parametrize(
    ("looks", "newer", "tries", "opens"),
    [
        ([[]], False, 1, True),
        ([["bad"], []], True, 2, True),
        ([["bad"], ["bad"], []], True, 3, True),
        ([["bad"], ["bad"], ["bad"], []], True, 3, False),
        ([["bad"], []], False, 1, False),
        ([[], ["bad"]], True, 1, True),
    ],
)
def test_facts_that_an_ingest_replaced_meanwhile_are_looked_at_again(
    made: Path, monkeypatch: pytest.MonkeyPatch, looks: list[list[str]], newer: bool, tries: int, opens: bool
) -> None:
    """Where the manifest grew between two looks the lake is read anew, three times at most; else damage is damage."""
    seen = iter(looks)
    count = [0]

    def damage(*_: object) -> list[str]:
        count[0] += 1
        return next(seen)

    monkeypatch.setattr(lake, "_damage", damage)
    if newer:
        monkeypatch.setattr(lake, "_size", lambda _path: -7)
    if opens:
        assert lake.Lake.open(made).damage == []
    else:
        with pytest.raises(LakeError, match="not what its manifest says") as caught:
            lake.Lake.open(made)
        assert caught.value.where == f"{made}: bad"
    assert count == [tries]


def test_an_empty_data_file_is_there_and_too_short(made: Path) -> None:
    """It is told apart from one that is missing."""
    path = made / f"event/{KEY_A}.parquet"
    size = path.stat().st_size
    path.write_bytes(b"")
    assert lake.Lake.open(made, strict=False).problems() == [
        f"event/{KEY_A}.parquet: 0 bytes where the manifest says {size}"
    ]
    path.write_bytes(b"x" * size)
    assert lake.Lake.open(made).damage == []
    assert lake.Lake.open(made, verify=True, strict=False).damage == [
        f"event/{KEY_A}.parquet: its SHA-256 is not the manifest's"
    ]
    with lake.writer(made) as writer:
        assert writer.broken(writer.state.current["logs/a"])
    path.unlink()
    with lake.writer(made) as writer:
        assert writer.broken(writer.state.current["logs/a"])


def test_a_link_of_the_right_length_is_no_data_file(made: Path) -> None:
    """The length of a link is that of the words in it."""
    with lake.writer(made) as writer:
        writer.publish(KEY_B, {"step": b"12345"})
        writer.add(SourceEntry("add", "logs/b", KEY_B, files={"step": packing.describe(b"12345", 1)}))
        writer.flush()
    assert lake.Lake.open(made).damage == []
    path = made / f"step/{KEY_B}.parquet"
    path.unlink()
    path.symlink_to("there")
    assert lake.Lake.open(made, strict=False).damage == [f"step/{KEY_B}.parquet: 5 bytes where the manifest says 5"]


def test_a_lake_that_others_can_write_is_neither_opened_nor_written(made: Path) -> None:
    """Who can write there can put any facts in it."""
    made.chmod(0o777)
    with pytest.raises(LakeError, match="not trusted"):
        lake.Lake.open(made)
    with pytest.raises(LakeError, match="not trusted"):
        lake.make(made)
    with pytest.raises(LakeError, match="not trusted"), lake.writer(made):
        pass


def test_each_folder_that_is_no_lake_says_why(tmp_path: Path) -> None:
    """None is there, nothing is in it, something else is in it, or shards that were not merged yet."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "shards/shard/1-of-2").mkdir(parents=True)
    cases = {
        "none": "there is no lake here", "empty": "this folder is not a lake",
        "shards": "the shards of this lake are not merged yet",
    }  # fmt: skip
    for name, what in cases.items():
        with pytest.raises(LakeError, match=what) as caught:
            lake.Lake.open(tmp_path / name)
        assert caught.value.where == str(tmp_path / name)
    assert "1 shard(s)" in caught.value.why


def test_a_folder_is_made_a_lake_only_where_nothing_of_others_is(tmp_path: Path) -> None:
    """What an interrupted first ingest left is its own; of other files the first by name is told."""
    folder = tmp_path / "lake"
    folder.mkdir(mode=0o700)
    for name in ("lock", f"{durable.TEMP_MARK}1-x", "ettlog.toml", "optimizations.toml"):
        (folder / name).write_text("")
    (folder / "event").mkdir()
    lake.make(folder)
    for name in ("zebra", "ant"):
        (folder / name).write_text("")
    with pytest.raises(LakeError, match="not a lake and not empty") as caught:
        lake.make(folder)
    assert "'ant'" in caught.value.why
    (folder / manifest.NAME).write_text("")
    lake.make(folder)  # with a manifest it is a lake, whatever else lies in it


def test_copies_lie_in_the_lake_under_their_names(made: Path) -> None:
    """A configuration and a registry are found when they are files, and nothing before."""
    opened = lake.Lake.open(made)
    assert (opened.config_path, opened.registry_path, opened.registry_text) == (None, None, None)
    (made / lake.CONFIG_NAME).write_text("")
    (made / lake.REGISTRY_NAME).write_text("")
    assert (opened.config_path, opened.registry_path) == (made / "ettlog.toml", made / "optimizations.toml")
    assert opened.files("event") == [(KEY_A, made / f"event/{KEY_A}.parquet")]
    assert opened.files("step") == []


def test_only_what_lies_in_the_lake_itself_is_a_leftover(made: Path) -> None:
    """A folder that is missing holds nothing; behind a link in its place lie files of somebody else."""
    other = made.parent / "other"
    other.mkdir()
    (other / f"{KEY_B}.parquet").write_bytes(b"mine")
    (made / "alloc").rmdir()
    assert lake.Lake.open(made).leftovers() == []
    (made / "alloc").symlink_to(other)
    assert lake.Lake.open(made).leftovers() == []
    (made / "step" / f"{KEY_B}.parquet").write_bytes(b"left")
    assert lake.Lake.open(made).leftovers() == [made / f"step/{KEY_B}.parquet"]
