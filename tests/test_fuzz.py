"""The corpus of the fuzz targets is replayed: no input that once broke a promise breaks it again."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz import __main__ as fuzzing
from fuzz.__main__ import TARGETS as NAMES
from fuzz.targets import TARGETS, BrokenPromiseError, hold
from tests.conftest import ROOT

CORPUS = ROOT / "fuzz/corpus"
INPUTS = sorted(path for path in CORPUS.rglob("*") if path.is_file())


@pytest.mark.parametrize("target", TARGETS)
def test_every_kept_input_is_survived(target: str) -> None:
    """Each target takes all inputs that are kept for it without an exception."""
    mine = [path for path in INPUTS if path.parent.name == target]
    assert mine
    for path in mine:
        TARGETS[target](path.read_bytes())


def test_the_fuzzer_knows_every_target() -> None:
    """What is fuzzed is what is replayed."""
    assert list(TARGETS) == list(NAMES)


def test_corpus_is_small_and_has_no_other_folder() -> None:
    """Two megabytes at most, one folder a target."""
    assert sum(path.stat().st_size for path in INPUTS) <= 2 << 20
    assert {path.parent.name for path in INPUTS} == set(TARGETS)


def test_a_broken_promise_is_an_error() -> None:
    """The targets can fail."""
    with pytest.raises(BrokenPromiseError, match="two is one"):
        hold(len("two") == 1, "two is one")


def test_there_are_seeds_for_every_target(tmp_path: Path) -> None:
    """The generator writes inputs of at most 4 KiB for each target."""
    from fuzz.seeds import MOST, write

    write(tmp_path)
    made = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.parent.name for path in made} == set(TARGETS)
    assert max(path.stat().st_size for path in made) <= MOST


@pytest.mark.parametrize(("flags", "code"), [([], 2), (["--if-there"], 0)])
def test_a_python_without_atheris_says_that_nothing_was_fuzzed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], flags: list[str], code: int
) -> None:
    """It is never passed over in silence; a build goes on, who asked for it alone is told by the exit code too."""
    monkeypatch.setattr(fuzzing, "find_spec", lambda _name: None)
    monkeypatch.setattr("sys.argv", ["fuzz", *flags])
    assert fuzzing.main() == code
    assert capsys.readouterr().err.startswith("NOT FUZZED: Atheris is not installed")


def test_a_build_fuzzes() -> None:
    """What a continuous build runs gives each target some seconds."""
    assert "make fuzz FUZZ_SECONDS=2 FUZZ_FLAGS=--if-there" in (ROOT / ".ci/run").read_text()
