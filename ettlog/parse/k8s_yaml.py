"""The YAML that kubectl prints: block mappings and lists, quoted and folded scalars, literal blocks, several documents.

Anchors, tags and rich flow collections are no part of it; where they stand the text is kept as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

MAX_TEXT = 1 << 24
"""Longest document, in characters."""
MAX_DEPTH = 60
_KEY = re.compile(
    r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s"'#\[\]{},&*!|>%@`-][^\n]*?|-[^\s][^\n]*?):(?:\s+(.*)|\s*)\Z""", re.S
)
_NUMBER = re.compile(r"-?\d{1,18}\Z")
_FLOAT = re.compile(r"-?\d+\.\d+(?:[eE][-+]?\d+)?\Z")
_BLOCK = re.compile(r"[|>][+-]?\d?[+-]?\Z")
_WORDS = {"null": None, "~": None, "true": True, "false": False, "True": True, "False": False, "": None}


class Line(NamedTuple):
    """One line of a document."""

    number: int
    indent: int
    text: str


class Node(dict[str, Any]):
    """A mapping that knows the line it begins on."""

    line = 0


class Document(NamedTuple):
    """One document: its first line, its number of lines, what it holds; None for what is no YAML of kubectl's."""

    line: int
    lines: int
    found: Any


def documents(lines: Iterable[tuple[int, str]]) -> Iterator[Document]:
    """Yield the documents of numbered lines; a line of three hyphens parts them and belongs to the one behind it."""
    kept: list[Line] = []
    size, begin, number = 0, 1, 0
    for number, text in lines:
        if text.rstrip() in ("---", "...") and size <= MAX_TEXT and kept:
            yield Document(begin, number - begin, load(kept))
            kept, size, begin = [], 0, number
        size += len(text)
        if size <= MAX_TEXT:
            kept.append(Line(number, len(text) - len(text.lstrip(" ")), text.strip(" ")))
    if number >= begin:
        yield Document(begin, number - begin + 1, load(kept) if size <= MAX_TEXT else None)


def load(lines: list[Line]) -> Any:
    """Return what the lines of one document hold; None where they are no YAML of this kind."""
    try:
        return _Parser(lines).document()
    except (ValueError, RecursionError):
        return None


class _Parser:
    def __init__(self, lines: list[Line]) -> None:
        self._lines, self._at, self._depth = list(lines), 0, 0

    def document(self) -> Any:
        self._blank()
        while self._at < len(self._lines) and self._lines[self._at].text.startswith(("---", "...")):
            self._at += 1
            self._blank()
        found = self._block(self._line().indent) if self._at < len(self._lines) else None
        self._blank()
        if self._at < len(self._lines) and not self._line().text.startswith(("---", "...")):
            raise ValueError
        return found

    def _line(self) -> Line:
        return self._lines[self._at]

    def _blank(self) -> None:
        """Step over blank lines and comments."""
        while self._at < len(self._lines) and (not self._line().text or self._line().text.startswith("#")):
            self._at += 1

    def _more(self, indent: int) -> bool:
        self._blank()
        return self._at < len(self._lines) and self._line().indent == indent and not self._line().text.startswith("---")

    def _block(self, indent: int) -> Any:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ValueError
        text = self._line().text
        found = self._list(indent) if text == "-" or text.startswith("- ") else self._mapping(indent)
        self._depth -= 1
        return found

    def _list(self, indent: int) -> list[Any]:
        found = []
        while self._more(indent) and (self._line().text == "-" or self._line().text.startswith("- ")):
            line = self._line()
            rest = line.text[1:].lstrip(" ")
            inner = indent + len(line.text) - len(rest)
            if not rest:
                self._at += 1
                found.append(self._below(indent))
            elif rest.startswith("- ") or _KEY.match(rest):
                self._lines[self._at] = Line(line.number, inner, rest)
                found.append(self._block(inner))
            else:
                self._at += 1
                found.append(self._scalar(rest, indent))
        return found

    def _mapping(self, indent: int) -> Node:
        found = Node()
        found.line = self._line().number
        while self._more(indent):
            match = _KEY.match(self._line().text)
            if match is None:
                if self._line().text.startswith("- "):
                    break
                raise ValueError
            self._at += 1
            found[str(_plain(match[1]))] = self._value((match[2] or "").strip(), indent)
        return found

    def _value(self, text: str, indent: int) -> Any:
        text = "" if text.startswith("#") else text
        if text:
            return self._literal(indent) if _BLOCK.match(text) else self._scalar(text, indent)
        self._blank()
        if self._at < len(self._lines) and self._line().indent == indent and self._line().text.startswith("- "):
            return self._list(indent)
        return self._below(indent)

    def _below(self, indent: int) -> Any:
        self._blank()
        deeper = self._at < len(self._lines) and self._line().indent > indent
        return self._block(self._line().indent) if deeper else None

    def _literal(self, indent: int) -> str:
        kept = []
        while self._at < len(self._lines) and (self._line().indent > indent or not self._line().text):
            kept.append(self._line().text)
            self._at += 1
        return "\n".join(kept)

    def _scalar(self, text: str, indent: int) -> Any:
        """Return a scalar; one that goes on below is joined by blanks."""
        kept = [text]
        while self._at < len(self._lines) and self._line().text and self._line().indent > indent:
            kept.append(self._line().text)
            self._at += 1
        return _plain(" ".join(kept))


def _plain(text: str) -> Any:
    """Return the value of a scalar."""
    if text[:1] == '"':
        try:
            return json.loads(text[: text.rindex('"') + 1], strict=False)
        except ValueError:
            return text.strip('"')
    if text[:1] == "'":
        return text[1 : text.rindex("'")].replace("''", "'") if len(text) > 1 else ""
    if text[:1] in "{[" and text:
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    text = text.partition(" #")[0].rstrip()
    if text in _WORDS:
        return _WORDS[text]
    return int(text) if _NUMBER.match(text) else float(text) if _FLOAT.match(text) else text
