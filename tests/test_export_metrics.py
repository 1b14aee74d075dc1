"""Metrics, rules and dashboards: read back by independent parsers, each query run or checked by name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import promql_parser
import pytest
import yaml
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families

import ettlog
from ettlog import export
from ettlog.errors import NoDataError
from ettlog.export.metrics import METRICS, NAMES
from ettlog.fleet import Fleet
from ettlog.lifecycle import PARTS
from tests.conftest import ROOT
from tests.tables import Log, record
from tests.tables import fleet as made
from tests.test_cli import run

Found = dict[tuple[str, frozenset[tuple[str, str]]], float]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a lake of the tiny fixture."""
    lake = tmp_path_factory.mktemp("metrics") / "lake"
    ettlog.ingest([ROOT / "fixtures/tiny/logs"], lake)
    return lake


@pytest.fixture(scope="module")
def fleet(lake: Path) -> Fleet:
    """Return the fleet of the lake."""
    return ettlog.open(lake)


def samples(text: str) -> Found:
    """Return the samples of Prometheus text as prometheus_client reads them."""
    families = text_string_to_metric_families(text)
    return {(s.name, frozenset(s.labels.items())): s.value for family in families for s in family.samples}


def of(found: Found, name: str, **labels: str) -> dict[frozenset[tuple[str, str]], float]:
    """Return the samples of one name that have these labels."""
    return {key: value for (own, key), value in found.items() if own == name and labels.items() <= dict(key).items()}


def test_prometheus_text_is_read_back(fleet: Fleet) -> None:
    """prometheus_client reads every metric with type, help and samples; names are of base units, no percent."""
    text = export.metrics(fleet).decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    for metric in METRICS:
        assert families[metric.name].type == metric.kind
        assert families[metric.name].documentation == metric.help
    assert {name for name, _ in samples(text)} <= NAMES
    assert not re.search(r"percent|hours|_ms\b", text)


def test_openmetrics_says_the_same(fleet: Fleet) -> None:
    """The strict OpenMetrics parser accepts the other form, and it holds the same samples."""
    plain = samples(export.metrics(fleet).decode())
    text = export.metrics(fleet, openmetrics=True).decode()
    strict = openmetrics.text_string_to_metric_families(text)
    assert {(s.name, frozenset(s.labels.items())): s.value for f in strict for s in f.samples} == plain
    assert text.endswith("# EOF\n")


def test_counters_are_the_ledger(fleet: Fleet) -> None:
    """Effective and wasted seconds add up to the wall; their ratio is ETT by `ettlog.ett`."""
    found = samples(export.metrics(fleet).decode())
    wall = sum(of(found, "ettlog_wall_gpu_seconds_total").values())
    effective = sum(of(found, "ettlog_effective_gpu_seconds_total").values())
    wasted = sum(of(found, "ettlog_wasted_gpu_seconds_total").values())
    assert wall == pytest.approx(effective + wasted)
    assert found["ettlog_fleet_effective_training_ratio", frozenset()] == pytest.approx(effective / wall)
    assert ettlog.ett(fleet)["ett"][0] == pytest.approx(effective / wall)
    segment = fleet.table("segment").filter(pl.col("allocated"))
    held = segment.select(((pl.col("end_us") - pl.col("begin_us")) * pl.col("gpus")).sum()).item()
    assert wall == pytest.approx(held / 1e6)


def test_starts_and_failures_are_counted(fleet: Fleet) -> None:
    """Starts by kind add up to the relation; every owner of a wasted part is that of the vocabulary."""
    found = samples(export.metrics(fleet).decode())
    start = fleet.table("start")
    assert sum(of(found, "ettlog_starts_total").values()) == start.height
    failed = start.filter(pl.col("end_state").is_in(["failed", "killed", "node_failure"])).height
    assert sum(of(found, "ettlog_failures_total").values()) == failed > 0
    owners = {part.part: part.owner for part in PARTS}
    for labels in of(found, "ettlog_wasted_gpu_seconds_total"):
        assert dict(labels)["owner"] == owners[dict(labels)["part"]]


def test_labels_are_escaped() -> None:
    """A model named with quotes, a backslash and a newline comes back as it is from both parsers."""
    name = 'a"b\\c'
    log = Log(model=name)
    log.say(0, "launch")
    log.step(10, 1, 5)
    log.step(15, 2, 5)
    log.say(16, "exit_ok")
    one = made(log, alloc=[record(submit=0, start=0, end=20, gpus=8)])
    found = samples(export.metrics(one).decode())
    assert any(dict(labels).get("model") == name for _, labels in found)
    strict = openmetrics.text_string_to_metric_families(export.metrics(one, openmetrics=True).decode())
    assert any(s.labels.get("model") == name for family in strict for s in family.samples)


def test_no_job_is_no_data(fleet: Fleet) -> None:
    """A glob that fits no job is refused, not answered with zeros."""
    with pytest.raises(NoDataError):
        export.metrics(fleet, jobs=["nothing*"])


def test_command_narrows_to_named_jobs(lake: Path, fleet: Fleet) -> None:
    """`ettlog export prometheus JOB` counts this job alone."""
    job = fleet.table("job")["job"][0]
    found = samples(run("export", "prometheus", job, "--lake", str(lake)).stdout)
    assert sum(of(found, "ettlog_jobs").values()) == 1


# Rules


def loaded() -> list[dict[str, Any]]:
    """Return all rules."""
    groups = yaml.safe_load(export.rules())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def recorded() -> set[str]:
    """Return the names of the recording rules."""
    return {rule["record"] for rule in loaded() if "record" in rule}


def metrics_of(expression: str) -> Iterator[str]:
    """Yield the metrics that a PromQL expression reads; raises where it is none."""

    def visit(node: Any) -> Iterator[str]:
        if isinstance(node, promql_parser.VectorSelector):
            yield str(node.name)
        for name in ("expr", "lhs", "rhs", "vector_selector", "vs", "param"):
            child = getattr(node, name, None)
            if child is not None and not isinstance(child, str):
                yield from visit(child)
        for child in getattr(node, "args", None) or []:
            yield from visit(child)

    yield from visit(promql_parser.parse(expression))


def test_metrics_of_an_expression_are_all_found() -> None:
    """The walk used by the tests below reaches selectors under calls, aggregations, operators and brackets."""
    text = "sum by (a) (increase(m1[7d])) / on () (m2 > 0) and avg_over_time(m3[1d] offset 7d) * 2 > time() - m4"
    assert set(metrics_of(text)) == {"m1", "m2", "m3", "m4"}


@pytest.mark.parametrize("rule", loaded(), ids=lambda rule: rule.get("record") or rule.get("alert"))
def test_rule_is_promql_over_known_metrics(rule: dict[str, Any]) -> None:
    """Each expression parses, and reads only what the export writes or another rule records."""
    read = set(metrics_of(rule["expr"]))
    assert read
    assert read <= NAMES | recorded()


@pytest.mark.parametrize("rule", [r for r in loaded() if "alert" in r], ids=lambda rule: rule["alert"])
def test_alert_has_owner_and_says_what_to_do(rule: dict[str, Any]) -> None:
    """An alert has an owner, a severity, a hold time, and a description that names a command of ettlog or a cause."""
    assert rule["labels"]["owner"]
    assert rule["labels"]["severity"] in ("info", "warning", "critical")
    assert re.fullmatch(r"\d+[hm]", rule["for"])
    assert "`ettlog " in rule["annotations"]["description"]


def test_owner_alert_takes_its_owner_from_the_series() -> None:
    """The alert on overhead keeps the label `owner` of the rule it reads, which groups by it alone."""
    rules = {rule.get("record") or rule["alert"]: rule for rule in loaded()}
    assert rules["EttlogOwnerOverheadRose"]["labels"]["owner"] == "{{ $labels.owner }}"
    assert "by (owner)" in rules["owner:ettlog_wasted_gpu_seconds:increase_7d"]["expr"]


def test_labels_that_rules_name_exist(fleet: Fleet) -> None:
    """Every label that a rule groups or selects by is on the metric it reads."""
    text = export.rules().decode()
    found = samples(export.metrics(fleet).decode())
    on = {name: {key for own, labels in found for key, _ in labels if own == name} for name in NAMES}
    for label, metric in re.findall(r"by \((\w+)\) \(increase\((\w+)", text):
        assert label in on[metric]
    outcomes = {dict(labels)["outcome"] for labels in of(found, "ettlog_lines_total")}
    assert set(re.findall(r'outcome=~"([^"]+)"', text)[0].split("|")) <= outcomes


# Dashboards


def panels(source: Any) -> list[dict[str, Any]]:
    """Return the panels of a dashboard."""
    found: list[dict[str, Any]] = json.loads(export.grafana(source))["panels"]
    return found


@pytest.mark.parametrize("source", ["prometheus", "duckdb"])
def test_dashboard_keeps_its_invariants(source: Any) -> None:
    """Panels have numbers of their own, lie on the grid without overlap, have a sentence and a query each."""
    found = panels(source)
    assert len({panel["id"] for panel in found}) == len(found)
    taken: set[tuple[int, int]] = set()
    for panel in found:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert at["x"] + at["w"] <= 24
        assert not cells & taken
        taken |= cells
        assert panel["description"].endswith(".")
        assert panel["targets"]
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])


@pytest.mark.parametrize("panel", panels("prometheus"), ids=lambda panel: panel["title"])
def test_promql_of_a_panel_reads_known_metrics(panel: dict[str, Any]) -> None:
    """Each query parses and reads only exported metrics and recorded rules; its legend names labels it keeps."""
    for target in panel["targets"]:
        assert set(metrics_of(target["expr"])) <= NAMES | recorded()


@pytest.fixture(scope="module")
def snapshot(lake: Path, fleet: Fleet) -> Path:
    """Return a snapshot of the lake."""
    path = lake.parent / "fleet.duckdb"
    ettlog.snapshot(fleet, path)
    return path


def answered(path: Path, query: str, since_ms: int, until_ms: int) -> pl.DataFrame:
    """Run a query of a panel as Grafana does, with the dashboard's range in place of its variables."""
    text = query.replace("${__from}", str(since_ms)).replace("${__to}", str(until_ms))
    assert "$" not in text
    with duckdb.connect(str(path), read_only=True) as connection:
        frame: pl.DataFrame = connection.sql(text).pl()
        return frame


ALL = (0, 4_000_000_000_000)


@pytest.mark.parametrize("panel", panels("duckdb"), ids=lambda panel: panel["title"])
def test_sql_of_a_panel_runs_on_a_snapshot(panel: dict[str, Any], snapshot: Path) -> None:
    """Each query runs on the file itself; series have a column `time`; those over time are empty outside the range."""
    for target in panel["targets"]:
        frame = answered(snapshot, target["rawSql"], *ALL)
        if "snapshot_finding" not in target["rawSql"]:
            assert frame.height > 0
        if target["format"] == "time_series":
            assert frame.columns[0] == "time"
            assert answered(snapshot, target["rawSql"], 0, 1).is_empty()


def test_dashboard_over_a_snapshot_shows_ettlogs_numbers(snapshot: Path, fleet: Fleet) -> None:
    """ETT and recoveries on the dashboard are those of `ettlog ett` and `ettlog jobs`."""
    by_title = {panel["title"]: panel["targets"][0]["rawSql"] for panel in panels("duckdb")}
    whole = ettlog.ett(fleet).row(0, named=True)
    assert answered(snapshot, by_title["ETT"], *ALL).item() == pytest.approx(whole["ett"])
    assert answered(snapshot, by_title["GPU-hours held"], *ALL).item() == pytest.approx(whole["wall_gpu_hours"])
    assert answered(snapshot, by_title["Recoveries"], *ALL).item() == whole["failures"] + whole["preemptions"]
