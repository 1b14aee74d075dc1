"""The formats that come with ettlog prove themselves: every pattern alone, and all of them together."""

from __future__ import annotations

import pickle
import re

import pytest

from ettlog.lifecycle import KIND_BY_NAME
from ettlog.parse import format as formats
from ettlog.parse import format_proof
from ettlog.parse.envelope import peel

SET = formats.load_all()
PATTERNS = [pytest.param(pattern, id=f"{pattern.format}.{pattern.name}") for pattern in SET.patterns]


@pytest.mark.parametrize("one", SET.formats, ids=lambda one: one.name)
def test_every_format_proves_itself(one: formats.Format) -> None:
    """Samples match, anchors are required literals, no regex runs away on its killer lines."""
    format_proof.prove(one, formats.FOLDER / f"{one.name}.toml")


def test_no_sample_means_two_things() -> None:
    """No sample of any pattern matches a pattern of any format that it does not name in `beside`."""
    format_proof.prove_disjoint(SET.patterns, {one.name: formats.FOLDER for one in SET.formats})


@pytest.mark.parametrize("pattern", PATTERNS)
def test_pattern_has_a_kind_or_is_noise(pattern: formats.Pattern) -> None:
    """A pattern says something of the vocabulary, or is ignored by rule; tiers only order step lines."""
    assert (pattern.kind in KIND_BY_NAME) != pattern.ignore
    assert pattern.tier == 1 or pattern.kind == "step"


@pytest.mark.parametrize("pattern", PATTERNS)
def test_sample_is_found_inside_a_glued_line(pattern: formats.Pattern) -> None:
    """A pattern that is not bound to the line's start is found behind another writer's text."""
    for sample in pattern.samples:
        body = peel(sample.line.encode()).body
        if not pattern.expression.startswith(b"^"):
            assert pattern.regex.search(b"0.25|" + body) is not None


def test_files_keep_to_the_size_of_a_page() -> None:
    """A format file stays readable: at most 150 lines, and its name is the name of the format."""
    for path in formats.FOLDER.glob("*.toml"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 150, path.name
        assert formats.load(path, prove=False).name == path.stem


def test_order_is_stable_and_names_are_unique() -> None:
    """Patterns come by format name, then in file order; no two share a name."""
    names = [(pattern.format, pattern.name) for pattern in SET.patterns]
    assert [name for name, _ in names] == sorted(name for name, _ in names)
    assert len(set(names)) == len(names)
    steps = formats.load(formats.FOLDER / "megatron_steps.toml", prove=False)
    assert [pattern.name for pattern in SET.patterns if pattern.format == "megatron_steps"] == [
        pattern.name for pattern in steps.patterns
    ]


def test_patterns_cross_a_process_border() -> None:
    """A set of formats survives pickling, as a worker made by spawn needs."""
    assert pickle.loads(pickle.dumps(SET)) == SET


def test_loading_proves_and_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The built-in formats load without a proof and without a compiled regex: both cost more than a small ingest."""
    formats.load_all()

    def refuse(*args: object, **more: object) -> None:
        raise AssertionError((args, more))

    monkeypatch.setattr(re, "compile", refuse)
    assert formats.load_all().patterns
