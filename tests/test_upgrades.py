"""Lakes of every released version open, and the next ingest brings them up to date; later ones are refused politely."""

from __future__ import annotations

import json
import shutil
import zlib
from pathlib import Path

import pytest

import ettlog
from ettlog import manifest
from ettlog.cli import main
from ettlog.ingest import IngestOptions
from ettlog.lake import Lake
from tests.conftest import ROOT
from tests.ingesting import tree

LAKES = ROOT / "fixtures/lakes"
"""One lake a released version, named by it, which that version made of `fixtures/tiny/logs`."""
LOGS = ROOT / "fixtures/tiny/logs"
RELEASED = sorted(item.name for item in LAKES.iterdir() if item.is_dir())


@pytest.fixture(params=RELEASED)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a copy of a lake that a released version wrote."""
    return Path(shutil.copytree(LAKES / request.param, tmp_path / "lake"))


def test_there_is_a_lake_of_every_release() -> None:
    """Every version the changelog names has its lake here."""
    lines = (ROOT / "CHANGELOG.md").read_text().splitlines()
    named = [line.split("[")[1].split("]")[0] for line in lines if line.startswith("## [") and "Unreleased" not in line]
    assert sorted(named) == RELEASED


def test_a_lake_of_an_earlier_release_opens_and_answers(old: Path) -> None:
    """Its files are whole, and its three jobs held 9.60 GPU-hours, as the sheet of the tiny fleet sums them."""
    assert Lake.open(old, verify=True).problems() == []
    jobs = ettlog.jobs(ettlog.open(old))
    assert jobs.height == 3
    assert json.loads(json.dumps(sorted(jobs["job"].to_list()))) == ["finch-7b", "robin-1b", "wren-3b"]


def test_the_next_ingest_makes_it_a_lake_of_today(old: Path, tmp_path: Path) -> None:
    """After it, facts and account are those of a lake made now, and a further ingest changes nothing."""
    alone = IngestOptions(workers=1)
    report = ettlog.ingest([LOGS], old, options=alone)
    assert set(report.states) <= {"skipped", "reparsed"}
    ettlog.ingest([LOGS], tmp_path / "new", options=alone)
    assert facts(old) == facts(tmp_path / "new")
    before = tree(old)
    ettlog.ingest([LOGS], old, options=alone)
    assert tree(old) == before


def facts(lake: Path) -> dict[str, bytes]:
    """Return the data files of a lake."""
    return {name: data for name, data in tree(lake).items() if "/" in name}


@pytest.mark.parametrize("words", [["status"], ["ett"], ["check"], ["ingest", str(LOGS)]], ids=lambda words: words[0])
def test_a_lake_of_a_later_version_is_refused_and_left_alone(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each command ends with 1 and an error in four parts that says to update, and no byte of the lake changes."""
    lake = Path(shutil.copytree(LAKES / RELEASED[-1], tmp_path / "lake"))
    body = json.dumps({"v": 999, "op": "add", "path": "logs/a"}).encode()[:-1]
    with (lake / manifest.NAME).open("ab") as stream:
        stream.write(body + b',"crc":"%08x"}\n' % zlib.crc32(body))
    before = facts(lake) | {manifest.NAME: (lake / manifest.NAME).read_bytes()}
    with pytest.raises(SystemExit) as ended:
        main([*words, "--lake", str(lake)])
    said = capsys.readouterr().err
    assert ended.value.code == 1
    assert "newer ettlog" in said
    assert all(f"\n  {part}:" in said for part in ("where", "why", "do"))
    assert facts(lake) | {manifest.NAME: (lake / manifest.NAME).read_bytes()} == before
