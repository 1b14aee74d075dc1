"""How Sphinx builds the site of these pages; `make docs` writes it to build/site."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

project = "ettlog"
author = project_copyright = "the ettlog authors"
extensions = ["myst_parser"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "ettlog"
html_copy_source = False
html_show_sphinx = False
html_permalinks = True
nitpicky = True


def _with_new_pages(_app: Any, name: str, source: list[str]) -> None:
    """Add pages that the first page does not place yet to its last list, so that none is lost."""
    if name == "index":
        placed = set(re.findall(r"^[\w/]+$", source[0], re.MULTILINE))
        new = sorted({path.stem for path in Path(__file__).parent.glob("*.md")} - placed - {"index"})
        source[0] = source[0].rstrip().removesuffix("```") + "\n".join([*new, "```"]) + "\n"


def setup(app: Any) -> None:
    """Read the first page with what is new."""
    app.connect("source-read", _with_new_pages)
