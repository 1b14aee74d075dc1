"""Jobs of Slurm as JSON: accounting and controller, all shapes of numbers, and what is a forecast."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.scheduling import jobs, read, us

SUBMIT = 1_933_135_600
"""2031-04-05 06:06:40 UTC in seconds."""


def number(value: int | None) -> dict[str, Any]:
    """Write a number as newer parsers do: wrapped, with what says whether it is set."""
    return {"set": value is not None, "infinite": False, "number": value or 0}


def accounted(
    job: int = 900, state: Any = ("COMPLETED",), start: int = 60, end: int = 660, **more: Any
) -> dict[str, Any]:
    """Write a job as the accounting does; times in seconds after SUBMIT, 0 or less for none."""
    times = {
        "submission": SUBMIT,
        "eligible": SUBMIT + 10,
        "start": SUBMIT + start if start > 0 else 0,
        "end": SUBMIT + end if end > 0 else 0,
        "elapsed": 600,
        "suspended": 0,
        "planned": number(-5),
    }
    return {
        "job_id": job,
        "association": {"cluster": "moon"},
        "cluster": "moon",
        "name": "pre|train",
        "user": "kim",
        "partition": "big",
        "nodes": "m[1-2]",
        "allocation_nodes": 2,
        "state": {"current": list(state) if isinstance(state, tuple) else state, "reason": "None"},
        "time": times,
        "restart_cnt": 0,
        "array": {"job_id": 0, "task_id": number(None), "task": ""},
        "het": {"job_id": 0, "job_offset": number(None)},
        "exit_code": {"status": ["SUCCESS"], "return_code": number(0), "signal": {"id": number(None), "name": ""}},
        "tres": {
            "allocated": [
                {"type": "cpu", "name": "", "id": 1, "count": 64},
                {"type": "energy", "name": "", "id": 3, "count": -2},
                {"type": "gres", "name": "gpu", "id": 1001, "count": 16},
                {"type": "gres", "name": "gpu:h9", "id": 1002, "count": 16},
            ],
            "requested": [{"type": "gres", "name": "gpu", "id": 1001, "count": 16}],
        },
        "steps": [],
        **more,
    }


def controlled(state: str, **more: Any) -> dict[str, Any]:
    """Write a job as the controller does, with start and end filled in whatever the state."""
    return {
        "job_id": 901,
        "cluster": "moon",
        "name": "ctl",
        "user_name": "kim",
        "job_state": [state],
        "state_reason": "Priority",
        "nodes": "m1",
        "node_count": number(1),
        "cpus": number(32),
        "submit_time": number(SUBMIT),
        "eligible_time": number(SUBMIT),
        "start_time": number(SUBMIT + 100),
        "end_time": number(SUBMIT + 7300),
        "tres_alloc_str": "cpu=32,node=1",
        "tres_req_str": "cpu=32,node=1,gres/gpu=8",
        "gres_detail": ["gpu:h9:8(IDX:0-7)"],
        "restart_cnt": 3,
        **more,
    }


def reply(*found: dict[str, Any], version: str = "v0.0.44", indent: int | None = 1) -> str:
    """Write a reply with its frame."""
    meta = {"plugin": {"data_parser": f"data_parser/{version}"}, "slurm": {"release": "25.11.0"}}
    return json.dumps({"jobs": list(found), "meta": meta, "errors": [], "warnings": []}, indent=indent)


def rows(tmp_path: Path, *found: dict[str, Any], **options: Any) -> list[dict[str, Any]]:
    """Return the rows of the jobs of a reply."""
    return jobs(read(tmp_path / "reply.json", "slurm_json", reply(*found, **options)))


@pytest.mark.parametrize("version", ["v0.0.41", "v0.0.42", "v0.0.43", "v0.0.44", "v0.0.45"])
def test_every_data_parser_version_gives_the_same_row(tmp_path: Path, version: str) -> None:
    """Times, GPUs and processors of an ended job are read alike from all five versions."""
    (row,) = rows(tmp_path, accounted(), version=version)
    assert (row["id"], row["cluster"], row["name"], row["state"]) == ("900", "moon", "pre|train", "COMPLETED")
    assert (row["submit_us"], row["start_us"]) == (us("2031-04-05T06:06:40"), us("2031-04-05T06:07:40"))
    assert row["end_us"] - row["start_us"] == 600_000_000
    assert (row["gpus"], row["cpus"], row["nodes"], row["clock"]) == (16, 64, 2, "exact")


def test_typed_gpus_are_not_added_to_the_untyped_entry(tmp_path: Path) -> None:
    """`gres/gpu` beside `gres/gpu:h9` names the same 16 GPUs; two types without it add up."""
    typed = [{"type": "gres", "name": f"gpu:{kind}", "id": 7, "count": 4} for kind in ("h9", "l4")]
    found = rows(tmp_path, accounted(), accounted(902, tres={"allocated": typed, "requested": []}))
    assert [row["gpus"] for row in found] == [16, 8]


def test_a_requeue_is_another_row_with_its_own_submission(tmp_path: Path) -> None:
    """Two records of one id are two attempts; the flag tells that the first was requeued."""
    first = accounted(state=("PENDING", "REQUEUED"))
    second = accounted(start=900, end=1200, restart_cnt=1)
    second["time"]["submission"] = SUBMIT + 660
    found = rows(tmp_path, first, second)
    assert [(row["state"], row["restarts"], row["submit_us"] - found[0]["submit_us"]) for row in found] == [
        ("REQUEUED", 0, 0),
        ("COMPLETED", 1, 660_000_000),
    ]


def test_a_job_cancelled_while_it_waited_never_started(tmp_path: Path) -> None:
    """Start equal to end without a node is no run of zero seconds, and holds no GPU."""
    (row, _) = rows(tmp_path, accounted(state=("CANCELLED",), start=40, end=40, nodes="None assigned"), accounted(903))
    assert (row["start_us"], row["gpus"]) == (None, 0)
    assert row["end_us"] == us("2031-04-05T06:07:20")


def test_zero_is_no_instant(tmp_path: Path) -> None:
    """A waiting job's start and end of 0 are not 1970."""
    (row,) = rows(tmp_path, accounted(state=("PENDING",), start=0, end=0, nodes="None assigned"))
    assert (row["start_us"], row["end_us"], row["state"]) == (None, None, "PENDING")


def test_forecasts_of_the_controller_are_no_facts(tmp_path: Path) -> None:
    """The start of a waiting job and the end of a running one are foretold and left out; an ended job keeps both."""
    found = rows(tmp_path, controlled("PENDING"), controlled("RUNNING"), controlled("TIMEOUT"))
    assert [(row["start_us"] is None, row["end_us"] is None) for row in found] == [
        (True, True),
        (False, True),
        (False, False),
    ]
    assert [(row["gpus"], row["gpus_requested"]) for row in found] == [(0, 8), (8, 8), (8, 8)]
    assert {row["restarts"] for row in found} == {3}


def test_gpus_that_no_record_names_are_unknown(tmp_path: Path) -> None:
    """Where GPUs are not accounted, none held is not the answer; what the submit line asks for is kept as asked."""
    bare = accounted(tres={"allocated": [{"type": "cpu", "name": "", "id": 1, "count": 4}], "requested": []})
    lines = ("sbatch --gpus 8 run.sh", "sbatch --gres=gpu:h9:4 run.sh", "sbatch --gpus-per-node=2 x", "sbatch x")
    found = rows(tmp_path, *({**bare, "job_id": 910 + at, "submit_line": line} for at, line in enumerate(lines)))
    assert [(row["gpus"], row["gpus_requested"]) for row in found] == [(None, 8), (None, 8), (None, 4), (None, None)]


def test_ids_of_arrays_and_heterogeneous_jobs(tmp_path: Path) -> None:
    """Ids read as in text output: A_T, A_[range], H+O; the plain number stays the key."""
    task = {"job_id": 880, "task_id": number(7), "task": ""}
    rest = {"job_id": 880, "task_id": number(None), "task": "8-20%4"}
    het = {"job_id": 700, "job_offset": number(2)}
    found = rows(tmp_path, accounted(881, array=task), accounted(880, array=rest), accounted(702, het=het))
    assert [(row["id"], row["raw"]) for row in found] == [("880_7", "881"), ("880_[8-20%4]", "880"), ("700+2", "702")]


def test_steps_stay_apart_from_jobs(tmp_path: Path) -> None:
    """A step with 16 GPUs beside its job is a row of its own kind; it may end after the job."""
    step = {
        "step": {"id": {"job_id": 900, "step_id": "batch"}, "name": "batch"},
        "time": {"start": number(SUBMIT + 60), "end": number(SUBMIT + 663), "elapsed": 603},
        "state": "CANCELLED",
        "nodes": {"count": 2},
        "exit_code": {"return_code": number(None), "signal": {"id": number(15)}},
        "tres": {"allocated": [{"type": "gres", "name": "gpu", "id": 1001, "count": 16}]},
    }
    parsed = read(tmp_path / "reply.json", "slurm_json", reply(accounted(steps=[step])))
    job, one = parsed.allocs.to_pylist()
    assert (job["record"], one["record"], one["id"], one["exit_signal"]) == ("job", "step", "900.batch", 15)
    assert one["end_us"] - job["end_us"] == 3_000_000


def test_older_parsers_wrote_states_as_text(tmp_path: Path) -> None:
    """A state that is text instead of a list is read as well."""
    (row,) = rows(tmp_path, accounted(state="NODE_FAIL", failed_node="m2"))
    assert (row["state"], row["reason"]) == ("NODE_FAIL", "failed: node m2")


def test_an_empty_reply_is_no_error(tmp_path: Path) -> None:
    """A job that was not found is an empty list: no row, and no line is bad."""
    parsed = read(tmp_path / "reply.json", "slurm_json", reply())
    assert (parsed.allocs.num_rows, set(parsed.lines)) == (0, {"ignored"})


def test_bad_records_are_counted(tmp_path: Path) -> None:
    """An end before the start, a repeat and a reply cut short are counted, and the rest is read."""
    text = reply(accounted(), accounted(), accounted(904, start=700), accounted(905), indent=None)
    one_by_line = text.replace('{"job_id": 90', '\n{"job_id": 90')
    parsed = read(tmp_path / "reply.json", "slurm_json", one_by_line[:-400])
    assert parsed.lines["duplicate"] == parsed.lines["bad_time"] == parsed.lines["torn"] == 1
    assert parsed.state == "torn"
    assert [row["id"] for row in jobs(parsed)] == ["900"]


@pytest.mark.parametrize("value", [None, [], "x", -1, 1 << 80, {"number": "9"}, {"set": True, "number": {}}, 1.5, True])
def test_hostile_values_never_raise(tmp_path: Path, value: object) -> None:
    """Any value in any place gives rows or a counted outcome."""
    for key in ("job_id", "time", "state", "tres", "array", "steps", "nodes", "exit_code", "cluster"):
        parsed = read(tmp_path / "reply.json", "slurm_json", reply(accounted(), {**accounted(), key: value}))
        assert sum(parsed.lines.values()) == parsed.n_lines > 0
    for key in ("submit_time", "job_state", "gres_detail", "start_time", "node_count"):
        text = reply(controlled("RUNNING"), {**controlled("FAILED"), key: value})
        parsed = read(tmp_path / "reply.json", "slurm_json", text)
        assert sum(parsed.lines.values()) == parsed.n_lines > 0
