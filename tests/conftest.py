"""Fixtures that every test module may use."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests import examples, float_sums

if TYPE_CHECKING:
    from ettlog.fleet import Fleet

ROOT = Path(__file__).resolve().parent.parent

examples.load()
float_sums.watch()


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


Once = Callable[[str, Callable[[Path], object]], Path]


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """Return what makes a folder by its name, once for all processes of a run; the others wait for it."""
    base = tmp_path_factory.getbasetemp()
    common = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def made(name: str, make: Callable[[Path], object]) -> Path:
        folder = common / f"once-{name}"
        with (common / f"once-{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (folder / "made").exists():
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                make(folder)
                (folder / "made").touch()
        return folder

    return made


@pytest.fixture(scope="session")
def real_lake(shared: Path, once: Once) -> Path:
    """Return a lake over all real files, and `report.json` beside it; who changes it takes a copy."""
    from ettlog.ingest import ingest

    def make(folder: Path) -> None:
        report = ingest([shared / "data" / "trainer", shared / "data" / "scheduler"], folder / "lake")
        kept = {"files": len(report.files), "rejected": len(report.rejected), "n_lines": report.n_lines}
        lists = {"lines": dict(report.lines), "unclaimed": list(report.unclaimed), "formats": dict(report.formats)}
        (folder / "report.json").write_text(json.dumps(kept | lists))

    return once("real", make) / "lake"


KUBERNETES = ("k8s_troubleshoot", "kueue_watch", "kueue_workload", "pytorchjob_status", "zhejiang_llama2_7b")
"""Sets of real files of the Kubernetes family."""


@pytest.fixture(scope="session")
def k8s_lake(shared: Path, once: Once) -> Path:
    """Return a lake over all real files of the Kubernetes family."""
    from ettlog.ingest import ingest

    roots = [shared / "data/scheduler" / name for name in KUBERNETES]
    return once("k8s", lambda folder: ingest(roots, folder / "lake")) / "lake"


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
