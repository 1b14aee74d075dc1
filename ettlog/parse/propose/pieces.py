"""Cuts a line into words, marks and values: what a print statement wrote itself, and what it filled in."""

from __future__ import annotations

import re
from typing import NamedTuple

from ettlog.parse.redaction import redact

MAX_BODY = 1024
"""Bytes of a line that are cut; what stands behind is seldom the same for two lines."""

WORD, MARK, SPACE, NUMBER = "word", "mark", "space", "number"
STAMP, PATH, HOST, CODE, ADDRESS, SECRET = "stamp", "path", "host", "code", "address", "secret"
TEXTS = (PATH, HOST, CODE, ADDRESS, SECRET)
"""Sorts of pieces whose text says where or who, never what: a variable part also where it is always the same."""

_SORTS = (
    (STAMP, r"\d{4}[-/]\d\d[-/]\d\d(?:[T _]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)?"),
    (STAMP, r"\d\d/\d\d/\d{4}[ _]\d\d:\d\d:\d\d(?:[.,]\d+)?|(?<![\d:])\d\d:\d\d:\d\d(?:[.,]\d+)?(?![\d:])"),
    (SECRET, r"(?:(?<![^\s=:/])[^\s=:/]*)?\*\*\*[^\s,;&]*"),
    (ADDRESS, r"[a-z][a-z0-9+.-]{0,30}://[^\s\"',;)\]]+|<(?:email|ip|host|user)>"),
    (CODE, r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b|\b0x[0-9a-fA-F]+\b"),
    (CODE, r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}\b"),
    # how far is looked is bounded where a piece may begin anywhere: time grows with the line, not with its square
    (CODE, r"\b(?=[A-Za-z+/=_-]{0,80}\d)(?=[\d+/=_-]{0,80}[A-Za-z])[A-Za-z0-9+/=_-]{24,}"),
    (PATH, r"(?<![\w.])[~.]?(?:/[\w.@+=:<>*-]+)+/?"),
    (PATH, r"(?<![\w/])\w+(?:/[\w.@+=<>-]+)*/[\w@+=<>-]+\.\w+"),
    (HOST, r"\b\d{1,3}(?:\.\d{1,3}){3}\b"),
    (HOST, r"(?<![\w.-])[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|edu|gov|io|internal|local|lan)\b"),
    (HOST, r"\b(?:node|host|nid|compute|ip)[-\w]{0,63}\d[\w-]{0,63}(?:\.[a-z][\w-]{0,63}){0,8}"),
    (NUMBER, r"(?<![\w.])[-+]?(?:\d[\d,]*\d|\d)(?:\.\d+)?(?:[eE][-+]?\d+)?|\d+(?:\.\d+)?|\b(?:nan|inf)\b"),
    (WORD, r"[^\W\d]+"),
    (SPACE, r"\s+"),
    (MARK, r"."),
)
_PIECES = re.compile("|".join(f"(?P<{sort}{number}>{regex})" for number, (sort, regex) in enumerate(_SORTS)), re.DOTALL)
_NAMES = {f"{sort}{number}": sort for number, (sort, _) in enumerate(_SORTS)}


class Piece(NamedTuple):
    """One piece of a line: its sort and its text."""

    sort: str
    text: str


def cut(body: bytes) -> tuple[Piece, ...]:
    """Return the pieces of a line without prefixes; secrets and names of people are masked first. Never raises."""
    text = redact(body[:MAX_BODY]).decode("utf-8", "replace").strip()
    return tuple(Piece(_NAMES[match.lastgroup or ""], match.group()) for match in _PIECES.finditer(text))


def skeleton(pieces: tuple[Piece, ...]) -> tuple[str, ...]:
    """Return what lines of one print statement have in common even where words vary: sorts, and the marks."""
    return tuple(piece.text if piece.sort == MARK else piece.sort for piece in pieces)


def words(pieces: tuple[Piece, ...]) -> tuple[str, ...]:
    """Return the words of a line, in their order."""
    return tuple(piece.text for piece in pieces if piece.sort == WORD)
