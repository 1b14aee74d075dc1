"""Shards and merged lakes: whoever read what, the lake is the one that a single ingest makes, byte for byte."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from ettlog import manifest, shards
from ettlog.errors import LakeError, UsageError
from ettlog.ingest import IngestOptions, IngestReport, ingest
from ettlog.lake import Lake
from ettlog.merge import merge
from ettlog.schema import PARSER_VERSION
from tests.conftest import ROOT
from tests.examples import few
from tests.ingesting import ALONE, accounting, make_logs, tree

ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT)}


def in_shards(logs: Path, lake: Path, count: int, order: list[int] | None = None) -> None:
    """Ingest a folder in shards, in an order."""
    for number in order or range(1, count + 1):
        ingest([logs], lake, options=replace(ALONE, shard=shards.Shard(number, count)))


def merged(lake: Path) -> dict[str, bytes]:
    """Merge the shards of a lake and return its files without those of the shards."""
    merge([], lake)
    return {name: data for name, data in tree(lake).items() if not name.startswith(f"{shards.FOLDER}/")}


def many(tmp_path: Path) -> Path:
    """Make logs with copies of equal bytes, settings and a registry, and return their folder."""
    logs = make_logs(tmp_path)
    for n in range(10):
        (logs / f"n{n}.txt").write_text(accounting(n // 2, n // 2 + 50))  # each text twice
    (logs / "ettlog.toml").write_text('[clock]\nzone = "Europe/Berlin"\n')
    (logs / "optimizations.toml").write_text("# none\n")
    return logs


@pytest.mark.parametrize("order", [[1, 2, 3, 4, 5], [5, 3, 1, 4, 2]])
def test_shards_merge_into_the_lake_of_one_ingest(tmp_path: Path, order: list[int]) -> None:
    """Five shards in any order hold each file once, and their merge is the single ingest with its order and copies."""
    logs = many(tmp_path)
    report = ingest([logs], tmp_path / "one", options=ALONE)
    in_shards(logs, tmp_path / "lake", 5, order)
    held = [name for n in order for name in Lake.open(shards.Shard(n, 5).lake(tmp_path / "lake")).state.current]
    assert sorted(held) == sorted(file.name for file in report.files)
    assert merged(tmp_path / "lake") == tree(tmp_path / "one")


def test_more_shards_than_files_leave_empty_ones(tmp_path: Path) -> None:
    """A shard without a file is a lake without sources, and is merged like any other."""
    logs = make_logs(tmp_path)
    ingest([logs], tmp_path / "one", options=ALONE)
    in_shards(logs, tmp_path / "lake", 9)
    assert merged(tmp_path / "lake") == tree(tmp_path / "one")


def test_the_account_of_a_merge_is_that_of_one_ingest(tmp_path: Path) -> None:
    """States, lines, formats and inferences are counted as if everything had been read here."""
    logs = many(tmp_path)
    one = ingest([logs], tmp_path / "one", options=ALONE)
    in_shards(logs, tmp_path / "lake", 3)
    report = merge([], tmp_path / "lake")
    assert report == IngestReport(**{name: getattr(one, name) for name in vars(one)})
    assert merge([], tmp_path / "lake").states == {"skipped": 13}


def test_racing_processes_and_a_killed_one_give_the_same_lake(tmp_path: Path) -> None:
    """Four processes at once, one of them killed and started again, then the merge: the bytes of one ingest."""
    logs = many(tmp_path)
    ingest([logs], tmp_path / "one", options=ALONE)
    command = [sys.executable, "-m", "ettlog", "ingest", str(logs), "--lake", str(tmp_path / "lake"), "--workers", "1"]
    racing = [
        subprocess.Popen([*command, "-q", "--shard", f"{number}/4"], env=ENVIRONMENT, cwd=tmp_path)
        for number in range(1, 5)
    ]
    racing[2].send_signal(signal.SIGKILL)
    assert [process.wait() for process in racing] == [0, 0, -signal.SIGKILL, 0]
    with pytest.raises(LakeError, match="1 of 4 shards") as caught:
        merge([], tmp_path / "lake")
    assert "3/4" in caught.value.why
    subprocess.run([*command, "-q", "--shard", "3/4"], env=ENVIRONMENT, cwd=tmp_path, check=True)
    assert merged(tmp_path / "lake") == tree(tmp_path / "one")


def test_an_interrupted_shard_is_not_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shard that had ended once and whose next ingest broke off is named, not merged half."""
    logs = many(tmp_path)
    in_shards(logs, tmp_path / "lake", 2)

    def broken(*_args: object, **_more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ettlog.workers.run", broken)
    with pytest.raises(KeyboardInterrupt):
        in_shards(logs, tmp_path / "lake", 2, [2])
    monkeypatch.undo()
    with pytest.raises(LakeError) as caught:
        merge([], tmp_path / "lake")
    assert "2/2 has not ended" in caught.value.why
    in_shards(logs, tmp_path / "lake", 2, [2])
    ingest([logs], tmp_path / "one", options=ALONE)
    assert merged(tmp_path / "lake") == tree(tmp_path / "one")


@pytest.mark.parametrize("operation", ["write", "fsync", "link"])
def test_an_interrupted_merge_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: str) -> None:
    """Whatever operation is the last, at whichever place, merging again gives the bytes of one ingest."""
    logs = many(tmp_path)
    ingest([logs], tmp_path / "one", options=ALONE)
    in_shards(logs, tmp_path / "lake", 3)
    real, counts = getattr(os, operation), range(3 if operation == "fsync" else 7)
    for last in counts:  # seven texts differ, so that each operation is needed more often than that
        lake, left = tmp_path / f"lake{last}", [last]
        shutil.copytree(tmp_path / "lake", lake)

        def stop(*args: object, left: list[int] = left) -> object:
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt
            return real(*args)

        monkeypatch.setattr(os, operation, stop)
        with pytest.raises(KeyboardInterrupt):
            merge([], lake)
        monkeypatch.undo()
        assert merged(lake) == tree(tmp_path / "one")


@pytest.mark.parametrize("seed", range(8))
def test_nights_of_growing_and_rotating_logs_merge_like_one_lake(tmp_path: Path, seed: int) -> None:
    """Files appear, grow, change, are copied and rotated: each night shards and a merge equal an ingest of the folder.

    A log that grew and was rotated, perhaps into another shard, is the one that is gone.
    The relations (grown, replaced), superseded keys, duplicates and who stands for them are in the compared bytes.
    """
    rng = random.Random(seed)
    logs, count = tmp_path / "logs", rng.randrange(1, 7)
    logs.mkdir()
    for _ in range(3):
        for _ in range(rng.randrange(1, 8)):
            change(logs, rng)
        ingest([logs], tmp_path / "one", options=ALONE)
        in_shards(logs, tmp_path / "lake", count, rng.sample(range(1, count + 1), count))
        assert merged(tmp_path / "lake") == tree(tmp_path / "one")


def test_what_changed_twice_between_two_merges_is_related_to_what_was_merged(tmp_path: Path) -> None:
    """A file that grew in two nights has grown since the merge; one that was replaced and then grew is replaced."""
    logs, lake = make_logs(tmp_path), tmp_path / "lake"
    in_shards(logs, lake, 2)
    merge([], lake)
    first = {path: entry.key for path, entry in Lake.open(lake).state.current.items()}
    (logs / "sub/b.txt").write_text(accounting(9))
    for job in (4, 5):
        for name in ("a.txt", "sub/b.txt"):
            with (logs / name).open("a") as stream:
                stream.write(accounting(job).split("\n", 1)[1])
        in_shards(logs, lake, 2)
    assert merge([], lake).states == {"grown": 1, "replaced": 1, "skipped": 1}
    now = Lake.open(lake, verify=True).state.current
    assert {path: entry.relation for path, entry in now.items() if entry.relation} == {
        "logs/a.txt": "grown",
        "logs/sub/b.txt": "replaced",
    }
    assert all(now[path].supersedes == first[path] for path in ("logs/a.txt", "logs/sub/b.txt"))


def change(logs: Path, rng: random.Random) -> None:
    """Change one file of a folder."""
    name = logs / f"{rng.choice('abcdef')}.txt"
    turn = rng.randrange(5)
    if turn == 0 and name.exists():
        with name.open("a") as stream:
            stream.write(accounting(rng.randrange(100)).split("\n", 1)[1])
    elif turn == 1 and name.exists():
        name.rename(name.with_name(name.name + ".1"))
    elif turn == 2 and name.exists():
        shutil.copy(name, logs / f"{rng.choice('uvwxyz')}.txt")
    else:
        name.write_text(accounting(*rng.sample(range(5), rng.randrange(1, 3))))


@settings(max_examples=few(15), deadline=None, phases=[Phase.generate])
@given(split=st.lists(st.integers(0, 2), min_size=13, max_size=13), swap=st.booleans())
def test_lakes_of_any_split_of_the_files_merge_into_one(
    tmp_path_factory: pytest.TempPathFactory, split: list[int], swap: bool
) -> None:
    """Lists of files, dealt to three lakes at will, merge into the lake of the whole folder."""
    folder = tmp_path_factory.mktemp("split")
    logs = many(folder)
    ingest([logs], folder / "one", options=ALONE)
    files = sorted(path for path in logs.rglob("*") if path.is_file() and path.suffix != ".toml")
    parts = [folder / f"part{number}" for number in range(3)]
    for number, part in enumerate(parts):
        share = tuple(path for path, at in zip(files, split, strict=True) if at == number)
        ingest([logs], part, options=replace(ALONE, files=share))
    merge(parts[::-1] if swap else parts, folder / "lake")
    assert tree(folder / "lake") == tree(folder / "one")


def test_a_file_read_by_two_lakes_is_taken_in_its_later_state(tmp_path: Path) -> None:
    """Of two readings of one file the one that superseded the other stands, whatever their order."""
    logs = make_logs(tmp_path)
    ingest([logs], tmp_path / "old", options=ALONE)
    shutil.copytree(tmp_path / "old", tmp_path / "new")
    (logs / "a.txt").write_text(accounting(1, 2, 3))
    ingest([logs], tmp_path / "new", options=ALONE)
    ingest([logs], tmp_path / "one", options=ALONE)
    for name, parts in (("up", ["old", "new"]), ("down", ["new", "old"])):
        merge([tmp_path / part for part in parts], tmp_path / name)
        assert tree(tmp_path / name) == tree(tmp_path / "one")


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    """Two clusters whose folders have one name would replace each other's facts: nothing is written."""
    for name in ("east", "west"):
        (tmp_path / name / "logs").mkdir(parents=True)
        (tmp_path / name / "logs/a.txt").write_text(accounting(len(name), name == "east"))
        ingest([tmp_path / name / "logs"], tmp_path / f"{name}.lake", options=ALONE)
    with pytest.raises(LakeError) as caught:
        merge([tmp_path / "east.lake", tmp_path / "west.lake"], tmp_path / "out")
    assert (caught.value.where, "--as" in caught.value.todo) == ("logs/a.txt", True)
    assert not (tmp_path / "out").exists()


def test_lakes_of_other_options_formats_and_parsers_are_refused(tmp_path: Path) -> None:
    """The error names the difference; --mixed keeps both sorts of facts beside each other."""
    one, two = tmp_path / "one", tmp_path / "two"
    for number, (name, options) in enumerate((("one", ALONE), ("two", replace(ALONE, steps="none")))):
        (tmp_path / f"logs{number}").mkdir()
        (tmp_path / f"logs{number}/a.txt").write_text(accounting(number))
        ingest([tmp_path / f"logs{number}"], tmp_path / name, options=options)
    with pytest.raises(LakeError, match="not made in the same way") as caught:
        merge([one, two], tmp_path / "out")
    assert "options" in caught.value.why
    entry = Lake.open(two).sources()[0]
    parsers = f"version {PARSER_VERSION} and 99"
    for other, word in (({"rules": "0" * 12 + entry.rules[12:]}, "format files"), ({"parser": 99}, parsers)):
        (two / manifest.NAME).write_bytes(manifest.encode(replace(entry, **other)))
        with pytest.raises(LakeError) as caught:
            merge([one, two], tmp_path / "out")
        assert word in caught.value.why
    assert merge([one, two], tmp_path / "out", mixed=True).states == {"new": 2}
    with pytest.raises(LakeError, match="not made in the same way"):
        merge([one], tmp_path / "out")


def test_different_settings_are_refused(tmp_path: Path) -> None:
    """Lakes with different copies of the configuration are not those of one ingest; --mixed takes the first one."""
    for number, zone in enumerate(("UTC", "Asia/Tokyo")):
        logs = tmp_path / f"logs{number}"
        logs.mkdir()
        (logs / "a.txt").write_text(accounting(number))
        (logs / "ettlog.toml").write_text(f'[clock]\nzone = "{zone}"\n')
        ingest([logs], tmp_path / f"{number}.lake", options=ALONE)
    parts = [tmp_path / "0.lake", tmp_path / "1.lake"]
    with pytest.raises(LakeError, match=r"different copies of ettlog\.toml"):
        merge(parts, tmp_path / "out")
    merge(parts, tmp_path / "out", mixed=True)
    assert (tmp_path / "out/ettlog.toml").read_text() == '[clock]\nzone = "UTC"\n'


def test_damaged_facts_are_not_merged(tmp_path: Path) -> None:
    """A data file that changed without changing its length is noticed by its checksum."""
    logs = make_logs(tmp_path)
    ingest([logs], tmp_path / "part", options=ALONE)
    victim = next((tmp_path / "part/alloc").iterdir())
    data = victim.read_bytes()
    victim.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(LakeError, match="not what its manifest says") as caught:
        merge([tmp_path / "part"], tmp_path / "out")
    assert victim.name in caught.value.where


def test_a_lake_is_not_merged_into_itself_and_nothing_is_no_part(tmp_path: Path) -> None:
    """Both are told with what to do."""
    logs = make_logs(tmp_path)
    ingest([logs], tmp_path / "lake", options=ALONE)
    with pytest.raises(UsageError, match="into itself"):
        merge([tmp_path / "lake"], tmp_path / "lake/../lake")
    with pytest.raises(LakeError, match="nothing to merge"):
        merge([], tmp_path / "lake")


def test_shards_of_two_numbers_are_not_merged(tmp_path: Path) -> None:
    """Two shards and three shards hold the same files: which ones are meant is not guessed."""
    logs = make_logs(tmp_path)
    in_shards(logs, tmp_path / "lake", 2)
    in_shards(logs, tmp_path / "lake", 3, [1])
    with pytest.raises(LakeError, match="different numbers"):
        merge([], tmp_path / "lake")


def test_a_lake_that_is_in_shards_only_says_so(tmp_path: Path) -> None:
    """Before the merge no answer is given from a part of the fleet; as a part, all its shards are merged."""
    logs = make_logs(tmp_path)
    in_shards(logs, tmp_path / "lake", 2)
    with pytest.raises(LakeError, match="not merged yet") as caught:
        Lake.open(tmp_path / "lake")
    assert "ettlog merge" in caught.value.todo
    ingest([logs], tmp_path / "one", options=ALONE)
    merge([tmp_path / "lake"], tmp_path / "out")
    assert tree(tmp_path / "out") == tree(tmp_path / "one")


def test_what_a_shard_could_not_read_is_told_by_the_merge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that one of many hosts rejected is in the account of the merge, with its reason."""
    logs = make_logs(tmp_path)
    real = os.open

    def closed(path: str, *args: int, **more: int) -> int:
        if str(path).endswith("a.txt"):
            raise PermissionError(13, "Permission denied")
        return real(path, *args, **more)

    monkeypatch.setattr(os, "open", closed)
    in_shards(logs, tmp_path / "lake", 2)
    monkeypatch.undo()
    assert [(file.name, file.why) for file in merge([], tmp_path / "lake").rejected] == [
        ("logs/a.txt", "Permission denied")
    ]


def test_a_folder_of_other_files_is_never_made_a_lake_of_shards(tmp_path: Path) -> None:
    """A shard's lake is made inside a new folder or a lake only."""
    logs = make_logs(tmp_path)
    (tmp_path / "home").mkdir()
    (tmp_path / "home/letter.txt").write_text("dear")
    with pytest.raises(LakeError, match="not a lake and not empty"):
        in_shards(logs, tmp_path / "home", 1)
    assert tree(tmp_path / "home") == {"letter.txt": b"dear"}


@pytest.mark.parametrize("text", ["0/4", "5/4", "1/0", "1", "a/b", "1/4/2", "-1/4", "1/9999999", ""])
def test_what_is_no_shard_is_refused(text: str) -> None:
    """Shards count from 1 to N; the error says so."""
    with pytest.raises(UsageError) as caught:
        shards.parse(text)
    assert "from 1 to N" in caught.value.why


def test_shards_are_stable_and_even() -> None:
    """A name's shard is that of SHA-256, the same everywhere, and 16 shards of 16,000 names differ by few percent."""
    # sha256("logs/a.txt") begins with 37eb... : computed by sha256sum
    digest = subprocess.run(["sha256sum"], input=b"logs/a.txt", capture_output=True, check=True).stdout.split()[0]
    expected = int(digest[:16], 16) % 16 + 1
    assert [n for n in range(1, 17) if shards.Shard(n, 16).holds("logs/a.txt")] == [expected]
    names = [f"logs/node{n}/rank.log" for n in range(16_000)]
    sizes = [sum(map(shards.Shard(n, 16).holds, names)) for n in range(1, 17)]
    assert sum(sizes) == 16_000
    assert 850 < min(sizes) <= max(sizes) < 1150  # 1000 each, five standard deviations of 31 either way


def test_the_end_of_a_shard_is_one_line_of_json(tmp_path: Path) -> None:
    """Other tools can see whether a shard has ended, what it could not read, and which of its logs are gone."""
    logs = make_logs(tmp_path)
    in_shards(logs, tmp_path / "lake", 1)
    assert json.loads((tmp_path / "lake/shard/1-of-1/done").read_text()) == {
        "shard": "1/1",
        "rejected": [],
        "gone": [],
    }


def test_options_of_an_ingest_know_no_shard_by_default() -> None:
    """Without the flag everything is read."""
    assert IngestOptions().shard is None
