"""Writes the regex of a template, its anchor, and samples that show no value that says who or where."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ettlog.parse.format import MIN_ANCHOR
from ettlog.parse.gates import COMMON
from ettlog.parse.propose.pieces import ADDRESS, CODE, HOST, MARK, NUMBER, PATH, SECRET, SPACE, STAMP, WORD
from ettlog.parse.propose.slots import Slot

MAX_ANCHOR = 48
_NEUTRAL = {
    ADDRESS: "https://example.org/x", HOST: "10.0.0.1", PATH: "/path/to/file", SECRET: "masked", WORD: "name",
    MARK: "-", SPACE: " ",
}  # fmt: skip
_LONG = 7
"""Digits from which on a number that no group reads is masked: identifiers of people and things have so many."""


class Span(NamedTuple):
    """The part of a template's places that the regex takes: [begin, end)."""

    begin: int
    end: int


def span(places: Sequence[Slot], *, whole: bool) -> Span:
    """Return the part of a template worth a regex: from its first words to the words behind the last named value.

    What stands before (stamps, numbers) is found without a regex; without named values, or where `whole` is asked for,
    it goes on to the end.
    """
    named = [index for index, place in enumerate(places) if place.group]
    first = next((i for i, place in enumerate(places) if place.sort == WORD and place.text is not None), 0)
    begin = min([first, *named])
    if whole or not named:
        return Span(begin, len(places))
    end = named[-1] + 1
    while end < len(places) and places[end].text is not None:
        end += 1
    while places[end - 1].text is not None and places[end - 1].sort != WORD:
        end -= 1
    words = [i for i in range(begin, end) if places[i].sort == WORD and places[i].text is not None]
    return Span(begin, end if words else len(places))


def regex(places: Sequence[Slot], part: Span) -> str:
    """Return the regex of a part of a template: no repeat of it can take back what it took."""
    texts = [_piece(places, index) for index in range(part.begin, part.end)]
    lead = places[part.begin]
    guard = r"(?<![\w.])" if lead.text is None else ""
    return guard + "".join(texts)


def _piece(places: Sequence[Slot], index: int) -> str:
    place = places[index]
    if place.text is not None:
        return (
            " ++" if place.sort == SPACE and place.text != " " and not place.text.strip(" ") else _escaped(place.text)
        )
    if place.sort == SPACE:
        return r"\s++"
    body = _value(places, index)
    return f"(?P<{place.group}>{body})" if place.group else body


def _escaped(text: str) -> str:
    return "".join(_letter(char) for char in text)


def _letter(char: str) -> str:
    if char in r"\.^$*+?{}[]|()":
        return "\\" + char
    hidden = char == "'" or not char.isprintable()
    return "".join(f"\\x{byte:02x}" for byte in char.encode()) if hidden else char


def _value(places: Sequence[Slot], index: int) -> str:
    place = places[index]
    if place.sort == NUMBER:
        return _number(place, _next(places, index))
    if place.sort == STAMP:
        return r"\d[-\d:/.,TZ_+]*+" + (r" \d[\d:.,]*+" if any(" " in text for text in place.texts) else "")
    if place.sort == MARK:
        return "."
    behind = _next(places, index)
    return r"\S++" if not behind or behind.isspace() else rf"[^\s{_in_class(behind)}]++"


def _number(place: Slot, behind: str) -> str:
    """Return the regex of a number: of a named one its digits, of another one anything up to the next word."""
    if not place.group and (not behind or behind in " \t,;|)]"):
        return r"[^\s,;|)\]]{1,32}+"
    texts = [text for text in place.texts if text not in ("nan", "inf")]
    sign = "[-+]?+" if any(text[:1] in "-+" for text in texts) else ""
    digits = r"\d[\d,]*+" if any("," in text for text in texts) and behind != "," else r"\d++"
    point = r"(?:\.\d++)?+" if any("." in text for text in texts) else ""
    power = r"(?:[eE][-+]?+\d++)?+" if any("e" in text.lower() for text in texts) else ""
    return sign + digits + point + power


def _next(places: Sequence[Slot], index: int) -> str:
    """Return the character behind a place, a blank where it varies or is the end."""
    text = places[index + 1].text if index + 1 < len(places) else None
    return text[0] if text else " "


def _in_class(char: str) -> str:
    return "\\" + char if char in r"\]^-" else r"\x27" if char == "'" else char


def anchor(places: Sequence[Slot], part: Span) -> str:
    """Return the literal that finds the lines: the longest text without values, or nothing when none has five bytes.

    Words that logs are full of count for nothing, and one blank between words is text.
    """
    runs, run = [], ""
    for place in places[part.begin : part.end]:
        fixed = place.text if place.text is not None and (place.sort != SPACE or place.text == " ") else None
        run = run + fixed if fixed is not None else ""
        runs.append(run)
    fit = [one for one in runs if len(one.strip().encode()) >= MIN_ANCHOR and re.search(r"[^\W\d]{3}", one)]
    return max(fit, key=_worth, default="")[:MAX_ANCHOR]


def _worth(run: str) -> tuple[int, int]:
    return sum(len(word) for word in re.findall(r"[^\W\d]{3,}", run) if word.encode() not in COMMON), len(run)


def sample(places: Sequence[Slot], number: int) -> str:
    """Return a kept line of a template with its values masked, save numbers and stamps.

    Of what no group reads, long numbers are masked too.
    """
    texts = [place.text if place.text is not None else _masked(place, place.texts[number]) for place in places]
    return "".join(texts)


def _masked(place: Slot, text: str) -> str:
    if place.sort == STAMP:
        return text
    if place.sort == NUMBER:
        digits = sum(char.isdigit() for char in text)
        return text if place.group or digits < _LONG or "." in text else re.sub(r"\d", "1", text)
    if place.sort == CODE:
        return re.sub(r"[0-9a-zA-Z]", "0", text) if not text.startswith("0x") else "0x" + "0" * (len(text) - 2)
    if place.sort == SPACE:
        return text
    return _NEUTRAL[place.sort]
