"""Pictures by name: each is drawn from a fleet, and what cannot be drawn is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ettlog
from ettlog.errors import NoDataError, UsageError
from ettlog.fleet import Fleet
from ettlog.plot.named import NAMED, draw
from tests.conftest import ROOT
from tests.test_cli import run


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a lake of the tiny fixture."""
    lake = tmp_path_factory.mktemp("named") / "lake"
    ettlog.ingest([ROOT / "fixtures/tiny/logs"], lake)
    return lake


@pytest.fixture(scope="module")
def fleet(lake: Path) -> Fleet:
    """Return its fleet."""
    return ettlog.open(lake)


@pytest.mark.parametrize("name", ["components", "overhead", "calendar", "waterfall", "credit", "funnel", "recovery"])
def test_fleet_is_drawn(fleet: Fleet, name: str) -> None:
    """Each picture of the fleet has an axis that says what it counts, or says that there is nothing to draw."""
    ax: Any = draw(fleet, name)
    said = [text.get_text() for text in ax.texts]
    assert ax.get_xlabel() or ax.get_ylabel() or said == ["nothing to draw"] or name == "calendar"
    assert name not in ("components", "overhead", "recovery", "funnel") or ax.has_data()


def test_job_is_drawn_with_its_ends(fleet: Fleet) -> None:
    """The Gantt of a job known by a part of its name has a row per start, and how each ended."""
    ax: Any = draw(fleet, "gantt", "finch")
    starts = fleet.table("start").filter(pl.col("job").str.contains("finch"))
    assert len([label for label in ax.get_yticklabels() if label.get_text() != "no start"]) == starts.height
    assert len(ax.texts) == starts.height


@pytest.mark.parametrize("names", [("no-such",), ("gantt",), ("credit", "x")])
def test_other_names_are_refused_with_the_list(fleet: Fleet, names: tuple[str, ...]) -> None:
    """An unknown picture, one without its job, and one with a name too many are usage errors that list all."""
    with pytest.raises(UsageError, match="gantt JOB"):
        draw(fleet, *names)


def test_event_study_without_a_staggered_rollout_is_no_data(fleet: Fleet) -> None:
    """Where no model waited for an optimization that others had, there is nothing to study."""
    with pytest.raises(NoDataError, match="event study"):
        draw(fleet, "event-study")


def test_command_writes_png_and_svg(lake: Path, tmp_path: Path) -> None:
    """The suffix says the form; another one is refused before anything is read."""
    assert run("plot", "recovery", "--lake", str(lake), "-o", str(tmp_path / "r.png")).exit_code == 0
    assert run("plot", "components", "--lake", str(lake), "-o", str(tmp_path / "c.svg")).exit_code == 0
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "c.svg").read_text().startswith("<?xml")
    with pytest.raises(UsageError, match=r"\.png, \.svg"):
        run("plot", "recovery", "--lake", "nowhere", "-o", str(tmp_path / "r.jpg"))


def test_help_names_every_picture() -> None:
    """Each picture stands in the help of the command."""
    text = run("plot", "--help").stdout
    assert all(item.name in text and item.text.endswith(".") for item in NAMED)
