"""Dashboards for Grafana: over Prometheus, or over a snapshot through the DuckDB plugin."""

from __future__ import annotations

import json
from typing import Any, Literal

from ettlog.export.panels import DUCKDB, PROMETHEUS, Panel
from ettlog.plot import COLOURS

PLUGINS = {"prometheus": "prometheus", "duckdb": "motherduck-duckdb-datasource"}
SCHEMA = 39
"""Version of the dashboard's JSON: that of Grafana 10.4, the oldest that runs the DuckDB plugin."""
COLUMNS = 24


def grafana(source: Literal["prometheus", "duckdb"] = "prometheus") -> bytes:
    """Return a dashboard as JSON, to be imported or provisioned; the data source is chosen by a variable of it.

    The one over DuckDB asks a file written by `ettlog snapshot`, within the time range of the dashboard.
    """
    rows = PROMETHEUS if source == "prometheus" else DUCKDB
    built, x, y, tallest = [], 0, 0, 0
    for number, panel in enumerate(rows, 1):
        if x + panel.width > COLUMNS:
            x, y, tallest = 0, y + tallest, 0
        built.append(_panel(number, panel, source, x, y))
        x, tallest = x + panel.width, max(tallest, panel.height)
    dashboard = {
        "title": f"Training time ({'Prometheus' if source == 'prometheus' else 'snapshot'})",
        "uid": f"ettlog-{source}",
        "tags": ["ettlog"],
        "schemaVersion": SCHEMA,
        "editable": True,
        "timezone": "utc",
        "time": {"from": "now-6M", "to": "now"},
        "templating": {"list": [_chooser(source)]},
        "panels": built,
    }
    return json.dumps(dashboard, indent=1, ensure_ascii=False).encode() + b"\n"


def _chooser(source: str) -> dict[str, Any]:
    return {"type": "datasource", "name": "source", "label": "Data source", "query": PLUGINS[source], "refresh": 1}


def _panel(number: int, panel: Panel, source: str, x: int, y: int) -> dict[str, Any]:
    uid = {"type": PLUGINS[source], "uid": "${source}"}
    make = _promql if source == "prometheus" else _sql
    targets = [
        {"refId": chr(ord("A") + place), "datasource": uid, **make(query, legend, panel)}
        for place, (query, legend) in enumerate(panel.queries)
    ]
    defaults: dict[str, Any] = {"unit": panel.unit, "custom": {}}
    if panel.unit == "percentunit":
        defaults |= {"min": 0}
    if panel.stack:
        defaults["custom"] = {"stacking": {"mode": "normal"}, "fillOpacity": 80, "lineWidth": 0}
    return {
        "id": number, "title": panel.title, "type": panel.type, "description": panel.text, "datasource": uid,
        "gridPos": {"x": x, "y": y, "w": panel.width, "h": panel.height}, "targets": targets,
        "fieldConfig": {"defaults": defaults, "overrides": [_coloured(*item) for item in COLOURS.items()]},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}} if panel.type == "timeseries" else {},
    }  # fmt: skip


def _promql(query: str, legend: str, panel: Panel) -> dict[str, Any]:
    series = panel.type == "timeseries"
    form = {"format": "table"} if panel.type == "table" else {}
    return {"expr": query, "legendFormat": legend or "__auto", "instant": not series, "range": series, **form}


def _sql(query: str, _legend: str, panel: Panel) -> dict[str, Any]:
    form = "time_series" if panel.type == "timeseries" else "table"
    return {"rawSql": query, "rawQuery": True, "editorMode": "code", "format": form}


def _coloured(name: str, colour: str) -> dict[str, Any]:
    fixed = {"mode": "fixed", "fixedColor": colour}
    return {"matcher": {"id": "byName", "options": name}, "properties": [{"id": "color", "value": fixed}]}
