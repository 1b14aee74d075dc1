"""Every command on lakes that lack something: it says what it can, what it cannot, and what would make it possible."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import ettlog
from ettlog import lacks
from ettlog.cli import app
from ettlog.errors import EttlogError
from ettlog.lacks import NO_REGISTRY, NO_SCHEDULER, NO_TRAINER
from tests.lakes import LAKES, commands, make, open_once, words, writes
from tests.tables import fleet, record

NO_LAKE = "no_lake"
NAMES = [NO_LAKE, *(function.__name__ for function in LAKES)]
MATRIX = [
    (name, lack)
    for name, one in commands().items()
    for lack in (NAMES if name != "ingest" and any("--lake" in item.opts for item in one.params) else [NO_LAKE])
]
"""Every command on every lake; those that open none, and `ingest`, which makes its own, once."""
CURE = re.compile(r"`?ettlog |ingest|--\w|\.toml|give |name |choose ", re.IGNORECASE)
"""What a sentence on what to do has: a command, an option, a file, or a verb."""


@pytest.fixture(scope="module")
def lakes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return a lake for each lack."""
    made = {function.__name__: make(function.__name__, tmp_path_factory.mktemp("empties")) for function in LAKES}
    return made | {NO_LAKE: tmp_path_factory.mktemp("empties") / "none.lake"}


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """Open each lake once, so that relations serve all commands."""
    monkeypatch.setattr(ettlog, "open", open_once)


def ask(name: str, lake: Path, folder: Path) -> Result:
    """Run a command on a lake."""
    return CliRunner().invoke(app, words(name, folder), env={"ETTLOG_LAKE": str(lake)})


@pytest.mark.usefixtures("opened")
@pytest.mark.parametrize(("name", "lack"), MATRIX)
def test_command_answers_or_says_what_would_make_it_possible(
    name: str, lack: str, lakes: dict[str, Path], tmp_path: Path
) -> None:
    """An answer has text or writes its file; a refusal is an error of four parts, its last one something to do."""
    lake = lakes[lack] if name != "ingest" else tmp_path / "other.lake"
    result = ask(name, lake, tmp_path)
    error = result.exception
    if isinstance(error, EttlogError):
        assert all(len(part) > 2 for part in (error.what, error.where, error.why, error.todo))
        assert CURE.search(error.todo), error.todo
        assert error.exit_code in (1, 2, 5)
        return
    assert error is None or isinstance(error, SystemExit), repr(error)
    assert result.exit_code in (0, 4), result.output
    made = list(tmp_path.glob(f"{name}.*"))
    assert made or (result.output.strip() and not writes(commands()[name]))


@pytest.mark.usefixtures("opened")
@pytest.mark.parametrize(
    ("lack", "name", "said"),
    [
        ("no_scheduler", "jobs", NO_SCHEDULER),
        ("no_scheduler", "ett", NO_SCHEDULER),
        ("no_scheduler", "reliability", NO_SCHEDULER),
        ("no_scheduler", "status", NO_SCHEDULER),
        ("no_trainer", "jobs", NO_TRAINER),
        ("no_trainer", "ett", NO_TRAINER),
        ("no_trainer", "status", NO_TRAINER),
        ("no_registry", "status", NO_REGISTRY),
        ("no_registry", "attribute", "there is no registry of optimizations"),
        ("nothing", "status", lacks.NO_JOB),
        ("all_running", "ett", "The job is still open"),
        ("all_running", "jobs", "The job is still open"),
    ],
)
def test_answer_names_what_is_missing(lack: str, name: str, said: str, lakes: dict[str, Path], tmp_path: Path) -> None:
    """Below an answer that rests on less than it could stands what is not there, and what to ingest."""
    assert said in ask(name, lakes[lack], tmp_path).stdout


@pytest.mark.usefixtures("opened")
def test_unknown_ett_has_no_interval(lakes: dict[str, Path], tmp_path: Path) -> None:
    """Where only the scheduler tells of jobs, ETT is empty, and so is its interval: nothing is known."""
    lines = ask("ett", lakes["no_trainer"], tmp_path).stdout.splitlines()
    line = next(line for line in lines if line.startswith("ETT "))
    assert "over jobs" not in line
    assert "%" not in line


@pytest.mark.parametrize(("lack", "word"), [("no_trainer", "no start"), ("nothing", "no start"), (NO_LAKE, "no lake")])
def test_attribution_without_starts_says_why(lack: str, word: str, lakes: dict[str, Path], tmp_path: Path) -> None:
    """Without a trainer's log nothing can be attributed, and the error says which logs would help."""
    error = ask("attribute", lakes[lack], tmp_path).exception
    assert isinstance(error, EttlogError)
    assert word in error.what
    assert "ingest" in error.todo


def test_some_open_jobs_are_counted() -> None:
    """Of two jobs, one of which the scheduler still runs, one is said to be open."""
    done = record(submit=0, start=1, end=9, name="a", id="1", raw="1")
    rows = [done, record(submit=0, start=1, name="b", id="2", raw="2", state="RUNNING")]
    said = list(lacks.lacks(fleet(alloc=rows)))
    assert said[0] == NO_TRAINER
    assert said[1:] == ["1 job of 2 still open: counted up to the newest event."]
