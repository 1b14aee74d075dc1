"""Every fixture on a Spark of two executors beside DuckDB: `python -m tests.engine_cluster FOLDER` says what differs.

It runs in a process of its own, for Spark with its Java part and the client that other tests use are both `pyspark`.
A relation takes Spark a second, whatever is in it: so all fixtures are one lake, and all is asked of one session.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from ettlog import fleet
from ettlog.engine import session
from ettlog.engine.reading import reader
from ettlog.engine.source import EttlogSource
from ettlog.ingest import IngestOptions, ingest
from tests import engines

CLUSTER = "local-cluster[2,1,1024]"


def main(folder: Path) -> dict[str, Any]:
    """Return the version of Spark, the executors' number, and what differs: rows, relations, answers, bytes."""
    logs = engines.FIXTURES / "tiny/logs"
    ingest([logs], folder / "tiny")
    steps = fleet.open(folder / "tiny").table("step").height
    with session.connect(CLUSTER) as opened:
        spark = opened.spark
        spark.dataSource.register(EttlogSource)
        rows = spark.read.format("ettlog").option("table", "step").load(str(logs)).count()
        here, there = engines.both("every", folder, CLUSTER)  # sessions on one engine share it
        held = engines.held(folder / "lake")  # before it is asked, and keeps its relations
        found = {
            "version": spark.version,
            "executors": spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1,
            "steps": rows == steps,
            "relations": engines.differing(here, there),
            "answers": engines.otherwise(here, there),
        }
        ingest([folder / "cut"], folder / "there", options=IngestOptions(reader=reader(CLUSTER)))  # ends the session
    found["bytes"] = engines.held(folder / "there") == held
    return found


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
