"""Several optimizations on one place, against numbers worked out beforehand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ettlog import cascade
from ettlog.attribute import overlap

COMPILE = {"autotune pruning": 0.5, "reusable cache": 0.6, "dynamic shapes": 0.3}


def test_cuts_of_a_compile_of_2050_seconds() -> None:
    """1,763 s saved: Shapley 625, 800, 338; alone 1025, 1230, 615; last 287, 430, 123."""
    found = {c.name: c for c in overlap.multiplicative(COMPILE, 2050.0)}
    assert [round(found[name].shapley) for name in COMPILE] == [625, 800, 338]
    assert [round(found[name].first_in) for name in COMPILE] == [1025, 1230, 615]
    assert [round(found[name].last_in) for name in COMPILE] == [287, 430, 123]  # 430.5 rounds to even
    assert sum(c.shapley for c in found.values()) == pytest.approx(1763.0)


def test_log_shares_of_the_same_compile() -> None:
    """1,763 x ln(1 - r) / sum of ln: 622, 822, 320."""
    found = overlap.log_share(COMPILE, 2050.0)
    assert [round(found[name]) for name in COMPILE] == [622, 822, 320]


def test_the_order_of_rollout_is_luck() -> None:
    """Rolled out as written: 1,025, then .6 of the rest, then .3 of what is left."""

    def value(group: frozenset[str]) -> float:
        return 2050.0 * (1.0 - math.prod(1.0 - COMPILE[name] for name in group))

    found = overlap.rolled_out(list(COMPILE), value)
    assert [round(found[name]) for name in COMPILE] == [1025, 615, 123]


def test_compile_beside_warmup_interacts_by_46_seconds() -> None:
    """2,050 -> 254 s beside 300 s: Shapley 277 and 1,773; alone 300 + 1,796; last 254 + 1,750; together 2,050."""

    def value(group: frozenset[str]) -> float:
        after = cascade.start_phase(254.0 if "cache" in group else 2050.0, 300.0, "overlap" in group)
        return 2350.0 - after

    side, cache = overlap.shapley(["overlap", "cache"], value)
    assert (side.shapley, cache.shapley) == (277.0, 1773.0)
    assert side.first_in + cache.first_in == 2096.0
    assert side.last_in + cache.last_in == 2004.0


@given(st.dictionaries(st.sampled_from("abcdef"), st.floats(0.0, 0.95), min_size=1))
def test_shapley_adds_up_and_stays_in_its_range(cuts: dict[str, float]) -> None:
    """The parts sum to the whole and none leaves the range over all orders."""
    found = overlap.multiplicative(cuts, 1000.0)
    assert math.isclose(
        sum(c.shapley for c in found), 1000.0 * (1.0 - math.prod(1.0 - r for r in cuts.values())), abs_tol=1e-6
    )
    assert all(c.low - 1e-9 <= c.shapley <= c.high + 1e-9 for c in found)
