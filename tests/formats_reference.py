"""Write docs/formats_reference.md from the TOML: `python -m tests.formats_reference > docs/formats_reference.md`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ettlog.parse import format as formats
from ettlog.sink import display

if TYPE_CHECKING:
    from ettlog.parse.format import Format, Pattern

LONGEST = 100
HEAD = """# Formats

Written from `ettlog/parse/formats/*.toml` by `make docs`; a test compares them. `ettlog format list` shows the same;
how a format is made is told in [formats.md](formats.md). Each pattern is shown with its first sample, shortened.
"""


def reference() -> str:
    """Return the page, in Markdown."""
    return "\n".join([HEAD, *(_format(one) for one in sorted(formats.load_all().formats, key=lambda one: one.name))])


def _format(one: Format) -> str:
    rows = [_pattern(pattern) for pattern in one.patterns]
    source = f"Source: {one.source}. Written by <{one.url}>." if one.url else f"Source: {one.source}."
    head = f"## {one.name}\n\n{one.title}. {source}\n\n| pattern | says | sample |\n|---|---|---|"
    return "\n".join([head, *rows, ""])


def _pattern(pattern: Pattern) -> str:
    kind = "(noise)" if pattern.ignore else pattern.kind
    return f"| {pattern.name} | {kind} | {_sample(pattern.samples[0].line)} |"


def _sample(line: str) -> str:
    """Return a sample as inline code in a cell of a table."""
    text = " ".join(display(line).split())
    text = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    return "`` " + text.replace("`", "'").replace("|", "\\|") + " ``"


if __name__ == "__main__":
    print(reference(), end="")
