"""The bundle for a report of a defect: counts that are right, and not a word of the user's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import ettlog
from ettlog.cli import app
from ettlog.ingest import IngestOptions, ingest
from ettlog.support import OWN
from tests.torture import canaries


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a lake of logs with canaries in lines, names of files, jobs, users and hosts."""
    folder = tmp_path_factory.mktemp("support")
    tokens = canaries.words(3)
    canaries.plant(folder / "logs", tokens)
    body = canaries.START + canaries.STEP.format(n=1)
    (folder / "logs" / f"{tokens[0]}-777001.out").write_text(body)
    row = canaries.ROW.replace("finch", tokens[1]).replace("maple", tokens[2]).replace("train", tokens[3])
    (folder / "logs" / "sacct2.txt").write_text(canaries.HEAD + f"{row}|{tokens[4]}|{tokens[5]}\n")
    ingest([folder / "logs"], folder / "lake", options=IngestOptions(workers=1))
    return folder / "lake"


def test_the_bundle_holds_no_word_of_any_log(lake: Path) -> None:
    """Of 200 words, some of them names of files, jobs, clusters and partitions, none is in the bundle."""
    said = CliRunner().invoke(app, ["support-bundle", "--lake", str(lake)])
    assert said.exit_code == 0
    tokens = canaries.words(3)
    assert not [word for word in tokens if word in said.output]
    assert "finch" not in said.output
    assert str(lake) not in said.output


def test_the_counts_are_those_of_the_lake(lake: Path) -> None:
    """Files and lines add up to what the folder holds, rows to what the tables hold."""
    told = ettlog.support_bundle(lake)
    files = [path for path in (lake.parent / "logs").iterdir() if path.is_file()]
    assert told["lake"]["sources"] == len(files)
    assert told["lake"]["stored bytes"] == sum(path.stat().st_size for path in files)
    assert sum(told["lake"]["state"].values()) == len(files)
    assert told["lake"]["rows"]["alloc"] == ettlog.open(lake).table("alloc").height
    assert told["relations"]["source"] == len(files)
    assert told["versions"]["ettlog"] == ettlog.__version__


def test_it_is_written_to_a_file(lake: Path, tmp_path: Path) -> None:
    """-o writes the same JSON."""
    CliRunner().invoke(app, ["support-bundle", "--lake", str(lake), "-o", str(tmp_path / "bundle.json")])
    assert json.loads((tmp_path / "bundle.json").read_text()) == ettlog.support_bundle(lake)


def test_names_of_own_formats_are_not_told() -> None:
    """A format that does not come with ettlog is counted under one name for all of them."""
    from ettlog.manifest import SourceEntry
    from ettlog.support import _named

    entry = SourceEntry("add", "logs/a", formats={"q7zebra": 3, "q7lion": 2, "nanogpt": 5})
    assert dict(_named(entry)) == {OWN: 5, "nanogpt": 5}
