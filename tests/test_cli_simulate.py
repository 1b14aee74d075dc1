"""`ettlog simulate` as a user runs it."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import polars as pl
from click.testing import CliRunner

from ettlog.cli import app
from ettlog.errors import EttlogError, UsageError
from tests.ingesting import tree

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

FEW = ["--seed", "5", "-M", "2", "-J", "3", "-D", "20"]


def run(*args: str) -> tuple[int, str, BaseException | None]:
    """Run the command and return its exit code, what it says, and its error."""
    result = CliRunner().invoke(app, ["simulate", *args])
    return result.exit_code, result.stderr, result.exception


def test_it_writes_logs_and_truth_and_says_so(tmp_path: Path) -> None:
    """The folder holds logs with configuration and registry, and the truth; the totals of the worlds are there."""
    code, said, _ = run("-o", str(tmp_path / "out"), *FEW)
    assert code == 0
    assert said.startswith("3 jobs, ")
    assert {path.name for path in (tmp_path / "out" / "logs").glob("*.t*")} == {
        "ettlog.toml", "optimizations.toml", "sacct-alder.txt", "sacct-birch.txt",
    }  # fmt: skip
    totals = pl.read_csv(tmp_path / "out" / "truth" / "counterfactuals.csv")
    worlds = {"as is", "none", "without parallel-init", "only parallel-init"}
    assert worlds <= set(totals["world"])
    # the work is the same in every world
    trained = totals.filter(pl.col("component") == "effective_training")
    assert trained["us"].n_unique() == 1


def test_the_same_seed_writes_the_same_folder(tmp_path: Path) -> None:
    """Two runs leave equal files, faults included."""
    for name in ("a", "b"):
        assert run("-o", str(tmp_path / name), *FEW, "-J", "8", "--faults", "torn,gzip,duplicated")[0] == 0
    one, other = (
        {path.relative_to(tmp_path / name): path.read_bytes() for path in (tmp_path / name).rglob("*.*")}
        for name in ("a", "b")
    )
    assert one == other
    assert any(path.suffix == ".gz" for path in one)


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    """Logs of two fleets are never mixed: the command refuses and writes nothing."""
    (tmp_path / "old.txt").write_text("old")
    _, _, error = run("-o", str(tmp_path), *FEW)
    assert isinstance(error, UsageError)
    assert [path.name for path in tmp_path.iterdir()] == ["old.txt"]


def test_an_unknown_fault_is_named(tmp_path: Path) -> None:
    """A misspelt fault is told with those that there are."""
    _, _, error = run("-o", str(tmp_path / "out"), *FEW, "--faults", "tron")
    assert isinstance(error, UsageError)
    assert "torn" in str(error)


def test_what_an_interrupted_run_left_is_written_anew(tmp_path: Path) -> None:
    """A folder that says it is unfinished counts as empty, whatever parts it holds; one with other files does not."""
    assert run("-o", str(tmp_path / "sound"), *FEW)[0] == 0
    left = tmp_path / "left"
    for name in ("truth", ".unfinished/logs"):
        (left / name).mkdir(parents=True)
        (left / name / "half.csv").write_text("job,mod")
    assert run("-o", str(left), *FEW)[0] == 0
    assert tree(left) == tree(tmp_path / "sound")
    (left / ".unfinished").mkdir()
    (left / "mine.txt").write_text("kept")
    assert isinstance(run("-o", str(left), *FEW)[2], UsageError)
    assert (left / "mine.txt").read_text() == "kept"
    assert (left / "truth/jobs.csv").exists()


def test_a_full_disk_leaves_no_part_of_a_fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the disk refuses is told in four parts, and the folder that was made for it is gone."""
    real, writes = os.write, []

    def refuse(handle: int, data: bytes) -> int:
        writes.append(handle)
        if len(writes) > 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(handle, data)

    monkeypatch.setattr(os, "write", refuse)
    code, _, error = run("-o", str(tmp_path / "out"), *FEW)
    monkeypatch.undo()
    assert isinstance(error, EttlogError)
    assert (error.exit_code, error.why, code) == (1, "No space left on device", 1)
    assert len(writes) == 4
    assert list(tmp_path.iterdir()) == []
