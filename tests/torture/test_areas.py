"""A seeded sample of the quick areas of the torture run; `make torture` runs all at their full floors."""

from __future__ import annotations

import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.torture import __main__, circumstances, fuzzing, page, properties, results, sequences
from tests.torture.nursery import lending
from tests.torture.outputs import LOADED
from tests.torture.registry import AREAS, UNITS, Area, Outcome, Run, Scope, memory, run

SHARES = {
    "F1": 0.15, "F3": 0.5, "F4": 0.5, "F6": 0.1, "F7": 1.0, "F8": 1.0, "F9": 0.5, "F11": 0.5, "F12": 1.0, "F13": 0.5,
    "F14": 0.3, "F15": 1.0,
}  # fmt: skip
"""Areas of which seconds show something, and how much of their samples; all samples, whole, take minutes:
`python -m tests.torture --sample`."""
QUICK = [area for area in AREAS if area.name in SHARES]


@pytest.fixture(scope="module")
def _nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Start the process that has everything imported, once for all areas."""
    with lending(tmp_path_factory.mktemp("nursery"), LOADED):
        yield


@pytest.mark.usefixtures("_nursery")
@pytest.mark.parametrize("area", QUICK, ids=[area.name for area in QUICK])
def test_a_sample_of_the_area_ends_as_expected(area: Area) -> None:
    """Every case of the sample has its expected result, and there are as many as the row promises."""
    with tempfile.TemporaryDirectory(dir=memory()) as folder:
        found = run(area, Scope(Path(folder), share=SHARES[area.name]))
    for sentence in found.outcome.skipped:
        print(f"{area.name} not tried: {sentence}")
    assert found.outcome.failures == []


def test_every_area_is_named_once_and_counts_something_known() -> None:
    """Names are keys of the table, units its columns, and a full run never asks for less than a sample."""
    names = [area.name for area in AREAS]
    assert sorted(set(names)) == sorted(names)
    assert all(area.unit in UNITS and 0 < area.sample <= area.floor for area in AREAS)


def test_a_sample_is_the_same_for_the_same_seed(tmp_path: Path) -> None:
    """The seed alone chooses the cases; a full run takes all."""
    one, other = Scope(tmp_path, seed=1), Scope(tmp_path, seed=2)
    assert one.some(range(100), 10) == one.some(range(100), 10) != other.some(range(100), 10)
    assert Scope(tmp_path, full=True).some(range(100), 10) == list(range(100))


def test_the_table_sums_its_rows() -> None:
    """Columns that nobody counted are left out; the last row holds the sums."""
    area = Area("X", "a title", "x", "faults", 1, 1)
    first, second = Outcome(), Outcome(failures=["it broke"])
    first.counts.update(faults=1200)
    second.counts.update(faults=34, states=5)
    lines = page.table([Run(area, first, 1.4), Run(area, second, 2.0)]).splitlines()
    assert lines[0] == "| area | what | floor | faults | states | run | failures | not tried | CPU seconds |"
    assert lines[2] == "| X | a title | 1 faults | 1,200 | - | full | 0 | - | 1 |"
    assert lines[-1] == "| all |  |  | 1,234 | 5 |  | 1 | - | 3 |"


def test_a_page_is_read_as_it_was_written() -> None:
    """Counts, kind of run, failures, what was not tried and notes of each area come back from the page."""
    first = Outcome(Counter(faults=1200), [], ["no root"], ["3 MiB: held"])
    second = Outcome(Counter(states=5, faults=3), ["it broke", "and again"], [], [])
    runs = [Run(AREAS[0], first, 1.0, "2031-05-06"), Run(AREAS[7], second, 1234.0, "2031-05-06", full=False)]
    assert page.read(page.whole(runs, 1)) == runs


def test_areas_that_were_not_run_keep_their_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of F1 and F6 is written anew by a run of F6 alone, and by one of F2; what was kept of these is written."""
    written = tmp_path / "page.md"
    runs = [Run(AREAS[n], Outcome(Counter(faults=n + 1)), 1.0, "2031-05-06") for n in (0, 7)]
    written.write_text(page.whole(runs, 1))
    anew = {"F6": Run(AREAS[7], Outcome(Counter(states=9)), 2.0, "2031-05-06"), "F2": runs[1]._replace(area=AREAS[1])}
    monkeypatch.setattr(__main__, "_once", lambda name, *_: anew[name])
    for name, done in anew.items():
        results.keep(done, tmp_path)
        monkeypatch.setattr("sys.argv", ["torture", "--only", name, "--write", f"{written}", "--keep", f"{tmp_path}"])
        assert __main__.main() == 0
    assert [path.name for path in tmp_path.iterdir()] == ["page.md"]
    assert page.read(written.read_text()) == [runs[0], anew["F2"], anew["F6"]]


def test_an_interrupted_run_goes_on_with_what_is_missing(tmp_path: Path) -> None:
    """What an area found comes back from its file as it was; an area without a file was not run yet."""
    found = Outcome(failures=["it broke"], skipped=["no root"], notes=["3 MiB"])
    found.counts.update(faults=7)
    done = Run(AREAS[0], found, 2.5, "2031-05-06", full=False)
    results.keep(done, tmp_path / "kept")
    assert results.kept(AREAS[0], tmp_path / "kept") == done
    assert results.kept(AREAS[1], tmp_path / "kept") is None


def test_circumstances_that_were_tried_are_not_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupted run goes on with what is missing; with another seed, or other code, all is tried anew."""
    started: list[str] = []

    def start(folder: Path, row: dict[str, str], _scope: Scope) -> None:
        started.append(folder.name)
        if len(started) == 3:
            raise KeyboardInterrupt
        (folder / "out").mkdir(parents=True)
        (folder / "out/answer").write_text(row["umask"])

    monkeypatch.setattr(circumstances, "start", start)
    usual = {"umask": ("022", "000", "077"), "order": ("as listed",), "packing": ("raw",), "block": ("1",)}
    monkeypatch.setattr(circumstances, "AXES", {**circumstances.AXES, "block": ("1",)})
    monkeypatch.setattr(circumstances, "_possible", lambda *_: {**usual, "workers": ("1", "2")})
    scope = Scope(tmp_path / "work", full=True, kept=tmp_path / "kept")
    with pytest.raises(KeyboardInterrupt):
        circumstances.run(scope)
    found = circumstances.run(scope)
    assert len(started) == len(set(started)) + 1 == found.counts["executions"] + 1
    assert [("umask': '000" in text) or ("umask': '077" in text) for text in found.failures] == [True] * 4
    before = len(started)
    circumstances.run(scope)
    assert len(started) == before
    circumstances.run(Scope(tmp_path / "work", full=True, seed=2, kept=tmp_path / "kept"))
    assert len(started) == before + found.counts["executions"]


def test_sequences_that_were_run_are_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ten thousand the third failed: the next run takes it alone, and after a change of the code all ten."""
    code, started = tmp_path / "code.py", list[str]()
    code.write_text("1")

    def run(command: list[str], **_how: object) -> subprocess.CompletedProcess[str]:
        started.append(command[-1])
        return subprocess.CompletedProcess(command, int(len(started) == 3), "", "it broke")

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(results, "ROOT", tmp_path)
    monkeypatch.setattr(sequences, "MACHINE", ("code.py",))
    scope = Scope(tmp_path, full=True, kept=tmp_path / "kept")
    first = sequences.run(scope)
    assert (first.counts["executions"], first.failures) == (9_000, ["seed 1002: it broke"])
    again = sequences.run(scope)
    assert (again.counts["executions"], again.failures, started[10:]) == (10_000, [], ["1002"])
    code.write_text("2")
    sequences.run(scope)
    assert len(started) == 21


def test_fuzzing_goes_on_until_there_were_inputs_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight targets of 100,000 inputs a round: four rounds are 3.2 million; rounds that ended are not run again."""
    started = list[str]()

    def ended(command: list[str]) -> tuple[int, int, str]:
        started.append(command[-1])
        return int(len(started) == 20), 100_000, "it broke"

    monkeypatch.setattr("fuzz.__main__.ended", ended)
    monkeypatch.setattr(fuzzing, "find_spec", lambda _: True)
    scope = Scope(tmp_path, full=True, kept=tmp_path / "kept")
    first = fuzzing.run(scope)
    assert (first.counts["executions"], len(first.failures), len(started)) == (2_400_000, 1, 24)
    again = fuzzing.run(scope)
    assert (again.counts["executions"], again.failures, len(started)) == (3_200_000, [], 24 + 1 + 8)


SAID = """
  - during reuse phase (0.01 seconds):
    - 3 passing, 0 failing, and 0 invalid test cases
  - during generate phase (2.55 seconds):
    - 20000 passing, 0 failing, and 8 invalid test cases
"""
"""What Hypothesis 6.170 prints; earlier versions say `examples` behind each number."""


def test_properties_that_held_are_not_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three files the second failed: the next run takes it alone; examples of all phases count."""
    started, profiles = list[str](), set[str]()

    def run(command: list[str], env: dict[str, str], **_how: object) -> subprocess.CompletedProcess[str]:
        started.append(command[-1])
        profiles.add(env["HYPOTHESIS_PROFILE"])
        return subprocess.CompletedProcess(command, int(len(started) == 2), SAID, "")

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(properties, "files", lambda: ["a.py", "b.py", "c.py"])
    scope = Scope(tmp_path, full=True, kept=tmp_path / "kept")
    first = properties.run(scope)
    assert (first.counts["executions"], len(first.failures), profiles) == (60_009, 1, {"deep"})
    monkeypatch.setenv("DEEP_MINUTES", "-1")
    late = properties.run(scope)
    assert (late.counts["executions"], late.skipped) == (40_006, ["`b.py`: no time was left for it"])
    monkeypatch.delenv("DEEP_MINUTES")
    again = properties.run(scope)
    assert (again.counts["executions"], again.failures, started) == (60_009, [], ["a.py", "b.py", "c.py", "b.py"])


def test_every_file_with_a_property_is_tried() -> None:
    """The list holds a file with one and no other; the machine of lake and logs is area S1."""
    found = properties.files()
    assert {"tests/test_clock.py", "tests/test_merge.py"} <= set(found)
    assert not {"tests/test_lake_machine.py", "tests/test_cli.py", "tests/torture/test_areas.py"} & set(found)


def test_the_readme_says_what_the_page_says() -> None:
    """Faults, power cuts, states and inputs of the last run stand there as in its table."""
    lines = (ROOT / "docs/torture.md").read_text().splitlines()
    names, sums = (
        [cell.strip() for cell in next(line for line in lines if line.startswith(f"| {name} |")).split("|")]
        for name in ("area", "all")
    )
    said = " ".join((ROOT / "README.md").read_text().split("## What was done to it")[1].split("##")[0].split())
    told = dict(zip(names, sums, strict=True))
    for text in (
        f"injected {told['faults']} faults",
        f"cut the power {told['power cuts']} times",
        f"tried {told['states']} states",
        f"and {told['inputs']} hostile inputs",
        f"; {told['failures']} ended otherwise",
    ):
        assert text in said
