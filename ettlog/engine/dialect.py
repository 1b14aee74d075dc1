"""The relations' SQL for engines that speak Spark's: sqlglot translates, and a closed list of rewrites mends it.

Each rewrite stands for a construct that both dialects accept and read differently, so that no error would tell.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp


@lru_cache(maxsize=256)
def to_spark(query: str) -> str:
    """Return a query of `ettlog/sql` as Spark, Spark Connect and Sail answer it, with DuckDB's values.

    Comments are left out; the order of nulls is written out by sqlglot (DuckDB puts them last, Spark first).
    """
    import sqlglot

    tree = sqlglot.parse_one(query, read="duckdb").transform(_mended, copy=False)
    return str(tree.sql(dialect="spark", comments=False))


def _mended(node: exp.Expr) -> exp.Expr:
    for rewrite in REWRITES:
        node = rewrite(node)
    return node


def with_columns(query: str, columns: list[str]) -> str:
    """Return a query in which `r.* REPLACE (value AS name)` is written out: a star of DuckDB's only."""
    import sqlglot
    from sqlglot import exp

    tree = sqlglot.parse_one(query, read="duckdb", into=exp.Select)
    written: list[exp.Expr] = []
    for item in tree.selects:
        star = item.find(exp.Star)
        made = {one.alias: one for one in (star.args.get("replace") or [])} if star else {}
        names = columns if star else []
        written += [made.get(name) or exp.column(name, table=item.text("table")) for name in names] or [item]
    tree.set("expressions", written)
    return str(tree.sql(dialect="duckdb"))


def _without_nulls(node: exp.Expr) -> exp.Expr:
    """Skip rows whose value is null in `min_by` and `max_by`: Spark skips only those without a key."""
    from sqlglot import exp

    if isinstance(node, (exp.ArgMin, exp.ArgMax)):
        known = exp.Not(this=exp.Is(this=exp.Paren(this=node.this.copy()), expression=exp.Null()))
        node.set("expression", exp.Case().when(known, node.expression))
    return node


def _wide_sum(node: exp.Expr) -> exp.Expr:
    """Add up products as DECIMAL(38, 0): DuckDB adds whole numbers in 128 bits, Spark in 64."""
    from sqlglot import exp

    if isinstance(node, exp.Sum) and not isinstance(node.this, exp.Cast) and node.this.find(exp.Mul):
        node.set("this", exp.cast(node.this, "DECIMAL(38, 0)"))
    return node


def _wide_cast(node: exp.Expr) -> exp.Expr:
    """Let DECIMAL(38, 0) stand for whole numbers of 128 bits, which Spark does not have."""
    from sqlglot import exp

    if isinstance(node, exp.Cast) and node.to.is_type("INT128"):
        return exp.cast(node.this, "DECIMAL(38, 0)")
    return node


def _plain_stamp(node: exp.Expr) -> exp.Expr:
    """Keep stamps without a zone: Spark's `timestamp_micros` gives one of the session's zone."""
    from sqlglot import exp

    if isinstance(node, exp.UnixToTime) and not isinstance(node.parent, exp.Cast):
        return exp.cast(node, "TIMESTAMP_NTZ", dialect="spark")
    return node


def _half_even(node: exp.Expr) -> exp.Expr:
    """Round halves to the even neighbour: the function has another name (`rint`, which should do, is wrong on Sail)."""
    from sqlglot import exp

    if isinstance(node, exp.Anonymous) and node.name.lower() == "round_even":
        return exp.Anonymous(this="bround", expressions=node.expressions)
    return node


def _end_of_text(node: exp.Expr) -> exp.Expr:
    r"""Let `$` in a regex stand for the end of the text: in Java's it matches before a last line break too."""
    from sqlglot import exp

    regexes = (exp.RegexpLike, exp.RegexpReplace, exp.RegexpExtract)
    if isinstance(node, regexes):
        for literal in node.expression.find_all(exp.Literal):
            if literal.is_string and literal.this.endswith("$"):
                literal.set("this", literal.this[:-1] + r"\z")
    return node


def _apart(node: exp.Expr) -> exp.Expr:
    """Put parentheses round what a named window gives before a minus: Spark reads `OVER w - x` as a name `w-x`."""
    from sqlglot import exp

    if isinstance(node, exp.Sub) and isinstance(node.this, exp.Window) and node.this.alias:
        node.set("this", exp.Paren(this=node.this))
    return node


REWRITES = (_without_nulls, _wide_sum, _wide_cast, _plain_stamp, _half_even, _end_of_text, _apart)
"""All that is mended beyond sqlglot; `tests/test_engine_dialect.py` shows for each what would come out without it."""
