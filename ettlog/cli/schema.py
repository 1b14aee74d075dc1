"""`ettlog schema`: what the relations and their columns mean."""

from __future__ import annotations

import click

from ettlog.cli import COMMANDS
from ettlog.cli.options import Output, output_options
from ettlog.tables import Shown

RELATIONS = (Shown("relation", "relation"), Shown("sentence", "what it holds"), Shown("columns", "columns"))
COLUMNS = (Shown("column", "column"), Shown("type", "type"), Shown("sentence", "meaning"))


def _names(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[str]:
    """Return the relations whose names begin so, for completion in a shell."""
    from ettlog.relations import relations

    return [name for name in relations() if name.startswith(begun) and not name.startswith("_")]


@click.command("schema", short_help=COMMANDS["schema"])
@click.argument("relation", required=False, shell_complete=_names)
@output_options
def command(relation: str | None, out: Output) -> None:
    """Show the relations that `ettlog sql` can ask, or the columns of RELATION, with a sentence each.

    Data formats give every column of every relation where no RELATION is named.
    """
    import polars as pl

    from ettlog.cli.output import emit
    from ettlog.fleet import schema
    from ettlog.relations import relations
    from ettlog.tables import View

    frame = schema(relation)
    if relation:
        emit(View(frame, shown=COLUMNS), out)
        return
    listed = frame.group_by("relation", maintain_order=True).agg(columns=pl.col("column").str.join(", "))
    said = {name: found.sentence for name, found in relations().items()}
    listed = listed.with_columns(sentence=pl.col("relation").replace_strict(said, default=""))
    emit(View(frame, shown=RELATIONS, readable=listed), out)
