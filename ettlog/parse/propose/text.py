"""Writes a proposal as a format file a person can read and mend."""

from __future__ import annotations

from collections.abc import Iterator

from ettlog.parse.format import Sample
from ettlog.parse.propose.proposal import Proposal, Proposed

MOST_UNREAD = 8
CHOOSE = "# choose:"
"""Marks what a person has to decide; `ettlog format test` counts these marks."""


def write(proposal: Proposal, name: str) -> str:
    """Return the TOML text of a format."""
    head = [
        f'name = "{name}"',
        f'title = "{name.replace("_", " ")}"',
        'source = "trainer"',
        'url = "where these lines are written: a source file or a manual"',
        "",
        f"# Proposed from a log. Lines marked `{CHOOSE[2:-1]}` wait for a person; docs/formats.md has all keys.",
    ]
    blocks = ["\n".join(_block(one)) for one in proposal.patterns]
    return "\n".join(head) + "\n\n" + "\n\n".join(blocks) + "\n"


def _block(one: Proposed) -> Iterator[str]:
    pattern = one.pattern
    more = ", ..." if len(one.unread) > MOST_UNREAD else ""
    unread = f"; not read: {', '.join(one.unread[:MOST_UNREAD])}{more}" if one.unread else ""
    yield f"# {one.number:,} line{'' if one.number == 1 else 's'}{unread}"
    yield "[[pattern]]"
    yield f"name = {_basic(pattern.name)}"
    if pattern.ignore:
        yield f"ignore = true  {CHOOSE} a kind (no word of the line tells one), or leave it ignored"
    else:
        yield f"kind = {_basic(pattern.kind)}" + (f"  {CHOOSE} or {', '.join(one.choices)}" if one.choices else "")
    yield f"anchor = {_basic(pattern.anchor.decode())}"
    yield f"regex = '{pattern.expression.decode()}'"
    if "cause" in pattern.constants:
        yield f"constants = {{ cause = {_basic(str(pattern.constants['cause']))} }}"
    yield "samples = ["
    yield from (f"  {_sample(sample)}," for sample in pattern.samples)
    yield "]"


def _sample(sample: Sample) -> str:
    if not sample.event:
        return _basic(sample.line)
    pairs = [
        f"{key} = {value if isinstance(value, int) else _basic(str(value))}" for key, value in sample.event.items()
    ]
    return f"{{ line = {_basic(sample.line)}, {', '.join(pairs)} }}"


def _basic(text: str) -> str:
    """Return a TOML basic string."""
    plain = {"\\": "\\\\", '"': '\\"', "\t": "\\t"}
    return (
        '"' + "".join(plain.get(char) or (char if char.isprintable() else f"\\U{ord(char):08x}") for char in text) + '"'
    )
