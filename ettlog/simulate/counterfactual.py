"""What every optimization truly saved: the same fleet, with the same draws, once with it and once without."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ettlog.simulate.run import Simulated, fleet

if TYPE_CHECKING:
    import polars as pl

    from ettlog.simulate.spec import Spec

AS_IS, NONE = "as is", "none"
_ON = ["job", "start", "part", "stage"]
_ABOUT = ["model", "cluster", "kind", "component", "owner", "role"]


def worlds(made: Simulated) -> dict[str, Simulated]:
    """Return the fleet by what is on: `as is`, `none`, `without NAME` and `only NAME` for every optimization."""
    spec, names = made.spec, [one.name for one in made.spec.optimizations]
    specs: dict[str, Spec] = {NONE: spec.without(*names)}
    for name in names:
        specs[f"without {name}"] = spec.without(name)
        specs[f"only {name}"] = spec.without(*(other for other in names if other != name))
    return {AS_IS: made, **{key: fleet(one, made.seed, like=made) for key, one in specs.items()}}


def savings(made: Simulated, found: dict[str, Simulated] | None = None) -> pl.DataFrame:
    """Return one row per optimization, job, start, part and stage in which it made a difference.

    `saved_us` and `saved_gpu_us` are what leaving it out of the whole would have cost more (last in); `alone_us` and
    `alone_gpu_us` what it would have saved as the only one (first in): they differ where two optimizations work on one
    thing. Only time with hardware held counts. `launched_us` is that of the fleet as it is. The name `all` is all
    optimizations together.
    """
    import polars as pl

    found = found or worlds(made)
    ledgers = {key: one.ledger for key, one in found.items()}
    frames = [_difference("all", ledgers[NONE], ledgers[AS_IS], ledgers[NONE], ledgers[AS_IS])]
    for one in made.spec.optimizations:
        alone = ledgers[f"only {one.name}"]
        frames.append(_difference(one.name, ledgers[f"without {one.name}"], ledgers[AS_IS], ledgers[NONE], alone))
    launched = made.starts.select("job", pl.col("k").alias("start"), "launched_us")
    return pl.concat(frames).join(launched, on=["job", "start"], how="left", maintain_order="left")


def _difference(
    name: str, without: pl.DataFrame, with_it: pl.DataFrame, none: pl.DataFrame, alone: pl.DataFrame
) -> pl.DataFrame:
    import polars as pl

    signs = {"saved": ((without, 1), (with_it, -1)), "alone": ((none, 1), (alone, -1))}
    parts = [
        one.select(
            *_ON, *_ABOUT,
            *(
                (pl.col(f"allocated_{unit}") * (sign if of == key else 0)).alias(f"{of}_{unit}")
                for of in signs
                for unit in ("us", "gpu_us")
            ),
        )
        for key, pair in signs.items()
        for one, sign in pair
    ]  # fmt: skip
    sums = [f"{of}_{unit}" for of in signs for unit in ("us", "gpu_us")]
    summed = pl.concat(parts).group_by(_ON, maintain_order=True).agg(pl.col(_ABOUT).first(), pl.col(sums).sum())
    changed = summed.filter(pl.any_horizontal(pl.col(sums) != 0))
    return changed.select(pl.lit(name).alias("optimization"), *_ON, *_ABOUT, *sums)
