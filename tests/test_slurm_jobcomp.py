"""Slurm's own records of ended jobs: a line of keys, and documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.scheduling import jobs, read, us


def line(
    job: int = 81,
    name: str = "pre",
    state: str = "COMPLETED",
    times: str = "",
    nodes: str = "m[1-4] NodeCnt=4",
    more: str = "",
) -> str:
    """Write one record as text."""
    times = times or "StartTime=2031-04-05T06:10:00 EndTime=2031-04-05T07:10:00"
    return (
        f"JobId={job} UserId=kim(4001) GroupId=kim(4001) Name={name} JobState={state} Partition=big TimeLimit=1440 "
        f"{times} NodeList={nodes} ProcCnt=256 WorkDir=/home/kim/a b ReservationName= Tres=cpu=256,node=4,gres/gpu=32 "
        f"Account=lab QOS=normal WcKey= Cluster=moon SubmitTime=2031-04-05T06:00:00 EligibleTime=2031-04-05T06:00:01 "
        f"{more}DerivedExitCode=0:0 ExitCode=1:0 \n"
    )


def document(**more: Any) -> dict[str, Any]:
    """Write one record as a document."""
    return {
        "jobid": 81,
        "cluster": "moon",
        "username": "kim",
        "job_name": "pre",
        "state": "COMPLETED",
        "partition": "big",
        "nodes": "m[1-4]",
        "total_nodes": 4,
        "total_cpus": 256,
        "@submit": "2031-04-05T06:00:00",
        "@eligible": "2031-04-05T06:00:01",
        "@start": "2031-04-05T06:10:00",
        "@end": "2031-04-05T07:10:00",
        "elapsed": 3600,
        "exit_code": "1:0",
        "tres_req": "cpu=256,node=4,gres/gpu=32",
        "tres_alloc": "cpu=256,node=4,gres/gpu=32,gres/gpu:h9=32",
        **more,
    }


def test_a_line_of_keys(tmp_path: Path) -> None:
    """Times are local; what Tres names was asked for, and what was held is not known."""
    (row,) = jobs(read(tmp_path / "jobcomp.log", "slurm_jobcomp", line(), zone="America/New_York"))
    assert (row["start_us"], row["end_us"]) == (us("2031-04-05T10:10:00"), us("2031-04-05T11:10:00"))
    assert (row["gpus"], row["gpus_requested"], row["cluster"], row["nodes"]) == (None, 32, "moon", 4)
    assert (row["submit_us"], row["exit_code"], row["clock"]) == (us("2031-04-05T10:00:00"), 1, "zone_set")


def test_a_name_with_blanks_and_keys(tmp_path: Path) -> None:
    """A name may hold blanks and what looks like a key; the fields behind it stay where they are."""
    (row,) = jobs(read(tmp_path / "jobcomp.log", "slurm_jobcomp", line(name="my run JobState=FAILED Partition=x")))
    assert (row["name"], row["state"], row["partition"]) == ("my run JobState=FAILED Partition=x", "COMPLETED", "big")


def test_a_job_cancelled_while_it_waited_never_started(tmp_path: Path) -> None:
    """No node and start equal to end: never started."""
    times = "StartTime=2031-04-05T06:05:00 EndTime=2031-04-05T06:05:00"
    (row,) = jobs(
        read(tmp_path / "jobcomp.log", "slurm_jobcomp", line(state="CANCELLED", times=times, nodes="(null) NodeCnt=0"))
    )
    assert (row["start_us"], row["end_us"]) == (None, us("2031-04-05T06:05:00"))


def test_a_resize_is_a_record_in_between(tmp_path: Path) -> None:
    """Both records are attempts with their own hardware; array tasks and het parts have their ids."""
    text = line(state="RESIZING", nodes="m[1-8] NodeCnt=8") + line(
        times="StartTime=2031-04-05T07:10:00 EndTime=2031-04-05T08:00:00"
    )
    text += line(82, more="ArrayJobId=80 ArrayTaskId=2 ") + line(84, more="HetJobId=83 HetJobOffset=1 ")
    found = jobs(read(tmp_path / "jobcomp.log", "slurm_jobcomp", text))
    assert [(row["id"], row["state"], row["nodes"]) for row in found] == [
        ("81", "RESIZING", 8),
        ("81", "COMPLETED", 4),
        ("80_2", "COMPLETED", 4),
        ("83+1", "COMPLETED", 4),
    ]


def test_bad_lines_are_counted(tmp_path: Path) -> None:
    """A repeat, a line of something else, an end before the start and a torn last line."""
    bad = line(times="StartTime=2031-04-05T06:10:00 EndTime=2031-04-05T06:00:00")
    parsed = read(tmp_path / "jobcomp.log", "slurm_jobcomp", line() * 2 + "nothing\n" + bad + line()[:60])
    assert parsed.lines == {"matched": 1, "duplicate": 1, "bad_record": 1, "bad_time": 1, "torn": 1}


def test_documents_are_utc_without_saying_so(tmp_path: Path) -> None:
    """Stamps of documents lack a Z and are UTC whatever zone is told; typed GPUs are not added."""
    text = (
        json.dumps(document()) + "\n" + json.dumps({"_source": document(jobid=82, state="RUNNING", **{"@end": None})})
    )
    found = jobs(read(tmp_path / "docs.json", "slurm_jobcomp", text, zone="Asia/Tokyo"))
    assert [(row["start_us"], row["gpus"], row["clock"]) for row in found] == [
        (us("2031-04-05T06:10:00"), 32, "exact")
    ] * 2
    assert [row["end_us"] for row in found] == [us("2031-04-05T07:10:00"), None]


def test_documents_of_a_search_and_of_a_bulk_request(tmp_path: Path) -> None:
    """A reply holds its documents two levels down; a bulk request has a line of its own before each."""
    found = [{"_index": "slurm", "_source": document(jobid=number)} for number in (81, 82)]
    text = json.dumps({"took": 3, "hits": {"total": 2, "hits": found}}, indent=1)
    assert [row["id"] for row in jobs(read(tmp_path / "reply.json", "slurm_jobcomp", text))] == ["81", "82"]
    bulk = json.dumps({"index": {"_index": "slurm"}}) + "\n" + json.dumps(document()) + "\n"
    parsed = read(tmp_path / "bulk.json", "slurm_jobcomp", bulk)
    assert (len(jobs(parsed)), parsed.lines) == (1, {"ignored": 1, "matched": 1})


def test_time_with_suspension_is_not_taken_for_time_held(tmp_path: Path) -> None:
    """`elapsed` of a document holds suspended time too and is not kept; old het keys are known."""
    (row,) = jobs(
        read(tmp_path / "docs.json", "slurm_jobcomp", json.dumps(document(pack_job_id=80, pack_job_offset=1)))
    )
    assert (row["elapsed_us"], row["id"]) == (None, "80+1")
