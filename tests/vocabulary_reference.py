"""Write docs/vocabulary.md from lifecycle.py: `python -m tests.vocabulary_reference > docs/vocabulary.md`."""

from __future__ import annotations

from ettlog.lifecycle import KINDS, PARTS, STAGES

HEAD = """# Vocabulary

Written from `ettlog/lifecycle.py` by `make docs`; a test compares them. Formats map lines to event kinds; kinds open
and close parts; each part has one component and one owner.
"""


NONE = "-"


def reference() -> str:
    """Return the page, in Markdown."""
    parts = [f"| `{one.part}` | `{one.component}` | {one.owner or NONE} | {one.meaning} |" for one in PARTS]
    stages = [f"| `{one.stage}` | {one.meaning} |" for one in STAGES]
    kinds = [
        f"| `{one.kind}` | {_part(one.part, one.edge)} | {one.end_state or NONE} | {one.meaning} |" for one in KINDS
    ]
    return "\n".join(
        [
            HEAD,
            "## Parts\n\n| part | component | owner | meaning |\n|---|---|---|---|",
            *parts,
            "\n## Stages\n\n| stage | meaning |\n|---|---|",
            *stages,
            "\n## Event kinds\n\n| kind | part | says a start ended | meaning |\n|---|---|---|---|",
            *kinds,
            "",
        ]
    )


def _part(part: str, edge: str) -> str:
    words = {"begin": "begins", "end": "ends", "both": "whole"}
    return f"`{part}` {words.get(edge, edge)}".strip() if part else "-"


if __name__ == "__main__":
    print(reference(), end="")
