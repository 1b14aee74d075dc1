"""The command line: what it prints where, in which form, and with which exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest
from click.testing import CliRunner, Result

import ettlog
from ettlog.cli import COMMANDS, app, main
from ettlog.cli.output import replace
from ettlog.config import Config
from ettlog.errors import EttlogError, NoDataError, UsageError
from tests import ingesting
from tests.conftest import ROOT
from tests.fakes import FakeFleet, empty_fleet, golden_fleet

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@pytest.fixture
def golden(monkeypatch: pytest.MonkeyPatch) -> FakeFleet:
    """Let every command open the golden fleet."""
    fleet = golden_fleet()
    monkeypatch.setattr(ettlog, "open", lambda _path: fleet)
    return fleet


def run(*args: str) -> Result:
    """Run a command in this process; its errors come back as they are raised."""
    return CliRunner().invoke(app, list(args), catch_exceptions=False)


def process(
    args: Sequence[str], cwd: Path = ROOT, env: dict[str, str] | None = None, text: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own, as a user does."""
    command = [sys.executable, "-m", "ettlog", *args]
    outer = {name: value for name, value in os.environ.items() if not name.startswith("ETTLOG_")}
    there = {**outer, "PYTHONPATH": str(ROOT), **(env or {})}
    return subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, env=there, input=text, timeout=60, check=False
    )


@pytest.mark.usefixtures("golden")
def test_ett_shows_components_terms_and_both_forms() -> None:
    """One table holds components with hours, share and owner, then TTS, TTR, NoF, both ETT forms and the residual."""
    lines = run("ett").stdout.splitlines()
    rows = {line.split("  ")[0]: line for line in lines if line}
    assert "60.3 %" in rows["ETT"]
    assert "69.0 %" in rows["ETT, formula"]
    assert "+" not in rows["residual"]
    assert "8.6 %" in rows["residual"]
    assert "owner: compiler" in rows["compilation"]
    assert "1 = 1 failure + 0 preemptions" in rows["NoF"]
    assert "38.7" in rows["wall"]  # 290 minutes x 8 GPUs


@pytest.mark.usefixtures("golden")
def test_ett_states_window_and_conventions_above_the_table() -> None:
    """The first lines say which window and which conventions the numbers rest on."""
    first, second, *_ = run("ett", "--window", "2h", "--ttr", "first_step").stdout.splitlines()
    assert first == "window: [1970-01-01 03:00:00, 1970-01-01 05:00:00) UTC, 2h back from the newest event"
    assert "basis allocated" in second
    assert "TTR to the first step" in second
    assert "weighted by GPUs" in second


@pytest.mark.usefixtures("golden")
def test_ett_by_model_ends_with_a_row_over_all() -> None:
    """Groups come first, the whole last."""
    lines = run("ett", "--by", "model").stdout.splitlines()
    assert lines[-2].startswith("m7")
    assert lines[-1].startswith("all")


@pytest.mark.usefixtures("golden")
def test_ett_refuses_an_unknown_grouping() -> None:
    """A word that is no grouping is a usage error that names the groupings."""
    result = run("ett", "--by", "colour")
    assert result.exit_code == 2
    assert "start-kind" in result.stderr


@pytest.mark.usefixtures("golden")
def test_data_formats_leave_sentences_to_stderr() -> None:
    """CSV on stdout is data only; window and conventions are on stderr, and nowhere with -q."""
    result = run("ett", "--format", "csv")
    header, row = result.stdout.splitlines()
    assert header.startswith("jobs,starts,failures")
    assert row.startswith("1,2,1,0,0,")
    assert result.stderr.startswith("window:")
    assert run("ett", "--format", "csv", "-q").stderr == ""


@pytest.mark.usefixtures("golden")
def test_json_holds_rows_in_base_units() -> None:
    """JSON is one object with the conventions and the rows; ratios stay ratios."""
    document = json.loads(run("ett", "--format", "json", "-q").stdout)
    assert document["rows"][0]["ett"] == pytest.approx(175 / 290)
    assert document["header"][0].startswith("window:")


@pytest.mark.usefixtures("golden")
def test_output_file_is_whole_and_its_suffix_says_the_format(tmp_path: Path) -> None:
    """-o x.parquet writes Parquet, leaves no temporary file, and keeps the old file when the command fails."""
    path = tmp_path / "x.parquet"
    assert run("ett", "-o", str(path)).stdout == ""
    assert pl.read_parquet(path)["jobs"].to_list() == [1]
    before = path.read_bytes()
    with pytest.raises(UsageError):
        run("ett", "-o", str(path), "--columns", "nothing")
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["x.parquet"]


@pytest.mark.usefixtures("golden")
def test_unwritable_output_is_a_usage_error(tmp_path: Path) -> None:
    """A folder that does not exist is refused with its path."""
    with pytest.raises(UsageError, match="nowhere"):
        run("ett", "-o", str(tmp_path / "nowhere" / "x.csv"))


def test_an_output_is_the_old_one_or_the_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk, or Ctrl-C between two calls, leaves the old file and nothing beside it."""
    path = tmp_path / "x.csv"
    replace(path, b"old")
    for refusal in (OSError(28, "No space left on device"), OSError(5, "Input/output error"), KeyboardInterrupt()):
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", raising(refusal))
            with pytest.raises((EttlogError, KeyboardInterrupt)) as caught:
                replace(path, b"new")
        if isinstance(caught.value, EttlogError):
            assert caught.value.exit_code == 1
            assert "free some space" in caught.value.todo
        assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"old"]


@pytest.mark.parametrize("name", ["manifest.jsonl", "event/x.parquet", "relations/index.json", "link"])
def test_an_output_spares_the_files_of_a_lake(tmp_path: Path, name: str) -> None:
    """What a lake keeps is not written over, also by way of a link from outside; beside it there is room."""
    ingesting.run(ingesting.make_logs(tmp_path))
    lake, before = tmp_path / "lake", (tmp_path / "lake/manifest.jsonl").read_bytes()
    (lake / "event").mkdir(exist_ok=True)
    (tmp_path / "link").symlink_to(lake / "manifest.jsonl")
    with pytest.raises(UsageError, match="belongs to a lake"):
        replace(tmp_path / name if name == "link" else lake / name, b"x")
    replace(lake / "report.html", b"page")
    assert (lake / "manifest.jsonl").read_bytes() == before
    assert (lake / "report.html").read_bytes() == b"page"


def test_an_output_goes_through_a_link_and_into_a_pipe(tmp_path: Path) -> None:
    """A link stays a link to the new bytes; a pipe, as a device, takes them and stays what it is."""
    (tmp_path / "real.csv").write_bytes(b"old")
    (tmp_path / "link.csv").symlink_to("real.csv")
    replace(tmp_path / "link.csv", b"new")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_bytes() == b"new"
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    replace(tmp_path / "pipe", b"through")
    assert os.read(reader, 99) == b"through"
    os.close(reader)
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize(("said", "code"), [("Query interrupted", 130), ("something else", None)])
def test_ctrl_c_inside_a_query_is_an_interruption(monkeypatch: pytest.MonkeyPatch, said: str, code: int | None) -> None:
    """What DuckDB raises for it ends like any Ctrl-C; other errors of its kind stay defects."""
    monkeypatch.setattr(app, "main", lambda **_more: raising(RuntimeError(said))())
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    with pytest.raises(SystemExit if code else RuntimeError) as caught:
        main(["jobs"])
    assert getattr(caught.value, "code", None) == code


def test_a_closed_stdout_is_nobody_who_reads() -> None:
    """A process that is started without stdout ends well, and says nothing on stderr."""
    command = ["/bin/sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-m", "ettlog", "--version"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def raising(error: BaseException) -> Callable[..., None]:
    """Make a function that raises, whatever it is given."""

    def refuse(*_args: object) -> None:
        raise error

    return refuse


@pytest.mark.usefixtures("golden")
def test_columns_choose_and_order() -> None:
    """--columns picks columns of the result, in the order given."""
    assert run("jobs", "--format", "csv", "-q", "--columns", "model,job").stdout == "model,job\nm7,run\n"
    assert run("jobs", "--format", "csv", "-q", "-n", "--columns", "model,job").stdout == "m7,run\n"


@pytest.mark.usefixtures("golden")
def test_timeline_shows_segments_with_evidence() -> None:
    """Each segment is a line with its start, length, part and the line of log it rests on."""
    lines = run("timeline", "run").stdout.splitlines()
    hang = next(line for line in lines if "hang" in line)
    assert "00:10:00" in hang
    assert "failure" in hang
    assert "logs/run.log:7" in hang


@pytest.mark.usefixtures("golden")
def test_timeline_begins_with_the_job_at_a_glance() -> None:
    """A line says how long and how well the job ran; a chart of letters has a row per start, ends beside it.

    The golden job: 300 minutes in 64 cells of 4.7; it queues for the first ten minutes, its recovery begins at 120.
    """
    lines = run("timeline", "run").stdout.splitlines()
    assert lines[1] == "wall 04:50:00, 2 starts, 1 failure, 0 preemptions, end completed, ETT 60.3 %"
    first, second = (line for line in lines if line.endswith(("failed", "completed")) and "  " in line and "#" in line)
    assert first.split()[:2] == ["0", "first"]
    assert first.split()[2].startswith("qq")
    assert len(first.split()[2]) == len(second.split()[2]) == 64
    assert second.split()[2].startswith(".")
    data = run("timeline", "run", "--format", "csv")
    assert "each row is a start" not in data.stdout + data.stderr


@pytest.mark.usefixtures("golden")
def test_timeline_knows_a_job_by_a_part_of_its_name() -> None:
    """A unique beginning is enough; an unknown name is refused with the names that are near."""
    assert run("timeline", "ru").exit_code == 0
    with pytest.raises(UsageError, match="near: run"):
        run("timeline", "rum")


@pytest.mark.usefixtures("golden")
def test_explain_leads_to_the_line_of_log() -> None:
    """A part of a start is explained by file, line, and what that line says."""
    row = run("explain", "run@1@hang", "--format", "csv", "-q", "--columns", "path,line,kind").stdout
    assert row == "path,line,kind\nlogs/run.log,7,worker_start\n"


def test_hostile_names_are_shown_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job name full of escapes and markup reaches the terminal as visible text only."""
    fleet = golden_fleet("[/red]\x1b[2J\u202ename")
    monkeypatch.setattr(ettlog, "open", lambda _path: fleet)
    for args in (["jobs"], ["ett", "--by", "job"], ["timeline", "name"]):
        result = run(*args)
        assert "\x1b" not in result.stdout
        assert "[/red]\\x1b[2J\\u202ename" in result.stdout


def test_no_data_is_exit_5(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lake without jobs gives no numbers but an error that leads on, with exit code 5."""
    monkeypatch.setattr(ettlog, "open", lambda _path: empty_fleet())
    for command in ("ett", "jobs"):
        with pytest.raises(NoDataError) as caught:
            run(command)
        assert caught.value.exit_code == 5
        assert "ettlog status" in caught.value.todo


def test_without_command_it_says_what_to_do_next(tmp_path: Path) -> None:
    """`ettlog` alone names ingest where there is no lake, and the questions that the lake can answer."""
    first = process([], cwd=tmp_path)
    assert first.returncode == 0
    assert "There is no lake ettlog.lake yet" in first.stdout
    assert "ettlog ingest LOGS" in first.stdout
    manifest = tmp_path / "ettlog.lake/manifest.jsonl"
    manifest.parent.mkdir()
    manifest.write_text('{"path": "logs/a.log", "formats": {}}\n{"torn')
    assert "No format knows a line" in process([], cwd=tmp_path).stdout
    manifest.write_text('{"path": "logs/a.log", "formats": {"toy": 3}}\n')
    known = process([], cwd=tmp_path).stdout
    assert "holds 1 file: 0 with a trainer" in known
    assert "optimizations.toml" in known


def test_misspelt_command_and_option_are_corrected() -> None:
    """Exit code 2, and the nearest name."""
    command = process(["atribute"])
    assert (command.returncode, "Did you mean 'attribute'" in command.stderr) == (2, True)
    option = process(["ett", "--windw", "6mo"])
    assert (option.returncode, "--window" in option.stderr) == (2, True)


def test_missing_lake_is_a_four_part_error(tmp_path: Path) -> None:
    """No traceback: what, where, why, what to do."""
    result = process(["ett"], cwd=tmp_path)
    assert result.returncode in (1, 5)
    assert "Traceback" not in result.stderr
    for part in ("where:", "why:", "do:"):
        assert part in result.stderr


@pytest.mark.parametrize("verbose", [[], ["-vv"]])
def test_defects_end_in_a_request_for_a_report(verbose: list[str]) -> None:
    """An unexpected exception is reported in four parts, with the traceback only when asked for."""
    broken = "import sys, ettlog, ettlog.cli; ettlog.open = lambda path: 1 / 0; "
    code = broken + f"sys.argv[1:] = {['jobs', *verbose]!r}; ettlog.cli.main()"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert result.returncode == 1
    assert "please report this" in result.stderr
    assert ("Traceback" in result.stderr) == bool(verbose)


def test_a_reader_that_left_ends_a_command_with_141(tmp_path: Path) -> None:
    """Written into a pipe whose reader is gone, an answer ends as SIGPIPE would end it, without a word on stderr."""
    ettlog.ingest([ROOT / "fixtures/tiny/logs"], tmp_path / "lake")
    command = [sys.executable, "-m", "ettlog", "jobs", "--lake", str(tmp_path / "lake")]
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (141, b"")


def test_closed_pipe_is_quiet() -> None:
    """`ettlog ... | head -1` ends without a word on stderr."""
    command = f"'{sys.executable}' -m ettlog ett --help | head -1"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT, check=False)
    assert result.stdout == "Usage: ettlog ett [OPTIONS]\n"
    assert result.stderr == ""


@pytest.mark.usefixtures("golden")
def test_no_colour_without_a_terminal() -> None:
    """A table that goes to a pipe holds no escape sequence."""
    assert "\x1b" not in run("ett").stdout


def test_help_is_quick() -> None:
    """`ettlog --help` takes under 0.15 s of processor time, the start of Python included, at the best of five tries."""

    def seconds() -> float:
        before = os.times()
        subprocess.run([sys.executable, "-m", "ettlog", "--help"], capture_output=True, cwd=ROOT, check=True)
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    assert min(seconds() for _ in range(5)) < 0.15


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str) -> None:
    """Both -h and --help show the same page."""
    assert run(name, "-h").stdout == run(name, "--help").stdout != ""


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_completion_names_the_program(shell: str) -> None:
    """The completion script is for ettlog."""
    assert "_ETTLOG_COMPLETE" in run("completion", shell).stdout


def test_lake_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """ETTLOG_LAKE names the lake; --lake stands above it."""
    opened: list[str] = []

    def open_fleet(path: Path) -> FakeFleet:
        opened.append(str(path))
        return golden_fleet()

    monkeypatch.setattr(ettlog, "open", open_fleet)
    monkeypatch.setenv("ETTLOG_LAKE", "from.env")
    run("jobs")
    run("jobs", "--lake", "from.flag")
    assert opened == ["from.env", "from.flag"]


def test_public_functions_survive_the_import_of_their_modules() -> None:
    """`ettlog.ett` is callable before and after the modules of the same names are imported."""
    code = "import ettlog.ett, ettlog.jobs, ettlog; print(ettlog.ett.__name__, ettlog.jobs.__name__)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert result.stdout == "ett jobs\n"


def test_errors_have_four_parts() -> None:
    """The text of an error is what, where, why and what to do, one a line."""
    error = EttlogError("a", where="b", why="c", todo="d")
    assert str(error).splitlines() == ["a", "  where: b", "  why:   c", "  do:    d"]


@pytest.mark.usefixtures("golden")
def test_options_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """ETTLOG_COMMAND_OPTION sets an option; the option itself stands above it."""
    monkeypatch.setenv("ETTLOG_ETT_BASIS", "submitted")
    assert "58.3 %" in run("ett").stdout
    assert "60.3 %" in run("ett", "--basis", "allocated").stdout


def test_configuration_sets_the_default_basis(monkeypatch: pytest.MonkeyPatch) -> None:
    """`ett.basis` of ettlog.toml is the basis where none is asked for, and the header says so."""
    fleet = golden_fleet()
    fleet.config = Config({"ett.basis": "submitted"})
    monkeypatch.setattr(ettlog, "open", lambda _path: fleet)
    shown = run("ett").stdout
    assert "58.3 %" in shown
    assert "basis submitted" in shown
    assert "60.3 %" in run("ett", "--basis", "allocated").stdout


def test_configured_owner_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """An owner that ettlog.toml names stands in the table and in the grouping."""
    fleet = golden_fleet()
    fleet.config = Config({"owners": {"compilation": "graph-team"}})
    monkeypatch.setattr(ettlog, "open", lambda _path: fleet)
    assert "owner: graph-team" in run("ett").stdout
    assert "graph-team" in run("ett", "--by", "owner").stdout
