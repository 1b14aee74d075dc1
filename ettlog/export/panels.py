"""What the dashboards show, panel by panel: title, type, unit, width, height, a sentence, (query, legend) pairs."""

from __future__ import annotations

from typing import NamedTuple

from ettlog.lifecycle import END_STATES, PARTS, RECOVERY_KINDS

EFFECTIVE = next(part.component for part in PARTS if part.role == "effective")

WHOLE_RATIO = "The share of held GPU time that consumed new data."
FROM, TO = "${__from} * 1000", "${__to} * 1000"
"""The dashboard's time range in microseconds; Grafana puts milliseconds in place of its variables."""


class Panel(NamedTuple):
    """One panel: title, Grafana's type, unit, width of 24, height, a sentence, and its queries with their legends."""

    title: str
    type: str
    unit: str
    width: int
    height: int
    text: str
    queries: tuple[tuple[str, str], ...]
    stack: bool = False


PROMETHEUS: tuple[Panel, ...] = (
    Panel("ETT, all time", "stat", "percentunit", 6, 5, WHOLE_RATIO, (("ettlog_fleet_effective_training_ratio", ""),)),
    Panel(
        "ETT, 7 days",
        "stat",
        "percentunit",
        6,
        5,
        WHOLE_RATIO + " Of what was added in seven days.",
        (("fleet:ettlog_effective_training:ratio_7d", ""),),
    ),
    Panel(
        "Failures and preemptions, 7 days",
        "stat",
        "none",
        6,
        5,
        "Starts that ended in one.",
        (
            ("sum(increase(ettlog_failures_total[7d]))", "failures"),
            ("sum(increase(ettlog_preemptions_total[7d]))", "preemptions"),
        ),
    ),
    Panel(
        "Newest event",
        "stat",
        "dateTimeFromNow",
        6,
        5,
        "Age of the newest line that ettlog has read.",
        (("ettlog_newest_event_timestamp_seconds * 1000", ""),),
    ),
    Panel(
        "Overhead by component, share of wall",
        "timeseries",
        "percentunit",
        12,
        9,
        "Held time that consumed no new data, of what was added in seven days.",
        (("component:ettlog_wasted:ratio_7d", "{{component}}"),),
        True,
    ),
    Panel(
        "Overhead by owner, share of wall",
        "timeseries",
        "percentunit",
        12,
        9,
        "The same by who owns the part.",
        (('owner:ettlog_wasted:ratio_7d{owner!=""}', "{{owner}}"),),
    ),
    Panel(
        "ETT by model, 7 days",
        "timeseries",
        "percentunit",
        12,
        9,
        WHOLE_RATIO,
        (("model:ettlog_effective_training:ratio_7d", "{{model}}"),),
    ),
    Panel(
        "Failures per GPU-day",
        "timeseries",
        "none",
        12,
        9,
        "Failures over held GPU time, seven days.",
        (("model:ettlog_failures:per_gpu_day_7d", "{{model}}"), ("fleet:ettlog_failures:per_gpu_day_7d", "all")),
    ),
    Panel(
        "Failures by cause, 7 days",
        "barchart",
        "none",
        12,
        9,
        "As the logs name the cause.",
        (("sort_desc(sum by (cause) (increase(ettlog_failures_total[7d])))", "{{cause}}"),),
    ),
    Panel(
        "Credit by optimization",
        "table",
        "s",
        12,
        9,
        "GPU time saved, as attributed; nobody's rows in brackets.",
        (("sort_desc(sum by (optimization, owner, tier) (ettlog_credit_gpu_seconds))", ""),),
    ),
    Panel(
        "Time to start and to recover, by model",
        "table",
        "s",
        12,
        8,
        "Mean wall up to the first (new) step.",
        (("ettlog_time_to_start_seconds", ""), ("ettlog_time_to_recover_seconds", "")),
    ),
    Panel(
        "Lines that could not be read, 1 day",
        "timeseries",
        "none",
        12,
        8,
        "Lines by what became of them.",
        (('sum by (outcome) (increase(ettlog_lines_total{outcome!~"matched|ignored"}[1d]))', "{{outcome}}"),),
    ),
)
"""Panels over Prometheus."""

_CLIPPED = (
    "greatest(0, least(end_us, " + TO + ") - greatest(begin_us, " + FROM + ")) * coalesce(gpus, 1)"
    " * CAST(allocated AS INTEGER)"
)
_HELD = "SELECT *, " + _CLIPPED + " AS gpu_us FROM segment WHERE end_us > " + FROM + " AND begin_us < " + TO
_TRAINED = "sum(CASE WHEN component = '" + EFFECTIVE + "' THEN gpu_us ELSE 0 END)"
_KINDS = ", ".join(f"'{kind}'" for kind in RECOVERY_KINDS)
_WEEK = "date_trunc('week', make_timestamp(begin_us))"
_BEGAN = "coalesce(launched_at >= make_timestamp(" + FROM + ") AND launched_at < make_timestamp(" + TO + "), TRUE)"
"""A start that no line dates counts in any range."""

DUCKDB: tuple[Panel, ...] = (
    Panel(
        "ETT", "stat", "percentunit", 6, 5, WHOLE_RATIO + " Within the range of the dashboard.",
        (("WITH held AS (" + _HELD + ") SELECT " + _TRAINED + " / nullif(sum(gpu_us), 0) AS ett FROM held", ""),),
    ),
    Panel(
        "GPU-hours held", "stat", "none", 6, 5, "Within the range of the dashboard.",
        (("WITH held AS (" + _HELD + ") SELECT sum(gpu_us) / 3.6e9 AS gpu_hours FROM held", ""),),
    ),
    Panel(
        "Recoveries", "stat", "none", 6, 5, "Starts that came back from a failure or a preemption.",
        (("SELECT count(*) AS recoveries FROM start WHERE kind IN (" + _KINDS + ") AND " + _BEGAN, ""),),
    ),
    Panel(
        "Jobs", "stat", "none", 6, 5, "Jobs with any time in the range.",
        (("SELECT count(*) AS jobs FROM job WHERE last_us > " + FROM + " AND first_us < " + TO, ""),),
    ),
    Panel(
        "Components by week, GPU-hours", "timeseries", "h", 12, 9, "Each segment counts in the week it began in.",
        (("WITH held AS (" + _HELD + ") SELECT " + _WEEK + " AS time, component AS metric, sum(gpu_us) / 3.6e9 AS value"
          " FROM held GROUP BY 1, 2 ORDER BY 1, 2", ""),), True,
    ),
    Panel(
        "ETT by week", "timeseries", "percentunit", 12, 9, WHOLE_RATIO,
        (("WITH held AS (" + _HELD + ") SELECT " + _WEEK + " AS time, " + _TRAINED
          + " / nullif(sum(gpu_us), 0) AS ett FROM held GROUP BY 1 ORDER BY 1", ""),),
    ),
    Panel(
        "Overhead by owner, GPU-hours", "barchart", "h", 12, 9, "Held time that consumed no new data, by its owner.",
        (("WITH held AS (" + _HELD + ") SELECT p.owner AS owner, sum(h.gpu_us) / 3.6e9 AS gpu_hours FROM held AS h"
          " JOIN lifecycle_part AS p ON p.part = h.part WHERE p.owner <> '' GROUP BY 1 ORDER BY 2 DESC", ""),),
    ),
    Panel(
        "Jobs that lost most, GPU-hours", "table", "none", 12, 9, "Held time that consumed no new data.",
        (("WITH held AS (" + _HELD + ") SELECT h.job, j.model, sum(CASE WHEN h.component = '" + EFFECTIVE
          + "' THEN 0 ELSE h.gpu_us END) / 3.6e9 AS lost_gpu_hours, any_value(j.nof) AS recoveries FROM held AS h"
          " JOIN job AS j ON j.job = h.job GROUP BY 1, 2 ORDER BY 3 DESC, 1 LIMIT 25", ""),),
    ),
    Panel(
        "Ends that were not planned, by cause", "table", "none", 12, 9, "Starts of the range.",
        (("SELECT end_state, coalesce(cause, '(not named)') AS cause, count(*) AS starts FROM start WHERE " + _BEGAN
          + " AND end_state <> '" + END_STATES[0] + "' GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2", ""),),
    ),
    Panel(
        "Data quality", "table", "none", 12, 9, "Lines of log by what became of them, and findings of the checks.",
        (("SELECT outcome, sum(lines) AS lines FROM line_stat GROUP BY 1 ORDER BY 2 DESC", ""),
         ('SELECT level, "check", count(*) AS findings FROM snapshot_finding GROUP BY 1, 2 ORDER BY 1, 2', "")),
    ),
)  # fmt: skip
"""Panels over a snapshot; Grafana puts the range in place of `${__from}` and `${__to}`."""
