"""Questions take the memory that is allowed, and put the rest into a private folder that goes with the process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ettlog import config, database
from ettlog.errors import UsageError
from tests.conftest import ROOT


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
