"""The year of stamps that have none, from the name of a log."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from ettlog import fleet
from ettlog.ingest import IngestOptions, ingest
from ettlog.parse import named_dates

LINE = (
    "I0309 08:0{}:55.531340 1383 metric_logger.py:226] completed step: {}, seconds: 60.0, TFLOP/s/device: 5.1, "
    "Tokens/s/device: 9.1, loss: 2.9"
)
LOG = "\n".join(LINE.format(minute, minute) for minute in range(1, 5)) + "\n"


def us(year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0) -> int:
    """Return the microseconds since 1970 of an instant in UTC."""
    return int(datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp()) * 1_000_000


@pytest.mark.parametrize(
    ("name", "first", "year"),
    [
        ("runs/train-2031-03-09.log", us(2000, 3, 9, 8), 2031),
        ("outputs/2031-03-09/08-00-00/train.log", us(2000, 3, 9, 8), 2031),
        ("train_20310309_080000.log", us(2000, 3, 9, 8), 2031),
        ("train_20310309T0800.log", us(2000, 3, 10, 23), 2031),
        ("test_310309_080000_a.log", us(2000, 3, 9, 8), 2031),
        ("train-2031-12-31.log", us(2000, 1, 1, 0, 10), 2032),
        ("train-2032-01-01.log", us(2000, 12, 31, 22), 2031),
        ("train-2031-03-09.log", us(2000, 4, 9, 8), None),
        ("slurm-20310309.out", us(2000, 7, 1), None),
        ("train-310309.log", us(2000, 3, 9), None),
        ("train-2031-02-30.log", us(2000, 3, 1), None),
        ("train.log", us(2000, 3, 9), None),
        ("train-2031-03-09.log", None, None),
    ],
)
def test_a_date_counts_where_the_first_line_has_its_month_and_day(
    name: str, first: int | None, year: int | None
) -> None:
    """A day before it or two behind are near enough; numbers that agree with no stamp are no dates."""
    assert named_dates.year(name, first) == year


def test_a_log_without_years_takes_the_one_of_its_name(tmp_path: Path) -> None:
    """The stamps say that their date is inferred, the account says from what, and reading again changes nothing."""
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "maxtext-2031-03-09.log").write_text(LOG)
    report = ingest([folder], tmp_path / "lake")
    rows = fleet.open(tmp_path / "lake").sql("SELECT min(ts) AS first, max(clock) AS clock FROM step").rows()
    assert rows == [(us(2031, 3, 9, 8, 1, 55) + 531_340, "date_inferred")]
    assert (
        "logs/maxtext-2031-03-09.log",
        "that year stands in the name of the file or of its folder",
    ) in report.inferences
    assert ingest([folder], tmp_path / "lake").states == {"skipped": 1}


def test_a_year_that_was_set_stands_above_a_name(tmp_path: Path) -> None:
    """What a person says needs no inference from names."""
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "maxtext-2031-03-09.log").write_text(LOG)
    ingest([folder], tmp_path / "lake", options=IngestOptions(year=2029))
    rows = fleet.open(tmp_path / "lake").sql("SELECT min(ts) AS first FROM step").rows()
    assert rows == [(us(2029, 3, 9, 8, 1, 55) + 531_340,)]
