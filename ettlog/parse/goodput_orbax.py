"""Orbax checkpoint entries beside goodput entries: when a save began to block the loop, and for how long;
restores.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ettlog.parse import jsonl
from ettlog.parse.gather import BAD_TIME, MATCHED, Facts, Instant, exact
from ettlog.parse.jsonl import Record

_TYPE = re.compile(r"save|(?P<restore>(?:emergency_)?restore)")
_BASES = ("checkpoint_manager_blocking", "checkpointer_blocking", "checkpoint_manager", "checkpointer")


def knows(entry: Record) -> bool:
    """Tell whether an entry is one of Orbax."""
    return _type(entry) is not None and any(f"{base}_start_time" in entry for base in _BASES)


def take(facts: Facts, words: Mapping[str, str], line: int, entry: Record) -> str:
    """Add the two events of a save or a restore; returns the outcome of the line.

    A save in the background lets the loop go on at the end of its blocking time; only a synchronous one is usable
    then.
    """
    found = _interval(entry)
    if found is None:
        return BAD_TIME
    begin, end = found
    assert begin.us is not None
    assert end.us is not None
    fields = {"step": jsonl.whole(entry, "step"), "name": jsonl.text(entry, "directory")}
    duration = end.us - begin.us
    kind = _type(entry)
    if kind is not None and kind.lastgroup:
        facts.event(line, words["restore_begins"], "orbax_restore", begin, **fields)
        facts.event(line, words["restore_ends"], "orbax_restore", end, duration_us=duration, **fields)
        facts.event(line, words["restored_step"], "orbax_restore", end, **fields)
        return MATCHED
    facts.event(line, words["save_begins"], "orbax_save", begin, **fields)
    done = words["save_is_synchronous" if entry.get("synchronous") is True else "save_returns"]
    facts.event(line, done, "orbax_save", end, duration_us=duration, **fields)
    return MATCHED


def _type(entry: Record) -> re.Match[str] | None:
    return _TYPE.fullmatch(jsonl.text(entry, "event_type") or "")


def _interval(entry: Record) -> tuple[Instant, Instant] | None:
    for base in _BASES:
        begin = jsonl.micros(entry, f"{base}_start_time")
        length = jsonl.micros(entry, f"{base}_duration_secs")
        if begin is not None and length is not None and length >= 0:
            ends = exact(begin), exact(begin + length)
            if ends[0] is not None and ends[1] is not None:
                return ends[0], ends[1]
    return None
