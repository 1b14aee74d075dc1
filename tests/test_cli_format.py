"""`ettlog format`: a proposal on stdout or in a new file, proofs with carets, coverage, conflicts, the list."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from ettlog.cli import app
from ettlog.errors import EttlogError, UsageError
from tests.cli_reference import command
from tests.conftest import ROOT

LOG = ROOT / "fixtures/heron/logs/heron-7b.log"
GOOD = """name = "crane"
title = "Crane"
source = "trainer"
url = "https://example.org"
[[pattern]]
name = "step"
kind = "step"
anchor = "heron/loop"
regex = 'heron/loop ++step (?P<step>\\d++)/(?P<target>\\d++) '
samples = ["heron/loop   step 1/60  loss 3.969"]
"""


def run(*args: str) -> Result:
    """Run a command in this process; its errors come back as they are raised."""
    return CliRunner().invoke(app, ["format", *args], catch_exceptions=False)


@pytest.fixture
def crane(tmp_path: Path) -> Path:
    """Return a format file that is right."""
    path = tmp_path / "crane.toml"
    path.write_text(GOOD, encoding="utf-8")
    return path


def test_new_writes_to_stdout_and_tells_the_next_command() -> None:
    """The file is data on stdout; what it was made of, and what to type next, is on stderr."""
    result = run("new", str(LOG))
    assert result.stdout.startswith('name = "heron_7b"\n')
    assert "98, of which no format knows 98" in result.stderr
    assert f"next      ettlog format test heron_7b.toml {LOG}" in result.stderr
    assert run("new", str(LOG), "-q").stderr == ""


def test_new_touches_no_file_that_is_there(tmp_path: Path) -> None:
    """-o makes a file of its stem's name; a second time it is refused and the file stays."""
    path = tmp_path / "egret.toml"
    assert run("new", str(LOG), "-o", str(path)).stdout == ""
    assert path.read_text(encoding="utf-8").startswith('name = "egret"\n')
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="there already"):
        run("new", str(LOG), "-o", str(path))
    assert path.read_text(encoding="utf-8") == "mine"


def test_a_proposal_passes_its_test_with_every_line_it_promised(tmp_path: Path) -> None:
    """94 lines were promised by the proposal, and 94 are read."""
    path = tmp_path / "heron.toml"
    assert "12 patterns for 94 of them" in run("new", str(LOG), "-o", str(path)).stderr
    second = run("test", str(path), str(LOG)).stdout.splitlines()[1]
    assert "this format reads 94, only others read 0, nobody knows 4" in second


def test_test_shows_every_error_with_a_caret(tmp_path: Path) -> None:
    """Two wrong patterns are two errors of four parts, each with its caret; the exit code is 2."""
    path = tmp_path / "crane.toml"
    broken = GOOD.replace("step 1/60  loss", "step one/60  loss")
    more = broken.partition("[[pattern]]")[2].replace('"step"\nkind', '"step_2"\nkind')
    path.write_text(broken + "[[pattern]]" + more, encoding="utf-8")
    result = run("test", str(path))
    assert result.exit_code == 2
    for part in ("where: ", "why:   ", "do:    ", "^ step stopped here"):
        assert result.stderr.count(part) >= (1 if "^" in part else 2), part
    assert "^ step_2 stopped here" in result.stderr
    assert "2 of 2 patterns do not pass" in result.stderr


def test_test_finds_a_sample_that_another_format_reads(tmp_path: Path) -> None:
    """A line that a shipped format knows is no line of a new one: the error names the other pattern."""
    from ettlog.parse import format as formats

    other = next(one for one in formats.load_all().patterns if one.format == "llmc" and one.kind == "step")
    line = other.samples[0].line
    path = tmp_path / "crane.toml"
    text = GOOD.replace("heron/loop   step 1/60  loss 3.969", line.replace('"', '\\"'))
    anchor = other.anchor.decode()
    path.write_text(text.replace('anchor = "heron/loop"', f'anchor = "{anchor}"').replace(
        r"heron/loop ++step (?P<step>\d++)/(?P<target>\d++) ", anchor), encoding="utf-8")  # fmt: skip
    result = run("test", str(path))
    assert result.exit_code == 2
    assert f"pattern llmc.{other.name} matches it too" in result.stderr


def test_test_shows_lines_conflicts_and_what_is_left(crane: Path, tmp_path: Path) -> None:
    """Three lines of the pattern, one of them known to a shipped format too, one known to it alone, one to nobody."""
    log = tmp_path / "mixed.log"
    glued = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB."
    lines = ["heron/loop   step 1/60  loss 1.0", "heron/loop   step 2/60  loss 1.0", f"heron/loop   step 3/60  {glued}"]
    log.write_text("\n".join([*lines, "", glued, "nothing at all 17"]) + "\n", encoding="utf-8")
    result = run("test", str(crane), str(log))
    assert "5 lines with text: this format reads 3, only others read 1, nobody knows 1" in result.stdout
    assert "conflict: step matches 1 line that" in result.stdout
    assert "nobody knows 1 x nothing at all <n>" in result.stdout
    rows = json.loads(run("test", str(crane), str(log), "--format", "json", "-q").stdout)["rows"]
    assert [(row["pattern"], row["kind"], row["lines"]) for row in rows] == [("step", "step", 3)]


def test_events_that_come_out_are_shown(crane: Path) -> None:
    """--events gives each event with line, kind and numbers: 73 step lines, from step 1 to step 60."""
    rows = json.loads(run("test", str(crane), str(LOG), "--events", "--format", "json", "-q").stdout)["rows"]
    assert len(rows) == 73
    assert (rows[0]["line"], rows[0]["kind"], rows[0]["step"], rows[0]["target"]) == (7, "step", 1, 60)
    assert rows[-1]["step"] == 60
    assert rows[0]["at"] == "2031-03-09T12:01:13.620000Z"


def test_a_known_format_is_tested_by_its_name() -> None:
    """`ettlog format test llmc` proves the shipped format; an unknown name is refused as a file that is not there."""
    assert run("test", "llmc").stdout.startswith("llmc: ")
    with pytest.raises(EttlogError, match="cannot be read"):
        run("test", "no_such_dialect")


def test_list_marks_formats_of_ones_own(crane: Path, tmp_path: Path) -> None:
    """All formats are listed with their numbers of patterns; those of --formats are yours."""
    rows = json.loads(run("list", "--formats", str(tmp_path), "--format", "json", "-q").stdout)["rows"]
    mine = [row["format"] for row in rows if row["own"]]
    assert mine == [crane.stem]
    assert sum(row["patterns"] for row in rows) > 500


def test_the_configuration_names_folders_of_formats(
    crane: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`formats.dirs` of ettlog.toml counts like --formats; naming the same folder twice is no mistake."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dialects").mkdir()
    crane.rename(tmp_path / "dialects" / crane.name)
    (tmp_path / "ettlog.toml").write_text('[formats]\ndirs = ["dialects"]\n', encoding="utf-8")
    for more in ((), ("--formats", "dialects")):
        rows = json.loads(run("list", *more, "--format", "json", "-q").stdout)["rows"]
        assert [row["format"] for row in rows if row["own"]] == ["crane"]


@pytest.mark.parametrize("name", ["new", "test", "list"])
def test_every_option_has_a_sentence(name: str) -> None:
    """The commands inside `format` explain themselves and each option, in the reference too."""
    group = command("format")
    assert isinstance(group, click.Group)
    found = group.commands[name]
    assert found.help
    assert all(one.help and one.help.endswith(".") for one in found.params if isinstance(one, click.Option))
    assert f"## ettlog format {name}\n" in (ROOT / "docs/cli.md").read_text(encoding="utf-8")
