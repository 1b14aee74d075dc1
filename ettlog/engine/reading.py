"""Sources are read on an engine, in the place of this machine's processes: the answers are those of `workers.run`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ettlog import objects
from ettlog.engine import session as sessions
from ettlog.engine import shipping
from ettlog.engine.errors import answering, quiet
from ettlog.engine.wire import ANSWERS, TASKS, answers_of, task_text

if TYPE_CHECKING:
    from ettlog.engine.session import Session
    from ettlog.ingest import Reader
    from ettlog.parse.format import FormatSet
    from ettlog.tasks import Answer, Task

WAVE_FILES, WAVE_BYTES = 1024, 8 << 30
"""Sources that are read before their answers come back, and are committed: so much is in memory here at once."""
UNKNOWN_BYTES = 128 << 20
"""What an object is taken for that nobody has measured."""


def reader(name: str) -> Reader:
    """Return what reads all sources on the engine of this name, for `IngestOptions.reader`.

    Raise UsageError for a name that is none, EngineError when the engine cannot be used or fails.
    """

    def run(
        tasks: Sequence[Task], format_dirs: Sequence[Path], _formats: Callable[[], FormatSet], _workers: int
    ) -> Iterator[Answer]:
        if not tasks:
            return
        texts = format_texts(format_dirs)
        with sessions.connect(name) as session:
            for wave in waves(tasks):
                yield from _read(session, wave, texts)

    return run


def format_texts(folders: Sequence[Path]) -> str:
    """Return the format files of folders as JSON: a map from file name to text for each folder."""
    told = [
        {path.name: path.read_bytes().decode("utf-8") for path in sorted(Path(folder).glob("*.toml"))}
        for folder in folders
    ]
    return json.dumps(told)


def waves(tasks: Sequence[Task]) -> Iterator[list[Task]]:
    """Yield the tasks in their order, so many at a time as may be read before anything is committed."""
    wave: list[Task] = []
    held = 0
    for task in tasks:
        size = _size(task)
        if wave and (len(wave) >= WAVE_FILES or held + size > WAVE_BYTES):
            yield wave
            wave, held = [], 0
        wave.append(task)
        held += size
    yield wave


def _size(task: Task) -> int:
    try:
        return UNKNOWN_BYTES if objects.is_one(task.path) else task.path.stat().st_size
    except OSError:
        return 0


def _where(task: Task) -> str:
    return str(task.path) if objects.is_one(task.path) else os.path.abspath(task.path)  # noqa: PTH100


def _read(session: Session, wave: list[Task], formats: str) -> Iterator[Answer]:
    import pyarrow as pa

    rows = [{"no": no, "task": task_text(task, _where(task))} for no, task in enumerate(wave)]
    with quiet(), answering(session.name, "the engine could not read the logs"):
        frame = session.spark.createDataFrame(pa.Table.from_pylist(rows, schema=TASKS.arrow()))
        run = shipping.task("read_sources", (formats,), session.sent())
        answers: Any = frame.repartition(session.parts(len(wave))).mapInArrow(run, ANSWERS.ddl()).toArrow()
    return answers_of(answers)
