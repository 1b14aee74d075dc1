"""The report is one page that asks for nothing, escapes everything, and says what it cannot tell."""

from __future__ import annotations

import base64
import functools
import hashlib
import html
import re
import shlex
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest

import ettlog
from ettlog import fleet as fleets
from ettlog.config import Config
from ettlog.errors import NoDataError
from ettlog.fleet import Fleet
from ettlog.report import build
from ettlog.report.budgets import budgets, states
from ettlog.report.failures import failure_rows, recovery_rows
from ettlog.report.page import Notes, Page, Section, render
from ettlog.report.scope import Scope
from ettlog.report.wall import interval
from ettlog.sink import display
from ettlog.windows import Window
from tests.conftest import ROOT
from tests.tables import Log, fleet, record
from tests.test_cli import process, run

SECTIONS = ["headline", "time", "owners", "credit", "waterfall", "recoveries", "failures", "jobs", "quality"]
OWN_TEXT = ("script", "style")
HOSTILE = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</style><b>", "{{ 7 * 7 }}", "{% raw %}",
    r"$\frac$", "javascript:alert(1)", "a\u202eb\x1b[2J", "&lt;i&gt;",
]  # fmt: skip


class Dom(HTMLParser):
    """A page as its tags, attributes and text."""

    def __init__(self, text: str) -> None:
        """Read a page."""
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside: list[str] = []
        self.words: list[str] = []
        self.own: dict[str, str] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep a tag."""
        self.tags.append((tag, dict(attrs)))
        self.inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Leave a tag, and those inside it that have no end."""
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        """Keep text, that of script and style apart."""
        last = self.inside[-1] if self.inside else ""
        if last in OWN_TEXT:
            self.own[last] = self.own.get(last, "") + data
        else:
            self.words.append(data)

    def sections(self) -> list[str]:
        """Return the names of the sections, in order."""
        return [str(attrs["id"]) for tag, attrs in self.tags if tag == "section"]

    def values(self, name: str) -> Iterator[str]:
        """Yield the values of an attribute."""
        return (attrs[name] or "" for _, attrs in self.tags if name in attrs)

    def text(self) -> str:
        """Return all text."""
        return "".join(self.words)


def lake(name: str, folder: Path) -> Path:
    """Ingest a fixture's logs into a lake."""
    ettlog.ingest([ROOT / "fixtures" / name / "logs"], folder / name)
    return folder / name


@pytest.fixture(scope="module")
def tiny_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a lake of the tiny fixture."""
    return lake("tiny", tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def tiny(tiny_lake: Path) -> str:
    """Return the page of the tiny fixture."""
    return build(fleets.open(tiny_lake))


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the page of the published fixture."""
    return build(fleets.open(lake("published", tmp_path_factory.mktemp("report"))))


def one_job(name: str = "run", **source: str) -> Fleet:
    """Return a fleet of one job with one start of 30 minutes, and no accounting."""
    log = Log(job_name=name, **source)
    log.say(0, "launch")
    log.say(5, "train_start")
    for number in range(1, 5):
        log.step(5 + number * 5, number, 5)
    log.say(30, "train_end")
    return fleet(log)


def test_every_section_of_a_small_fleet_is_there(tiny: str) -> None:
    """The page of the tiny fixture has all sections, each named in the navigation."""
    dom = Dom(tiny)
    assert dom.sections() == SECTIONS
    assert {f"#{name}" for name in SECTIONS} <= set(dom.values("href"))


def test_every_section_of_the_published_fleet_is_there(published: str) -> None:
    """The page of the published fixture has all sections, and pictures of the change and of the credit."""
    dom = Dom(published)
    assert dom.sections() == SECTIONS
    assert {"credit-figure_1", "waterfall-figure_1"} <= set(dom.values("id"))


def test_headline_is_what_ett_says(tiny: str) -> None:
    """The headline is effective over held GPU time of the tiny fixture's jobs, as worked by hand."""
    jobs = pl.read_csv(ROOT / "fixtures" / "tiny" / "expected" / "job.csv")
    effective, held = (int((jobs[name] * jobs["gpus"]).sum()) for name in ("effective_us", "allocated_us"))
    assert f"<dd>{100 * effective / held:.1f} %</dd>" in tiny


@pytest.mark.parametrize("page", ["tiny", "published"])
def test_page_asks_for_nothing(page: str, request: pytest.FixtureRequest) -> None:
    """Nothing is loaded from outside: links lead into the page, no tag loads a file, the policy forbids the rest."""
    text = request.getfixturevalue(page)
    dom = Dom(text)
    links = [value for name in ("href", "xlink:href", "src", "action", "data", "srcset") for value in dom.values(name)]
    assert all(value.startswith("#") for value in links)
    assert not {"img", "link", "iframe", "object", "embed", "form", "base", "video"} & {tag for tag, _ in dom.tags}
    assert "@import" not in text
    assert "url(http" not in text
    assert any(value.startswith("default-src 'none'") for value in dom.values("content"))


def test_policy_admits_the_page_s_own_script_only(tiny: str) -> None:
    """The one script of the page is the one whose hash its policy names."""
    dom = Dom(tiny)
    digest = base64.b64encode(hashlib.sha256(dom.own["script"].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in next(value for value in dom.values("content") if "script-src" in value)
    assert [tag for tag, _ in dom.tags].count("script") == 1


def test_same_lake_gives_the_same_bytes(tiny_lake: Path, tiny: str) -> None:
    """Another process, with another hash seed, makes the same page."""
    env = {"PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo"}
    made = process(["report", "--lake", str(tiny_lake), "-o", "-"], env=env)
    assert made.stdout == tiny


@functools.cache
def plain_page() -> str:
    """Return the page of a job that bears a usual name."""
    return build(one_job())


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_name_is_text(name: str) -> None:
    """A job, model and file with a hostile name adds no tag and no handler; the reader sees the name."""
    plain, dom = Dom(plain_page()), Dom(build(one_job(name, model=name, path=f"logs/{name}"), jobs=None))
    own, found = ({tag for tag, _ in page.tags} for page in (plain, dom))
    assert found == own
    assert not [key for _, attrs in dom.tags for key in attrs if key.startswith("on")]
    assert display(name) in dom.text()
    assert "\x1b" not in dom.text()


def test_identifiers_are_unique(published: str) -> None:
    """No two elements of the page share an id, those of pictures included."""
    ids = list(Dom(published).values("id"))
    assert len(ids) == len(set(ids))


def test_numbers_lead_to_how_they_are_counted(tiny: str) -> None:
    """Every tile, table and picture of a section links to its explanation; every link of the page leads somewhere."""
    dom = Dom(tiny)
    ids = set(dom.values("id"))
    links = list(dom.values("href"))
    assert {link.removeprefix("#") for link in links} <= ids
    explained = {link for link in links if link.endswith("-counted")}
    assert explained == {f"#{name}-counted" for name in SECTIONS if f"{name}-counted" in ids}
    tags = [tag for tag, _ in dom.tags]
    places = tags.count("table") + tags.count("figure") + tags.count("dt")
    assert sum(link in explained for link in links) == places


def test_commands_of_the_page_explain(tiny_lake: Path, tiny: str) -> None:
    """Each `ettlog explain` that a table shows names a row that it explains."""
    commands = set(re.findall(r"<td[^>]*><code>ettlog explain ([^<]+)</code>", tiny))
    assert len(commands) > 3
    opened = fleets.open(tiny_lake)
    for row in commands:
        assert ettlog.explain(opened, *shlex.split(html.unescape(row))).height > 0


def test_budgets_show_what_is_used_of_them(tiny_lake: Path) -> None:
    """With budgets in ettlog.toml each has a row, and its owner the state; what is used is overhead over effective."""
    opened = fleets.open(tiny_lake)
    assert "No budget is set" in Dom(build(opened)).text()
    opened.config = Config({"slo": {"compilation": 0.5, "wasted_training": 0.5}})
    found = budgets(Scope(opened, {}))
    assert found is not None
    hours = ettlog.ett(opened).row(0, named=True)
    over = hours["wasted_training_gpu_hours"] / hours["effective_training_gpu_hours"]
    row = found.filter(pl.col("component") == "wasted_training").row(0, named=True)
    assert row["overhead"] == pytest.approx(over)
    assert row["state"].startswith(("over (", "burning ("))
    assert "wasted_training: " + row["state"] in Dom(build(opened)).text()


def test_state_of_an_owner_is_that_of_the_worst_budget() -> None:
    """Of two budgets of one owner the one that burns, else the one that is used more, is told."""
    rows = {"owner": ["a", "a", "b", "b"], "component": ["p", "q", "r", "s"], "burning": ["", "page", "", ""]}
    table = pl.DataFrame({**rows, "used": [2.0, 0.5, 0.4, 0.6], "state": ["over", "burning (page)", "low", "high"]})
    assert states(table) == {"a": "q: burning (page)", "b": "s: high"}
    assert states(None) == {}


def test_recoveries_are_taken_apart_in_a_picture(tiny: str) -> None:
    """The section of recoveries holds the anatomy by cause."""
    assert "anatomy-figure_1" in set(Dom(tiny).values("id"))


def test_headers_can_be_reached_by_keyboard(tiny: str) -> None:
    """Every column of every table is headed by a button, and every scrolling region can be focused."""
    dom = Dom(tiny)
    tags = [tag for tag, _ in dom.tags]
    assert tags.count("th") == tags.count("button") > 0
    assert all(attrs.get("scope") == "col" for tag, attrs in dom.tags if tag == "th")
    assert all(attrs.get("tabindex") == "0" for _, attrs in dom.tags if attrs.get("class") == "scroll")
    assert all(attrs.get("aria-label") for tag, attrs in dom.tags if tag == "svg")


def test_job_without_accounting_or_registry_says_what_is_missing() -> None:
    """One job of which only the trainer's log was read: all sections, and what more would make credit possible."""
    dom = Dom(build(one_job()))
    assert dom.sections() == SECTIONS
    assert "No scheduler accounting was read" in dom.text()
    assert "name rollouts in optimizations.toml" in dom.text()


def test_accounting_without_trainer_says_what_is_missing() -> None:
    """A job that only the scheduler knows: the page says that a trainer's log would show starts and steps."""
    dom = Dom(build(fleet(alloc=[record(submit=0, start=5, end=60, gpus=8)])))
    assert "No trainer log was read" in dom.text()
    assert "quality" in dom.sections()


def test_empty_lake_says_how_to_begin() -> None:
    """Without any file the page says so, and which command reads logs."""
    dom = Dom(build(fleet()))
    assert dom.sections() == ["headline", "quality"]
    assert "ettlog ingest" in dom.text()


def test_one_job_of_a_fleet(tiny_lake: Path) -> None:
    """A page about one job leaves out the fleet's credit and shows the job's starts."""
    dom = Dom(build(fleets.open(tiny_lake), jobs=["finch-7b"]))
    assert dom.sections() == [name for name in SECTIONS if name not in ("credit", "waterfall")]
    assert "robin-1b" not in dom.text()


def test_unknown_job_is_refused(tiny_lake: Path) -> None:
    """A name that no job has is an error, not an empty page."""
    with pytest.raises(NoDataError, match="no job matches"):
        build(fleets.open(tiny_lake), jobs=["nobody"])


def test_interval_of_equal_jobs_is_a_point() -> None:
    """Jobs of one ETT give that ETT whatever is drawn; four jobs are too few to say anything."""
    rows = {"effective_training_gpu_hours": [60.0] * 6, "wall_gpu_hours": [80.0] * 6, "job": list("abcdef")}
    assert interval(pl.DataFrame(rows)) == pytest.approx((0.75, 0.75))
    assert interval(pl.DataFrame(rows).head(4)) is None


def test_recovery_has_the_cause_of_the_start_before() -> None:
    """Start 1 came back from start 0's oom: 40 minutes, of which 30 in init, on 2 GPUs."""
    minute = 60_000_000
    ledger = pl.DataFrame(
        {
            "job": ["a", "a", "a"],
            "start": [0, 1, 1],
            "kind": ["first", "failure", "failure"],
            "stage": ["first_start", "recovery", "recovery"],
            "component": ["trainer_init", "trainer_init", "wasted_training"],
            "us": [5 * minute, 30 * minute, 10 * minute],
            "allocated_gpu_us": [10 * minute, 60 * minute, 20 * minute],
            "launched_us": [0, 50, 50],
        }
    )
    start = pl.DataFrame({"job": ["a", "a"], "k": [0, 1], "cause": ["oom", None]})
    (row,) = recovery_rows(ledger, start, Window(0, 100, "all")).to_dicts()
    assert (row["kind"], row["cause"], row["recoveries"], row["each_us"]) == ("failure", "oom", 1, 40 * minute)
    assert row["gpu_hours"] == pytest.approx(80 / 60)
    assert row["trainer_init_share"] == pytest.approx(0.75)


def test_failures_count_ends_that_were_not_planned(tiny_lake: Path) -> None:
    """The tiny fixture's five starts end in an oom, a lost node and a time limit, beside two that completed."""
    start = fleets.open(tiny_lake).table("start")
    rows = failure_rows(start, Window(0, 2**62, "all")).select("end_state", "cause", "starts", "example").rows()
    assert sorted(rows) == [
        ("failed", "oom", 1, "robin-1b@0"),
        ("node_failure", "node", 1, "finch-7b@0"),
        ("time_limit", "(not named)", 1, "wren-3b@0"),
    ]


def test_title_and_notes_are_escaped() -> None:
    """What is given as title, sentence or command is text in the page."""
    page = Page("<i>", ["<u>"], [Section("a", "A", [Notes(["<s>"])], "<kbd>")])
    assert not {"i", "u", "s", "kbd"} & {tag for tag, _ in Dom(render(page)).tags}


def test_command_writes_the_page_whole(tiny_lake: Path, tiny: str, tmp_path: Path) -> None:
    """`ettlog report -o FILE` writes the page that the library makes, and says so on stderr."""
    target = tmp_path / "report.html"
    result = run("report", "--lake", str(tiny_lake), "-o", str(target))
    assert result.exit_code == 0
    assert target.read_text() == tiny
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
