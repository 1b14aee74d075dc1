"""Text of logs on its way out: nothing moves a cursor, hides, becomes a formula, markup or SQL."""

from __future__ import annotations

import csv
import io
import json
import sys
import unicodedata
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ettlog import sink, tables
from ettlog.cli.output import paint
from ettlog.errors import UsageError
from ettlog.tables import View

HOSTILE = (
    "\x1b[2J\x1b]0;title\x07", "\x9b31m", "\x7f", "a\rb", "\u202egnp.exe", "a\u2028b", "zero\u200bwidth", "\ud800",
    "nul\x00", "[/bold]", "[link=https://example.invalid]x[/link]", "[red]", "\U000e0041tag", "\ufeffbom", ":smile:",
)  # fmt: skip
FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "\nx", '=HYPERLINK("x")', "\uff1d1")


def is_safe(text: str) -> bool:
    """Tell whether every character is printable, or a newline."""
    return all(
        char == "\n" or not unicodedata.category(char).startswith(("Cc", "Cf", "Cs", "Zl", "Zp")) for char in text
    )


def test_no_character_at_all_hides() -> None:
    """Of all characters of Unicode, each control, format and surrogate one is shown as an escape."""
    assert is_safe(sink.display("".join(map(chr, range(sys.maxunicode + 1)))))


@given(st.text(st.characters(codec=None)))
def test_display_shows_one_safe_line(text: str) -> None:
    """Whatever a log holds, a displayed cell is one line without a control, format or surrogate character."""
    shown = sink.display(text)
    assert "\n" not in shown
    assert is_safe(shown)


def test_display_names_what_it_hides() -> None:
    """An escape is shown by its number, a newline and a tab by their usual names."""
    assert sink.display("a\x1b[31mb\n\t\u202e") == "a\\x1b[31mb\\n\\t\\u202e"


def test_display_leaves_plain_text_alone() -> None:
    """Letters of any script, emoji and punctuation stay as they are."""
    text = "Größe データ 🚀 C:\\path 'quoted' $x$"
    assert sink.display(text) == text


@pytest.mark.parametrize("text", FORMULAS)
def test_cell_is_never_a_formula(text: str) -> None:
    """A cell that a spreadsheet would compute gets an apostrophe in front."""
    assert sink.cell(text).startswith("'")


@pytest.mark.parametrize("name", ["plain", 'with "quotes"', "; drop table x; --", "*", "naïve", " "])
def test_identifier_round_trips_through_the_database(name: str) -> None:
    """Any name, quoted, names exactly one column."""
    import duckdb

    query = "select 1 as " + sink.ident(name)
    found = duckdb.sql(query)
    assert found is not None
    assert found.columns == [name]


@pytest.mark.parametrize("name", ["", "a\0b"])
def test_impossible_identifiers_are_refused(name: str) -> None:
    """An empty name and a NUL are usage errors, not SQL."""
    with pytest.raises(UsageError):
        sink.ident(name)


@pytest.mark.parametrize("form", ["csv", "json", "jsonl", "md"])
@pytest.mark.parametrize("text", HOSTILE)
def test_every_format_is_safe_on_a_terminal(text: str, form: str) -> None:
    """No data format writes a character that moves a cursor or hides; header and column names included."""
    view = View(pl.DataFrame({"x" + text.replace("\ud800", ""): [text.replace("\ud800", "")]}), header=[text])
    assert is_safe(tables.encode(view, form).decode())


@pytest.mark.parametrize("text", HOSTILE)
def test_readable_table_shows_text_as_text(text: str) -> None:
    """Log text is neither markup nor an escape sequence in a table, its header and its notes."""
    plain = text.replace("\ud800", "")
    view = View(pl.DataFrame({"x": [plain]}), header=[text], notes=[text])
    painted = paint(view, header=True, colours=False)
    assert is_safe(painted)
    assert painted.count(sink.display(text)) >= 2


def test_csv_reads_back_equal_in_three_readers(tmp_path: Path) -> None:
    """Quotes, delimiters and line breaks survive; the standard library, Polars and DuckDB read the same cells."""
    import duckdb

    cells = ["plain", 'say "hi"', "a,b", "two\nlines", "", "ünï", " lead"]
    path = tmp_path / "x.csv"
    path.write_bytes(tables.encode(View(pl.DataFrame({"k": range(len(cells)), "text": cells})), "csv"))
    with path.open(newline="") as file:
        assert [row[1] for row in list(csv.reader(file))[1:]] == cells
    assert pl.read_csv(path)["text"].fill_null("").to_list() == cells
    read = duckdb.read_csv(str(path), header=True, null_padding=False).fetchall()
    assert [row[1] or "" for row in read] == cells


def test_csv_defuses_text_and_leaves_numbers() -> None:
    """Only text cells get the apostrophe; a negative number stays a number; the raw form leaves all as it was."""
    view = View(pl.DataFrame({"text": ["-x"], "number": [-1.5]}))
    assert tables.encode(view, "csv") == b"text,number\n'-x,-1.5\n"
    assert tables.encode(view, "csv", raw_csv=True, header=False) == b"-x,-1.5\n"


def test_json_holds_its_conventions_and_never_a_nan() -> None:
    """The JSON object names its version, its maker and its window, and writes NaN as null."""
    frame = pl.DataFrame({"x": [float("nan"), 1.0]})
    document = json.loads(tables.encode(View(frame, header=["window: all", "counted: so"]), "json"))
    assert (document["schema_version"], document["window"]) == (tables.SCHEMA_VERSION, "all")
    assert document["generated_by"].startswith("ettlog ")
    assert document["rows"] == [{"x": None}, {"x": 1.0}]


def test_parquet_reads_back_equal() -> None:
    """A frame survives the Parquet format."""
    frame = pl.DataFrame({"a": [1, 2], "b": ["x", None]})
    assert pl.read_parquet(io.BytesIO(tables.encode(View(frame), "parquet"))).equals(frame)


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (0, "0.000s"),
        (1_500_000, "1.500s"),
        (59_999_600, "00:01:00"),
        (60_000_000, "00:01:00"),
        (90_061_000_000, "1-01:01:01"),
        (-5_000_000, "-5.000s"),
    ],
)
def test_durations_read_like_slurm(us: int, text: str) -> None:
    """Durations are written [d-]hh:mm:ss, with decimals below a minute."""
    assert tables.span(us) == text


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (0.6034, "percent", "60.3 %"),
        (-0.0001, "ratio", "0.0"),
        (-0.00001, "points", "0.0"),
        (0.155, "points", "+15.5"),
        (12345.6, "hours", "12,346"),
        (0.0001, "hours", "<0.01"),
        (0, "hours", "0"),
        (float("nan"), "hours", ""),
        (None, "percent", ""),
        (True, "text", "yes"),
    ],
)
def test_values_are_written_for_people(value: object, kind: str, text: str) -> None:
    """Ratios become percent or points, small hours are not called nothing, and there is no minus zero and no NaN."""
    assert tables.human(value, kind) == text


@pytest.mark.parametrize(
    ("number", "noun", "text"), [(1, "job", "1 job"), (2, "recovery", "2 recoveries"), (0, "start", "0 starts")]
)
def test_nouns_follow_their_number(number: int, noun: str, text: str) -> None:
    """One job, two recoveries."""
    assert tables.count(number, noun) == text
