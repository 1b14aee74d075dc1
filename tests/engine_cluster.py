"""One fixture on a Spark of two executors, beside DuckDB: `python -m tests.engine_cluster FOLDER` prints what differs.

It runs in a process of its own, for Spark with its Java part and the client that other tests use are both `pyspark`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from ettlog.engine import session
from ettlog.engine.reading import reader
from ettlog.engine.source import EttlogSource
from ettlog.ingest import IngestOptions, ingest
from tests import engines

CLUSTER = "local-cluster[2,1,1024]"


def main(folder: Path) -> dict[str, Any]:
    """Return the version of Spark, the executors' number, and what differs: bytes, relations, answers, rows."""
    logs, here, there = engines.FIXTURES / "tiny/logs", folder / "here", folder / "there"
    ingest([logs], here)
    ingest([logs], there, options=IngestOptions(reader=reader(CLUSTER)))
    with session.connect(CLUSTER) as opened:
        spark = opened.spark
        spark.dataSource.register(EttlogSource)
        rows = spark.read.format("ettlog").option("table", "step").load(str(logs)).count()
        count = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1
        version = spark.version
    local, remote = engines.both(there, CLUSTER)
    asked = {name: answer for name, answer in engines.ANSWERS.items() if name in ("ett", "jobs", "timeline", "check")}
    return {
        "version": version,
        "executors": count,
        "bytes": engines.held(there) == engines.held(here),
        "steps": rows == local.table("step").height,
        "relations": engines.differing(local, remote),
        "answers": [name for name, answer in asked.items() if not engines.same(answer(local), answer(remote))],
    }


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
