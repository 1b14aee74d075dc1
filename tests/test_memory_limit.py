"""Questions take the memory that is allowed, and put the rest into a private folder that goes with the process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import ettlog
from ettlog import config, database
from ettlog.errors import LakeError, UsageError
from ettlog.ingest import IngestOptions
from tests.conftest import ROOT
from tests.ingesting import accounting


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Return a lake of one small log."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/sacct.txt").write_text(accounting(1))
    ettlog.ingest([tmp_path / "logs"], tmp_path / "lake", options=IngestOptions(workers=1))
    return tmp_path / "lake"


@pytest.mark.parametrize(("text", "mib"), [("128MiB", 128), ("4GiB", 4096), ("4 GB", 3814), ("512MB", 488)])
def test_a_size_is_read_in_both_kinds_of_units(text: str, mib: int) -> None:
    """A GiB is 1,024 MiB, a GB a thousand million bytes: 3,814.7 MiB."""
    assert config.load(flags={"limits.memory": text}, environ={}).number("limits.memory") == mib


@pytest.mark.parametrize("text", ["127MiB", "4", "4 TB", "-1GB", "lots"])
def test_a_size_that_is_none_or_too_small_is_refused(text: str) -> None:
    """What cannot be a limit is named, not rounded."""
    with pytest.raises(UsageError, match="128 MiB"):
        config.load(flags={"limits.memory": text}, environ={})


def test_a_connection_keeps_to_its_limit_and_folder(tmp_path: Path) -> None:
    """DuckDB is told the memory and a folder of this user alone below the one that was named."""
    connection = database.connect(None, memory_mib=256, spill=str(tmp_path))
    asked = "SELECT current_setting('memory_limit'), current_setting('temp_directory')"
    memory, folder = connection.execute(asked).fetchone() or ("", "")
    assert memory == "256.0 MiB"
    assert Path(folder).parent == tmp_path
    assert Path(folder).stat().st_mode & 0o777 == 0o700


def test_what_does_not_fit_into_the_folder_ends_in_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    """3 million rows of 20 bytes in an order of chance: neither 64 MiB nor 1 MiB of disk beside do; 1 GiB does."""
    rows = "SELECT hash(range) AS at, repeat('x', 20) || range AS text FROM range(3_000_000) ORDER BY 1"
    small, large = (database.connect(None, memory_mib=64, spill=str(tmp_path), spill_mib=most) for most in (1, 1024))
    with pytest.raises(LakeError, match=r"limits\.spill_size"):
        database.make(small, "sorted", rows)
    database.make(large, "sorted", rows)
    assert large.execute("SELECT count(*) FROM sorted").fetchone() == (3_000_000,)


def test_the_disk_that_questions_take_is_bounded(lake: Path) -> None:
    """10 GiB where nothing is said, else what `limits.spill_size` says, for a fleet of any lake."""
    asked = "SELECT current_setting('max_temp_directory_size')"
    for flags, size in (({}, "10.0 GiB"), ({"limits.spill_size": "256MiB"}, "256.0 MiB")):
        fleet = ettlog.open(lake, config.load(flags=flags, environ={}))
        assert fleet.connection.execute(asked).fetchone() == (size,)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    """A folder for spilling that cannot be used is an error of four parts, before anything is computed."""
    with pytest.raises(UsageError, match=r"limits\.spill"):
        database.connect(None, spill=str(tmp_path / "absent"))


def test_the_folder_goes_with_the_process(tmp_path: Path) -> None:
    """Nothing is left in the folder for spilling when the process has ended."""
    code = "import os, sys; from ettlog import database; database.connect(None, spill=sys.argv[1])"
    code += "; print(os.listdir(sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", code, tmp_path], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "ettlog-spill-" in done.stdout
    assert not list(tmp_path.iterdir())
