"""All code in the documentation runs, and every page that is written from the code is what the code says today."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import polars as pl
import pytest

import ettlog
from ettlog import fleet as fleets
from ettlog.lifecycle import KINDS, PARTS, STAGES
from ettlog.parse import format as formats
from tests import formats_reference, relations_reference, vocabulary_reference
from tests.conftest import ROOT
from tests.docs_code import DOCS, LANGUAGES, OWN, PAGES, blocks, example, ran, rewritten, session, typed
from tests.hostile.run import opened_once
from tests.lakes import commands
from tests.metrics_reference import METRICS, pages
from tests.readme import sessions

NAMES = [str(path.relative_to(DOCS)) for path in PAGES]
BLOCKS = [(name, number, *block) for name in NAMES for number, block in enumerate(blocks(DOCS / name))]
WRITTEN: dict[str, Callable[[], str]] = {
    "formats_reference.md": formats_reference.reference,
    "relations.md": relations_reference.reference,
    "vocabulary.md": vocabulary_reference.reference,
}
RESULTS = {"ett": ("jobs", "gpus"), "jobs": (), "reliability": ("model",), "advise": ("model",)}
"""Functions whose every column is a metric's, less those that name a group."""


def of(language: str) -> list[tuple[str, int, str]]:
    """Return page, number and content of the blocks of a language."""
    return [(name, number, text) for name, number, kind, text in BLOCKS if kind == language]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a folder with the lake of the tiny fixture, as pages name it; all who open it share one fleet."""
    path = tmp_path_factory.mktemp("docs")
    ettlog.ingest([ROOT / "fixtures/tiny/logs"], path / "ettlog.lake")
    with opened_once():
        yield path


def test_every_block_is_of_a_known_language() -> None:
    """No code stands in a language that no test runs or reads."""
    strange = [f"{name}: {language}" for name, _, language, _ in BLOCKS if language not in LANGUAGES]
    assert not strange


@pytest.mark.parametrize("name", sorted({name for name, _, _ in of("console")} - {*OWN}))
def test_sessions_print_what_the_page_shows(name: str, tmp_path: Path) -> None:
    """Each command prints, today, what stands below it; `make docs` writes the page anew."""
    assert len(sessions((DOCS / name).read_text())) > 0
    assert rewritten(DOCS / name, tmp_path) == (DOCS / name).read_text()


def test_pages_with_sessions_of_their_own_are_run() -> None:
    """A page that is left out here is named by a test module that exists."""
    for name, module in OWN.items():
        assert any(page == name for page, _, _ in of("console"))
        assert name in (ROOT / module).read_text()


@pytest.mark.parametrize(("name", "number", "text"), of("python"))
def test_python_runs(name: str, number: int, text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session gives what it shows; other code runs over the lake of the tiny fixture."""
    monkeypatch.chdir(folder)
    if ">>>" in text:
        assert session(text) == {}
    else:
        exec(compile(text, f"{name}:{number}", "exec"), {})


@pytest.mark.parametrize(("name", "number", "text"), of("toml"))
def test_toml_is_toml(name: str, number: int, text: str) -> None:
    """What is to be written into a file can be read from it."""
    assert tomllib.loads(text), f"{name}: block {number}"


@pytest.mark.parametrize(("name", "number", "text"), of("sql"))
def test_sql_is_answered(name: str, number: int, text: str, folder: Path) -> None:
    """A query asks relations and columns that are there."""
    assert ettlog.open(folder / "ettlog.lake").sql(text).width, f"{name}: block {number}"


def test_commands_that_are_only_named_exist() -> None:
    """Lines of commands, outside of sessions, name commands and options that are there."""
    lines = [(name, line) for name, _, text in of("") for line in typed(text)]
    assert len(lines) > 3
    strange = [f"{name}: {line}" for name, line in lines if not known(line)]
    assert not strange


def known(line: str) -> bool:
    """Tell whether a line names a command, and only options of it."""
    words = line.split()[1:]
    found = next((one for name, one in commands().items() if words[: len(name.split())] == name.split()), None)
    options = {text for item in found.params for text in (*item.opts, *item.secondary_opts)} if found else set()
    asked = {word.partition("=")[0] for word in words if word.startswith("-")}
    return found is not None and isinstance(found, click.Command) and asked <= options | {"--help", "-h"}


@pytest.mark.parametrize("name", WRITTEN)
def test_written_page_is_up_to_date(name: str) -> None:
    """The page is what the code says; `make docs` writes it anew."""
    assert (DOCS / name).read_text() == WRITTEN[name]()


def test_metric_pages_are_up_to_date() -> None:
    """There is a page per metric, and no other; `make docs` writes them anew."""
    assert {path.name: path.read_text() for path in (DOCS / "metrics").glob("*.md")} == pages()


def test_every_format_pattern_kind_part_and_stage_has_a_sentence() -> None:
    """The references name all that there is, and say what it means."""
    text = (DOCS / "formats_reference.md").read_text()
    for one in formats.load_all().formats:
        assert f"## {one.name}\n\n{one.title}" in text
        assert all(f"\n| {pattern.name} | " in text for pattern in one.patterns), one.name
    said = [*(one.meaning for one in KINDS), *(one.meaning for one in PARTS), *(one.meaning for one in STAGES)]
    assert min(map(len, said)) > 5


def test_every_relation_and_column_has_a_sentence() -> None:
    """Every column of every public relation says what it holds."""
    frame = fleets.schema()
    assert frame.filter(pl.col("sentence").str.len_chars() < 3).is_empty()


@pytest.mark.parametrize("function", RESULTS)
def test_every_column_of_a_result_has_its_metric(function: str, folder: Path) -> None:
    """A number in a result of the library has a page that says how it is computed; columns that name things aside."""
    frame: Any = getattr(ettlog, function)(ettlog.open(folder / "ettlog.lake"))
    told = {column for one in METRICS for column in one.columns.split()}
    numbers = [name for name, kind in frame.schema.items() if kind.is_numeric() and not name.endswith("_us")]
    missing = [name for name in numbers if f"{function}.{name}" not in told and name not in RESULTS[function]]
    assert not missing


def test_columns_named_on_metric_pages_exist(folder: Path) -> None:
    """No page names a column that no result has."""
    fleet = ettlog.open(folder / "ettlog.lake")
    frames = {name: getattr(ettlog, name)(fleet) for name in RESULTS}
    frames["credit"] = ettlog.attribute(fleet).credit
    strange = [
        column
        for one in METRICS
        for column in one.columns.split()
        if column.partition(".")[2] not in frames[column.partition(".")[0]].columns
    ]
    assert not strange


def test_helpers_read_what_they_should(tmp_path: Path) -> None:
    """A block of commands is told from output, a wrong option from a right one, and a failing command is seen."""
    assert typed("ettlog ingest sim/logs; ettlog ett\n") == ["ettlog ingest sim/logs", "ettlog ett"]
    assert typed("ettlog.lake/\n  manifest.jsonl\n") == []
    assert known("ettlog ett --by model")
    assert not known("ettlog ett --colour red")
    assert not known("ettlog frobnicate")
    with example(tmp_path), pytest.raises(ettlog.EttlogError):
        ran("ettlog ett")
