"""A lake of pseudonyms: the same results and joins as with names, and none of the names in it."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from click.testing import CliRunner

import ettlog
from ettlog import aliases
from ettlog.cli import app
from ettlog.errors import LakeError, UsageError
from ettlog.fleet import Fleet
from ettlog.ingest import IngestOptions, ingest
from ettlog.parse.pseudonyms import Pseudonyms
from tests.conftest import ROOT
from tests.torture.canaries import stored

LOGS = ROOT / "fixtures" / "tiny" / "logs"
NAMES = ("finch", "robin", "wren")
KEY = bytes(range(32))
NAMELESS = {
    "job": ["gpus", "submit_us", "first_us", "last_us", "starts", "nof", "wall_us", "allocated_us", "effective_us"],
    "segment": ["start", "component", "part", "stage", "begin_us", "end_us", "gpus", "allocated", "inferred"],
    "checkpoint": ["k", "step", "state", "lost"],
    "allocation": ["cluster", "id", "start_us", "end_us", "gpus", "rule"],
    "link": ["what", "rule", "inferred"],
}


@pytest.fixture(scope="module")
def lakes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the tiny fleet read with names, and with pseudonyms."""
    folder = tmp_path_factory.mktemp("pseudonyms")
    ingest([LOGS], folder / "plain", options=IngestOptions(workers=1))
    ingest([LOGS], folder / "keyed", options=IngestOptions(workers=1, pseudonyms=KEY))
    return folder / "plain", folder / "keyed"


def nameless(fleet: Fleet, relation: str) -> list[tuple[object, ...]]:
    """Return the rows of a relation without the columns that hold names, in an order of their own."""
    return sorted(fleet.table(relation).select(NAMELESS[relation]).rows(), key=repr)


def test_results_and_joins_are_the_same(lakes: tuple[Path, Path]) -> None:
    """Jobs, segments, checkpoints, allocations, joins and ETT are those of the lake with names."""
    plain, keyed = (ettlog.open(lake) for lake in lakes)
    for relation in NAMELESS:
        assert nameless(plain, relation) == nameless(keyed, relation), relation
    assert ettlog.ett(plain).equals(ettlog.ett(keyed))
    assert plain.table("job").height == 3


def test_no_name_is_left(lakes: tuple[Path, Path]) -> None:
    """No job's name is in any file of the lake, nor in a value of its tables."""
    left = [(name, word) for name, data in stored(lakes[1]) for word in NAMES if word.encode() in data]
    assert not left
    assert any(word.encode() in data for _, data in stored(lakes[0]) for word in NAMES)


def test_the_page_says_so(lakes: tuple[Path, Path]) -> None:
    """The head of the report and of the status states that names are pseudonyms; with names nothing is said."""
    for lake, said in zip(lakes, (False, True), strict=True):
        shown = CliRunner().invoke(app, ["status", "--lake", str(lake)])
        assert ("names of users, hosts and jobs are pseudonyms" in shown.output) is said
        entries = ettlog.open(lake).lake.sources()  # type: ignore[union-attr]
        assert bool(aliases.told(entries)) is said


def test_names_and_pseudonyms_do_not_mix(lakes: tuple[Path, Path]) -> None:
    """A lake of pseudonyms takes no names and no other key, one of names no pseudonyms; the same key is no news."""
    plain, keyed = lakes
    for lake, key in ((plain, KEY), (keyed, None), (keyed, KEY[::-1])):
        with pytest.raises(LakeError):
            ingest([LOGS], lake, options=IngestOptions(workers=1, pseudonyms=key))
    again = ingest([LOGS], keyed, options=IngestOptions(workers=1, pseudonyms=KEY))
    assert again.states == {"skipped": 4}


def test_the_key_is_private_and_beside_the_lake(tmp_path: Path) -> None:
    """The first use makes a key of 32 bytes, 0600, the next reads it; a short or an open one is refused."""
    path = aliases.key_path(tmp_path / "a.lake")
    assert path == tmp_path / "a.lake.key"
    key = aliases.key_of(path)
    assert len(key) == 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert aliases.key_of(path) == key
    path.chmod(0o644)
    with pytest.raises(UsageError):
        aliases.key_of(path)
    short = tmp_path / "short"
    short.write_bytes(b"abc")
    short.chmod(0o600)
    with pytest.raises(UsageError):
        aliases.key_of(short)


def test_structure_stays_and_words_go() -> None:
    """Ranks, numbers, endings and sizes stay; words of one name are the same in every place."""
    names = Pseudonyms(KEY)
    job = names.name("finch")
    assert names.name("logs/finch-7b-501001.out.gz") == f"logs/{job}-7b-501001.out.gz"
    assert names.name("/ckpt/finch-7b/iter_0000100") == f"/ckpt/{job}-7b/iter_0000100"
    assert names.name("finch-worker-3") == f"{job}-worker-3"
    assert names.name("501001_3") == "501001_3"
    assert Pseudonyms(KEY[::-1]).name("finch") != job != "finch"
    assert names.event_name("forward-compute") == "forward-compute"


def test_hosts_of_one_word_and_a_number_stay_apart() -> None:
    """A million numbered nodes have a million pseudonyms: the rounds are a permutation, tried on ten thousand."""
    names = Pseudonyms(KEY)
    made = {names.name(f"node{number}") for number in range(10_000)}
    assert len(made) == 10_000
    assert names.name("node0412") not in ("node0412", "node412")


def test_pseudonyms_are_off_by_default(lakes: tuple[Path, Path]) -> None:
    """Without the option the names of the logs are the names of the lake."""
    assert set(ettlog.open(lakes[0]).table("job")["job"].str.slice(0, 4).to_list()) == {name[:4] for name in NAMES}
