"""Where text that came from logs leaves ettlog: the only way to a terminal, a CSV cell or an SQL identifier."""

from __future__ import annotations

import re

from ettlog.errors import UsageError

# C0 but newline and tab, DEL, C1, soft hyphen, Arabic, Syriac, Mongolian, Kaithi marks, zero width and bidi controls,
# line and paragraph separators, invisible operators, byte order mark, surrogates, interlinear marks, joiners of
# hieroglyphs, controls of shorthand and musical notes, tags: all that Unicode 16 calls a control or format character.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f]"
)
_ONE_LINE = re.compile(_HIDDEN.pattern[:-1] + "\n\t]")
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_MARKDOWN = re.compile(r"([\\|<>`*\[\]])")


def display(text: str) -> str:
    """Return `text` on one line, each character that moves a cursor or hides shown as an escape such as `\\x1b`."""
    return _ONE_LINE.sub(_escape, text)


def paragraph(text: str) -> str:
    """Return `text` like `display`, keeping newlines and tabs."""
    return _HIDDEN.sub(_escape, text)


def cell(text: str) -> str:
    """Return `text` for a CSV cell: hidden characters shown, a `'` in front where a spreadsheet would see a formula."""
    return "'" + paragraph(text) if text.startswith(_FORMULA) else paragraph(text)


def markdown(text: str) -> str:
    """Return `text` for a cell of a Markdown table, with the signs of Markdown and HTML escaped."""
    return _MARKDOWN.sub(r"\\\1", display(text))


def ident(name: str) -> str:
    """Return `name` quoted as one SQL identifier.

    Raises:
        UsageError: the name is empty or holds a NUL, which no SQL engine takes.
    """
    if not name or "\0" in name:
        raise UsageError(
            f"{name!r} cannot name a column",
            where="SQL identifier",
            why="an identifier has at least one character and no NUL",
            todo="use another name",
        )
    return '"' + name.replace('"', '""') + '"'


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    code = ord(char)
    return _SHORT.get(char) or (
        f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    )
