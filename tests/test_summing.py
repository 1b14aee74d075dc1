"""Sums of floats: exact, the same on every Python, and no other way to them in ettlog."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ettlog.summing import exact_sum
from tests.float_sums import FloatSumError

FINITE = st.floats(min_value=-1e15, max_value=1e15, allow_nan=False)


@given(st.lists(FINITE, min_size=1), st.randoms())
def test_sums_are_exact_in_any_order(values: list[float], chance: object) -> None:
    """The sum is that of fractions, rounded once, however the numbers are shuffled."""
    expected = float(sum((Fraction(value) for value in values), Fraction()))
    chance.shuffle(values)  # type: ignore[attr-defined]
    assert exact_sum(values) == expected


def test_whole_numbers_stay_whole() -> None:
    """Integers beyond what a float holds are added exactly, and nothing is 0."""
    found = exact_sum([2**60, 1, 1])
    assert found == 2**60 + 2
    assert isinstance(found, int)
    assert exact_sum([]) == 0


def test_floats_added_by_sum_are_seen() -> None:
    """A module that is called ettlog and adds three floats by `sum` is found out; two, and whole numbers, may pass."""
    space = {"__name__": "ettlog.somewhere"}
    exec("def add(*values): return sum(values)", space)
    add = space["add"]
    assert callable(add)
    with pytest.raises(FloatSumError, match=r"ettlog\.somewhere"):
        add(0.1, 0.2, 0.3)
    assert add(0.1, 0.2) == 0.1 + 0.2
    assert add(1, 2, 3) == 6
    assert sum((0.5, 0.25, 0.25)) == 1.0
