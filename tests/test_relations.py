"""Each relation by small cases a reader can check by eye: given lines and records, expected rows.

Cases are `tests/relations/NAME.toml`. Instants and durations are minutes; `-` stands for null.
"""

from __future__ import annotations

import re
import tomllib
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ettlog import lifecycle, relations
from ettlog.facts import SHAPES
from ettlog.fleet import Fleet
from ettlog.schema import RECORDS
from tests.tables import MINUTE, Log, fleet, minute, record

FOLDER = Path(__file__).parent / "relations"
EPOCH = datetime(2026, 1, 1)
PUBLIC = [name for name in relations.relations() if not name.startswith("_")]
BANNED = (
    r"percentile_cont", r"\bASOF\b", r"\bPIVOT\b", r"date_diff", r"\bepoch\w*\(", r"GROUP BY ALL", r"ORDER BY ALL",
    r"\bEXCLUDE\b", r"time_bucket", r"\bhash\(", r"\bSELECT\s+\*\s+FROM\s+read_", r"FILTER\s*\([^)]*\)\s*OVER",
)  # fmt: skip


def load_cases() -> list[Any]:
    """Return every case of every file as a parameter named after both."""
    return [
        pytest.param(path.stem, case, id=f"{path.stem}-{case['name'].replace(' ', '-')}")
        for path in sorted(FOLDER.glob("*.toml"))
        for case in tomllib.loads(path.read_text(encoding="utf-8"))["case"]
    ]


def build(case: dict[str, Any]) -> Fleet:
    """Return the fleet of a case."""
    logs = []
    for number, given in enumerate(case.get("log", [])):
        given = {key: None if value == "-" else value for key, value in given.items()}
        lines = given.pop("lines")
        log = Log(given.pop("key", f"log{number}"), **given)
        for line in lines:
            line = {key: None if value == "-" else value for key, value in line.items()}
            if "step" in line and "say" not in line:
                log.step(line.pop("at"), line.pop("step"), line.pop("took", None), **line)
            else:
                took = line.pop("took", None)
                line |= {} if took is None else {"duration_us": round(took * MINUTE)}
                log.say(line.pop("at"), line.pop("say"), **line)
        logs.append(log)
    return fleet(*logs, alloc=[record(**row) for row in case.get("alloc", [])])


def plain(column: str, value: Any) -> Any:
    """Return an expected cell as the relation holds it."""
    if value == "-":
        return None
    if column.endswith("_us") or column == "us":
        return round(value * MINUTE) if column in DURATIONS else minute(value)
    if column == "at" or column.endswith("_at"):
        return EPOCH + timedelta(minutes=value)
    return value


DURATIONS = {
    "us",
    "held_us",
    "wall_us",
    "allocated_us",
    "effective_us",
    "gpu_us",
    "allocated_gpu_us",
    "duration_us",
    "compile_us",
    "low_us",
    "high_us",
    "shift_us",
}


@pytest.mark.parametrize(("name", "case"), load_cases())
def test_case_gives_its_rows(name: str, case: dict[str, Any]) -> None:
    """The relation has exactly the expected rows, in its own order."""
    frame = build(case).table(name)
    for column, value in case.get("where", {}).items():
        frame = frame.filter(frame[column].is_in(value if isinstance(value, list) else [value]))
    expected = [
        tuple(plain(column, cell) for column, cell in zip(case["columns"], row, strict=True)) for row in case["rows"]
    ]
    assert frame.select(case["columns"]).rows() == expected


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_relation_has_cases(name: str) -> None:
    """A relation without a case cannot be changed with confidence."""
    assert (FOLDER / f"{name}.toml").is_file()


@pytest.fixture(scope="module")
def nothing() -> Fleet:
    """Return a fleet without any facts."""
    return Fleet.from_tables()


@pytest.mark.parametrize("name", list(relations.relations()))
def test_empty_input_gives_no_row(name: str, nothing: Fleet) -> None:
    """Nothing in, nothing out: no relation invents a row; the snapshot's newest instant is null."""
    frame = nothing.table(name)
    assert frame.height == 0 or (name == "_now" and frame["now_us"].is_null().all())


@pytest.mark.parametrize("name", list(relations.relations()))
def test_every_column_has_its_sentence(name: str, nothing: Fleet) -> None:
    """The comments of a relation name its columns, all of them and in their order."""
    assert list(nothing.shape(name)) == list(relations.relations()[name].columns)


@pytest.mark.parametrize("name", list(relations.checks()))
def test_every_check_says_what_it_is(name: str) -> None:
    """A check has a level, a subject and a detail."""
    check = relations.checks()[name]
    assert check.level in ("error", "warning")
    assert list(check.columns) == ["subject", "detail"]


@pytest.mark.parametrize("name", [*relations.relations(), *relations.checks()])
def test_needs_are_the_tables_read(name: str) -> None:
    """`needs` names every table of the query and no other."""
    relation = (relations.relations() | relations.checks())[name]
    code = code_of(relation.query)
    own = set(re.findall(r"(?:WITH|,)\s*(\w+) AS \(", code))
    read = set(re.findall(r"\b(?:FROM|JOIN)\s+(\w+)", code)) - own
    assert read == set(relation.needs)


@pytest.mark.parametrize("name", [*relations.relations(), *relations.checks()])
def test_sql_keeps_to_the_common_subset(name: str) -> None:
    """No construct that another engine lacks or answers in another way."""
    query = code_of((relations.relations() | relations.checks())[name].query)
    assert [word for word in BANNED if re.search(word, query, re.IGNORECASE)] == []


@pytest.mark.parametrize("name", [*relations.relations(), *relations.checks()])
def test_a_relation_is_short(name: str) -> None:
    """A file fits on a page or two, and its first line is a sentence."""
    relation = (relations.relations() | relations.checks())[name]
    assert relation.sentence.endswith((".", "made."))
    assert len(relation.query.splitlines()) <= 90


def test_parts_named_in_sql_are_in_the_vocabulary() -> None:
    """A quoted word of the SQL that looks like a part, kind, stage, state or cause is one."""
    words = {part.part for part in lifecycle.PARTS} | {kind.kind for kind in lifecycle.KINDS}
    words |= {stage.stage for stage in lifecycle.STAGES} | {*lifecycle.END_STATES, *lifecycle.CAUSES}
    words |= {*lifecycle.CLOCKS, *RECORDS, *lifecycle.JOIN_RULES, *lifecycle.LINKS, *lifecycle.LOOSE}
    words |= {"true", "never", "always"}  # values of settings
    words |= {row.phase for row in lifecycle.RECOVERY_PHASES}
    words |= {*lifecycle.START_KINDS, *lifecycle.COMPONENTS, *lifecycle.WARMTHS}
    words |= {
        "begin",
        "end",
        "both",
        "line",
        "job",
        "victim",
        "survived",
        "requested",
        "staged",
        "written",
        "committed",
        "loaded",
        "document",
        "whole",
        "torn",
    }
    for relation in relations.relations().values():
        quoted = set(re.findall(r"'([a-z_]+)'", code_of(relation.query)))
        assert quoted - words == set(), relation.name


def code_of(query: str) -> str:
    """Return a query without its comments."""
    return "\n".join(re.sub(r"--.*", "", line) for line in query.splitlines())


def test_facts_are_documented() -> None:
    """Every column of a fact table has a sentence too."""
    assert all(shape.sentences[column] for shape in SHAPES.values() for column in shape.columns)
