"""Write docs/relations.md from the comments of the SQL: `python -m tests.relations_reference > docs/relations.md`."""

from __future__ import annotations

from ettlog.fleet import schema
from ettlog.relations import checks, relations

HEAD = """# Relations

Written from the comments of `ettlog/sql/*.sql`; a test compares them. `ettlog schema` prints the same, `ettlog sql`
answers one SELECT over them.

Instants (`_us`) are whole microseconds since 1970 UTC; only `start` and `checkpoint` hold timestamps (`_at`, `at`;
UTC without zone). `at` is a keyword in SQL: write `"at"` or `c.at`. A job, a start and a part of one are told apart
by `job`, by `job` and `k` (`start` in `span`, `segment` and `ledger`), and by `part`.

## How they follow from each other

A log (`source`) holds launches (`launch`); launches of one run seen by several ranks are one start (`start`),
numbered in its job in order of time. Members of a sweep, each of which completes and begins again without a
checkpoint, are jobs of their own (`#2`, `#3`, ...). Scheduler records become `allocation`. Step lines become
stretches of one nature (`step_run`): above the job's high-water mark, replayed, or abandoned. All that went on is in
`span`; where spans overlap, the part of the highest priority has the moment (`segment`), and what is left over is
`gap`. `ledger` sums the segments, `job` the starts.

A new step counts as abandoned when it lies above the last step that a checkpoint protected (committed, or loaded by a
later start), the last start of the job ended otherwise than completed, and the job is not open. A job is open when
its last log stops without an end and no scheduler record tells one.
"""


def reference() -> str:
    """Return the page, in Markdown."""
    pages = [HEAD]
    frame = schema()
    for (name,), rows in frame.group_by("relation", maintain_order=True):
        relation = relations()[str(name)]
        columns = [f"| {column} | {kind} | {text} |" for _, column, kind, text in rows.iter_rows()]
        pages.append(
            "\n".join([f"## {name}\n\n{relation.sentence}\n", "| column | type | meaning |", "|---|---|---|", *columns])
        )
    found = [f"| {check.name} | {check.level} | {check.sentence} |" for check in checks().values()]
    pages.append(
        "\n".join(
            [
                "## Checks\n\nA check passes when it finds nothing.\n",
                "| check | level | finds |",
                "|---|---|---|",
                *found,
            ]
        )
    )
    return "\n\n".join(page.strip() for page in pages) + "\n"


if __name__ == "__main__":
    print(reference(), end="")
