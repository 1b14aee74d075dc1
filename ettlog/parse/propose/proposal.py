"""From templates to patterns that pass every proof: their kinds, their names, and a word on what was left out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import NamedTuple

from ettlog.errors import FormatError
from ettlog.lifecycle import KIND_BY_NAME
from ettlog.parse import format_proof
from ettlog.parse.envelope import peel
from ettlog.parse.format import Pattern, Sample, fields
from ettlog.parse.propose.expression import anchor, regex, sample, span
from ettlog.parse.propose.kind_words import CAP, CAP_IGNORED, CHECKPOINT, EVALUATION, LOSS, kinds
from ettlog.parse.propose.mine import Template
from ettlog.parse.propose.pieces import NUMBER, SPACE, WORD
from ettlog.parse.propose.slots import TIMES, Slot, slots, without, words_before

MOST = 12
"""Patterns of a proposal; so many fit on a page."""
LOOKED_AT = 400
"""Most frequent templates that are looked at."""
MAX_SAMPLES = 2
MARGIN = 0.4
"""Share of the time for hostile lines that a proposed regex may take: it has to pass on slower machines too."""
STEP = KIND_BY_NAME["step"].kind
_SHOWN = {NUMBER: "#", SPACE: " "}


class LeftOut(NamedTuple):
    """A shape of lines that no pattern is proposed for, and why."""

    shape: str
    number: int
    why: str


@dataclass(frozen=True)
class Proposed:
    """One proposed pattern, and what a person should know of it."""

    number: int
    """Lines of the log that look like it."""
    pattern: Pattern
    choices: tuple[str, ...]
    """Kinds that a person may choose instead; where the pattern is ignored, nothing told its kind."""
    unread: tuple[str, ...]
    """Words beside numbers that fill no column."""


class Proposal(NamedTuple):
    """What is proposed for a log."""

    patterns: tuple[Proposed, ...]
    left_out: tuple[LeftOut, ...]


class _Candidate(NamedTuple):
    places: list[Slot]
    number: int
    kinds: tuple[str, ...]
    cause: str


def propose(templates: Sequence[Template], known: Sequence[Pattern], name: str, most: int = MOST) -> Proposal:
    """Return at most `most` patterns of a format `name`: first those whose kind is told, then the most frequent.

    Each passes the proofs of docs/formats.md, and neither matches a sample of the patterns known, or of another one
    proposed, nor has a sample that they match.
    """
    taken: list[Proposed] = []
    left: list[LeftOut] = []
    for one in _ranked(templates):
        found: Proposed | str = "there are patterns enough"
        alike = sum(other.pattern.kind == "".join(one.kinds[:1]) for other in taken)
        if len(taken) < most and alike < (CAP if one.kinds else CAP_IGNORED):
            found = _fitting(one, [*known, *(other.pattern for other in taken)], name)
        if isinstance(found, Proposed):
            taken.append(found)
        else:
            left.append(LeftOut(shape(one.places), one.number, found))
    return Proposal(tuple(taken), tuple(left))


def shape(places: Iterable[Slot]) -> str:
    """Return a template as one text with `#` for what varies."""
    return "".join(place.text if place.text is not None else _SHOWN.get(place.sort, "#") for place in places)


def _ranked(templates: Sequence[Template]) -> list[_Candidate]:
    """Return candidates: steps first, then what tells a kind, then the rest, each by frequency."""
    found = []
    for template in templates[:LOOKED_AT]:
        places = slots(template)
        told, cause = _kinds(places)
        if told[:1] != (STEP,):
            places = without(places, ("total", "per_s", "target") if told else ("",))
        elif EVALUATION.search(shape(places).lower()):
            places = without(places, TIMES)
        found.append(_Candidate(places, template.count, told, cause))
    return sorted(found, key=lambda one: (0 if one.kinds[:1] == (STEP,) else 1 if one.kinds else 2, -one.number))


def _kinds(places: Sequence[Slot]) -> tuple[tuple[str, ...], str]:
    """Return the kinds a template may be of, the likeliest first, and the cause of a failure or nothing."""
    said = shape(places).lower()
    told, cause = kinds(said)
    step = next((place for place in places if place.group == STEP), None)
    if step is None or CHECKPOINT.search(said):
        return told, cause
    if EVALUATION.search(said):
        return (told if told[:1] == ("evaluation_begin",) else ("evaluation_end", "evaluation_begin")), ""
    if len(set(step.texts)) < 2:
        return told, cause
    groups = {place.group for place in places}
    timed = any(group.startswith(TIMES) for group in groups)
    if "target" in groups or LOSS.search(said) or (timed and not told):
        return (STEP,), ""
    return told or (STEP, "step_twin", "heartbeat"), cause


def _fitting(one: _Candidate, known: Sequence[Pattern], name: str) -> Proposed | str:
    """Return the shortest pattern that passes all proofs, or why there is none."""
    why = ""
    for whole in (False, True):
        part = span(one.places, whole=whole)
        literal = anchor(one.places, part)
        if not literal:
            why = "no five bytes of it are the same on every line"
            continue
        expression = regex(one.places, part)
        pattern = _pattern(one, known, name, literal, expression)
        if isinstance(pattern, Pattern):
            why = _problem(pattern, known)
            if not why:
                return Proposed(one.number, pattern, one.kinds[1:], _unread(one.places))
        else:
            why = pattern
    return why


def _pattern(one: _Candidate, known: Sequence[Pattern], name: str, literal: str, expression: str) -> Pattern | str:
    """Return the pattern with its samples, or why a sample does not fit it."""
    kind = one.kinds[0] if one.kinds else ""
    constants: dict[str, str | int] = {"cause": one.cause} if one.cause else {}
    groups = tuple(re.findall(r"\(\?P<(\w+)>", expression))
    title = _title(one.places, kind, {other.name for other in known if other.format == name})
    bare = Pattern(name, title, kind, literal.encode(), expression.encode(), groups, constants, (), ignore=not kind)
    samples = []
    for text in _samples(one.places):
        match = bare.regex.search(peel(text.encode()).body)
        if match is None:
            return "with its values masked it is another line"
        values = {key: value for key, value in fields(bare, match).items() if key not in (*constants, "stamp")}
        samples.append(Sample(text, values))
    return Pattern(name, title, kind, bare.anchor, bare.expression, groups, constants, tuple(samples), ignore=not kind)


def _samples(places: Sequence[Slot]) -> list[str]:
    """Return the first and the last kept line, masked, where they differ."""
    last = max((len(place.texts) for place in places), default=1) - 1
    return list(dict.fromkeys((sample(places, 0), sample(places, last))))[:MAX_SAMPLES]


def _title(places: Sequence[Slot], kind: str, taken: set[str]) -> str:
    """Return a name of its own for a pattern: its kind, or its first plain words where nothing told one."""
    said = [place.text.lower() for place in places if place.sort == WORD and place.text]
    plain = [word for word in said if re.fullmatch(r"[a-z_]{2,16}", word)]
    base = kind or "_".join(plain[:4]) or "line"
    names = chain((base,), (f"{base}_{number}" for number in count(2)))
    return next(name for name in names if name not in taken)


def _problem(pattern: Pattern, known: Sequence[Pattern]) -> str:
    """Return which proof a pattern does not pass, or nothing."""
    try:
        format_proof.prove_pattern(pattern, Path(pattern.format), MARGIN)
        format_proof.prove_apart(pattern, known, Path(pattern.format))
    except FormatError as error:
        return error.what.partition("\n")[0] + ": " + error.why
    return ""


def _unread(places: Sequence[Slot]) -> tuple[str, ...]:
    """Return the words beside numbers that no group reads."""
    said = (words_before(list(places), i) for i, place in enumerate(places) if place.sort == NUMBER and not place.group)
    return tuple(dict.fromkeys(before[-1] for before in said if before))
