"""Logs read on an engine make the same lake, byte by byte; what crosses to executors and back is whole."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ettlog.cli import app
from ettlog.engine import shipping
from ettlog.engine.reading import WAVE_FILES, format_texts, reader, waves
from ettlog.engine.remote import load_formats
from ettlog.engine.wire import ANSWERS, PIECE, answer_rows, answers_of, task_of, task_text
from ettlog.errors import EngineError, UsageError
from ettlog.ingest import IngestOptions, ingest
from ettlog.parse import format as formats_of
from ettlog.parse.parsed import ScanOptions
from ettlog.tasks import Answer, Known, Task
from tests.engines import FIXTURES, held

OWN_FORMAT = """name = "kiln"
title = "Kiln"
source = "trainer"
url = "https://example.org/kiln"

[[pattern]]
name = "begin"
kind = "train_start"
anchor = "kiln is hot"
regex = '^kiln is hot$'
samples = ["kiln is hot"]
"""


def call(*args: object) -> Result:
    """Run a command."""
    return CliRunner().invoke(app, [str(arg) for arg in args], catch_exceptions=True)


@pytest.mark.parametrize("name", ["tiny", "messy"])
def test_an_engine_makes_the_same_lake_byte_by_byte(name: str, tmp_path: Path) -> None:
    """Torn, compressed and odd logs read by Sail give the manifest and data files of a local ingest; again, none."""
    logs, here, there = FIXTURES / name / "logs", tmp_path / "here", tmp_path / "there"
    ingest([logs], here)
    report = ingest([logs], there, options=IngestOptions(reader=reader("sail")))
    assert held(there) == held(here)
    assert not report.rejected
    again = ingest([logs], there, options=IngestOptions(reader=reader("sail")))
    assert set(again.states) <= {"skipped"}
    assert held(there) == held(here)


def test_the_command_line_reads_and_asks_on_an_engine(tmp_path: Path) -> None:
    """`ingest --engine` and `ett --engine` print what they print without it."""
    logs, here, there = FIXTURES / "tiny/logs", tmp_path / "a/lake", tmp_path / "b/lake"
    here.parent.mkdir()
    there.parent.mkdir()
    assert call("ingest", logs, "--lake", here).exit_code == 0
    assert call("ingest", logs, "--lake", there, "--engine", "sail").exit_code == 0
    told = call("ett", "--by", "model", "--lake", there, "--engine", "sail", "--format", "json")
    assert told.exit_code == 0
    assert told.stdout == call("ett", "--by", "model", "--lake", here, "--format", "json").stdout


@pytest.mark.parametrize("name", ["ray", "local[", "spark//host", "sail2", "sc:/x", "local-cluster[2]"])
def test_a_name_of_no_engine_is_refused(name: str, tmp_path: Path) -> None:
    """A word that names no engine is a usage error that lists what engines there are."""
    with pytest.raises(UsageError, match="no engine") as found:
        ingest([FIXTURES / "tiny/logs"], tmp_path / "lake", options=IngestOptions(reader=reader(name)))
    assert "spark://host:7077" in found.value.why


@pytest.mark.parametrize(("engine", "library"), [("sail", "pysail"), ("sc://host:1", "grpc"), ("local", "py4j")])
def test_a_missing_library_is_told_with_the_command_that_mends_it(
    engine: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the extra the error has four parts and names the pip command."""
    import importlib.util

    from ettlog.engine import session

    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == library else found(name))
    with pytest.raises(EngineError) as told:
        session.connect(engine)
    assert library in told.value.why
    assert told.value.todo == f"pip install 'ettlog[{'spark' if engine == 'local' else 'sail'}]'"
    assert told.value.exit_code == 1


def test_an_engine_that_is_not_there_is_an_error_without_the_token() -> None:
    """A server that nobody runs is told in four parts, and the token of the address is not repeated."""
    from ettlog.engine import session

    with pytest.raises(EngineError) as told:
        session.connect("sc://127.0.0.1:9/;token=hush-hush")
    assert "hush" not in str(told.value)
    assert "127.0.0.1:9" in told.value.where


def test_tasks_cross_as_they_are(tmp_path: Path) -> None:
    """A task written as text and read again is the same task, with every option of the reading."""
    options = ScanOptions(zone="Europe/Berlin", year_hint=2031, sacct_fields=("JobID", "State"), sacct_delimiter=";")
    for task in (
        Task("logs/a.log", tmp_path / "a.log", options, Known(10, "ab", "cd"), "Asia/Tokyo"),
        Task("logs/\\xff.log", tmp_path / "b\udcff.log", ScanOptions()),
    ):
        assert task_of(task_text(task, str(task.path))) == task


def test_answers_cross_in_pieces_and_in_any_order() -> None:
    """Answers are put together out of rows that come in another order, data files longer than one row among them."""
    import pyarrow as pa

    long = bytes(range(256)) * (PIECE // 256) + b"end"
    answers = [
        Answer("b", "parsed", key="k", facts={"inferences": ("one", "two"), "n": 1}, tables={"step": long}),
        Answer("a", "rejected", reason="no"),
        Answer("c", "parsed", key="l", tables={"event": b"1", "alloc": b"2"}),
    ]  # fmt: skip
    rows = [row for no, answer in enumerate(answers) for row in answer_rows(no, answer)]
    assert max(len(row["data"] or b"") for row in rows) == PIECE
    assert list(answers_of(pa.Table.from_pylist(rows[::-1], schema=ANSWERS.arrow()))) == answers


def test_waves_keep_the_order_and_bound_what_is_held(tmp_path: Path) -> None:
    """Sources are dealt in their order, no more than a bounded number before their answers are committed."""
    tasks = [Task(f"{no:05d}", tmp_path / "x", ScanOptions()) for no in range(2 * WAVE_FILES + 1)]
    dealt = list(waves(tasks))
    assert [len(wave) for wave in dealt] == [WAVE_FILES, WAVE_FILES, 1]
    assert [task for wave in dealt for task in wave] == tasks


def test_formats_of_a_user_cross_with_their_fingerprint(tmp_path: Path) -> None:
    """Format files that are sent along make the same set, and so the same keys, as the folder here."""
    (tmp_path / "kiln.toml").write_text(OWN_FORMAT)
    assert load_formats(format_texts([tmp_path])).fingerprint == formats_of.load_all([tmp_path]).fingerprint
    assert load_formats(format_texts([])).fingerprint == formats_of.load_all().fingerprint


RUN = """
import sys
sys.path[:] = [p for p in sys.path if "ettlog" not in p and p not in ("", {root!r})]
from pyspark import cloudpickle
run = cloudpickle.loads(open({file!r}, "rb").read())
import pyarrow as pa
rows = list(run(iter([pa.RecordBatch.from_pylist([{{"key": "k", "path": {data!r}}}])])))
import ettlog
print(sum(batch.num_rows for batch in rows), "ettlog-sent-" in ettlog.__file__)
"""


def test_executors_run_the_ettlog_that_was_sent(tmp_path: Path) -> None:
    """A Python without ettlog runs the pickled task: it unpacks the ettlog sent along, formats and SQL with it."""
    from pyspark import cloudpickle

    ingest([FIXTURES / "tiny/logs"], tmp_path / "lake")
    data = next((tmp_path / "lake/step").glob("*.parquet"))
    task = tmp_path / "task"
    task.write_bytes(cloudpickle.dumps(shipping.task("read_facts", ("step",), shipping.bundle())))
    code = RUN.format(root=str(FIXTURES.parent), file=str(task), data=str(data))
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stdout.split() == [str(_rows(data)), "True"], done.stderr


def _rows(path: Path) -> int:
    import pyarrow.parquet as pq

    return int(pq.ParquetFile(path).metadata.num_rows)
