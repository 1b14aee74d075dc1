"""Names that a spreadsheet would compute, or that could break out of a CSV cell."""

from __future__ import annotations

PAYLOADS = (
    "=1+1", "+1+1", "-1+1", "@SUM(A1:A9)", "=cmd|' /C calc'!A0", '=HYPERLINK("http://example.invalid","x")', "\t=1+1",
    "=1+1\";=1+1", "'=1+1", '"=1+1"', "a,b", "a;b", 'say "x"', "=\"a\"", "+A1", "-2+3+cmd|' /C calc'!D2", "@x",
    "\uff1d1+1", "\uff0b1", "  =1+1",
)  # fmt: skip
