"""The lake as metrics: Prometheus text for a textfile collector, or OpenMetrics."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import ettlog
from ettlog.errors import NoDataError
from ettlog.ett import matching
from ettlog.lifecycle import LOST_ENDS, OUTCOMES, PARTS, RECOVERY_KINDS

if TYPE_CHECKING:
    import polars as pl

    from ettlog.fleet import Fleet

EFFECTIVE = next(part.component for part in PARTS if part.role == "effective")
NOBODY, NOT_NAMED = "(nobody)", "(unknown)"
MICROS = 1_000_000
SECONDS_PER_HOUR = 3600
GAUGE, COUNTER = "gauge", "counter"

Sample = tuple[dict[str, str], float]


class Asked(NamedTuple):
    """A fleet and the jobs of it that are counted."""

    fleet: Fleet
    jobs: Sequence[str] | None
    models: Sequence[str] | None

    def ledger(self) -> pl.DataFrame:
        """Return the ledger of these jobs, with no nulls in its labels."""
        import polars as pl

        frame = self.fleet.table("ledger").filter(pl.col("job").is_in(self.names()))
        return frame.with_columns(pl.col("model", "owner", "kind", "cluster").fill_null(""))

    def names(self) -> list[str]:
        """Return the names of the jobs."""
        return matching(self.fleet.table("job"), self.jobs, self.models)


class Metric(NamedTuple):
    """One metric: its name without `_total`, its type, a sentence, and what makes its samples."""

    name: str
    kind: str
    help: str
    samples: Callable[[Asked], Iterable[Sample]]


def metrics(
    fleet: Fleet,
    *,
    jobs: Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    openmetrics: bool = False,
) -> bytes:
    """Return the metrics of a lake as Prometheus text, or as OpenMetrics 1.0.

    Counters count the whole lake, so they only grow as logs are added and `increase()` works on them. `jobs` and
    `models` are globs. Time is in seconds, shares are ratios; nothing is a percentage.

    Raises:
        NoDataError: no job is left to count.
    """
    asked = Asked(fleet, jobs, models)
    if not asked.names():
        _nothing()
    lines: list[str] = []
    for metric in METRICS:
        lines += _lines(metric, asked, openmetrics)
    if openmetrics:
        lines.append("# EOF")
    return ("\n".join(lines) + "\n").encode("utf-8", "replace")


def _nothing() -> None:
    raise NoDataError(
        "there is no job to count",
        where="relation job",
        why="no job of this lake matches, or no log of a training job was read",
        todo="loosen --job and --model, or see `ettlog status` for what each file gave",
    )


def _lines(metric: Metric, asked: Asked, openmetrics: bool) -> Iterator[str]:
    name = metric.name if metric.kind == GAUGE else f"{metric.name}_total"
    family = metric.name if openmetrics else name
    yield f"# HELP {family} {_escaped(metric.help, quotes=openmetrics)}"
    yield f"# TYPE {family} {metric.kind}"
    for labels, value in metric.samples(asked):
        said = ",".join(f'{key}="{_escaped(text, quotes=True)}"' for key, text in labels.items())
        yield f"{name}{{{said}}} {_number(value)}" if said else f"{name} {_number(value)}"


def _escaped(text: str, *, quotes: bool) -> str:
    text = text.replace("\\", "\\\\").replace("\n", "\\n")
    return text.replace('"', '\\"') if quotes else text


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def _sums(frame: pl.DataFrame, labels: dict[str, str], column: str = "allocated_gpu_us") -> Iterator[Sample]:
    """Yield the sums of a column in seconds by label -> column."""
    import polars as pl

    sums = frame.group_by(list(labels.values())).agg(pl.col(column).sum()).sort(list(labels.values()))
    for row in sums.iter_rows(named=True):
        yield {label: str(row[name]) for label, name in labels.items()}, row[column] / MICROS


def _wall(asked: Asked) -> Iterator[Sample]:
    return _sums(asked.ledger(), {"model": "model"})


def _effective(asked: Asked) -> Iterator[Sample]:
    import polars as pl

    return _sums(asked.ledger().filter(pl.col("component") == EFFECTIVE), {"model": "model"})


def _wasted(asked: Asked) -> Iterator[Sample]:
    """All held time that is not effective, whatever its component."""
    import polars as pl

    rows = asked.ledger().filter(pl.col("component") != EFFECTIVE)
    labels = {"component": "component", "part": "part", "owner": "owner", "model": "model", "start_kind": "kind"}
    return _sums(rows, labels)


def _ratio(asked: Asked) -> Iterator[Sample]:
    yield from ((_model(row), row["ett"]) for row in _ett(asked, "model") if row["ett"] is not None)


def _fleet_ratio(asked: Asked) -> Iterator[Sample]:
    yield from (({}, row["ett"]) for row in _ett(asked, None) if row["ett"] is not None)


def _to_start(asked: Asked) -> Iterator[Sample]:
    found = ((_model(row), row["tts_hours"]) for row in _ett(asked, "model"))
    yield from ((labels, hours * SECONDS_PER_HOUR) for labels, hours in found if hours is not None)


def _to_recover(asked: Asked) -> Iterator[Sample]:
    found = ((_model(row), row["ttr_hours"]) for row in _ett(asked, "model"))
    yield from ((labels, hours * SECONDS_PER_HOUR) for labels, hours in found if hours is not None)


def _ett(asked: Asked, by: str | None) -> list[dict[str, float]]:
    try:
        return ettlog.ett(asked.fleet, by=by, jobs=asked.jobs, models=asked.models).to_dicts()
    except NoDataError:
        return []


def _model(row: dict[str, float]) -> dict[str, str]:
    return {"model": str(row["model"] or "")}


def _starts(asked: Asked) -> Iterator[Sample]:
    import polars as pl

    frame = _started(asked).group_by("model", "kind").agg(pl.len()).sort("model", "kind")
    yield from (({"model": model, "start_kind": kind}, count) for model, kind, count in frame.iter_rows())


def _failures(asked: Asked) -> Iterator[Sample]:
    """Ends that were lost, of the kind `failure`, by the cause that the log names."""
    yield from _ends(asked, RECOVERY_KINDS[0])


def _preemptions(asked: Asked) -> Iterator[Sample]:
    yield from ((({"model": labels["model"]}), count) for labels, count in _ends(asked, RECOVERY_KINDS[1]))


def _ends(asked: Asked, kind: str) -> Iterator[Sample]:
    import polars as pl

    ends = [end for end, asks in LOST_ENDS.items() if asks == kind]
    cause = pl.col("cause").fill_null(NOT_NAMED) if kind == RECOVERY_KINDS[0] else pl.lit("")
    frame = _started(asked).filter(pl.col("end_state").is_in(ends)).with_columns(cause.alias("cause"))
    frame = frame.group_by("model", "cause").agg(pl.len()).sort("model", "cause")
    yield from (({"model": model, "cause": cause}, count) for model, cause, count in frame.iter_rows())


def _started(asked: Asked) -> pl.DataFrame:
    import polars as pl

    frame = asked.fleet.table("start").filter(pl.col("job").is_in(asked.names()))
    return frame.with_columns(pl.col("model", "kind").fill_null(""))


def _jobs(asked: Asked) -> Iterator[Sample]:
    import polars as pl

    frame = asked.fleet.table("job").filter(pl.col("job").is_in(asked.names()))
    state = pl.when(pl.col("open").fill_null(value=False)).then(pl.lit("open")).otherwise(pl.lit("ended"))
    frame = frame.select(pl.col("model").fill_null(""), state.alias("state"))
    frame = frame.group_by("model", "state").agg(pl.len()).sort("model", "state")
    yield from (({"model": model, "state": state}, count) for model, state, count in frame.iter_rows())


def _credit(asked: Asked) -> Iterator[Sample]:
    """The saving of each optimization and tier, and what nobody may claim, by the default method."""
    import polars as pl

    if asked.jobs or asked.models:
        return
    try:
        rows = ettlog.attribute(asked.fleet).credit
    except NoDataError:
        return
    frame = rows.filter(pl.col("model") == "all").group_by("optimization", "owner", "tier")
    sums = frame.agg(pl.col("saved_gpu_hours").sum()).sort("optimization", "owner", "tier")
    for name, owner, tier, hours in sums.iter_rows():
        labels = {"optimization": name or NOBODY, "owner": owner or NOBODY, "tier": tier}
        yield labels, hours * SECONDS_PER_HOUR


def _read(asked: Asked) -> Iterator[Sample]:
    import polars as pl

    counts = dict(asked.fleet.table("line_stat").group_by("outcome").agg(pl.col("lines").sum()).iter_rows())
    yield from (({"outcome": outcome}, counts.get(outcome, 0)) for outcome in OUTCOMES)


def _newest(asked: Asked) -> Iterator[Sample]:
    newest = asked.fleet.table("job")["last_us"].drop_nulls()
    yield from [({}, int(newest.max()) / MICROS)] if len(newest) else []  # type: ignore[arg-type]


def _build(_: Asked) -> Iterator[Sample]:
    yield {"version": ettlog.__version__}, 1


METRICS: tuple[Metric, ...] = (
    Metric("ettlog_wall_gpu_seconds", COUNTER, "GPU time that jobs held.", _wall),
    Metric("ettlog_effective_gpu_seconds", COUNTER, "GPU time that consumed new data.", _effective),
    Metric("ettlog_wasted_gpu_seconds", COUNTER, "GPU time held that consumed no new data.", _wasted),
    Metric("ettlog_starts", COUNTER, "Starts of trainers.", _starts),
    Metric("ettlog_failures", COUNTER, "Starts that ended in a failure.", _failures),
    Metric("ettlog_preemptions", COUNTER, "Starts whose hardware was taken back.", _preemptions),
    Metric("ettlog_lines", COUNTER, "Lines of log by what became of them.", _read),
    Metric("ettlog_effective_training_ratio", GAUGE, "Effective training time over wall time, by model.", _ratio),
    Metric("ettlog_fleet_effective_training_ratio", GAUGE, "The same over all models.", _fleet_ratio),
    Metric("ettlog_time_to_start_seconds", GAUGE, "Mean wall of a cold start up to its first step.", _to_start),
    Metric("ettlog_time_to_recover_seconds", GAUGE, "Mean wall of a recovery up to its first new step.", _to_recover),
    Metric("ettlog_jobs", GAUGE, "Jobs of the lake.", _jobs),
    Metric("ettlog_credit_gpu_seconds", GAUGE, "GPU time saved by an optimization, as attributed.", _credit),
    Metric("ettlog_newest_event_timestamp_seconds", GAUGE, "Newest instant that the lake knows.", _newest),
    Metric("ettlog_build_info", GAUGE, "Version of the ettlog that counted.", _build),
)
"""Every metric, counters first."""

NAMES = frozenset(f"{metric.name}_total" if metric.kind == COUNTER else metric.name for metric in METRICS)
"""Names of the samples."""
