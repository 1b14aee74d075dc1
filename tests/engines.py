"""Lakes that are asked on DuckDB and on an engine, and what is asked of them."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

import ettlog
from ettlog import config as settings
from ettlog import fleet as fleets
from ettlog.attribute import attribute
from ettlog.ingest import ingest
from ettlog.recovery import recoveries
from ettlog.relations import relations
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from ettlog.config import Config
    from ettlog.fleet import Fleet

    Ask = Callable[[str], tuple[Fleet, Fleet]]

FIXTURES = ROOT / "fixtures"
WHOLE = ("tiny", "messy", "fleet")
"""Fixtures of which every relation is compared: two small fleets, and torn and odd logs; `every` is all of them."""
CUT = ("ctr-legacy", "retrieval-base")
"""Models of the example fleet that are asked: one that nothing changed for, one that an optimization reached."""

ANSWERS: dict[str, Callable[[Fleet], Any]] = {
    "advise": ettlog.advise,
    "alerts": ettlog.alerts,
    "at_scale": lambda fleet: ettlog.at_scale(fleet, [64, 1024]),
    "attribute": lambda fleet: attribute(fleet),
    "check": lambda fleet: fleet.check(),
    "compare": lambda fleet: ettlog.compare(fleet, *CUT),
    "ett": lambda fleet: ettlog.ett(fleet, by="model"),
    "explain": lambda fleet: ettlog.explain(fleet, _job(fleet)),
    "jobs": ettlog.jobs,
    "plan": ettlog.plan,
    "recoveries": lambda fleet: recoveries(fleet, _job(fleet)),
    "reliability": ettlog.reliability,
    "rollouts": ettlog.rollouts,
    "sql": lambda fleet: fleet.sql(
        "SELECT job, count(*) AS n FROM event JOIN mark USING (key, line) GROUP BY 1 ORDER BY 1"
    ),
    "status": ettlog.status,
    "terms": ettlog.terms,
    "timeline": lambda fleet: ettlog.timeline(fleet, _job(fleet)),
    "what_if": lambda fleet: ettlog.what_if(fleet, failures=0.5),
}
"""Every public function that answers from a fleet, asked for something that this fleet can answer."""


def _job(fleet: Fleet) -> str:
    """Return the job with most starts."""
    return str(fleet.table("job").sort("starts", "job", descending=True)["job"][0])


def logs(name: str, folder: Path) -> Path:
    """Return the folder of logs of a fixture; of the example fleet those of two models, cut out into `folder`, and for
    `every` those of the other fixtures beside them, with a clock that is moved."""
    if name not in ("fleet", "every"):
        return FIXTURES / name / "logs"
    for model in CUT:
        shutil.copytree(FIXTURES / "fleet/logs" / model, folder / model)
    for path in (FIXTURES / "fleet/logs").glob("*.*"):
        shutil.copy(path, folder)
    if name == "every":
        for other in ("tiny", "messy"):
            shutil.copytree(FIXTURES / other / "logs", folder / other)
        with (folder / "ettlog.toml").open("a") as told:  # its last table is [clock]
            told.write('shifts = { "*finch*" = 3600 }\n')
    return folder


def held(lake: Path) -> dict[str, bytes]:
    """Return every file of a lake with its bytes."""
    return {str(path.relative_to(lake)): path.read_bytes() for path in lake.rglob("*") if path.is_file()}


def lake(name: str, folder: Path) -> Path:
    """Make the lake of a fixture in a folder of its own; `shifted` is the tiny one with a log that begins in 2005."""
    told = logs("tiny" if name == "shifted" else name, folder / "cut")
    if name == "shifted":
        robin = shutil.copytree(told, folder / "logs") / "robin-1b.log"
        robin.write_text("[2005" + robin.read_text().removeprefix("[2031"))
        told = folder / "logs"
    ingest([told], folder / "lake")
    return folder / "lake"


def config(name: str) -> Config | None:
    """Return the settings of a fixture; those of `shifted` move the clock of one job's log by an hour, and so put
    views before the facts."""
    moved = {"clock.shifts": {"*finch*": 3_600_000_000}}
    return settings.Config(moved, {"clock.shifts": "test"}) if name == "shifted" else None


def both(name: str, folder: Path, engine: str) -> tuple[Fleet, Fleet]:
    """Return the fleet of a fixture on DuckDB and on an engine; its lake is made in a folder of its own."""
    made, told = lake(name, folder), config(name)
    return fleets.open(made, told), fleets.open(made, told, engine)


def otherwise(here: Fleet, there: Fleet) -> list[str]:
    """Return the answers (ANSWERS) that are others from two fleets."""
    return [name for name, answer in ANSWERS.items() if not same(answer(here), answer(there))]


def differing(here: Fleet, there: Fleet, names: Iterable[str] = ()) -> list[str]:
    """Return the relations (all of them, or those named) that differ in a value, a type or a column, and where."""
    names = names or relations()
    return [f"{name}: {found}" for name in names if (found := difference(here.table(name), there.table(name)))]


def difference(one: pl.DataFrame, two: pl.DataFrame) -> str:
    """Return where two frames differ first; nothing where every value and type is the same."""
    if one.schema != two.schema:
        return f"{one.schema} and {two.schema}"
    if one.height != two.height:
        return f"{one.height} and {two.height} rows"
    for column in one.columns:
        pairs = zip(one[column].to_list(), two[column].to_list(), strict=True)
        for row, (left, right) in enumerate(pairs):
            if left != right:
                return f"{column}[{row}] is {left!r} and {right!r}"
    return ""


def same(one: Any, two: Any) -> bool:
    """Tell whether two answers are equal in every frame, number and sentence; NaN is no number of an answer."""
    if isinstance(one, pl.DataFrame):
        return not difference(one, two)
    if isinstance(one, pl.Series):
        return not difference(one.to_frame(), two.to_frame())
    if dataclasses.is_dataclass(one):
        return all(same(getattr(one, each.name), getattr(two, each.name)) for each in dataclasses.fields(one))
    if isinstance(one, Mapping):
        return one.keys() == two.keys() and all(same(one[key], two[key]) for key in one)
    if isinstance(one, Sequence) and not isinstance(one, str):
        return len(one) == len(two) and all(map(same, one, two))
    return bool(one == two)
