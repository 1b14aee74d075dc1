"""The same on Spark itself, with two executors: slow, and only where Java and Spark's Java part are there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

SPARK = Path(os.environ.get("ETTLOG_TEST_PYSPARK", ROOT / "build/pyspark"))
"""Where `make spark` puts Spark with its Java part."""
SETTINGS = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
"""What suits tables of a few rows: compiling code for each query would take most of the time."""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_two_executors_give_the_same_lake_relations_and_answers(tmp_path: Path) -> None:
    """What two executors of Spark read and compute differs in no byte and no value from what is made here."""
    if shutil.which("java") is None or not (SPARK / "pyspark/jars").is_dir():
        pytest.skip("needs a JRE (apt-get install openjdk-17-jre-headless) and Spark with its Java part: make spark")
    (tmp_path / "spark-defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in SETTINGS.items()))
    path = os.pathsep.join([str(SPARK), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-m", "tests.engine_cluster", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": path, "SPARK_CONF_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found.pop("version").startswith("4.")
    assert found == {"executors": 2, "bytes": True, "steps": True, "relations": [], "answers": []}
