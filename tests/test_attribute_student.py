"""Quantiles of Student's t, held against published tables and scipy's distribution."""

from __future__ import annotations

import pytest
from scipy import stats

from ettlog.attribute import student

PUBLISHED = {1: 12.706, 2: 4.303, 5: 2.571, 10: 2.228, 30: 2.042, 60: 2.000, 120: 1.980}
"""Two-sided, at 95 %: the table at the end of most textbooks."""


def test_the_table_is_the_published_one() -> None:
    """Degrees of freedom that textbooks list, to their three decimals."""
    assert {freedom: round(student.two_sided(freedom), 3) for freedom in PUBLISHED} == PUBLISHED


def test_every_entry_is_scipys() -> None:
    """Each degree of freedom in the table and some behind it, to 12 digits; the probability beyond it is 2.5 %."""
    for freedom in range(1, 320):
        assert student.two_sided(freedom) == pytest.approx(float(stats.t.ppf(0.975, freedom)), rel=1e-12)
        assert float(stats.t.sf(student.two_sided(freedom), freedom)) == pytest.approx(0.025, rel=1e-11)


@pytest.mark.parametrize(("freedom", "level"), [(4.5, 0.95), (4, 0.9), (4, 0.99), (0.5, 0.95)])
def test_what_is_not_in_the_table_comes_from_scipy(freedom: float, level: float) -> None:
    """Other levels, and degrees of freedom that are no whole number."""
    assert student.two_sided(freedom, level) == pytest.approx(float(stats.t.ppf((1 + level) / 2, freedom)), rel=1e-12)
