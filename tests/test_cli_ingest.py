"""The command line from logs to answers: what an ingest says, what it returns, and what the questions then find."""

from __future__ import annotations

import io
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from ettlog import tasks, workers
from tests.conftest import ROOT
from tests.test_cli import process, run

MESSY = str(ROOT / "fixtures/messy/logs")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Read the messy logs by the command, and return the lake with the account of the ingest."""
    path = tmp_path_factory.mktemp("cli") / "lake"
    result = process(["ingest", MESSY, "--workers", "1", "--lake", str(path)])
    assert result.returncode == 0, result.stderr
    assert result.stdout == ""
    return path, result.stderr


def account(text: str) -> dict[str, str]:
    """Return the lines of an account by their titles."""
    return {line[:10].strip(): line[10:] for line in text.splitlines() if line[:1].strip()}


def frame(lake: Path, *args: str) -> pl.DataFrame:
    """Return the answer of a command as a frame."""
    result = run(*args, "--lake", str(lake), "--format", "csv", "-q")
    assert result.exit_code == 0, result.stderr
    return pl.read_csv(io.StringIO(result.stdout))


def test_account_covers_files_lines_jobs_and_the_next_command(lake: tuple[Path, str]) -> None:
    """The closing account counts files by fate and lines by outcome, and ends with what to type next."""
    said = account(lake[1])
    assert said["files"] == "12 new, 1 duplicate; the lake holds 12"
    # Of the 181 lines, 156 are known, 1 is a header, 19 are of no format; 4 were meant to be read and could not be.
    lines = "181: 156 matched, 1 ignored, 19 unmatched, 1 bad_time, 1 bad_record, 1 duplicate, 2 torn"
    assert said["lines"] == lines
    assert said["jobs"] == "11 jobs, 8 starts in the lake"
    assert said["identity"].startswith("job by file name (12)")  # no template, no generic name among the twelve
    assert said["unclaimed"].startswith("1: ")
    assert said["next"] == f"ettlog ett --by model --lake {lake[0]}"
    assert "read as UTC" in lake[1]


def test_account_shows_log_text_as_text(lake: tuple[Path, str]) -> None:
    """The samples of unmatched lines hold escapes and markup; stderr shows them without effect."""
    path, _ = lake
    again = process(["ingest", MESSY, "--workers", "1", "--lake", str(path.parent / "other"), "-v"])
    assert "\x1b" not in again.stderr
    assert "\u202e" not in again.stderr
    assert "=HYPERLINK" in again.stderr


def test_reading_again_skips_everything(lake: tuple[Path, str]) -> None:
    """A second run of the same command reads nothing."""
    said = account(process(["ingest", MESSY, "--workers", "1", "--lake", str(lake[0])]).stderr)
    assert said["files"] == "13 skipped; the lake holds 12"
    assert "lines" not in said


def test_quiet_says_nothing(lake: tuple[Path, str]) -> None:
    """With -q an ingest without trouble is silent on both streams."""
    result = process(["ingest", MESSY, "--workers", "1", "--lake", str(lake[0]), "-q"])
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.parametrize(("limit", "code"), [("4", 0), ("3", 3), ("1%", 3), ("50%", 0)])
def test_too_many_rejected_lines_are_exit_3(tmp_path: Path, limit: str, code: int) -> None:
    """Four of 181 lines could not be read: one bad time, one bad record, two torn ones."""
    result = process(
        ["ingest", MESSY, "--workers", "1", "--lake", str(tmp_path / "lake"), "--max-rejected", limit, "-q"]
    )
    assert result.returncode == code
    assert ("--max-rejected" in result.stderr) == (code == 3)


def test_limit_that_is_no_number_is_a_usage_error(tmp_path: Path) -> None:
    """A limit is a number or a share."""
    result = process(["ingest", MESSY, "--workers", "1", "--lake", str(tmp_path / "lake"), "--max-rejected", "few"])
    assert result.returncode == 2
    assert not (tmp_path / "lake").exists()


def test_dry_run_reads_nothing(tmp_path: Path) -> None:
    """A dry run lists each file with its state and size, and makes no lake."""
    result = process(["ingest", MESSY, "--workers", "1", "--lake", str(tmp_path / "lake"), "--dry-run"])
    assert "new\t200\tlogs/unclaimed.log" in result.stdout.splitlines()
    assert len(result.stdout.splitlines()) == 13
    assert not (tmp_path / "lake").exists()


def test_missing_folder_is_a_usage_error_with_a_way_out(tmp_path: Path) -> None:
    """Logs that are not there are named, without a traceback."""
    result = process(["ingest", str(tmp_path / "nowhere"), "--lake", str(tmp_path / "lake")])
    assert result.returncode == 2
    assert "nowhere" in result.stderr
    assert "Traceback" not in result.stderr


def test_empty_folder_leads_on(tmp_path: Path) -> None:
    """A folder without logs is no error, but the next command is another ingest; then there is no data."""
    (tmp_path / "logs").mkdir()
    lake = ["--lake", str(tmp_path / "lake")]
    result = process(["ingest", str(tmp_path / "logs"), *lake])
    assert result.returncode == 0
    assert account(result.stderr)["next"].startswith("ettlog ingest")
    for command in (["ett"], ["jobs"], ["attribute"]):
        answer = process([*command, *lake])
        assert answer.returncode == 5, answer.stderr
        assert "do:" in answer.stderr
    assert process(["status", *lake]).returncode == 0


def test_status_accounts_for_every_line(lake: tuple[Path, str]) -> None:
    """The outcomes of each file add up to its lines, and copies and strangers are named below the table."""
    sources = frame(lake[0], "status")
    outcomes = ["matched", "ignored", "unmatched", "bad_time", "bad_record", "duplicate", "long", "torn"]
    assert sources.select(pl.sum_horizontal(outcomes)).to_series().to_list() == sources["n_lines"].to_list()
    shown = process(["status", "--lake", str(lake[0])]).stdout
    assert "logs/glued.log is a copy of logs/copy_of_glued.log" in shown
    assert "in no known format: logs/unclaimed.log" in shown


def test_rotated_log_is_one_job_with_one_start(lake: tuple[Path, str]) -> None:
    """Two parts of one log make one start of twenty steps, and its segments tile its wall."""
    job = frame(lake[0], "jobs", "-j", "rotated*").row(0, named=True)
    assert (job["starts"], job["end_state"]) == (1, "completed")
    segments = frame(lake[0], "timeline", "rotated/pretrain")
    assert segments["duration_us"].sum() == job["wall_us"]
    assert segments["begin_at"].to_list()[1:] == segments["end_at"].to_list()[:-1]


def test_sql_answers_selects_only(lake: tuple[Path, str]) -> None:
    """A select is answered from the relations, also when it comes from stdin; anything else is a usage error."""
    query = "select count(*) as n from job"
    assert frame(lake[0], "sql", query)["n"].to_list() == [11]
    assert process(["sql", "-", "--lake", str(lake[0]), "--format", "csv"], text=query).stdout == "n\n11\n"
    for bad in ("drop table job", "select * from nosuch", "selec", ""):
        assert process(["sql", bad, "--lake", str(lake[0])]).returncode == 2


def test_schema_needs_no_lake(tmp_path: Path) -> None:
    """The relations explain themselves without any log."""
    result = process(["schema", "segment", "--format", "csv"], cwd=tmp_path)
    assert "segment,begin_us,BIGINT," in result.stdout
    assert process(["schema", "nosuch"], cwd=tmp_path).returncode == 2


def test_check_finds_no_defect(lake: tuple[Path, str]) -> None:
    """The invariants hold on the messy logs; what is unknown is a warning, not an error."""
    result = process(["check", "--lake", str(lake[0])])
    assert result.returncode == 0
    assert " 0 errors" in result.stdout.splitlines()[0]


def test_check_finds_a_flipped_bit_and_a_missing_file(lake: tuple[Path, str], tmp_path: Path) -> None:
    """A damaged data file is an error with its name and exit code 1, though its size is right; so is a missing one."""
    copy = tmp_path / "lake"
    shutil.copytree(lake[0], copy)
    damaged, missing = sorted((copy / "event").iterdir())[:2]
    data = bytearray(damaged.read_bytes())
    data[len(data) // 2] ^= 1
    damaged.write_bytes(data)
    missing.unlink()
    result = process(["check", "--lake", str(copy)])
    assert result.returncode == 1
    assert " 2 errors" in result.stdout.splitlines()[0]
    assert damaged.name in result.stdout
    assert missing.name in result.stdout


@pytest.mark.parametrize("count", [1, 1000], ids=["one line", "every line"])
def test_a_damaged_manifest_is_no_smaller_fleet(lake: tuple[Path, str], tmp_path: Path, count: int) -> None:
    """Where lines of the manifest are damaged, `check` names each and exits 1, and no question is answered."""
    copy = tmp_path / "lake"
    shutil.copytree(lake[0], copy)
    path = copy / "manifest.jsonl"
    lines = path.read_text().count("\n")
    path.write_text(path.read_text().replace('"op"', '"oq"', count))
    result = process(["check", "--lake", str(copy)])
    assert result.returncode == 1
    assert f" {min(count, lines)} error" in result.stdout.splitlines()[0]
    assert "manifest.jsonl:1" in result.stdout
    for words in (["status"], ["ett"], ["jobs"]):
        asked = process([*words, "--lake", str(copy)])
        assert asked.returncode == 1
        assert f"{min(count, lines)} line(s) of this lake's manifest are damaged" in asked.stderr


def test_check_warns_of_what_an_interrupted_ingest_left(lake: tuple[Path, str], tmp_path: Path) -> None:
    """A data file that the manifest does not list is a warning: it is never read."""
    copy = tmp_path / "lake"
    shutil.copytree(lake[0], copy)
    stranger = copy / "event" / f"{0:032x}.parquet"
    stranger.write_bytes(b"")
    result = process(["check", "--lake", str(copy)])
    assert result.returncode == 0
    assert stranger.name in result.stdout


def test_logged_leaves_out_jobs_of_the_scheduler_alone(lake: tuple[Path, str]) -> None:
    """Three of the eleven jobs are known from accounting only."""
    assert frame(lake[0], "ett")["jobs"].to_list() == [11]
    assert frame(lake[0], "ett", "--logged")["jobs"].to_list() == [8]


def test_closed_pipe_ends_without_a_word(lake: tuple[Path, str]) -> None:
    """A reader that leaves early makes no noise."""
    command = (
        f"'{sys.executable}' -m ettlog sql 'select * from range(200000)' --lake '{lake[0]}' --format csv | head -1"
    )
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (result.stdout, result.stderr) == ("range\n", "")


def test_interrupt_is_exit_130_without_a_traceback() -> None:
    """Ctrl-C during a long query ends with one word."""
    code = "import os, signal, ettlog, ettlog.cli; ettlog.open = lambda path: os.kill(os.getpid(), signal.SIGINT); "
    code += "import sys; sys.argv[1:] = ['jobs']; ettlog.cli.main()"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert result.returncode == 128 + signal.SIGINT
    assert result.stderr.strip() == "ettlog: interrupted"


def test_a_file_whose_reader_died_makes_exit_code_3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who looks at the exit code alone learns that a file is missing for no fault of its own."""

    def read(task: tasks.Task, _formats: object) -> tasks.Answer:
        return tasks.Answer(task.name, tasks.REJECTED, reason=f"{tasks.LOST[0]} died (SIGKILL)")

    monkeypatch.setattr(workers, "read", read)
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/a.log").write_text("a word\n")
    result = run("ingest", str(tmp_path / "logs"), "--lake", str(tmp_path / "lake"), "--workers", "1", "-q")
    assert result.exit_code == 3
    assert result.stderr == "ettlog: not read, for no fault of the file: logs/a.log\n"
