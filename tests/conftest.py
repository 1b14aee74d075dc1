"""Fixtures that every test module may use."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from ettlog.fleet import Fleet

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


KUBERNETES = ("k8s_troubleshoot", "kueue_watch", "kueue_workload", "pytorchjob_status", "zhejiang_llama2_7b")
"""Sets of real files of the Kubernetes family."""


@pytest.fixture(scope="session")
def k8s_lake(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a lake over all real files of the Kubernetes family."""
    from ettlog.ingest import ingest

    lake = tmp_path_factory.mktemp("k8s") / "lake"
    ingest([shared / "data/scheduler" / name for name in KUBERNETES], lake)
    return lake


@pytest.fixture(scope="session")
def k8s_fleet(k8s_lake: Path) -> Fleet:
    """Return a fleet over it."""
    from ettlog import fleet

    return fleet.open(k8s_lake)


@pytest.fixture(scope="session")
def k8s_facts(shared: Path) -> dict[str, dict[str, Any]]:
    """Return the facts of each of its files."""
    found: list[dict[str, Any]] = json.loads((shared / "data/scheduler/facts.json").read_text())
    return {one["file"]: one for one in found if one["file"].startswith(KUBERNETES)}
