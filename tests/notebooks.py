"""Notebooks: `.py` files that are read and changed, and `.ipynb` made of them (`python -m tests.notebooks`)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = ROOT / "notebooks"
SOURCES = sorted(FOLDER.glob("*.py"))


def paired(source: Path) -> str:
    """Return the notebook of a `.py` file as JSON: no outputs, and cells numbered so that its bytes stay the same."""
    import jupytext
    import nbformat

    notebook: Any = jupytext.read(source)
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"
    text: str = nbformat.writes(nbformat.from_dict(notebook), version=4)  # type: ignore[no-untyped-call]
    return text.rstrip("\n") + "\n"


def executed(source: Path, lake: Path) -> Any:
    """Return a notebook with its outputs, run over the example fleet in a lake. Raise CellExecutionError."""
    import nbformat
    from nbclient import NotebookClient

    notebook: Any = nbformat.reads(paired(source), as_version=4)  # type: ignore[no-untyped-call]
    env = {**os.environ, "ETTLOG_LAKE": str(lake), "PYTHONPATH": str(ROOT)}
    client = NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(FOLDER)}})
    client.execute(env=env)
    return notebook


if __name__ == "__main__":
    for one in SOURCES:
        one.with_suffix(".ipynb").write_text(paired(one))
