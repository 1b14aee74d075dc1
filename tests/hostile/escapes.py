"""Text that a terminal obeys: colours, cursors, titles, clipboards, strings, C1, directions, markup, overwriting."""

from __future__ import annotations

ESC = "\x1b"
PAYLOADS = (
    f"{ESC}[31mred", f"{ESC}[0m", f"{ESC}[1;5;7mloud", f"{ESC}[38;2;1;2;3mrgb", f"{ESC}[2J", f"{ESC}[H", f"{ESC}[10A",
    f"{ESC}[2K", f"{ESC}[?25l", f"{ESC}[?1049h", f"{ESC}[6n", f"{ESC}[c", f"{ESC}c", f"{ESC}7{ESC}8", f"{ESC}]0;title\x07",
    f"{ESC}]2;title{ESC}\\", f"{ESC}]8;;https://example.invalid{ESC}\\link{ESC}]8;;{ESC}\\", f"{ESC}]52;c;aGk=\x07",
    f"{ESC}]50;font\x07", f"{ESC}P1$tq{ESC}\\", f"{ESC}_apc{ESC}\\", f"{ESC}^pm{ESC}\\", f"{ESC}X sos{ESC}\\", f"{ESC}#8",
    "\x9b31mred", "\x9d0;title\x9c", "\x90q\x9c", "\x84\x85", "\u202egnp.exe", "\u2066a\u2069", "\u200e\u200f", "a\u200bb\ufeff",
    "[/x]", "[link=https://example.invalid]x[/link]", "[red]x[/red]", "[bold]", "safe\rEVIL", "a\x08\x08\x08b", "\x07\x0e\x0f",
    "\x7f\x7f", "\u2028\u2029", "\U000e0041\U000e0042",
)  # fmt: skip
"""Each stands in an unmatched line, and in the name of a job."""
