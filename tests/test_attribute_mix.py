"""Mix against real change."""

from __future__ import annotations

import pytest

from ettlog.attribute.mix import Side, shift


def test_a_pure_mix_shift_has_nothing_within() -> None:
    """A .9 and B .7 unchanged, weights .5/.5 to .8/.2: the fleet goes from 80 to 86 % and all of it is mix."""
    found = shift({"a": Side(0.5, 0.9), "b": Side(0.5, 0.7)}, {"a": Side(0.8, 0.9), "b": Side(0.2, 0.7)})
    assert [found.before, found.after] == pytest.approx([0.80, 0.86])
    assert found.within == pytest.approx(0)
    assert found.mix == pytest.approx(0.06)


def test_both_models_improve_and_the_fleet_falls() -> None:
    """.90 to .92 and .50 to .58, weights .91/.09 to .1765/.8235: the fleet falls from .864 to .640, within is above
    zero.
    """
    found = shift({"a": Side(0.91, 0.90), "b": Side(0.09, 0.50)}, {"a": Side(0.1765, 0.92), "b": Side(0.8235, 0.58)})
    assert (round(found.before, 3), round(found.after, 3)) == (0.864, 0.640)
    assert found.within == pytest.approx(0.54325 * 0.02 + 0.45675 * 0.08)
    assert found.within + found.mix == pytest.approx(found.after - found.before)


def test_entry_and_exit_are_measured_against_those_who_stayed() -> None:
    """One stays at .8, one of .5 leaves with half the weight, one of .9 comes with a quarter: exit +.15, entry
    +.025.
    """
    found = shift({"s": Side(1, 0.8), "x": Side(1, 0.5)}, {"s": Side(3, 0.8), "n": Side(1, 0.9)})
    assert found.exit == pytest.approx(0.15)
    assert found.entry == pytest.approx(0.025)
    assert found.after - found.before == pytest.approx(0.175)
