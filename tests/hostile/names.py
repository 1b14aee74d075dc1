"""Names that a path, a query, a label or a plot could take for more than data."""

from __future__ import annotations

PAYLOADS = (
    "../x", "../../../../etc/passwd", "/etc/passwd", "a/../b", "..", ".", "a/b/c", "C:\\x", "\\\\host\\share", "~root",
    "a\0b", "n" * 4096, "'", '"', "'; drop table job; --", '"; drop table "job"; --', "*", "?", "[a-z]", "%s%s%n", "{job}",
    "$(id)", "`id`", "; rm -rf x", "| cat", "&& x", "$HOME", "$\\frac{a}{b}$", "$x^{2$", "\\n", "{}", "null", "NaN",
    "true", "-rf", "--help", "\U0001f680", "\u05e9\u05dc\u05d5\u05dd", "e\u0301", "\u00df\u0130\u0131",
)  # fmt: skip
"""Names of jobs, nodes and clusters; a job of the empty name stands beside them."""
