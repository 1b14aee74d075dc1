"""Fixtures that every test module may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent

# A build must give the same verdict twice, so examples are fixed; HYPOTHESIS_PROFILE=deep looks for new ones.
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.register_profile("deep", max_examples=2_000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


@pytest.fixture(scope="session")
def root() -> Path:
    """Return the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of real logs beside the checkout, or skip where it is absent."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("no shared folder of real logs beside the checkout")
    return folder
