"""The site of the documentation builds without a warning, holds every page, and asks for nothing from outside."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.docs_code import DOCS, PAGES
from tests.metrics_reference import METRICS


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the built site; a warning (a page outside the contents, a dead link, a bad table) is an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", str(DOCS), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_is_in_the_site(site: Path) -> None:
    """Each page of docs/ has become HTML, and the first page links to all that stand beside it."""
    for path in PAGES:
        assert (site / path.relative_to(DOCS).with_suffix(".html")).is_file(), path
    index = (site / "index.html").read_text()
    linked = {"index", *re.findall(r'href="([\w-]+)\.html', index)}
    missing = [path.stem for path in DOCS.glob("*.md") if path.stem not in linked]
    assert not missing


def test_pages_load_nothing_from_outside(site: Path) -> None:
    """Scripts, styles and pictures are the site's own: it can be read offline, as ettlog works."""
    loads = re.compile(r'<(?:script|img)[^>]* src="([^"]+)"|<link[^>]* rel="stylesheet"[^>]* href="([^"]+)"')
    found = {part for page in site.rglob("*.html") for pair in loads.findall(page.read_text()) for part in pair if part}
    assert found
    assert not [name for name in found if "//" in name]


def test_metric_pages_show_their_formula(site: Path) -> None:
    """The page of each metric holds its formula, and is reached from the index of metrics."""
    index = (site / "metrics/index.html").read_text()
    for one in METRICS:
        assert f'href="{one.name}.html"' in index
        text = re.sub(r"<[^>]+>", "", (site / f"metrics/{one.name}.html").read_text())
        assert one.formula.split(";")[0].replace("<", "&lt;") in text, one.name


def test_a_new_page_is_placed_by_itself() -> None:
    """A page that the first page does not name yet stands at the end of its last list."""
    scope = runpy.run_path(str(DOCS / "conf.py"))
    source = ["# Title\n\n```{toctree}\narchitecture\n```\n"]
    scope["_with_new_pages"](None, "index", source)
    lines = source[0].splitlines()
    assert lines[3:5] == ["architecture", "alerts"]
    assert lines[-1] == "```"
    assert "tutorial" in lines
