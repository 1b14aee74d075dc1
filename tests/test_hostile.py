"""Hostile inputs, made by generators: none raises, hangs, moves a terminal, leaves its cell or loses a line."""

from __future__ import annotations

import csv
import io
import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import duckdb
import polars as pl
import pytest

from tests.browser import Browser, program
from tests.conftest import ROOT
from tests.hostile import compressed, corpus, lakes, tomls
from tests.hostile.case import Case, step
from tests.hostile.run import ASKS, QUERY, Ask, Ran, ettlog, nothing_elsewhere, opened_once, verdicts


class Made(NamedTuple):
    """The corpus in a lake."""

    folder: Path
    lake: Path
    cases: list[Case]
    said: Ran


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    """Return the whole corpus, ingested at once; all commands share one open fleet."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "logs").mkdir()
    (folder / "out").mkdir()
    (folder / "c.toml").write_bytes(compressed.CONFIG)
    cases = corpus.written(folder / "logs")
    with opened_once():
        said = ettlog(
            "ingest", folder / "logs", "--lake", folder / "lake", "--workers", "1", "-v", "--config", folder / "c.toml"
        )
        yield Made(folder, folder / "lake", cases, said)


def test_corpus_has_every_class() -> None:
    """Thirteen classes, each with the number of inputs that is asked of it, and more than 600 in all."""
    counts = corpus.counts()
    assert counts.keys() == corpus.FLOORS.keys()
    assert {name: least for name, least in corpus.FLOORS.items() if counts[name] < least} == {}
    assert sum(counts.values()) >= 600


@pytest.mark.parametrize("name", [*corpus.FILES, *corpus.NAMES])
def test_every_line_has_the_fate_its_generator_states(made: Made, name: str) -> None:
    """Files are read, skipped with a reason or torn as stated; outcomes add up to the lines."""
    mine = [case for case in made.cases if case.name.startswith(f"{name}/")]
    assert mine
    assert verdicts(mine, made.lake, made.said) == []


def test_account_of_the_ingest_is_clean(made: Made) -> None:
    """No traceback, no raw control byte, although -v shows names and shapes of all of it."""
    assert made.said.faults() == []


@pytest.mark.parametrize("ask", ASKS, ids=lambda ask: "-".join(ask[0][:2]))
def test_every_command_answers(made: Made, ask: Ask) -> None:
    """Each command ends as it should, prints no byte that a terminal obeys, and writes nowhere but below -o."""
    words, codes, binary = ask
    with nothing_elsewhere(made.folder, [made.folder / "out"]) as changed:
        ran = ettlog(*(word.format(out=made.folder / "out") for word in words), "--lake", made.lake)
    assert ran.faults(codes, binary=binary) == []
    assert changed == []


def test_cells_come_back_from_three_readers(made: Made) -> None:
    """The table of jobs as CSV is the same for Python, Polars and DuckDB, no text cell is a formula, and all names are
    there."""
    ran = ettlog("jobs", "--format", "csv", "--lake", made.lake)
    path = made.folder / "out" / "jobs.csv"
    path.write_bytes(ran.out)
    rows = list(csv.reader(io.StringIO(ran.out.decode(), newline="")))
    polars = pl.read_csv(path, infer_schema=False).fill_null("")
    columns = "header = true, all_varchar = true, delim = ',', quote = '\"', escape = '\"', nullstr = '\\x'"
    duck = duckdb.execute(f"SELECT * FROM read_csv('{path}', {columns})").fetchall()
    assert [polars.columns, *map(list, polars.rows())] == rows
    assert [[cell or "" for cell in row] for row in duck] == rows[1:]
    assert not any(cell[:1] in "=+@\t\r" and cell for row in rows for cell in row)
    assert not any(cell.startswith("-") and not _number(cell) for row in rows for cell in row)


def _number(cell: str) -> bool:
    return cell.removeprefix("-").replace(".", "", 1).isdigit()


def test_names_are_data(made: Made) -> None:
    """Every hostile name that can be printed is the name of a job, letter by letter, cut at 256 characters."""
    ran = ettlog("sql", "select job from job", "--format", "json", "--lake", made.lake)
    held = {row["job"] for row in json.loads(ran.out)["rows"]}
    for texts in corpus.NAMES.values():
        for text in texts:
            name = text.strip()
            if name and name.isprintable():
                assert any(job and name[:200] in job for job in held), name


def test_page_shows_every_name_letter_by_letter(made: Made) -> None:
    """In a browser: no dialog, no request, no complaint, and the text of the page holds each name as it is."""
    path = program()
    if path is None:
        pytest.skip("needs a Chromium: apt-get install chromium, or ETTLOG_TEST_BROWSER=/path/to/one")
    globs = [word for text in corpus.NAMES["markup"] for word in ("-j", _glob(text))]
    page = made.folder / "out" / "markup.html"
    assert ettlog("report", *globs, "-o", page, "--lake", made.lake).faults() == []
    with Browser(path) as browser:
        browser.call("Page.enable")
        browser.open(page)
        text = browser.run("document.body.textContent")
        opened = [event for event in browser.events if event["method"] == "Page.javascriptDialogOpening"]
        assert browser.requests() == [page.resolve().as_uri()]
        assert browser.complaints() == []
    assert opened == []
    assert [name for name in corpus.NAMES["markup"] if name not in text] == []


def _glob(text: str) -> str:
    """Return a glob that a name matches: what a glob takes for its own is any character."""
    return "".join("?" if char in "*?[]" else char for char in text)


@pytest.mark.parametrize("toml", tomls.TOMLS, ids=lambda one: one.name)
def test_settings_are_refused_by_file_and_line(tmp_path: Path, toml: tomls.Toml) -> None:
    """A configuration or a registry that cannot be used is a usage error in four parts, within a second."""
    path = tmp_path / ("optimizations.toml" if toml.registry else "ettlog.toml")
    path.write_bytes(toml.data)
    path.chmod(toml.mode)
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.log").write_bytes(step(1) + step(2))
    lake = tmp_path / "lake"
    if toml.registry:
        assert ettlog("ingest", tmp_path / "logs", "--lake", lake).code == 0
    asked = ("attribute", "--optimizations") if toml.registry else ("ingest", tmp_path / "logs", "--config")
    begun = time.process_time()
    ran = ettlog(*asked, path, "--lake", lake)
    assert ran.faults((toml.code,)) == []
    assert time.process_time() - begun < (4 if toml.registry else 1)
    said = ran.err.decode()
    assert toml.says in said
    assert toml.code == 0 or (f"{path}:{toml.line}" if toml.line else str(path)) in said


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a small lake as it should be."""
    folder = tmp_path_factory.mktemp("stranger")
    assert ettlog("ingest", ROOT / "fixtures/tiny/logs", "--lake", folder / "lake", "-q").code == 0
    return folder / "lake"


@pytest.mark.parametrize("name", lakes.LAKES)
def test_lakes_from_a_stranger(lake: Path, tmp_path: Path, name: str) -> None:
    """Such a lake is read or refused in four parts; nothing in it is run, and nothing is written but relations kept."""
    change, codes, says = lakes.LAKES[name]
    mine = tmp_path / "date=2031" / "lake"
    shutil.copytree(lake, mine)
    change(mine)
    asks: tuple[tuple[str, ...], ...] = (
        ("sql", "select count(*) as n, min(line) from event"),
        ("sql", QUERY),
        ("check", "-q"),
    )
    with nothing_elsewhere(tmp_path, []) as changed:
        for words in asks:
            ran = ettlog(*words, "--lake", mine)
            assert ran.faults((*codes, 1) if words[0] == "check" else codes) == []
            assert says in ran.err.decode() or words[0] == "check"
    assert [path for path in changed if not path.startswith(str(mine / "relations"))] == []
