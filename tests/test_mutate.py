"""The tool that changes code to see whether tests notice does change it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ettlog import relations
from tests import mutate
from tests.conftest import ROOT
from tests.tables import fleet


def test_a_relation_that_was_read_before_is_changed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """All relations are read when tests are collected: a changed text takes the place of the one that is held."""
    held = relations.relations()
    monkeypatch.setitem(held, "segment", held["segment"])  # both are put back behind this test
    monkeypatch.setattr(Path, "read_text", Path.read_text)
    changed = mutate._installed(str(ROOT / "ettlog/sql/segment.sql"), "-- One.\n-- job: job\nSELECT 'x' AS job")
    assert changed is not None
    changed()
    assert fleet().table("segment").rows() == [("x",)]
