"""A question in a pipe imports no library that its answer does not need."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import ettlog
from tests.conftest import ROOT

HEAVY = ("scipy", "rich.console", "matplotlib", "pandas", "jinja2")
CODE = """
import json, sys
from ettlog.cli import app
app.main(args=sys.argv[1:], standalone_mode=False)
print(json.dumps([name for name in %r if name in sys.modules]), file=sys.stderr)
"""


@pytest.mark.parametrize("question", [["ett"], ["ett", "--by", "job"], ["jobs"]], ids=" ".join)
def test_a_question_imports_no_heavy_library(tmp_path: Path, question: list[str]) -> None:
    """ETT of the tiny fixture, with its intervals, and the list of jobs: neither scipy nor what draws and colours."""
    ettlog.ingest([ROOT / "fixtures/tiny/logs"], tmp_path / "lake")
    command = [sys.executable, "-c", CODE % (HEAVY,), *question, "--lake", str(tmp_path / "lake")]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "ETT" in ran.stdout
    assert json.loads(ran.stderr.splitlines()[-1]) == []
