"""Names the values of a template by the words beside them: what stands before, and the unit behind."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

from ettlog.parse.decode import scaled, whole
from ettlog.parse.propose.kind_words import CHECKPOINT
from ettlog.parse.propose.mine import Template
from ettlog.parse.propose.pieces import MARK, NUMBER, PATH, SPACE, STAMP, TEXTS, WORD, Piece

UNITS = {
    "us": "duration_us", "ms": "duration_ms", "msec": "duration_ms", "milliseconds": "duration_ms",
    "s": "duration_s", "sec": "duration_s", "secs": "duration_s", "second": "duration_s", "seconds": "duration_s",
    "m": "duration_min", "min": "duration_min", "mins": "duration_min", "minutes": "duration_min",
}  # fmt: skip
STEP_WORD = re.compile(r"(?:\w+_)?(?:step|iter|iteration|update|it|globalstep)")
STEP_WORDS = re.compile(r"(?:num_|n_|global_)?(?:steps|iters|iterations|updates)")
"""Plural words stand for settings too: only a value that changes makes them the step."""
TIME_WORDS = re.compile(
    r"(?i)^(?:took|dt|in|after|within|\w*time|elapsed|duration|\w*_(?:ms|s|sec|secs|seconds|us|min)|ms|sec|seconds)$"
)
NOT_A_STEP_TIME = re.compile(r"(?i)\beta|remain|left|avg|average|mean|epoch")
RATES = re.compile(r"^(?:it|iter|step|steps|iters|its|updates?)/(?:s|sec|second)\b")


TOTALS = {"duration_ms": "total_ms", "duration_s": "total_s"}
"""Groups of times that grow from line to line: counted from the beginning of the loop."""


TIMES = ("duration", "per_s", "total")
"""Beginnings of the groups that give a duration; a line has one."""


class Slot(NamedTuple):
    """One place of a template: its literal text, or none where the text varies; the group it fills, or nothing."""

    sort: str
    text: str | None
    group: str = ""
    texts: tuple[str, ...] = ()
    """What stood there, line by line."""


def slots(template: Template) -> list[Slot]:
    """Return the places of a template; numbers and paths whose neighbours say what they are have a group.

    Each group is given once, the first place wins; of several durations the one that speaks of a step does.
    """
    places = [_place(column, index, template) for index, column in enumerate(template.columns())]
    found = {index: _group(places, index) for index, place in enumerate(places) if place.text is None}
    times = [index for index, group in found.items() if group.startswith(TIMES)]
    best = max(times, key=lambda i: (not found[i].startswith("total"), _of_a_step(places, i), -i), default=None)
    taken: set[str] = set()
    for index, group in found.items():
        if group and group not in taken and (index not in times or index == best):
            taken.add(group)
            places[index] = places[index]._replace(group=group)
    return places


def without(places: list[Slot], groups: tuple[str, ...]) -> list[Slot]:
    """Return the places without the groups that begin with one of `groups`."""
    return [place._replace(group="") if place.group.startswith(groups) else place for place in places]


def _of_a_step(places: list[Slot], index: int) -> bool:
    return re.search(r"step|iter|\bdt\b|took|batch", " ".join(words_before(places, index)[-2:])) is not None


def _rises(place: Slot) -> bool:
    """Tell whether a value grows with every line: it counts from a beginning, so it is no step's own time."""
    values = [scaled(text.encode(), 1_000_000) or 0 for text in place.texts]
    return len(values) > 4 and all(a < b for a, b in pairwise(values))


def _place(column: tuple[Piece, ...], index: int, template: Template) -> Slot:
    sort, texts = column[0].sort, tuple(piece.text for piece in column)
    same = len(set(texts)) == 1
    if sort in (WORD, MARK, SPACE):
        return Slot(sort, texts[0] if same else None, texts=texts)
    glued = index > 0 and template.lines[0][index - 1].sort == WORD
    if sort == NUMBER and same and glued and len(texts) > 1:
        return Slot(WORD, texts[0], texts=texts)  # bf16, h100, v2
    return Slot(sort, None, texts=texts)


def _group(places: list[Slot], index: int) -> str:
    place = places[index]
    if place.sort == PATH:
        return "name"
    if place.sort != NUMBER:
        return ""
    before, behind = words_before(places, index), _behind(places, index)
    if before and _counts_steps(place, before[-1]) and _all(place, whole):
        return "step"
    if _is_target(places, index):
        return "target"
    time = "" if index and places[index - 1].text == "~" else _time(before, behind)
    if time and _all(place, lambda text: scaled(text, 1)):
        return TOTALS.get(time, "") if _rises(place) else time
    return _other(before, behind) if _all(place, whole) else ""


def _all(place: Slot, reads: Callable[[bytes], int | None]) -> bool:
    return all(reads(text.encode()) is not None for text in place.texts if text not in ("nan", "inf"))


def _other(before: list[str], behind: str) -> str:
    said = " ".join(before[-2:])
    if re.search(r"exit (?:code|status)|return code|exitcode|status$", said):
        return "code"
    if re.search(r"world ?_?size|num_?gpus|nranks|nproc", said) or re.match(r" ?(?:ranks|gpus|devices)\b", behind):
        return "world"
    if before and before[-1] in ("rank", "global_rank"):
        return "rank"
    if re.search(r"samples", said):
        return "samples"
    return ""


def _time(before: list[str], behind: str) -> str:
    """Return the group of a duration by the words before it and the unit behind it, or nothing; `~` is an estimate."""
    if before and NOT_A_STEP_TIME.search(" ".join(before[-2:])):
        return ""
    unit = re.match(r" ?([a-z]+)(?:$|[^a-z/])", behind.lower())
    if RATES.match(behind.lstrip()):
        return "per_s"
    if re.match(r"[A-Za-z]", behind) and (unit is None or unit[1] not in UNITS):
        return ""  # 1.25K, 3h
    if unit and unit[1] in UNITS and (unit[1] not in ("s", "m") or not behind.startswith(" ") or _timely(before)):
        return UNITS[unit[1]]
    if before and _timely(before):
        units = (word.rpartition("_")[2] for word in reversed(before[-2:]))
        return next((UNITS[unit] for unit in units if unit in UNITS), "")
    return ""


def _timely(before: list[str]) -> bool:
    return any(TIME_WORDS.match(word) for word in before[-2:])


def _is_target(places: list[Slot], index: int) -> bool:
    """Tell whether a number stands behind a step and `/` or `of`."""
    back = [place for place in places[max(0, index - 4) : index] if place.sort != SPACE]
    link = back[-1].text if back else None
    step = back[-2] if len(back) > 1 else None
    if link not in ("/", "of") or step is None or step.sort != NUMBER:
        return False
    at = max(number for number in range(index) if places[number] is step)
    before = words_before(places, at)
    return bool(before) and _counts_steps(step, before[-1])


def _counts_steps(place: Slot, word: str) -> bool:
    if STEP_WORD.fullmatch(word) or CHECKPOINT.fullmatch(word):
        return True
    return STEP_WORDS.fullmatch(word) is not None and len(set(place.texts)) > 1


def words_before(places: list[Slot], index: int) -> list[str]:
    """Return the words before a place that speak of it, in small letters: back to the value before it, at most four."""
    found: list[str] = []
    for place in reversed(places[:index]):
        if (
            place.sort in (NUMBER, STAMP, *TEXTS)
            or (place.sort == MARK and place.text in (",", ";", "|"))
            or len(found) == 4
        ):
            break
        if place.sort == WORD and place.text is not None:
            found.insert(0, place.text.lower())
    return found


def _behind(places: list[Slot], index: int) -> str:
    """Return the literal text right behind a place."""
    text = ""
    for place in places[index + 1 : index + 5]:
        if place.text is None:
            break
        text += place.text
    return text
