"""Arrow columns by their buffers: what is put in comes out, also of slices."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ettlog.parse import columns


@given(st.lists(st.booleans(), min_size=1, max_size=70), st.data())
def test_truth_values_come_back(given_: list[bool], data: st.DataObject) -> None:
    """Flags are Arrow's own column of the same values, and come back as an array, whole or cut at any place."""
    made = columns.flags(np.array(given_))
    assert made.equals(pa.array(given_))
    at = data.draw(st.integers(0, len(given_)))
    assert columns.values(made[at:]).tolist() == given_[at:]


@given(st.lists(st.integers(-(1 << 31), (1 << 31) - 1), min_size=1, max_size=9), st.data())
def test_integers_come_back(given_: list[int], data: st.DataObject) -> None:
    """The same of integers of either width."""
    at = data.draw(st.integers(0, len(given_)))
    for kind in (pa.int32(), pa.int64()):
        made = columns.column(given_, kind)
        assert made.equals(pa.array(given_, kind))
        assert columns.values(made[at:]).tolist() == given_[at:]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([None, "a", "", "\u00e9"], pa.string()),
        ([3, None, -1], pa.int32()),
        ([None, 1 << 62], pa.int64()),
        ([None, None], pa.int32()),
        ([], pa.int64()),
        ([], pa.bool_()),
        ([], pa.string()),
    ],
)
def test_columns_are_those_of_arrow(values: list[object], kind: pa.DataType) -> None:
    """A column of Python values, None among them, is the one that Arrow makes of them."""
    assert columns.column(values, kind).equals(pa.array(values, kind))
    assert columns.number(7, pa.int64()) == pa.scalar(7, pa.int64())
