"""What the words of self-describing input mean: one TOML table a reader, from the input's own names to kinds of the
vocabulary.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from pathlib import Path

from ettlog.errors import FormatError
from ettlog.lifecycle import KIND_BY_NAME

FOLDER = Path(__file__).parent / "telemetry"
"""Where the tables live; each is named after its reader."""

Words = Mapping[str, Mapping[str, str]]
"""Section -> name in the input, or what the reader concludes from several records -> kind."""


@functools.cache
def load(name: str) -> Words:
    """Return the table of a reader.

    Raises FormatError for a kind that is no row of `lifecycle.KINDS`: the tables come with ettlog, so this is a
    defect.
    """
    path = FOLDER / f"{name}.toml"
    words: dict[str, dict[str, str]] = tomllib.loads(path.read_text(encoding="utf-8"))
    for section, table in words.items():
        for word, kind in table.items():
            if kind not in KIND_BY_NAME:
                raise FormatError(
                    f"unknown kind {kind!r}",
                    where=f"{path}: {section}.{word}",
                    why="kinds are the rows of ettlog.lifecycle.KINDS",
                    todo="use one of them",
                )
    return words
