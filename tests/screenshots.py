"""The pictures of a report that the documentation shows: `python -m tests.screenshots` takes them (docs/img)."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import ettlog
from ettlog.report import build
from tests.browser import Browser, program
from tests.conftest import ROOT

FOLDER = ROOT / "docs/img"
DESKTOP, LAPTOP = (1440, 900), (1280, 720)


class Shot(NamedTuple):
    """One picture: its name, the size of the window, light or dark, and the part of the page, None for its head."""

    name: str
    size: tuple[int, int]
    dark: bool
    selector: str | None = None


SHOTS = (
    Shot("report-desktop-light", DESKTOP, dark=False),
    Shot("report-desktop-dark", DESKTOP, dark=True),
    Shot("report-laptop-light", LAPTOP, dark=False),
    Shot("report-laptop-dark", LAPTOP, dark=True),
    Shot("report-time-light", LAPTOP, dark=False, selector="#time"),
    Shot("report-credit-dark", LAPTOP, dark=True, selector="#credit"),
    Shot("report-jobs-light", LAPTOP, dark=False, selector="#jobs"),
)
HIGHEST = 900
"""Pixels of height that a part of the page is shown in at most."""


def take(browser: Browser, page: Path, folder: Path) -> None:
    """Take every picture of a report into a folder, as NAME.png."""
    browser.open(page)
    for shot in SHOTS:
        browser.resize(*shot.size)
        browser.show(dark=shot.dark)
        browser.run("scrollTo(0, 0)")
        browser.photograph(folder / f"{shot.name}.png", shot.selector, HIGHEST)


def main() -> None:
    """Read the example fleet, write its report, and photograph it."""
    path = program()
    if path is None:
        print("no Chromium was found: the pictures in docs/img stay as they are", file=sys.stderr)
        return
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as home, Browser(path) as browser:
        ettlog.ingest([ROOT / "fixtures/fleet/logs"], Path(home) / "fleet.lake")
        page = Path(home) / "report.html"
        page.write_text(build(ettlog.open(Path(home) / "fleet.lake"), window="6mo"))
        take(browser, page, FOLDER)


if __name__ == "__main__":
    main()
