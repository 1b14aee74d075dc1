"""Daily series for alerts: what a start, a recovery, a shutdown or an effective hour cost, by model, component, owner.

A series is never a share of wall time: shares interfere, so that a win in one place would look like a loss in another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from ettlog.attribute import tiers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

DAY = 86_400_000_000
FLEET = "all"
MODELS_OF_A_FLEET = 3
"""Models from which on a series of the whole fleet says something that no model's own series does."""
COLD, RECOVERY, SHUTDOWN, EFFECTIVE = "cold start", "recovery", "shutdown", "effective hour"
DRIVER: dict[str, str] = {
    "direct": COLD, "cascade": RECOVERY, "recovery_only": RECOVERY, tiers.SHUTDOWN: SHUTDOWN, tiers.STEADY: EFFECTIVE,
}  # fmt: skip
"""Tier of credit -> what its amounts are counted per; `unknown` has no owner and raises no alert."""
KEYS = ("model", "component", "owner", "per")


class Series(NamedTuple):
    """One series, a point per day on which its driver happened: `day` counted from 1970, `amount` in GPU-microseconds,
    `events` the starts, recoveries or shutdowns of the day, or its effective GPU-microseconds.
    """

    model: str
    component: str
    owner: str
    per: str
    day: Ints
    amount: Ints
    events: Ints


def prepared(ledger: pl.DataFrame, owners: Mapping[str, str]) -> pl.DataFrame:
    """Return the dated rows of a ledger as model, platform, job, start, part, component, owner, per, day, amount.

    `owners` maps a part to its owner. Without any GPU count amounts are of wall time, as on one GPU. `per` is null for
    effective time, and rows nobody owns are left out.
    """
    by_wall = ledger["allocated_gpu_us"].null_count() == ledger.height
    amount = pl.col("allocated_us" if by_wall else "allocated_gpu_us").fill_null(0).cast(pl.Int64)
    tier = tiers.tier()
    rows = ledger.drop_nulls("launched_us").filter(tier != tiers.UNKNOWN)
    return rows.select(
        pl.col("model", "platform").fill_null(""), "job", pl.col("start").fill_null(-1), "part", "component",
        owner=pl.col("part").replace_strict(dict(owners), default=""),
        per=tier.replace_strict(DRIVER, default=None, return_dtype=pl.String),
        day=pl.col("launched_us") // DAY, amount=amount,
    )  # fmt: skip


def daily(rows: pl.DataFrame) -> list[Series]:
    """Return every series of `prepared` rows, models first, then the fleet's, in the order of their keys."""
    events = _events(rows)
    spent = rows.drop_nulls("per").group_by(*KEYS, "day").agg(pl.col("amount").sum())
    names = spent.select(KEYS).unique()
    each = names.join(events, on=["model", "per"]).join(spent, on=[*KEYS, "day"], how="left")
    each = each.with_columns(pl.col("amount").fill_null(0)).sort(*KEYS, "day")
    return [*_series(each), *_series(_fleet(each))]


def _events(rows: pl.DataFrame) -> pl.DataFrame:
    """Return model, per, day, events: how often the driver of each series happened, or its effective GPU time."""
    counted = rows.drop_nulls("per").filter(pl.col("per") != EFFECTIVE)
    starts = counted.unique(["job", "start", "per"]).group_by("model", "per", "day").agg(events=pl.len().cast(pl.Int64))
    trained = rows.filter(pl.col("per").is_null()).group_by("model", "day").agg(events=pl.col("amount").sum())
    trained = trained.select("model", "day", "events", per=pl.lit(EFFECTIVE))
    return pl.concat([starts, trained], how="diagonal").filter(pl.col("events") > 0)


def _fleet(each: pl.DataFrame) -> pl.DataFrame:
    """Return the fleet's series: amounts per what the day's models would have cost at their own means.

    Indirect standardisation: a day with more starts of an expensive model is no dearer day.
    """
    own = [*KEYS]
    mean = pl.col("amount").sum().over(own) / pl.col("events").sum().over(own)
    whole = ["component", "owner", "per"]
    many = pl.col("model").n_unique().over(whole) >= MODELS_OF_A_FLEET
    summed = each.with_columns(expected=mean * pl.col("events")).filter(many).group_by(*whole, "day").agg(
        pl.col("amount", "events", "expected").sum()
    )  # fmt: skip
    level = pl.col("amount").sum().over(whole) / pl.col("events").sum().over(whole)
    ratio = pl.when(pl.col("expected") > 0).then(pl.col("amount") / pl.col("expected")).otherwise(0.0)
    amount = (ratio * level * pl.col("events")).round().cast(pl.Int64)
    return summed.with_columns(amount=amount, model=pl.lit(FLEET)).sort(*whole, "day")


def _series(each: pl.DataFrame) -> Iterator[Series]:
    for key, part in each.partition_by(*KEYS, as_dict=True, maintain_order=True).items():
        day, amount, events = (part[name].to_numpy().astype(np.int64) for name in ("day", "amount", "events"))
        model, component, owner, per = map(str, key)
        yield Series(model, component, owner, per, day, amount, events)
