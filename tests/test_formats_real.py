"""The formats against real logs: what the patterns count is what was counted by hand in the facts beside the logs."""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from ahocorasick_rs import BytesAhoCorasick

from ettlog.lifecycle import KIND_BY_NAME
from ettlog.parse import clock
from ettlog.parse import format as formats
from ettlog.parse.envelope import peel, split_states

pytestmark = pytest.mark.shared

SETS = (
    "bs_meg_gpt2_n16_timelimit", "bs_megds_zero_n16_timelimit", "bs_megds3d_old_nccl_info",
    "bs_megds3d_dsoff_clockskew",
    "bs_meg_gpt2_n4_cancelled", "bs_hf_ds_gpt2_n16", "bs_tr11_chronicle", "bs_tr11_chronicle_prequel",
    "neox_70m_task0", "neox_70m_task5_noop_resume", "neox_70m_512step", "neox_llemma7b_resume8000", "neox_export_hf_1",
    "neox_export_hf_2", "megds_alcf_3jobs", "megds_alcf_4jobs", "megds_alcf_hour_per_iter", "megds_alcf_truncated",
    "megds_ltd_baseline", "megds_ltd_sigterm", "megds_moe_51min_init_sigterm", "mlm_ci_checkpoints", "mlm_rl_nvshmem",
    "dse_vit_18launches", "dse_sft_opt13b", "dse_gpt2_medium", "titan_oom_step0", "titan_nccl_watchdog_hang",
    "titan_agent_sigterm", "titan_pp_zbv_ctrlc", "nanogpt_driver_acc10", "nanogpt_driver_resume",
    "nanogpt_driver_preloaded",
)  # fmt: skip
CAUSES = {"oom", "nccl_timeout", "import_error", "sigterm", "sigint"}


class Event(NamedTuple):
    """One match: line number over all parts of the set, pattern, fields and stamp of its line."""

    line: int
    pattern: formats.Pattern
    fields: dict[str, int | str]
    stamp: clock.Stamp | None


@functools.cache
def patterns() -> tuple[formats.Pattern, ...]:
    """Return all patterns that make events."""
    return tuple(pattern for pattern in formats.load_all().patterns if not pattern.ignore)


@functools.cache
def anchors() -> BytesAhoCorasick:
    """Return what finds the anchors of all patterns in a line."""
    return BytesAhoCorasick([pattern.anchor for pattern in patterns()])


def read(path: Path, first: int) -> Iterator[Event]:
    """Yield what a plain reader, one line at a time, finds in a file."""
    for number, line in enumerate(path.read_bytes().split(b"\n"), first):
        held = {which for which, _, _ in anchors().find_matches_as_indexes(line, overlapping=True)}
        wanted = [patterns()[which] for which in sorted(held)]
        for state in split_states(line) if wanted else ():
            peeled = peel(state)
            for pattern in wanted:
                for match in pattern.regex.finditer(peeled.body):
                    values = formats.fields(pattern, match)
                    named = values.get("stamp")
                    stamp = clock.parse(peeled.stamp or str(named or "")) or clock.find(peeled.body)
                    yield Event(number, pattern, values, stamp)


@functools.cache
def events(shared: Path, name: str) -> tuple[tuple[Event, ...], Any]:
    """Return the events of a set and its facts."""
    folder = shared / "data" / "trainer"
    facts = {one["set"]: one for one in json.loads((folder / "facts.json").read_text(encoding="utf-8"))}[name]
    found: list[Event] = []
    first = 1
    for file in facts["files"]:
        found += read(folder / file, first)
        first += (folder / file).read_bytes().count(b"\n")
    seen = {f"{event.pattern.format}.{event.pattern.name}" for event in found}
    return tuple(one for one in found if not one.pattern.needs or seen.intersection(one.pattern.needs)), facts


def instant(text: str) -> int:
    """Return the microseconds of a stamp of the facts, zone left aside."""
    stamp = clock.parse(text)
    assert stamp is not None
    return stamp.us


def kinds(found: tuple[Event, ...]) -> Counter[str]:
    """Count events by kind."""
    return Counter(event.pattern.kind for event in found)


@pytest.mark.parametrize("name", SETS)
def test_step_lines(shared: Path, name: str) -> None:
    """Step lines of the best tier are as many, and as many distinct ones a job, as counted in the file."""
    found, facts = events(shared, name)
    steps = [event for event in found if event.pattern.kind == "step"]
    best = min((event.pattern.tier for event in steps), default=1)
    numbers = [event.fields["step"] for event in steps if event.pattern.tier == best]
    if "step_lines" in facts and not name.startswith(("nanogpt", "titan")):
        assert len(numbers) == facts["step_lines"]
        launches = [start for start in facts["starts"] if start["first_step"] is not None]
        if launches and "debatable" not in facts:
            assert {start["first_step"] for start in launches} <= set(numbers)
            assert max(start["last_step"] for start in launches) == max(numbers)


@pytest.mark.parametrize("name", SETS)
def test_saves_and_loads(shared: Path, name: str) -> None:
    """Requests, commits (the last rank's line of each step) and loads agree with the facts, stamps included."""
    found, facts = events(shared, name)
    if "saves_requested" in facts and "saves_requested" not in facts.get("debatable", ()):
        assert kinds(found)["save_request"] == facts["saves_requested"]
    commits = [event for event in found if event.pattern.kind == "save_commit"]
    saves = facts.get("saves_committed", [])
    if isinstance(saves, dict):
        assert len(commits) == saves["count"]
    else:
        last = {event.fields["step"]: event.stamp.us for event in commits if event.stamp}
        assert last == {step: instant(at) for step, at in saves}


@pytest.mark.parametrize("name", SETS)
def test_resumed_from(shared: Path, name: str) -> None:
    """The step a start continues from is printed, and no start without one is said to resume."""
    found, facts = events(shared, name)
    resumed = {start["resumed_from"] for start in facts["starts"]} - {None}
    says = {event.fields["step"] for event in found if event.pattern.kind == "resume"}
    assert says == resumed or not resumed
    loads = [event for event in found if event.pattern.kind == "restore_end"]
    if facts.get("loads") == []:
        assert not loads
    elif isinstance(facts.get("loads"), dict):
        assert len(loads) == facts["loads"]["count"]
    elif facts.get("loads"):
        assert max(event.stamp.us for event in loads if event.stamp) >= instant(facts["loads"][-1][1])


@pytest.mark.parametrize("name", SETS)
def test_world_size(shared: Path, name: str) -> None:
    """Every world size that is printed is one of the facts, and no communicator is larger than the world."""
    found, facts = events(shared, name)
    sizes = {start["world_size"] for start in facts["starts"]} - {None}
    groups = {event.fields["world"] for event in found if event.pattern.name == "communicator"}
    printed = {
        event.fields["world"] for event in found if "world" in event.fields if event.pattern.name != "communicator"
    }
    assert printed <= sizes | {1}
    assert sizes <= printed or not printed
    assert not groups or max(groups) in sizes


@pytest.mark.parametrize("name", SETS)
def test_launches_have_an_opening_line(shared: Path, name: str) -> None:
    """On the launcher line of every start, or within three lines (a block), stands an opener with the facts' stamp."""
    found, facts = events(shared, name)
    openers = [event for event in found if KIND_BY_NAME[event.pattern.kind].opens]
    for start in facts["starts"]:
        at, said = start.get("lines", {}).get("launch"), start["launched_at"]
        if at is None or said is None or said.startswith("--"):
            continue
        near = [event.stamp for event in openers if abs(event.line - at) <= 3 and event.stamp]
        assert near
        assert any(not stamp.year or abs(stamp.us - instant(said)) <= 5_000 for stamp in near)


@pytest.mark.parametrize("name", SETS)
def test_causes_of_ends(shared: Path, name: str) -> None:
    """A cause in the facts is told by some line, on the line the facts name or after it."""
    found, facts = events(shared, name)
    told = {str(event.fields["cause"]) for event in found if "cause" in event.fields}
    for start in facts["starts"]:
        if start["cause"] in CAUSES:
            assert start["cause"] in told
    ends = {start["end"] for start in facts["starts"]}
    if "time_limit" in ends:
        assert kinds(found)["time_limit"] >= 1
    if ends == {"completed"}:
        assert not told - {"other", "import_error"}


def test_negative_start_up_time_is_kept(shared: Path) -> None:
    """The printed -45.152 s stays negative: it is evidence of clock offsets between nodes, not a duration."""
    found, facts = events(shared, "megds_moe_51min_init_sigterm")
    seconds = [event.fields["duration_us"] for event in found if event.pattern.kind == "init_seconds"]
    assert seconds == [round(facts["starts"][0]["init_seconds_printed"] * 1_000_000)]


def test_skipped_steps_are_summed(shared: Path) -> None:
    """Steps that the loss scaler skipped are printed on the step lines: 19 of 200."""
    found, facts = events(shared, "bs_meg_gpt2_n4_cancelled")
    assert sum(int(event.fields["skipped"]) for event in found if event.pattern.kind == "step") == 19
    assert facts["skipped_iterations"] == 19


def test_duration_unit_is_read(shared: Path) -> None:
    """BigScience prints seconds: step 12695 took 105.22 s."""
    found, _ = events(shared, "bs_tr11_chronicle")
    first = next(event for event in found if event.pattern.kind == "step")
    assert (first.fields["step"], first.fields["duration_us"]) == (12695, 105_220_000)


def test_glued_marks_are_found(shared: Path) -> None:
    """`training ...` behind a timer line without a newline is found in all three sets that have it."""
    for name in ("megds_moe_51min_init_sigterm", "megds_ltd_sigterm", "megds_ltd_baseline", "megds_alcf_4jobs"):
        found, facts = events(shared, name)
        assert sum(event.pattern.name == "training" for event in found) == len(facts["starts"])
