"""Real telemetry, MLPerf, fairseq and compiler logs against the checked facts beside them."""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import ettlog
from ettlog.parse import format as formats
from ettlog.parse import jsonl, torch_trace
from ettlog.parse.blocks import open_source
from ettlog.parse.gather import Facts
from ettlog.parse.parsed import Parsed, ScanOptions
from ettlog.parse.records import reader_for
from ettlog.parse.scan import scan
from tests.conftest import ROOT

pytestmark = pytest.mark.shared

SETS = ("mlperf_", "fairseq_", "trace_", "dlrover_events", "maxtext_metrics_jsonl")
"""Dialects of these readers, by the beginning of a set's name; no other filter."""

TRAINER = ROOT.parent / "shared" / "data" / "trainer"
SECOND = 1_000_000

Fact = dict[str, Any]


def facts() -> list[Fact]:
    """Return the facts of the sets of these dialects; none where the shared folder is absent."""
    path = TRAINER / "facts.json"
    told: list[Fact] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    return [fact for fact in told if fact["set"].startswith(SETS)]


ABSENT = pytest.param({"set": "absent", "files": []}, marks=pytest.mark.skip(reason="no shared folder"))


@functools.cache
def known() -> formats.FormatSet:
    """Return all formats that come with ettlog."""
    return formats.load_all()


@functools.cache
def parsed(name: str) -> Parsed:
    """Read one file as an ingest does: by the reader that knows it, else as text."""
    path, options = TRAINER / name, ScanOptions()
    reader = reader_for(path, options)
    return reader.read(path, options) if reader else scan(path, known(), options)


def of(fact: Fact) -> Parsed:
    """Return what was read of a set of one file."""
    assert len(fact["files"]) == 1
    return parsed(fact["files"][0])


def instant(text: str, fact: Fact) -> int:
    """Return a stamp of the facts in microseconds UTC: local ones in the set's offset where it is known."""
    when = datetime.fromisoformat(text.replace("--", "2000-").replace("Z", "+00:00"))
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC) - offset(fact)
    return (when - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def offset(fact: Fact) -> timedelta:
    """Return the offset of local stamps from UTC that a set proves, else nothing."""
    text = fact.get("utc_offset", "+00:00")
    sign = -1 if text.startswith("-") else 1
    return sign * timedelta(hours=int(text[1:3]), minutes=int(text[4:6]))


def each(prefix: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test for every set whose name begins so."""
    wanted: list[Any] = [fact for fact in facts() if fact["set"].startswith(prefix)] or [ABSENT]
    return pytest.mark.parametrize("fact", wanted, ids=lambda fact: fact["set"] if isinstance(fact, dict) else "absent")


def union(intervals: Iterator[tuple[int, int]]) -> int:
    """Return the length of the union of intervals."""
    total, reach = 0, None
    for begin, end in sorted(intervals):
        total += max(0, end - (begin if reach is None else max(begin, reach)))
        reach = end if reach is None else max(reach, end)
    return total


def rows(fact: Fact, *kinds: str) -> list[dict[str, Any]]:
    """Return the events of some kinds."""
    return [row for row in of(fact).events.to_pylist() if row["kind"] in kinds]


@each("")
def test_lines_are_accounted_for(fact: Fact) -> None:
    """Every line of the file has one outcome, and no file is refused."""
    found = of(fact)
    assert found.n_lines == fact["lines"] == sum(found.lines.values())
    assert found.state in ("whole", "torn")


@each("trace_")
def test_compile_seconds(fact: Fact) -> None:
    """The union of the compiles is what the file states, to a microsecond for each of them."""
    found = rows(fact, "compile", "recompile")
    seconds = union((row["ts"] - row["duration_us"], row["ts"]) for row in found) / SECOND
    expected = fact["compile"]["seconds"]
    assert seconds == pytest.approx(expected or 0, abs=1e-6 * max(1, len(found)))


@each("trace_")
def test_recompiles(fact: Fact) -> None:
    """Recompiles are counted, save where the set's copies of one compile make the count debatable: there its real
    ones count.
    """
    copies = fact["set"] == "trace_mrank_recompile_r0"
    assert len(rows(fact, "recompile")) == (1 if copies else fact["compile"]["recompiles"])
    if copies:
        assert len(rows(fact, "compile", "recompile")) == fact["compile"]["distinct_metric_intervals"]


@each("trace_")
def test_cache_evidence(fact: Fact) -> None:
    """Hits, misses and bypasses of both caches are those of the file's artifacts."""
    counts = Counter(row["pattern"] for row in rows(fact, "cache_hit", "cache_miss"))
    for cache in ("fx_graph_cache", "aotautograd_cache"):
        found = {name.removeprefix(f"{cache}_"): count for name, count in counts.items() if name.startswith(cache)}
        found.pop("disabled", None)  # told by an event, not by an artifact
        assert found == fact["compile"][cache]


@each("trace_")
def test_payloads(fact: Fact) -> None:
    """Whole and damaged payloads, lines outside records and records are those of the facts."""
    path = TRAINER / fact["files"][0]
    trace = torch_trace.Trace(Facts(torch_trace.NAME, ScanOptions()), None)
    with open_source(path) as source:
        trace.feed(jsonl.lines(source, torch_trace.MAX_LINE))
    told = fact["payload_md5"]
    assert (trace.ok, trace.damaged, trace.outside, trace.records) == (
        told["ok"], told["bad"], told["lines_outside_records"], fact["records"],
    )  # fmt: skip
    assert of(fact).lines.get("bad_record", 0) == told["bad"]


@each("trace_")
def test_trace_clock(fact: Fact) -> None:
    """First and last stamp become UTC with the offset and the year that the file proves; without an epoch value they
    have none.
    """
    found = of(fact)
    if "year" not in fact:
        assert found.first_us is None
        return
    ends = [(found.first_us, "first_stamp"), (found.last_us, "last_stamp")]
    # an epoch value stands beside a stamp of milliseconds
    assert all(us is not None and abs(us - instant(fact[key]["at"], fact)) < 1_000 for us, key in ends)
    assert f"zone UTC{fact['utc_offset']} inferred from an epoch value beside a local stamp" in found.inferences


@each("mlperf_")
def test_mllog_instants(fact: Fact) -> None:
    """Cache clear, init and run of an MLPerf log stand where its records say, and the derived lengths follow."""
    told, first = fact["mllog"], dict[str, int]()
    for row in of(fact).events.to_pylist():
        if row["format"] == "mllog":
            first.setdefault(row["name"] or row["kind"], row["ts"])
    names = {
        "cache_clear": "cache_clear",
        "init_start": "init_start",
        "init_stop": "init_stop",
        "run_start": "train_start",
        "run_stop": "train_end",
    }
    for key, name in names.items():
        assert (key in told) == (name in first), key
        if key in told:
            assert first[name] == instant(told[key], fact), key
    if "run_s" in told:
        assert (first["train_end"] - first["train_start"]) / SECOND == pytest.approx(told["run_s"])
        assert (first["init_stop"] - first["init_start"]) / SECOND == pytest.approx(told["init_s"])


@each("mlperf_")
def test_mllog_counts(fact: Fact) -> None:
    """Copies of init_start and their spread, evaluations and accuracies are those counted in the file."""
    told = fact["mllog"]
    starts = [row["ts"] for row in rows(fact, "trainer_start") if row["name"] == "init_start"]
    assert len(starts) == told["init_start_copies"]
    assert (max(starts) - min(starts)) / SECOND == pytest.approx(told["init_start_spread_s"])
    assert (
        len([row for row in rows(fact, "heartbeat") if row["name"] == "eval_accuracy"]) == told["eval_accuracy_records"]
    )
    assert (
        len([row for row in rows(fact, "evaluation_begin") if row["format"] == "mllog"]) == told["eval_start_records"]
    )
    assert not [row for row in rows(fact, "failure") if row["format"] == "mllog"]


@each("")
def test_step_lines(fact: Fact) -> None:
    """Step lines, the first and the last one with their instants are those of the facts, where these are not
    debatable.
    """
    debatable = set(fact.get("debatable", ()))
    steps = of(fact).steps.to_pylist()
    if "step_lines" not in debatable:
        assert len(steps) == fact["step_lines"]
    for start in fact["starts"][:1]:
        ends = [("first_step", min), ("last_step", max)]
        for key, pick in ends:
            if f"starts.{key}" in debatable or start[key] is None:
                continue
            row = pick(steps, key=lambda row: row["step"])
            assert row["step"] == start[key]
            stamp = start[f"{key}_logged_at"]
            assert row["ts"] == (None if stamp is None else instant(stamp, fact))


@each("")
def test_committed_saves(fact: Fact) -> None:
    """Committed saves are the steps and instants of the facts, and every one was asked for."""
    if "saves_committed" not in fact:
        assert not rows(fact, "save_commit")
        return
    found = {row["step"]: row["ts"] for row in rows(fact, "save_commit")}
    assert found == {step: instant(stamp, fact) for step, stamp in fact["saves_committed"]}
    assert len(rows(fact, "save_request")) == fact["saves_requested"]


@each("dlrover_events")
def test_dlrover_durations(fact: Fact) -> None:
    """The lengths of the steps are those between the two ends of their spans."""
    found = [[row["step"], row["duration_us"] / SECOND] for row in of(fact).steps.to_pylist()]
    assert found == [[step, pytest.approx(length)] for step, length in fact["step_seconds"]]


@each("maxtext_metrics")
def test_maxtext_durations(fact: Fact) -> None:
    """The printed step times add up to the file's total."""
    total = sum(row["duration_us"] for row in of(fact).steps.to_pylist())
    assert total / SECOND == pytest.approx(fact["step_seconds_total"])


@each("fairseq_")
def test_fairseq_overflows_and_writes(fact: Fact) -> None:
    """Steps that were executed and not applied, and the seconds that writing took, are those of the file."""
    if "gradient_overflow_lines" in fact:
        assert len(rows(fact, "overflow")) == fact["gradient_overflow_lines"]
    if "save_write_seconds_total" in fact:
        total = sum(row["duration_us"] for row in rows(fact, "save_commit")) / SECOND
        assert total == pytest.approx(fact["save_write_seconds_total"], abs=0.01)
    ends = [row["duration_us"] / SECOND for row in rows(fact, "train_end")]
    assert ends == ([fact["done_training_seconds"]] if "done_training_seconds" in fact else [])


@pytest.fixture(scope="module")
def starts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """Return the starts of all sets by set, as the relations tell them."""
    folder = tmp_path_factory.mktemp("real")
    logs = folder / "logs"
    for fact in facts():
        (logs / fact["set"]).parent.mkdir(exist_ok=True)
        (logs / fact["set"]).mkdir()
        for name in fact["files"]:
            (logs / name).write_bytes((TRAINER / name).read_bytes())
    ettlog.ingest([logs], folder / "lake")
    found: dict[str, list[dict[str, Any]]] = {}
    for row in ettlog.open(folder / "lake").table("start").iter_rows(named=True):
        found.setdefault(row["job"].split("/")[0], []).append(row)
    return found


@each("")
def test_starts_of_the_relations(fact: Fact, starts: dict[str, list[dict[str, Any]]]) -> None:
    """Each set is one start with the end, the cause and the steps of the facts; the compiler's traces tell of no
    training.
    """
    if not fact["starts"]:
        return
    assert len(starts[fact["set"]]) == len(fact["starts"]) == 1
    found, told, debatable = starts[fact["set"]][0], fact["starts"][0], set(fact.get("debatable", ()))
    names = {
        "end": "end_state",
        "cause": "cause",
        "resumed_from": "resumed_from",
        "first_step": "first_step",
        "last_step": "last_step",
    }
    wanted = {key: told[key] for key in names if key in told and f"starts.{key}" not in debatable}
    assert {key: found[names[key]] for key in wanted} == wanted


WORLD_UNPRINTED = "mlperf_"
"""No line of these sets prints the world size: it is known only from the number of copies of a record that some
submitters print once a rank.
"""


@each("")
def test_stamps_of_the_relations(fact: Fact, starts: dict[str, list[dict[str, Any]]]) -> None:
    """Launch and end of the start stand where the facts say, to 10 ms where records follow the end; the world size
    where printed.
    """
    if not fact["starts"]:
        return
    found, told = starts[fact["set"]][0], fact["starts"][0]
    for key in ("launched_at", "ended_at"):
        assert (found[key] is None) == (told.get(key) is None), key
        if told.get(key) is not None:
            us = (found[key].replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
            assert abs(us - instant(told[key], fact)) <= 10_000, key
    if not fact["set"].startswith(WORLD_UNPRINTED):
        assert found["world_size"] == told["world_size"]
