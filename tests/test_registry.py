"""The registry: three notations of one thing, and all mistakes at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ettlog import registry
from ettlog.errors import UsageError
from ettlog.windows import instant

TOML = """
[[optimization]]
name = "warm-cache"
owner = "compiler"
components = ["compilation"]
effect = 0.4
[[optimization.rollouts]]
model = "ranker-*"
platform = "h100"
since = 2026-03-01
until = 2026-05-01T12:00:00Z
[[optimization.rollouts]]
model = "embedder"
since = "2026-04-01"

[[optimization]]
name = "fast-init"
owner = "trainer"
parts = ["launch", "rendezvous"]
rollouts = [{ since = 2026-02-01 }]
"""
CSV = """name,owner,components,parts,model,platform,since,until,effect
warm-cache,compiler,compilation,,ranker-*,h100,2026-03-01,2026-05-01T12:00:00Z,0.4
warm-cache,compiler,compilation,,embedder,,2026-04-01,,0.4
fast-init,trainer,,launch rendezvous,,,2026-02-01,,
"""
JSON = json.dumps(
    [
        {
            "name": "warm-cache", "owner": "compiler", "components": ["compilation"], "effect": 0.4,
            "rollouts": [
                {"model": "ranker-*", "platform": "h100", "since": "2026-03-01", "until": "2026-05-01T12:00:00Z"},
                {"model": "embedder", "since": "2026-04-01"},
            ],
        },
        {
            "name": "fast-init", "owner": "trainer", "parts": ["launch", "rendezvous"],
            "rollouts": [{"since": "2026-02-01"}],
        },
    ]
)  # fmt: skip


@pytest.mark.parametrize(("kind", "text"), [("csv", CSV), ("json", JSON)])
def test_every_notation_reads_alike(kind: str, text: str) -> None:
    """CSV (one row a rollout) and JSON give what TOML gives."""
    assert registry.parse(text, kind=kind).optimizations == registry.parse(TOML).optimizations


def test_a_component_stands_for_its_parts() -> None:
    """Compilation is compile, recompile and the first step's excess."""
    found = registry.parse(TOML).optimizations[1]
    assert (found.name, found.parts) == ("warm-cache", frozenset({"compile", "recompile", "first_step_excess"}))


def test_boundaries_are_where_something_begins_or_ends() -> None:
    """On h100 ranker-1 meets fast-init, warm-cache and the end of warm-cache; on a100 only fast-init."""
    read = registry.parse(TOML)
    on_h100 = read.boundaries("ranker-1", "h100")
    assert list(on_h100.items()) == [
        (instant("2026-02-01"), frozenset({"fast-init"})),
        (instant("2026-03-01"), frozenset({"warm-cache"})),
        (instant("2026-05-01T12:00"), frozenset({"warm-cache"})),
    ]
    assert list(read.boundaries("ranker-1", "a100")) == [instant("2026-02-01")]


def test_only_what_declares_a_part_may_claim_it() -> None:
    """Of both names only warm-cache declares compile."""
    read = registry.parse(TOML)
    assert read.claimants({"warm-cache", "fast-init"}, "compile") == ("warm-cache",)
    assert read.claimants({"warm-cache", "fast-init"}, "hang") == ()


def test_all_mistakes_are_told_at_once() -> None:
    """Seven mistakes in one file come back in one error, each with its place."""
    wrong = """
    [[optimization]]
    name = "a"
    parts = ["compille"]
    color = "red"
    effect = 40
    rollouts = [{ since = "soon" }, { since = 2026-03-01, until = 2026-02-01, modle = "x" }]
    """
    with pytest.raises(UsageError) as caught:
        registry.parse(wrong, path="opt.toml")
    told = caught.value.why.split("\n")
    assert caught.value.what == "the registry has 7 mistakes"
    assert caught.value.where == "opt.toml"
    assert "optimization[0].color: unknown field" in told[0]
    assert any("optimization[0] 'a'.parts: unknown name 'compille'; did you mean 'compile'?" in line for line in told)
    assert any("rollouts[1].modle: unknown field; did you mean 'model'?" in line for line in told)
    assert any("rollouts[0].since: 'soon' is not a date" in line for line in told)
    assert any("rollouts[1].until: it is not after since" in line for line in told)


@pytest.mark.parametrize(
    ("kind", "text"),
    [("toml", "name = "), ("json", "{"), ("toml", "x = 1"), ("json", "3"), ("json", "[1]"), ("xml", "<a/>")],
)
def test_what_is_no_registry_is_refused(kind: str, text: str) -> None:
    """Broken or foreign text is a usage error, never a traceback."""
    with pytest.raises(UsageError):
        registry.parse(text, kind=kind)


def test_names_are_unique() -> None:
    """Two optimizations of one name could not be told apart in a credit table."""
    with pytest.raises(UsageError, match="1 mistake") as caught:
        registry.parse(TOML.replace("fast-init", "warm-cache"))
    assert "'warm-cache' is written more than once" in caught.value.why


def test_a_missing_file_is_a_usage_error(tmp_path: Path) -> None:
    """The error names the path and what to give instead."""
    with pytest.raises(UsageError, match="cannot be read") as caught:
        registry.read(tmp_path / "none.toml")
    assert caught.value.where.endswith("none.toml")


def test_a_file_is_read_by_its_ending(tmp_path: Path) -> None:
    """A .csv file is read as CSV."""
    (tmp_path / "o.csv").write_text(CSV)
    assert len(registry.read(tmp_path / "o.csv").optimizations) == 2
