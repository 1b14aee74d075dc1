"""ETT%: where the wall time of jobs went, as a pure function of the relations `segment`, `start` and `job`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypedDict, cast

from ettlog.conventions import CONFIGURED, groupings, sentence, settle
from ettlog.errors import NoDataError
from ettlog.lifecycle import PARTS
from ettlog.windows import Window, moment, resolve

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Unpack

    import polars as pl

    from ettlog.conventions import Conventions
    from ettlog.fleet import Fleet

OWNERS = {part.part: part.owner for part in PARTS}
"""Part -> its default owner."""


class Selection(TypedDict, total=False):
    """Which part of the fleet is looked at."""

    since: str | None
    until: str | None
    window: str | None
    jobs: Sequence[str] | None
    models: Sequence[str] | None
    logged: bool


class Timeline(NamedTuple):
    """The relations that ETT is computed from."""

    segment: pl.DataFrame
    start: pl.DataFrame
    job: pl.DataFrame
    owners: Mapping[str, str] = OWNERS
    """Part -> who owns it."""


def ett(
    fleet: Fleet,
    *,
    by: str | Sequence[str] | None = None,
    since: str | None = None,
    until: str | None = None,
    window: str | None = None,
    jobs: Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    logged: bool = False,
    **conventions: Unpack[Conventions],
) -> pl.DataFrame:
    """Return where the wall time went, one row per group of `by` (one row in all without it).

    Columns: the keys of `by`; `jobs`, `starts`, `failures`, `preemptions`, `planned`, `unexplained` (counts of what
    began in the window; of the last, no log says why); `gpu_hours` and `share` of the group; `wall_gpu_hours`;
    `COMPONENT_gpu_hours` and `COMPONENT_share` of the wall for each component; `tts_hours` and `ttr_hours` (mean wall
    hours per cold start and per recovery); `tts_gpu_hours`, `ttr_gpu_hours`, `tts_share` and `ttr_share` (sums, and
    their share of the wall); `ett` (effective / wall) with `ett_low` and `ett_high` (95 %, logit-t over the jobs; null
    for a single job), `ett_formula` (1 - (TTS + TTR) / wall) and `residual` (`ett_formula` - `ett`). Shares are ratios
    between 0 and 1.

    Args:
        fleet: an open lake.
        by: one or more of `conventions.GROUPINGS`.
        since, until, window: the half-open window, as in `windows.resolve`; segments are clipped to it.
        jobs, models: glob patterns; a row counts when one of each list matches.
        logged: count only jobs of which a trainer's log shows a start.
        conventions: how ETT is counted (`conventions.Conventions`).

    Raises:
        UsageError: a grouping, window or convention is not known.
        NoDataError: no job is left to count.
    """
    timeline = load(fleet)
    span = period(timeline, {"since": since, "until": until, "window": window})
    conventions = configured(fleet, conventions)
    if conventions.get("waste", "new_data") == "lost":
        timeline = timeline._replace(segment=_lost(fleet, timeline.segment))
    return measure(_select(timeline, jobs, models, logged=logged), span, by=by, **conventions)


def load(fleet: Fleet) -> Timeline:
    """Return the relations that ETT is computed from.

    Raises:
        NoDataError: the lake has no job with a dated event.
    """
    timeline = Timeline(fleet.table("segment"), fleet.table("start"), fleet.table("job"), owners(fleet))
    if timeline.segment.is_empty():
        raise NoDataError(
            "no job of this lake has a timeline",
            where="relation segment",
            why="no log that was ingested holds dated events of a training job",
            todo="ingest the stdout of trainers or a scheduler's records; `ettlog status` shows what each file gave",
        )
    return timeline


def owners(fleet: Fleet) -> Mapping[str, str]:
    """Return part -> who owns it, by the configuration; an empty name where nobody does."""
    return {part: fleet.config.owner_of(part) for part in OWNERS} if fleet.config else OWNERS


def period(timeline: Timeline, selection: Selection) -> Window:
    """Return the half-open window that a selection asks for; spans count back from the newest event of the timeline."""
    import polars as pl

    newest, oldest = timeline.segment.select(newest=pl.col("end_us").max(), oldest=pl.col("begin_us").min()).row(0)
    return resolve(
        newest,
        oldest_us=oldest,
        window=selection.get("window"),
        since=selection.get("since"),
        until=selection.get("until"),
    )


def configured(fleet: Fleet, conventions: Conventions) -> Conventions:
    """Return conventions with those that the configuration sets filled in where none is given."""
    keys = {name: f"ett.{name}" for name in CONFIGURED}
    own = {name: fleet.config.get(key) for name, key in keys.items()} if fleet.config else {}
    return cast("Conventions", own | {name: value for name, value in conventions.items() if value is not None})


def describe(fleet: Fleet, selection: Selection, **conventions: Unpack[Conventions]) -> list[str]:
    """Return the sentences that state the window and the conventions of a result."""
    span = period(load(fleet), selection)
    edges = f"[{moment(span.since_us):%Y-%m-%d %H:%M:%S}, {moment(span.until_us):%Y-%m-%d %H:%M:%S}) UTC"
    return [f"window: {edges}, {span.text}", f"counted: {sentence(settle(configured(fleet, conventions)))}"]


def measure(
    timeline: Timeline, span: Window, *, by: str | Sequence[str] | None = None, **conventions: Unpack[Conventions]
) -> pl.DataFrame:
    """Return the frame of `ett` from hand-made or computed relations; start kinds are read before anything is clipped.

    Raises:
        UsageError: a grouping or convention is not known.
        NoDataError: no time is left inside the window and the basis.
    """
    from ettlog import ett_sums

    chosen, keys = settle(conventions), groupings(by)
    frame = ett_sums.rows(timeline, span, chosen)
    if frame.is_empty():
        raise NoDataError(
            "no time is left to count",
            where=f"window {moment(span.since_us)} to {moment(span.until_us)}, basis {chosen['basis']}",
            why="no job held hardware in this window",
            todo="widen the window, or see `ettlog jobs` for what the lake holds",
        )
    return ett_sums.summarise(frame, ett_sums.launches(timeline, span), keys, chosen)


def _select(timeline: Timeline, jobs: Sequence[str] | None, models: Sequence[str] | None, *, logged: bool) -> Timeline:
    names = matching(timeline.job, jobs, models)
    if logged:
        names = sorted(set(names) & set(timeline.start["job"]))
    if not names:
        raise NoDataError(
            "no job matches",
            where=f"--job {list(jobs or ())}, --model {list(models or ())}",
            why="no job of this lake has such a name and model" + (", and a trainer's log" if logged else ""),
            todo="see `ettlog jobs` for the names",
        )
    import polars as pl

    chosen = pl.col("job").is_in(names)
    segment, start, job = (frame.filter(chosen) for frame in timeline[:3])
    return Timeline(segment, start, job, timeline.owners)


def matching(job: pl.DataFrame, jobs: Sequence[str] | None, models: Sequence[str] | None) -> list[str]:
    """Return the names of the jobs that match one glob of `jobs` and one of `models`; an empty list matches all."""
    from fnmatch import fnmatchcase

    def among(value: str | None, globs: Sequence[str] | None) -> bool:
        return not globs or any(fnmatchcase(value or "", glob) for glob in globs)

    rows = job.select("job", "model").iter_rows()
    return [name for name, model in rows if among(name, jobs) and among(model, models)]


def _lost(fleet: Fleet, segment: pl.DataFrame) -> pl.DataFrame:
    from ettlog import ett_lost

    return ett_lost.moved(fleet, segment)
