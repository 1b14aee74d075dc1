"""`scontrol show job`: blocks and one-line form, forecasts, and names that look like keys."""

from __future__ import annotations

from pathlib import Path

from ettlog.parse import scontrol
from ettlog.parse.parsed import ScanOptions
from tests.scheduling import jobs, read, us


def block(state: str = "RUNNING", job: str = "JobId=7100", name: str = "night run", more: str = "") -> str:
    """Write a job as a block of lines."""
    return f"""{job} JobName={name}
   UserId=kim(4001) GroupId=kim(4001) MCS_label=N/A
   Priority=100 Nice=0 Account=lab QOS=normal
   JobState={state} Reason=None Dependency=(null)
   Requeue=1 Restarts=2 BatchFlag=1 Reboot=0 ExitCode=0:0
   RunTime=00:10:00 TimeLimit=02:00:00 TimeMin=N/A
   SubmitTime=2031-04-05T06:00:00 EligibleTime=2031-04-05T06:00:05
   StartTime=2031-04-05T06:10:00 EndTime=2031-04-05T08:10:00 Deadline=N/A
   Partition=big NodeList=m[1-2] NumNodes=2 NumCPUs=64 {more}
   ReqTRES=cpu=64,node=2,gres/gpu=16
   AllocTRES=cpu=64,node=2,gres/gpu=16,gres/gpu:h9=16

"""


def test_a_running_job_has_a_start_and_no_end(tmp_path: Path) -> None:
    """EndTime of a running job is its time limit, not an end; Restarts counts, Requeue does not."""
    (row,) = jobs(read(tmp_path / "show.txt", "scontrol", block()))
    assert (row["start_us"], row["end_us"]) == (us("2031-04-05T06:10:00"), None)
    assert (row["gpus"], row["gpus_requested"], row["restarts"]) == (16, 16, 2)
    assert (row["name"], row["user"], row["nodes"], row["clock"]) == ("night run", "kim", 2, "zone_assumed")


def test_the_start_of_a_waiting_job_is_a_forecast(tmp_path: Path) -> None:
    """A waiting job has neither start nor end, and what it asks for is not held."""
    (row, _) = jobs(read(tmp_path / "show.txt", "scontrol", block("PENDING") + block(job="JobId=7101")))
    assert (row["start_us"], row["end_us"], row["gpus"], row["gpus_requested"]) == (None, None, 0, 16)


def test_an_ended_job_keeps_both_in_the_zone_that_is_told(tmp_path: Path) -> None:
    """Start and end of an ended job are facts; local times are of the zone that was told."""
    (row,) = jobs(read(tmp_path / "show.txt", "scontrol", block("TIMEOUT"), zone="Europe/Berlin"))
    assert row["start_us"] == us("2031-04-05T04:10:00")
    assert (row["end_us"] - row["start_us"], row["clock"]) == (7_200_000_000, "zone_set")


def test_the_command_may_stand_above(tmp_path: Path) -> None:
    """What was pasted from a terminal begins with the command; a job that is told of inside other text is none."""
    parsed = read(tmp_path / "show.txt", "scontrol", f"[kim@login ~]$ scontrol show job 7100\n{block()}")
    assert ([row["raw"] for row in jobs(parsed)], parsed.lines["bad_record"]) == (["7100"], 1)
    assert not scontrol.sniff(f"epoch 3 loss 2.5\n{block()}".encode(), ScanOptions())


def test_one_line_form_is_the_same(tmp_path: Path) -> None:
    """With -o every job is one line."""
    text = "".join(" ".join(block(job=f"JobId={number}").split()) + "\n" for number in (7100, 7101))
    found = jobs(read(tmp_path / "show.txt", "scontrol", text))
    assert [(row["id"], row["name"], row["gpus"]) for row in found] == [
        ("7100", "night run", 16),
        ("7101", "night run", 16),
    ]


def test_a_name_cannot_pretend_to_be_a_state(tmp_path: Path) -> None:
    """Keys inside a job's name are part of the name."""
    (row,) = jobs(read(tmp_path / "show.txt", "scontrol", block(name="a JobState=FAILED EndTime=2031-01-01T00:00:00")))
    assert (row["state"], row["name"]) == ("RUNNING", "a JobState=FAILED EndTime=2031-01-01T00:00:00")


def test_array_tasks_and_heterogeneous_parts(tmp_path: Path) -> None:
    """Ids read as in text output."""
    text = block(job="JobId=7105 ArrayJobId=7100 ArrayTaskId=4") + block(job="JobId=7106 HetJobId=7105 HetJobOffset=1")
    text += block("PENDING", job="JobId=7100 ArrayJobId=7100 ArrayTaskId=5-9%2")
    found = jobs(read(tmp_path / "show.txt", "scontrol", text))
    assert [row["id"] for row in found] == ["7100_4", "7105+1", "7100_[5-9%2]"]


def test_every_line_is_counted(tmp_path: Path) -> None:
    """A block cut short, a bad time and a repeat are counted by their lines."""
    text = (
        block()
        + block()
        + block(job="JobId=7102").replace("EndTime=2031-04-05T08", "EndTime=soon")
        + "JobId=7103 JobName=cut"
    )
    parsed = read(tmp_path / "show.txt", "scontrol", text)
    assert parsed.lines == {"matched": 11, "duplicate": 11, "bad_time": 11, "torn": 1, "ignored": 3}
