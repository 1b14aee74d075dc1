"""ETT itself, and the formula in the two readings that are in use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ettlog import lifecycle
from ettlog.terms.base import STEP, TTR_STAGES, TTS_STAGES, Given, Term, total

if TYPE_CHECKING:
    import polars as pl


def _effective(given: Given) -> pl.DataFrame:
    import polars as pl

    return total(given.rows.filter(pl.col("allocated")), pl.col("part") == STEP)


def _formula(given: Given, *, to_first_step: bool) -> pl.DataFrame:
    import polars as pl

    recovering = pl.col("stage").is_in(TTR_STAGES)
    if to_first_step:
        recovering &= ~pl.col("part").is_in(lifecycle.LOOP_PARTS)
    return total(given.rows.filter(pl.col("allocated")), ~(pl.col("stage").is_in(TTS_STAGES) | recovering))


ETT = Term(
    "ett",
    "steps on new data / time with hardware held",
    "time without hardware; how fast a step is",
    "ETT by components; `ettlog ett` counts it under any convention",
    _effective,
    "no hardware held in the window",
)
FORMULA = Term(
    "ett-formula",
    "1 - (TTS + NoF x TTR) / time with hardware held; a recovery ends with the first new step",
    "save stalls, evaluation, recompiles, unsaved tails, shutdown and unknown time: all count as useful",
    "ETT by its measuring formula",
    lambda given: _formula(given, to_first_step=False),
    ETT.missing,
)
FIRST_STEP = Term(
    "ett-formula-first-step",
    "the same, but a recovery ends with the first step of any kind",
    "the same, and steps done again",
    "ETT by its measuring formula, the other reading of TTR",
    lambda given: _formula(given, to_first_step=True),
    ETT.missing,
)
