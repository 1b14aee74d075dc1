"""Tables on a terminal: they fit, numbers stay whole, trends are bars, every format and shell is served."""

from __future__ import annotations

import io
import json
import os
import pty
import struct
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

import ettlog
from ettlog.cli import COMMANDS, app
from ettlog.cli.fit import fitted, folded, shortened, wrapped
from ettlog.cli.hint import advise
from ettlog.cli.options import FORMATS
from ettlog.cli.output import paint
from ettlog.cli.spark import Trend, bars, below, beside
from ettlog.tables import Shown, View
from tests.conftest import ROOT
from tests.lakes import commands, make, open_once, words

TABLES = [name for name, one in commands().items() if any("--format" in item.opts for item in one.params)]
VERBS = ("Read", "Write", "Print", "Simulate", "Draft", "Make", "Export", "Save", "Draw", "Merge")
"""How the sentence of a command begins that makes a file, a folder or a script in place of a table."""


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a lake of three small jobs."""
    return make("no_registry", tmp_path_factory.mktemp("terminal"))


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """Open each lake once, so that relations serve all commands."""
    monkeypatch.setattr(ettlog, "open", open_once)


def on_terminal(args: list[str], width: int) -> list[str]:
    """Return the lines that a command prints on a terminal of a width."""
    ours, theirs = pty.openpty()
    ioctl(theirs, TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    env |= {"PYTHONPATH": str(ROOT), "NO_COLOR": "1", "TERM": "xterm"}
    command = [sys.executable, "-m", "ettlog", *args]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env, cwd=ROOT) as running:
        os.close(theirs)
        text = b""
        while chunk := _read(ours):
            text += chunk
        os.close(ours)
        assert running.wait() == 0, text
    return text.decode().replace("\r\n", "\n").splitlines()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:
        return b""


@pytest.mark.parametrize("width", [80, 120, 200])
def test_terminal_gets_a_table_that_fits_and_says_what_it_leaves_out(lake: Path, width: int) -> None:
    """No line of `jobs` is wider than the terminal; ETT stays; columns that do not fit are named below."""
    lines = on_terminal(["jobs", "--lake", str(lake)], width)
    assert max(map(len, lines)) <= width
    assert any(line.rstrip().endswith("27.6") for line in lines)
    assert any("left out to fit" in line for line in lines) == (width < 200)


def test_pipe_gets_the_whole_table(lake: Path) -> None:
    """Without a terminal nothing is cut and nothing left out."""
    text = CliRunner().invoke(app, ["timeline", "finch-7b", "--lake", str(lake)]).stdout
    assert "logs/finch-7b-501001.out:7 (first step beyond a steady step)" in text
    assert "left out" not in text


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 160])
def test_painted_lines_are_never_wider_than_asked(width: int) -> None:
    """Header, table and notes of a wide view fit any usual width, and no number is cut."""
    frame = pl.DataFrame({"name": ["a/very/long/path/" + "x" * 60], "n": [123_456_789], "why": ["word " * 30]})
    shown = [Shown("name", "file"), Shown("n", "n", "int"), Shown("why", "why")]
    view = View(frame, ["said " * 40], ["noted " * 40], shown)
    lines = paint(view, header=True, colours=False, width=width).splitlines()
    assert max(map(len, lines)) <= width
    assert any("123,456,789" in line for line in lines)


def test_path_loses_its_beginning_and_a_name_its_middle() -> None:
    """What tells a path is its end; of a name both ends stay; prose is folded, not cut."""
    assert shortened("logs/model/job/slurm-1.out:12", 16) == "…/slurm-1.out:12"
    assert shortened("logs/a.out:12 (first step beyond a steady step)", 20) == "logs/a.out:12"
    assert shortened("abcdefghij", 5) == "ab…ij"
    assert shortened("one two three four five", 13) == "one two three\nfour five"
    assert shortened("short", 5) == "short"


def test_titles_fold_at_words_and_end_on_one_line() -> None:
    """`wall GPU-h` folds over a narrow number; a title of one line stands on the last."""
    columns = [Shown("model", "model"), Shown("wall_gpu_hours", "wall GPU-h", "hours")]
    shown, rows, left = fitted(columns, [["ranker", "1,234"]], 14)
    assert [item.title for item in shown] == ["\nmodel", "wall\nGPU-h"]
    assert (rows, left) == ([["ranker", "1,234"]], [])
    assert folded("on-demand", 3) == "on-demand"


def test_spare_columns_leave_first_and_ett_last() -> None:
    """GPUs leave before ETT, though ETT stands to the right of them; the first column stays."""
    numbers = [Shown("gpus", "GPUs", "int"), Shown("nof", "NoF", "int"), Shown("ett", "ETT %", "ratio")]
    columns = [Shown("job", "job"), *numbers]
    row = [["finch", "1,024", "12", "78.4"]]
    assert [item.column for item in fitted(columns, row, 17)[0]] == ["job", "nof", "ett"]
    assert [item.column for item in fitted(columns, row, 12)[0]] == ["job", "ett"]
    assert fitted(columns, row, 3)[2] == ["GPUs", "NoF", "ETT %"]


def test_sentences_wrap_with_an_indent() -> None:
    """A note goes on under itself, set in by two."""
    assert wrapped("note: one two three", 12) == "note: one\n  two three"


def test_bars_rise_with_the_value() -> None:
    """The lowest value has the lowest bar, the highest the highest, a missing one a dot; equal ones are halfway."""
    assert bars([0.5, None, 0.75, 1.0], 0.5, 1.0) == "▁·▅█"
    assert bars([0.7, 0.7], 0.7, 0.7) == "▄▄"


def months(*values: float | None, **keys: str) -> pl.DataFrame:
    """Return a frame as `ettlog.ett` gives by month: the last month holds next to nothing."""
    days = [date(2026, number + 1, 1) for number in range(len(values))]
    hours = [*[100.0] * (len(values) - 1), 1.0]
    frame = pl.DataFrame({"month": days, "wall_gpu_hours": hours, "ett": values})
    return frame.with_columns(pl.lit(text).alias(key) for key, text in keys.items())


def test_trend_stands_beside_the_groups_and_the_whole() -> None:
    """Three months of two clusters on one scale; a month of next to no hours is left out; the note tells the scale."""
    groups = pl.concat([months(0.5, 1.0, 1.0, 0.1, cluster="a"), months(1.0, 0.5, None, 0.1, cluster="b")])
    found = Trend("month", months(0.75, 0.75, 1.0, 0.1), groups, "cluster")
    rows = pl.DataFrame({"cluster": ["a", "b", "all"], "ett": [0.8, 0.7, 0.75]})
    view = beside(View(rows, (), (), [Shown("cluster", "cluster"), Shown("ett", "ETT")], rows), found, "cluster")
    assert view.readable is not None
    assert view.readable["trend"].to_list() == ["▁██", "█▁·", "▅▅█"]
    assert [item.column for item in view.shown] == ["cluster", "ett", "trend"]
    assert view.notes == ["ETT by month, 2026-01-01 to 2026-03-01: ▁ is 50.0 %, █ 100.0 %"]


def test_trend_stands_below_the_whole() -> None:
    """Without groups the bars are a row of their own under ETT."""
    found = Trend("month", months(0.5, 0.75, 1.0, 0.1), pl.DataFrame(), "")
    rows = pl.DataFrame({"name": ["wall", "ETT", "residual"], "detail": ["", "of wall", ""]})
    view = below(View(rows, readable=rows), found)
    assert view.readable is not None
    assert view.readable["name"].to_list() == ["wall", "ETT", "ETT by month", "residual"]
    assert str(view.readable["detail"][2]).startswith("▁▅█  2026-01-01 to 2026-03-01")


@pytest.mark.usefixtures("opened")
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", TABLES)
def test_every_table_comes_in_every_format(name: str, form: str, lake: Path, tmp_path: Path) -> None:
    """Whatever a command shows can be had as table, JSON, JSON lines, CSV, Parquet and Markdown."""
    given = {"ETTLOG_LAKE": str(lake)}
    result = CliRunner().invoke(app, [*words(name, tmp_path), "--format", form, "-q"], env=given)
    if isinstance(result.exception, ettlog.EttlogError):
        assert result.exception.todo
        return
    assert result.exit_code in (0, 4), result.output
    readers: dict[str, Callable[[bytes], Any]] = {
        "json": lambda data: json.loads(data)["rows"],
        "jsonl": lambda data: [json.loads(line) for line in data.splitlines()],
        "csv": lambda data: data.decode().splitlines()[0].split(","),
        "parquet": lambda data: pl.read_parquet(io.BytesIO(data)).columns,
    }
    if form in readers:
        readers[form](result.stdout_bytes)
    else:
        assert result.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_without_a_table_says_what_it_makes(name: str) -> None:
    """A command has the output options, or its sentence begins with what it writes."""
    tables = [table for table in TABLES if table.split()[0] == name]
    assert tables or COMMANDS[name].startswith(VERBS)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script_is_for_the_program(shell: str) -> None:
    """The script of each shell asks ettlog itself."""
    assert "_ETTLOG_COMPLETE" in CliRunner().invoke(app, ["completion", shell]).stdout


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("ettlog att", ["attribute"]),
        ("ettlog ett --wei", ["--weight"]),
        ("ettlog ett --weight ", ["gpu", "none"]),
        ("ettlog ett --by model,mon", ["model,month"]),
        ("ettlog schema all", ["allocation"]),
        ("ettlog completion ", ["bash", "zsh", "fish"]),
    ],
)
def test_bash_completes_commands_options_and_values(typed: str, offered: list[str], tmp_path: Path) -> None:
    """Sourced in a real bash, the script offers what goes on with the words typed so far."""
    program = tmp_path / "ettlog"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m ettlog "$@"\n')
    program.chmod(0o755)
    parts = typed.split(" ")
    script = f"""
        source <(ettlog completion bash)
        COMP_WORDS=({" ".join(parts)}) COMP_CWORD={len(parts) - 1}
        _ettlog_completion ettlog '{parts[-1]}' '{parts[-2]}'
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=env, check=True)
    assert done.stdout.split() == offered


def test_program_alone_says_what_the_lake_holds_and_lacks(lake: Path, tmp_path: Path) -> None:
    """Three trainers' logs and one of the scheduler, without a registry: that is said, and what to type next."""
    text = advise(str(lake))
    assert "holds 4 files: 3 with a trainer's events, 1 with scheduler records" in text
    assert "a registry of what was changed" in text
    assert "scheduler records: queues" not in text
    assert "ettlog report -o report.html" in text
    assert "There is no lake" in advise(str(tmp_path / "none.lake"))


def test_program_alone_forgets_what_was_removed(tmp_path: Path) -> None:
    """A path that was removed later is no longer held, and a damaged line does not matter."""
    facts = {"formats": {"x": 1}, "files": {"alloc": {}}, "n_lines": 1, "lines": {"matched": 1}}
    entry = {"path": "a", "op": "add", **facts}
    lines = [json.dumps(entry), "torn", json.dumps({**entry, "path": "b"}), json.dumps({"path": "b", "op": "remove"})]
    (tmp_path / "manifest.jsonl").write_text("\n".join(lines))
    assert "holds 1 file: 0 with a trainer's events, 1 with scheduler records" in advise(str(tmp_path))
    assert "trainer logs: without them" in advise(str(tmp_path))
