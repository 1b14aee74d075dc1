"""Whose work changed where the GPU time goes: exact credit per optimization, tier and model."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from ettlog import registry as registries
from ettlog import windows
from ettlog.attribute.methods import METHODS
from ettlog.errors import NoDataError, UsageError

if TYPE_CHECKING:
    from datetime import date

    import polars as pl

    from ettlog.fleet import Fleet
    from ettlog.registry import Registry

__all__ = ["METHODS", "Attribution", "attribute", "attribute_ledger"]

BY = ("owner", "optimization", "tier", "model")


def _nothing() -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame()


@dataclass(frozen=True)
class Attribution:
    """An attribution: frames for reading and joining, texts for printing.

    `credit` has the fixed columns of `frames.CREDIT`, rows for `all` and for each model, and adds up to the measured
    change; `ledger` has one row per link and cell; `models` one per model and platform; `effects` the evidence for a
    cause (`causes.EFFECT`) and `study` its event study; `overlap` what successive optimizations of one place would
    get by other rules; `cells` the change of every model and component with p and q; `shift` the fleet's ETT inside
    models against mix, entry and exit. `header` says what all rests on.
    """

    credit: pl.DataFrame
    ledger: pl.DataFrame
    models: pl.DataFrame
    effects: pl.DataFrame
    header: dict[str, Any]
    notes: tuple[str, ...]
    study: pl.DataFrame = field(default_factory=_nothing)
    overlap: pl.DataFrame = field(default_factory=_nothing)
    cells: pl.DataFrame = field(default_factory=_nothing)
    shift: pl.DataFrame = field(default_factory=_nothing)

    def _repr_html_(self) -> str:
        from ettlog.attribute.reading import arranged

        return arranged(self).html()

    def summary(self, by: str = "owner") -> pl.DataFrame:
        """Return the fleet's credit summed by `owner`, `optimization`, `tier` or `model`; raises UsageError.

        Columns: the key, saved_gpu_hours, share, points, bound_gpu_hours. Rows without an owner or an optimization
        keep their tier.
        """
        import polars as pl

        _check_by(by)
        rows = self.credit.filter((pl.col("model") == "all") == (by != "model"))
        key = pl.col(by)
        if by in ("owner", "optimization"):
            key = pl.when(key == "").then(pl.col("tier")).otherwise(key)
        sums = [pl.col(name).sum() for name in ("saved_gpu_hours", "share", "points", "bound_gpu_hours")]
        return rows.group_by(key.alias(by)).agg(sums).sort("saved_gpu_hours", by, descending=[True, False])


def attribute(
    fleet: Fleet,
    *,
    window: str | None = None,
    since: str | date | None = None,
    until: str | date | None = None,
    registry: Registry | str | Path | None = None,
    basis: str | None = None,
    by: str | None = None,
    **options: Unpack[Options],
) -> Attribution:
    """Attribute the fleet's change of overhead to optimizations, owners and tiers.

    `window` is `6mo` and its kin, counted back from the newest event. `registry` is a Registry or the path of one;
    without it the lake's own optimizations.toml is read. `basis`: `work` credits overhead per effective GPU-hour,
    `wall` shares of the time held (time-boxed runs). `by` set to `model` leaves only the rows of models, else credit
    holds all and each model. The other options are those of `attribute_ledger`. Raises NoDataError and UsageError.
    """
    ledger: pl.DataFrame = fleet.table("ledger")
    return attribute_ledger(
        ledger, window=window, since=since, until=until, registry=_registry(fleet, registry),
        basis=basis or _basis(fleet), by=by, newest_us=_newest(fleet), **options,
    )  # fmt: skip


class Options(TypedDict, total=False):
    """The options that `attribute` and `attribute_ledger` share."""

    seed: int
    method: str
    replicates: int | None
    baseline: str
    chain: str
    split: str
    cluster: str


def attribute_ledger(
    ledger: pl.DataFrame,
    *,
    window: str | None = None,
    since: str | date | None = None,
    until: str | date | None = None,
    registry: Registry | None = None,
    basis: str = "work",
    by: str | None = None,
    newest_us: int | None = None,
    **options: Unpack[Options],
) -> Attribution:
    """Attribute a ledger frame (the columns of the relation `ledger`); see `attribute`.

    `newest_us` is the instant windows count back from, the newest launch where it is not given. `replicates` is the
    number of bootstrap replicates, 0 for none, `seed` their seed, `cluster` what is drawn again. `method` is one of
    `METHODS`; `baseline`, `chain` and `split` are the words of `choices`.
    """
    import polars as pl

    from ettlog.attribute import engine

    if by is not None:
        _check_by(by)
    if ledger["start"].is_null().all():
        raise NoDataError(
            "there is no start to attribute", where="ledger.start",
            why="no log told of a job" if ledger.is_empty() else "no trainer's log was read, only a scheduler's",
            todo="ingest the stdout of the trainer and its launcher beside the accounting",
        )  # fmt: skip
    dated = ledger["launched_us"].drop_nulls()
    if dated.is_empty():
        raise NoDataError(
            "there is no dated start to attribute", where="ledger.launched_us", why=f"{ledger.height} rows, none dated",
            todo="ingest logs with a clock, or name their zone in ettlog.toml",
        )  # fmt: skip
    newest = max(int(dated.max()), newest_us or 0)  # type: ignore[arg-type]
    inside = windows.resolve(newest, oldest_us=int(dated.min()), window=window, since=since, until=until)  # type: ignore[arg-type]
    made = Attribution(*engine.run(ledger, registry or registries.EMPTY, inside, _choices(basis, options)))
    if by == "model":
        made = replace(made, credit=made.credit.filter(pl.col("model") != "all"))
    return made


def _choices(basis: str, options: Options) -> Any:
    """Return the choices of an attribution from what was given, the rest as they are by default."""
    from ettlog.attribute import choices

    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    if "method" in given:
        given["method"] = choices.method(given["method"])
    return choices.Choices(basis=basis, **given)


def _check_by(by: str) -> None:
    if by not in BY:
        raise UsageError(
            f"credit cannot be summed by {by!r}",
            where="--by",
            why="it has the keys " + ", ".join(BY),
            todo="choose one of them",
        )


def _registry(fleet: Fleet, given: Registry | str | Path | None) -> Registry:
    """Return the registry given, else that of the configuration, else the lake's own copy, else an empty one."""
    if isinstance(given, str | Path):
        return registries.read(given)
    if given is not None:
        return given
    return registries.in_force(fleet.config, fleet.lake)


def _newest(fleet: Fleet) -> int | None:
    """Return the newest instant of the lake, which windows count back from."""
    newest = fleet.table("job")["last_us"].drop_nulls()
    return int(newest.max()) if len(newest) else None  # type: ignore[arg-type]


def _basis(fleet: Fleet) -> str:
    """Return the basis of the configuration."""
    return (fleet.config.text("attribute.basis") if fleet.config else None) or "work"
