"""A report in a real browser: it loads nothing, complains of nothing, can be read, clicked, typed into and printed."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

import ettlog
from ettlog.report import build
from tests.browser import Browser, program
from tests.conftest import ROOT
from tests.screenshots import FOLDER, HIGHEST, SHOTS, take

CONTRAST = (ROOT / "tests/contrast.js").read_text()
"""The texts of a page whose contrast to their ground is under 4.5 to 1, the level AA of WCAG 2 for small text."""
ROWS = "Array.from(document.querySelectorAll('#jobs table')[0].tBodies[0].rows)"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Return a headless browser; only where none can be found are the tests skipped."""
    path = program()
    if path is None:
        pytest.skip("needs a Chromium: apt-get install chromium, or ETTLOG_TEST_BROWSER=/path/to/one")
    with Browser(path) as found:
        yield found


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the report of twelve runs of six models."""
    folder = tmp_path_factory.mktemp("browser")
    ettlog.ingest([ROOT / "fixtures/published/logs"], folder / "lake")
    path = folder / "report.html"
    path.write_text(build(ettlog.open(folder / "lake")))
    return path


@pytest.fixture
def opened(browser: Browser, page: Path) -> Browser:
    """Return the browser with the report just opened, on a desktop, in light."""
    browser.resize(1440, 900)
    browser.show()
    browser.open(page)
    return browser


def test_page_asks_for_nothing_and_complains_of_nothing(opened: Browser, page: Path) -> None:
    """One request, that for the page; no error and no warning, also after all of it was used."""
    for selector in ("nav a", "th button", "summary"):
        for number in range(opened.run(f"document.querySelectorAll('{selector}').length")):
            opened.run(f"document.querySelectorAll('{selector}')[{number}].click()")
    assert opened.requests() == [page.resolve().as_uri()]
    assert opened.complaints() == []


def test_complaints_and_requests_would_be_seen(browser: Browser, tmp_path: Path) -> None:
    """A page that loads a picture, writes an error and fails is caught at all three."""
    bad = tmp_path / "bad.html"
    bad.write_text("<img src='none.png'><p style='color:#999'>pale<script>console.error('a'); nothing()</script>")
    browser.open(bad)
    assert len(browser.requests()) == 2
    assert len(browser.complaints()) >= 2
    assert browser.run(CONTRAST) == ["pale 2.85"]


def test_every_link_of_the_navigation_leads_to_its_section(opened: Browser) -> None:
    """A click on each name brings the section of that name to the top."""
    for name in opened.run("Array.from(document.querySelectorAll('nav a')).map((a) => a.hash)"):
        opened.run("scrollTo(0, 0)")
        opened.click(f'nav a[href="{name}"]')
        assert opened.run("location.hash") == name
        top = opened.run(f"document.querySelector('{name}').getBoundingClientRect().top")
        at_end = opened.run("scrollY + innerHeight >= document.body.scrollHeight - 2")
        assert abs(top) < 30 or at_end, name


def test_click_on_a_title_sorts_numbers_and_names(opened: Browser) -> None:
    """The largest number comes first, the second click turns it round; names come from A to Z."""
    heads = "Array.from(document.querySelectorAll('#jobs table')[0].tHead.rows[0].cells)"
    number = int(opened.run(f"{heads}.findIndex((c) => c.classList.contains('n'))")) + 1
    values = f"{ROWS}.map((row) => +row.cells[{number - 1}].dataset.v)"
    title = f"#jobs table th:nth-child({number}) button"
    opened.click(title)
    assert opened.run(values) == sorted(opened.run(values), reverse=True)
    opened.click(title)
    assert opened.run(values) == sorted(opened.run(values))
    assert opened.run(f"document.querySelector('#jobs table th:nth-child({number})').ariaSort") == "ascending"
    opened.click("#jobs table th:nth-child(1) button")
    names = opened.run(f"{ROWS}.map((row) => row.cells[0].textContent)")
    assert names == sorted(names)


def test_filter_keeps_the_rows_with_all_words(opened: Browser) -> None:
    """Two words typed leave the row that has both; nothing typed leaves all."""
    shown = f"{ROWS}.filter((row) => !row.hidden).map((row) => row.cells[0].textContent)"
    everything = opened.run(shown)
    opened.click("#jobs input[type=search]")
    opened.type("model-b base")
    assert opened.run(shown) == ["model-b-baseline"]
    opened.run("(() => { const i = document.activeElement; i.value = ''; i.dispatchEvent(new Event('input')); })()")
    assert opened.run(shown) == everything


def test_keyboard_alone_reaches_the_content_and_opens_what_is_folded(opened: Browser) -> None:
    """The first Tab finds the way past the navigation; Enter on a summary unfolds it, Enter on a title sorts."""
    opened.press("Tab")
    assert opened.run("document.activeElement.className") == "skip"
    opened.press("Enter")
    assert opened.run("location.hash") == "#content"
    opened.run("document.querySelector('summary').focus()")
    opened.press("Enter")
    assert opened.run("document.querySelector('details').open") is True
    opened.run("document.querySelector('th button').focus()")
    opened.press("Enter")
    assert opened.run("document.querySelectorAll('[aria-sort]').length") == 1


@pytest.mark.parametrize("dark", [False, True])
def test_texts_stand_out_from_their_ground(opened: Browser, dark: bool) -> None:
    """Every text, those of pictures too, has a contrast of 4.5 to 1 or more, in light and in dark."""
    opened.show(dark=dark)
    opened.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    assert opened.run(CONTRAST) == []


@pytest.mark.parametrize("width", [1440, 1280, 1024, 640])
def test_page_never_scrolls_sideways(opened: Browser, width: int) -> None:
    """On desktop, laptop and half a screen wide tables scroll inside themselves; the page does not."""
    opened.resize(width, 800)
    assert opened.run("document.documentElement.scrollWidth") <= width


def test_paper_gets_no_navigation_and_nothing_folded(opened: Browser) -> None:
    """Printed, the navigation and filters are gone, and what was folded is open."""
    opened.show(media="print")
    opened.run("dispatchEvent(new Event('beforeprint'))")
    assert opened.run("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert opened.run("Array.from(document.querySelectorAll('details')).every((d) => d.open)") is True


def size(path: Path) -> tuple[int, int]:
    """Return width and height of a PNG."""
    wide, high = struct.unpack(">II", path.read_bytes()[16:24])
    return wide, high


def test_pictures_of_the_documentation_can_be_taken(browser: Browser, page: Path, tmp_path: Path) -> None:
    """Each picture has the size of its window, is not empty, and light ones differ from dark ones."""
    take(browser, page, tmp_path)
    for shot in SHOTS:
        taken = tmp_path / f"{shot.name}.png"
        assert taken.stat().st_size > 10_000
        assert size(taken) == shot.size if shot.selector is None else size(taken)[1] <= HIGHEST
    assert (tmp_path / "report-desktop-light.png").read_bytes() != (tmp_path / "report-desktop-dark.png").read_bytes()


def test_documentation_has_every_picture_and_shows_no_other() -> None:
    """docs/img holds the pictures that `make docs` takes, in the size they are taken in."""
    assert sorted(path.stem for path in FOLDER.glob("*.png")) == sorted(shot.name for shot in SHOTS)
    for shot in SHOTS:
        if shot.selector is None:
            assert size(FOLDER / f"{shot.name}.png") == shot.size
