"""The tutorial on dialects, followed command by command."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import ettlog
from ettlog.ingest import IngestOptions
from tests.readme import matches, sessions
from tests.tutorial import PAGE, blocks, copy_example, ran, write_file

TEXT = PAGE.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Follow the tutorial to its end, comparing every output, and return the folder."""
    folder = copy_example(tmp_path_factory.mktemp("tutorial"))
    written = 0
    for kind, content in blocks(TEXT):
        if kind == "toml":
            written += write_file(content, folder)
            continue
        for command, shown in sessions(f"```console\n{content}```"):
            printed = ran(command, folder)
            assert matches(shown, printed), f"{command}\n{printed}\n`python -m tests.tutorial` writes the page anew"
    assert written == 3
    return folder


@pytest.mark.slow
def test_every_command_prints_what_the_page_shows(finished: Path) -> None:
    """All commands ran; the lake at the end holds the job in the new dialect."""
    commands = [command.split()[:2] for command, _ in sessions(TEXT)]
    assert commands[:3] == [["ettlog", "ingest"], ["mkdir", "formats"], ["ettlog", "format"]]
    assert (finished / "ettlog.lake" / "manifest.jsonl").exists()


@pytest.mark.slow
def test_what_the_new_dialect_says_is_what_happened(finished: Path) -> None:
    """33 steps, a lost rank, back from step 20: 13 of the next 40 steps are replay; twice 41 s of compiling; two saves
    between steps and one behind the last step."""
    fleet = ettlog.open(finished / "ettlog.lake")
    start = fleet.table("start").sort("k")
    assert start.select("kind", "first_step", "last_step", "resumed_from", "steps", "new_steps").rows() == [
        ("first", 1, 33, None, 33, 33),
        ("failure", 21, 60, 20, 40, 27),
    ]
    assert start["cause"].to_list() == ["nccl_timeout", None]
    assert start["end_state"].to_list() == ["failed", "completed"]
    saves = fleet.table("checkpoint").filter(pl.col("state") == "committed")
    assert sorted(saves["step"].to_list()) == [20, 40, 60]
    parts = fleet.table("segment").group_by("part").agg((pl.col("end_us") - pl.col("begin_us")).sum())
    assert dict(parts.iter_rows())["compile"] == 2 * 41_000_000
    assert dict(parts.iter_rows())["save_stall"] == 2 * 9_000_000
    assert dict(parts.iter_rows())["final_save"] == 9_000_000


@pytest.mark.slow
def test_a_changed_format_reads_its_logs_anew(finished: Path) -> None:
    """The formats are part of a source's key: the same bytes are skipped, until a format file changes."""
    folders = (finished / "formats",)
    logs, lake = [finished / "fixtures/heron/logs"], finished / "other.lake"

    def states() -> dict[str, int]:
        return ettlog.ingest(logs, lake, options=IngestOptions(format_dirs=folders)).states

    assert states() == {"new": 1}
    assert states() == {"skipped": 1}
    path = finished / "formats/heron.toml"
    path.write_text(path.read_text(encoding="utf-8") + "# one more remark\n", encoding="utf-8")
    assert states() == {"reparsed": 1}
