"""Names put where real names stand: jobs, nodes and clusters of Slurm's own JSON, where any text is allowed."""

from __future__ import annotations

import json
from collections.abc import Sequence

SUBMIT = 1_933_135_600
"""2031-04-05 06:06:40 UTC in seconds."""


def accounting(names: Sequence[str]) -> bytes:
    """Return `sacct --json` of one finished job a name: ten minutes on eight GPUs; its node and cluster are hostile
    too."""
    return json.dumps({"jobs": [_job(number, name) for number, name in enumerate(names)]}, indent=1).encode(
        "utf-8", "surrogatepass"
    )


def _job(number: int, name: str) -> dict[str, object]:
    begin = SUBMIT + 1000 * number
    return {
        "job_id": 900 + number, "cluster": "moon", "name": name, "user": "kim", "partition": "big", "nodes": name,
        "allocation_nodes": 1, "state": {"current": ["COMPLETED"], "reason": "None"}, "restart_cnt": 0, "steps": [],
        "time": {
            "submission": begin, "eligible": begin, "start": begin + 60, "end": begin + 660, "elapsed": 600,
            "suspended": 0, "planned": {"set": False, "infinite": False, "number": 0},
        },
        "array": {"job_id": 0, "task_id": {"set": False, "infinite": False, "number": 0}, "task": ""},
        "het": {"job_id": 0, "job_offset": {"set": False, "infinite": False, "number": 0}},
        "exit_code": {"status": ["SUCCESS"], "return_code": {"set": True, "infinite": False, "number": 0}},
        "tres": {
            "allocated": [{"type": "gres", "name": "gpu", "id": 1001, "count": 8}],
            "requested": [{"type": "gres", "name": "gpu", "id": 1001, "count": 8}],
        },
    }  # fmt: skip
