"""The command line of shards and merges: what each says, and what is refused."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from ettlog.cli import app
from tests.ingesting import make_logs, tree


def run(*words: str | Path) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(app, [str(word) for word in words])


def test_shards_and_their_merge_tell_what_they_hold_and_what_is_next(tmp_path: Path) -> None:
    """A shard tells its own files and no jobs, the merge those of all; each names the next command."""
    logs, lake = make_logs(tmp_path), tmp_path / "lake"
    told = [run("ingest", logs, "--lake", lake, "--shard", f"{n}/2", "--workers", "1") for n in (1, 2)]
    assert all(result.exit_code == 0 and f"next      ettlog merge --lake {lake}" in result.stderr for result in told)
    assert not any("jobs  " in result.stderr for result in told)
    assert sum(int(result.stderr.split("holds ")[1].split()[0]) for result in told) == 3
    result = run("merge", "--lake", lake)
    assert result.exit_code == 0
    assert "files     3 new; the lake holds 3" in result.stderr
    assert "jobs      3 jobs" in result.stderr
    before = tree(lake)
    assert "3 skipped" in run("merge", "--lake", lake).stderr
    assert tree(lake) == before


def test_a_dry_run_of_a_shard_names_its_files_only(tmp_path: Path) -> None:
    """Both shards together name each file once, and nothing is written."""
    logs = make_logs(tmp_path)
    lines = [run("ingest", logs, "--lake", tmp_path / "lake", "--shard", f"{n}/2", "--dry-run").stdout for n in (1, 2)]
    assert sorted("".join(lines).split()) == sorted(
        ["new", "new", "new", "logs/a.txt", "logs/notes.md", "logs/sub/b.txt", *map(str, sizes(logs))]
    )
    assert not (tmp_path / "lake").exists()


def sizes(logs: Path) -> list[int]:
    """Return the lengths of the files of a folder."""
    return [item.stat().st_size for item in logs.rglob("*") if item.is_file()]


def test_nothing_to_read_is_an_error_of_usage(tmp_path: Path) -> None:
    """Neither logs nor a list: the message says what can be given."""
    result = run("ingest", "--lake", tmp_path / "lake")
    assert result.exit_code == 2
    assert "--files-from" in result.stderr
