"""Results in the forms of other tools: timelines for trace viewers, metrics, rules and dashboards."""

from __future__ import annotations

from ettlog.export.chrome import chrome
from ettlog.export.grafana import grafana
from ettlog.export.metrics import metrics
from ettlog.export.otlp import otlp
from ettlog.export.perfetto import perfetto
from ettlog.export.rules import rules

__all__ = ["chrome", "grafana", "metrics", "otlp", "perfetto", "rules"]
