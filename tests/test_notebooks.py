"""The notebooks run, show what they say, and their two forms are the same; results show themselves in a notebook."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ettlog
from ettlog import markup
from ettlog.attribute import attribute_ledger
from ettlog.compare import Comparison
from ettlog.errors import NoDataError
from ettlog.plan import Plan
from ettlog.tables import Shown, View
from tests.conftest import ROOT
from tests.notebooks import FOLDER, SOURCES, executed, paired
from tests.tables import Log, fleet

NAMES = [source.stem for source in SOURCES]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a lake of the example fleet, which the notebooks' own ingest then finds unchanged."""
    path = tmp_path_factory.mktemp("notebooks") / "fleet.lake"
    ettlog.ingest([ROOT / "fixtures/fleet/logs"], path)
    return path


def shown(notebook: Any, kind: str) -> list[str]:
    """Return what the cells of a notebook show in one kind of media."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return [output["data"][kind] for output in outputs if kind in output.get("data", {})]


def test_there_are_three_stories() -> None:
    """A first look, direct or cascade, and how sure: each in both forms, and no notebook without a source."""
    assert NAMES == ["01_first_look", "02_direct_or_cascade", "03_how_sure"]
    assert sorted(path.stem for path in FOLDER.glob("*.ipynb")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_both_forms_are_the_same(name: str) -> None:
    """The notebook is what its source makes, without outputs; `make docs` writes it anew."""
    text = (FOLDER / f"{name}.ipynb").read_text()
    assert text == paired(FOLDER / f"{name}.py")
    assert not any(cell.get("outputs") for cell in json.loads(text)["cells"])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "pictures", "frames"), list(zip(NAMES, (2, 2, 3), (5, 4, 4), strict=True)))
def test_notebook_runs_and_shows_frames_and_pictures(name: str, pictures: int, frames: int, lake: Path) -> None:
    """Every cell runs, the assertions in them hold, and each picture and frame of the story is shown."""
    notebook = executed(FOLDER / f"{name}.py", lake)
    assert len(shown(notebook, "image/png")) == pictures
    assert len(shown(notebook, "text/html")) >= frames


def test_markup_escapes_and_sets_numbers_to_the_right() -> None:
    """A hostile cell is text, and the side of each column is the one asked for."""
    text = markup.table(["<b>name", "n"], [["<script>", "1"], ["a\x1b", "2"]], [False, True])
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    assert "a\\x1b" in text
    assert text.count("text-align:right") == text.count("text-align:left") == 3


def test_view_shows_header_rows_and_notes() -> None:
    """A view in a notebook has its sentences around its readable cells; without rows it has sentences only."""
    frame = pl.DataFrame({"share": [0.5]})
    text = View(frame, ["above"], ["below"], [Shown("share", "ETT", "percent")]).html()
    assert text.index("above") < text.index("50.0 %") < text.index("note: below")
    assert "<table" not in View(frame.clear(), ["above"]).html()


def test_fleet_shows_what_it_holds() -> None:
    """A fleet of one job with one start says so, and names the relations that can be asked."""
    log = Log(job_name="a", model="m<7>")
    log.say(0, "launch")
    log.step(5, 1, 5)
    held = fleet(log)
    text = held._repr_html_()
    assert "1 job, 1 model, 1 start, 1 file" in text
    assert "segment" in text
    assert len(repr(held)) < 200


def test_results_show_themselves() -> None:
    """A comparison and a plan show their frames as tables, and what they note below."""
    pairs = pl.DataFrame({"pair": ["x -> y"], "points": [12.5]})
    means = pl.DataFrame({"metric": ["points"], "n": [1], "mean": [12.5]})
    text = Comparison(pairs, means, ("too few",))._repr_html_()
    assert text.count("<table") == 2
    assert "x -&gt; y" in text
    assert text.endswith("note: too few</p>")
    needed = pl.DataFrame({"effect_points": [2.0], "pairs": [278]})
    kills = pl.DataFrame({"pair": [1], "kill": [1], "at_hours": [3.0]})
    plan = Plan(needed, kills, ())._repr_html_()
    assert "278" in plan


def test_attribution_shows_its_finding(lake: Path) -> None:
    """An attribution leads with the change in a sentence, and ends with its notes."""
    ledger = ettlog.open(lake).table("ledger")
    text = attribute_ledger(ledger, replicates=0)._repr_html_()
    assert text.startswith('<p style="margin:2px 0">ETT rose by')
    assert "there is no registry" in text
    with pytest.raises(NoDataError, match="no start"):
        attribute_ledger(ledger.clear())


def test_frames_become_pandas(lake: Path) -> None:
    """A result as a pandas frame has the same columns and the same numbers."""
    frame = ettlog.jobs(ettlog.open(lake))
    other = frame.to_pandas()
    assert list(other.columns) == frame.columns
    assert other["ett"].tolist() == frame["ett"].to_list()
