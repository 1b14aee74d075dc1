"""Long tables are laid out as short ones are, without the time that rich takes for each row."""

from __future__ import annotations

import random

import polars as pl
import pytest

from ettlog.cli import output, plain
from ettlog.tables import Shown, View

TEXTS = ["", "a", "train-7b/log_3.out", "日本語", "é", "👩‍🚀", "x" * 40, "[/bold]", "a b ", "-1", "ﬁ", "\u0301"]


def view(seed: int, rows: int) -> View:
    """Return a table of texts and numbers of many widths."""
    dice = random.Random(seed)
    frame = pl.DataFrame(
        {
            "name": [dice.choice(TEXTS) for _ in range(rows)],
            "count": [dice.choice([None, 0, 7, 123456789]) for _ in range(rows)],
            "what": [dice.choice(TEXTS) for _ in range(rows)],
        }
    )
    shown = [Shown("name", "file"), Shown("count", "lines", "int"), Shown("what", "what 日")]
    return View(frame=frame, shown=shown, header=["one sentence"], notes=["another one"])


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("colours", [True, False])
@pytest.mark.parametrize("width", [None, 60])
def test_a_long_table_is_what_rich_makes_of_it(
    monkeypatch: pytest.MonkeyPatch, header: bool, colours: bool, width: int | None
) -> None:
    """Every line, wide and joined characters and empty cells included; colours but for where they end."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    for seed in range(3):
        made = view(seed, plain.MANY + 50)
        quick = output.paint(made, header=header, colours=colours, width=width)
        with monkeypatch.context() as patch:
            patch.setattr(plain, "MANY", 1 << 30)
            slow = output.paint(made, header=header, colours=colours, width=width)
        assert bare(quick) == bare(slow)
        assert ("\x1b[1m" in quick) == ("\x1b[1m" in slow) == (colours and header)


def bare(text: str) -> list[str]:
    """Return the lines of a text without colours and the blanks at their ends."""
    for code in ("\x1b[0m", "\x1b[1m", "\x1b[2m"):
        text = text.replace(code, "")
    return [line.rstrip() for line in text.splitlines()]


def test_what_moves_the_cursor_is_left_to_rich() -> None:
    """A cell of two lines makes two lines, and a tab its own width: such tables are laid out the long way."""
    rows = [["a", "b"]] * (plain.MANY + 1)
    assert plain.fits(rows)
    assert not plain.fits(rows[:-1])
    for odd in ("two\nlines", "a\ttab", "\x1b[2J", "\u202e"):
        assert not plain.fits([*rows, ["a", odd]])
