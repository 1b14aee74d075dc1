"""The same estimates by pyfixest, for those who want a second opinion: needs the extra `causal`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ettlog.attribute import staggered
from ettlog.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Ints = NDArray[np.int64]


def _library() -> tuple[Any, Any]:
    try:
        import pandas
        import pyfixest
    except ImportError as error:
        raise UsageError(
            "pyfixest is not installed", where="ettlog[causal]", why=str(error),
            todo="pip install 'ettlog[causal]'; ettlog's own estimates do not need it",
        ) from error  # fmt: skip
    return pyfixest, pandas


def fitted(amount: Array, starts: Array, rollout: Ints) -> Array:
    """Return what fepois fits on untreated cells, amount = starts x unit x week; NaN elsewhere: (units, weeks).

    Raises UsageError where pyfixest is not installed.
    """
    pyfixest, pandas = _library()
    unit, week = np.nonzero(~staggered.treated(rollout, amount.shape[1]) & (starts > 0))
    rows = pandas.DataFrame(
        {"y": amount[unit, week], "log_starts": np.log(starts[unit, week]), "unit": unit, "week": week}
    )
    made = pyfixest.fepois("y ~ 1 | unit + week", rows, offset="log_starts", iwls_tol=1e-12)
    found = np.full(amount.shape, np.nan)
    found[unit, week] = np.asarray(made.predict(type="response"))
    return found


def two_stage_log(amount: Array, starts: Array, rollout: Ints) -> float:
    """Return Gardner's two-stage effect (did2s) on ln(amount / starts); raises UsageError as `fitted` does."""
    pyfixest, pandas = _library()
    unit, week = np.nonzero((starts > 0) & (amount > 0))
    mask = staggered.treated(rollout, amount.shape[1])[unit, week]
    rows = pandas.DataFrame(
        {"y": np.log(amount[unit, week] / starts[unit, week]), "unit": unit, "week": week, "on": mask.astype(float)}
    )
    made = pyfixest.did2s(
        rows, yname="y", first_stage="~ 0 | unit + week", second_stage="~ on", treatment="on", cluster="unit"
    )
    return float(made.coef().loc["on"])
