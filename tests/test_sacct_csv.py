"""Accounting that a data frame wrote again: commas between values, quotes around those that hold one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.accounting import read, rows, us

TIMES = "2031-04-05T06:00:00,2031-04-05T06:10:00,2031-04-05T07:10:00"


@pytest.mark.parametrize(
    "head",
    [
        "JobID,JobName,State,Submit,Start,End,AllocTRES",
        '"JobID","JobName","State","Submit","Start","End","AllocTRES"',
        "\ufeffJobID,JobName,State,Submit,Start,End,AllocTRES",
    ],
)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_quoted_values_may_hold_the_delimiter(tmp_path: Path, head: str, ending: str) -> None:
    """The resources of a job are one value whatever commas they hold; a doubled quote is a quote."""
    lines = [
        head,
        f'71,"pre, ""big""",COMPLETED,{TIMES},"billing=8,cpu=96,gres/gpu=8"',
        f'"72","fine","CANCELLED by 1007",{TIMES},"cpu=96,gres/gpu=4,gres/gpu:h100=4"',
        f"73,plain,FAILED,{TIMES},",
    ]
    parsed = read(tmp_path, ending.join(lines) + ending)
    assert parsed.lines == {"ignored": 1, "matched": 3}
    first, second, third = rows(parsed)
    assert (first["name"], first["gpus"], first["end_us"]) == ('pre, "big"', 8, us("2031-04-05T07:10:00"))
    assert (second["id"], second["state"], second["gpus"]) == ("72", "CANCELLED", 4)
    assert (third["name"], third["gpus"]) == ("plain", None)


def test_a_quote_that_is_not_closed_loses_its_line_only(tmp_path: Path) -> None:
    """A line that is no CSV is rejected and shifts nothing; the one behind it is read."""
    head = "JobID,JobName,State,Submit,Start,End,AllocTRES"
    lines = f'{head}\n71,"a,FAILED,{TIMES},"gpu\n72,b,FAILED,{TIMES},"gres/gpu=4"\n'
    parsed = read(tmp_path, lines)
    assert parsed.lines == {"ignored": 1, "bad_record": 1, "matched": 1}
    assert [row["id"] for row in rows(parsed)] == ["72"]
