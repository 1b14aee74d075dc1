"""The log of Slurm's controller: attempts, why they ended, and lines that tell of one thing again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ettlog
from ettlog.fleet import Fleet
from tests.scheduling import jobs, read, us


def log(*lines: str) -> str:
    """Write lines with a stamp each, ten seconds and seven milliseconds apart."""
    return "".join(f"[2031-04-05T06:0{at // 6}:{at % 6}0.{at * 7:03d}] {line}\n" for at, line in enumerate(lines))


def rows(tmp_path: Path, *lines: str, **options: Any) -> list[dict[str, Any]]:
    """Return the attempts that lines tell of."""
    return jobs(read(tmp_path / "slurmctld.log", "slurmctld", log(*lines), **options))


START = "sched: Allocate JobId=55 NodeList=m7 #CPUs=96 Partition=big"


def test_a_failed_resume_ends_an_attempt_and_the_next_waits_from_there(tmp_path: Path) -> None:
    """Two lines tell of one requeue; the node's own reason is kept, and the wait counts from the requeue."""
    first, second = rows(
        tmp_path,
        START,
        "POWER: no more nodes to resume for job JobId=55",
        "update_node: node m7 reason set to: (Code:NoCapacity)Failure when resuming nodes",
        "requeue job JobId=55 due to failure of node m7",
        "Requeuing JobId=55",
        "sched/backfill: _start_job: Started JobId=55 in big on m8",
    )
    assert (first["state"], first["reason"]) == (
        "REQUEUED",
        "failure of node m7: (Code:NoCapacity)Failure when resuming nodes",
    )
    assert first["end_us"] - first["start_us"] == 30_021_000
    assert (second["submit_us"], second["start_us"]) == (first["end_us"], us("2031-04-05T06:00:50.035"))
    assert (second["state"], second["end_us"], second["restarts"], second["node"]) == ("RUNNING", None, 1, "m8")


@pytest.mark.parametrize(
    ("line", "state", "reason"),
    [
        ("_job_complete: JobId=55 WEXITSTATUS 0", "COMPLETED", "complete"),
        ("_job_complete: JobId=55 WEXITSTATUS 3", "FAILED", "complete"),
        ("_job_complete: JobId=55 WTERMSIG 9", "FAILED", "complete"),
        ("_job_complete: JobId=55 OOM failure", "OUT_OF_MEMORY", "complete"),
        ("_job_complete: JobId=55 cancelled by node failure", "NODE_FAIL", "complete"),
        ("_job_complete: requeue JobId=55 per user/system request", "REQUEUED", "requeuing"),
        ("Time limit exhausted for JobId=55", "TIMEOUT", "time_limit"),
        ("error: Killing JobId=55 on failed node m7", "NODE_FAIL", "failure of node m7"),
        ("preempted JobId=55 has been killed to reclaim resources for JobId=60", "PREEMPTED", "preempted"),
        ("Batch JobId=55 missing from batch node m7 (not found), Requeuing job", "REQUEUED", "failure of node m7"),
        ("_job_signal: 9 of running JobId=55 successful 0x8004", "CANCELLED", "cancelled"),
        ("_job_signal: 9 of configuring JobId=55 successful", "CANCELLED", "cancelled"),
        ("job_signal: 9 of running JobId=55 successful 0x8008", "PREEMPTED", "preempted"),
        ("job_time_limit: inactivity time limit reached for JobId=55", "TIMEOUT", "inactive"),
        ("job_time_limit: Preemption GraceTime reached JobId=55", "PREEMPTED", "preempted"),
    ],
)
def test_ends_and_their_causes(tmp_path: Path, line: str, state: str, reason: str) -> None:
    """Each way to end names the state that accounting shows for it; further lines about the end change nothing."""
    (row,) = rows(tmp_path, START, line, "_job_complete: JobId=55 done")
    assert (row["state"], row["reason"], row["end_us"]) == (state, reason, us("2031-04-05T06:00:10.007"))


KILL = "_slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=55 uid 1200"
REFUSED = "_slurm_rpc_kill_job: job_str_signal() uid=1200 JobId=55 sig=9 returned: "


def test_a_request_to_kill_ends_what_nothing_else_ends(tmp_path: Path) -> None:
    """The controller tells of no other end of a cancelled job: the first request is its end, and that is inferred."""
    read_ = read(tmp_path / "slurmctld.log", "slurmctld", log(START, KILL, "cleanup_completing: JobId=60 x", KILL))
    (row,) = jobs(read_)
    assert (row["state"], row["reason"], row["end_us"]) == ("CANCELLED", "kill_request", us("2031-04-05T06:00:10.007"))
    assert any("request to kill" in text for text in read_.inferences)


def test_a_request_to_kill_may_be_a_signal_or_refused(tmp_path: Path) -> None:
    """An end that is told of counts; what was refused ends nothing, and no request ends what starts after it."""
    (row,) = rows(tmp_path, START, KILL, "_job_complete: JobId=55 WEXITSTATUS 0", "_job_complete: JobId=55 done")
    assert (row["state"], row["end_us"]) == ("COMPLETED", us("2031-04-05T06:00:20.014"))
    for text in (
        "error: Security violation, REQUEST_KILL_JOB RPC for JobId=55 from uid 1200",
        f"{REFUSED}Access/permission denied",
    ):
        found = f"{log(START, KILL)}[2031-04-05T06:00:10.008] {text}\n"
        (row,) = jobs(read(tmp_path / "slurmctld.log", "slurmctld", found))
        assert (row["state"], row["end_us"]) == ("RUNNING", None)
    (row,) = rows(tmp_path, START, KILL, "x", f"{REFUSED}Job/step already completing or completed")
    assert (row["state"], row["end_us"]) == ("CANCELLED", us("2031-04-05T06:00:10.007"))
    assert [row["end_us"] for row in rows(tmp_path, KILL, START)] == [None]


def test_tasks_of_an_array_are_killed_one_by_one_and_together(tmp_path: Path) -> None:
    """A task goes by its place in the array, all of them by the array's id; a range of them is not taken for all."""
    tasks = [f"sched: Allocate JobId=70_{at}({80 + at}) NodeList=m{at} #CPUs=9 Partition=big" for at in (1, 2)]
    for asked, ended in (("70_2", ["82"]), ("70", ["81", "82"]), ("70_*", ["81", "82"]), ("70_[1-2]", [])):
        found = rows(tmp_path, *tasks, f"_slurm_rpc_kill_job: REQUEST_KILL_JOB JobId={asked} uid 0")
        assert [row["raw"] for row in found if row["end_us"] is not None] == ended, asked


def test_lines_of_older_controllers(tmp_path: Path) -> None:
    """Before 2018 the submission had no colon, and the end told of state and nodes."""
    (row,) = rows(
        tmp_path,
        "_slurm_rpc_submit_batch_job JobId=55 usec=1213",
        "sched: Allocate JobID=55 NodeList=m7 #CPUs=96 Partition=big",
        "_job_complete: JobID=55 State=0x1 NodeCnt=1 WTERMSIG 15",
        "_job_complete: JobID=55 State=0x8005 NodeCnt=1 done",
    )
    assert (row["submit_us"], row["state"], row["exit_signal"]) == (us("2031-04-05T06:00:00.000"), "FAILED", 15)
    assert row["end_us"] == us("2031-04-05T06:00:20.014")


def test_a_log_whose_first_line_was_cut_is_known(tmp_path: Path) -> None:
    """Logs are cut by bytes: the rest of a line stands before the first whole one, and is counted."""
    cut = log("_slurm_rpc_submit_batch_job: JobId=54 InitPrio=1 usec=3", START)[9:]
    found = read(tmp_path / "slurmctld.log", "slurmctld", cut)
    assert ([row["raw"] for row in jobs(found)], found.lines) == (["55"], {"matched": 1, "unmatched": 1})


def test_a_dependency_that_fails_ends_what_waits(tmp_path: Path) -> None:
    """A job whose dependency can never be satisfied is cancelled while it waits."""
    text = "_kill_dependent: Job dependency can't be satisfied, cancelling JobId=55"
    (row,) = rows(tmp_path, "_slurm_rpc_submit_batch_job: JobId=55 InitPrio=1 usec=3", text)
    assert (row["state"], row["start_us"], row["end_us"]) == ("CANCELLED", None, us("2031-04-05T06:00:10.007"))


def test_a_preempted_job_that_is_requeued_comes_back(tmp_path: Path) -> None:
    """The job that was preempted is the one that ends; the other job's id on the line is not touched."""
    text = "preempted JobId=55 has been requeued to reclaim resources for JobId=60"
    found = rows(tmp_path, START, START.replace("55", "60"), text, START)
    assert [(row["raw"], row["state"], row["restarts"]) for row in found] == [
        ("55", "PREEMPTED", 0),
        ("60", "RUNNING", 0),
        ("55", "RUNNING", 1),
    ]


def test_three_equal_lines_are_one_start(tmp_path: Path) -> None:
    """An allocation that is told three times is one attempt."""
    assert len(rows(tmp_path, START, START, START)) == 1


def test_an_end_without_a_begin_is_no_run(tmp_path: Path) -> None:
    """Where the log begins in the middle, an end alone makes no attempt; the line stays as a mark."""
    parsed = read(tmp_path / "slurmctld.log", "slurmctld", log("_job_complete: JobId=9 WEXITSTATUS 0"))
    assert [(row["record"], row["state"]) for row in parsed.allocs.to_pylist()] == [
        ("mark", "complete"),
        ("mark", "COMPLETED"),
    ]


def test_submission_and_cancellation_while_waiting(tmp_path: Path) -> None:
    """A job that was submitted and cancelled never started; one that was only submitted waits."""
    cancelled, waiting = rows(
        tmp_path,
        "_slurm_rpc_submit_batch_job: JobId=70 InitPrio=42 usec=300",
        "_slurm_rpc_submit_batch_job: JobId=71 InitPrio=42 usec=300",
        "_job_signal: 9 of pending JobId=70 successful",
    )
    assert (cancelled["state"], cancelled["start_us"]) == ("CANCELLED", None)
    assert cancelled["end_us"] - cancelled["submit_us"] == 20_014_000
    assert (waiting["state"], waiting["start_us"], waiting["end_us"]) == ("PENDING", None, None)


@pytest.mark.parametrize("line", ["10 of running JobId=55 successful 0x1", "9 of running JobId=55 successful 0x1"])
def test_a_signal_that_ends_no_job(tmp_path: Path, line: str) -> None:
    """A warning to save, and a kill of the steps alone: the job goes on until its own end."""
    (row,) = rows(tmp_path, START, f"_job_signal: {line}", "_job_complete: JobId=55 WEXITSTATUS 0")
    assert (row["state"], row["end_us"]) == ("COMPLETED", us("2031-04-05T06:00:20.014"))


def test_a_request_without_nodes_waits(tmp_path: Path) -> None:
    """An interactive job that finds no free node is submitted; hardware is given by the line that names it."""
    asked = "sched: _slurm_rpc_allocate_resources JobId=55 NodeList=(null) usec=600"
    (row,) = rows(tmp_path, asked, START, "_job_complete: JobId=55 WEXITSTATUS 0")
    assert (row["submit_us"], row["start_us"]) == (us("2031-04-05T06:00:00"), us("2031-04-05T06:00:10.007"))
    assert (row["node"], row["cpus"], row["partition"]) == ("m7", 96, "big")
    (row,) = rows(tmp_path, asked.replace("(null)", "m7"))
    assert row["submit_us"] == row["start_us"] == us("2031-04-05T06:00:00")


def test_nodes_that_had_to_boot_are_ready_when_the_controller_says_so(tmp_path: Path) -> None:
    """A job's own processes begin when its nodes are configured; one told of before it starts is no instant of it."""
    ready = "job_time_limit: Configuration for JobId=55 complete"
    (row,) = rows(tmp_path, ready.replace("55", "9"), START, ready, ready)
    assert row["ready_us"] == us("2031-04-05T06:00:20.014")


def test_ids_of_arrays_and_heterogeneous_jobs(tmp_path: Path) -> None:
    """The number in brackets is the key of an array task and of a part."""
    found = rows(tmp_path, START.replace("55", "55_3(58)"), START.replace("55", "50+1(51)"))
    assert [(row["id"], row["raw"]) for row in found] == [("55_3", "58"), ("50+1", "51")]


def test_stamps_with_an_offset_and_without_a_year(tmp_path: Path) -> None:
    """A stamp with its offset is exact; one without a year stands in the year that was told, or in none of its own."""
    path = tmp_path / "slurmctld.log"
    (row,) = jobs(read(path, "slurmctld", f"[2031-04-05T06:00:00.250+02:00] {START}\n"))
    assert (row["start_us"], row["clock"]) == (us("2031-04-05T04:00:00.250"), "exact")
    (row,) = jobs(read(path, "slurmctld", f"[Apr 05 06:00:00] {START}\n", year_hint=2031, zone="UTC"))
    assert row["start_us"] == us("2031-04-05T06:00:00")
    (row,) = jobs(read(path, "slurmctld", f"[Apr 05 06:00:00] {START}\n"))
    assert row["clock"] == "date_nominal"


@pytest.mark.parametrize("day", ["Apr  5 06:{}:00", "2031-04-05T06:{}:00+0000", "2031-04-05T06:{}:00.000000+00:00"])
def test_the_controller_may_write_to_the_log_of_its_system(tmp_path: Path, day: str) -> None:
    """Lines of other services lie between its own."""
    lines = [
        f"{day.format('00')} head1 systemd[1]: Started Slurm controller daemon.\n",
        f"{day.format('01')} head1 slurmctld[4242]: slurmctld: {START}\n",
        f"{day.format('31')} head1 slurmctld[4242]: _job_complete: JobId=55 WEXITSTATUS 0\n",
    ]
    parsed = read(tmp_path / "journal.log", "slurmctld", "".join(lines), year_hint=2031, zone="UTC")
    (row,) = jobs(parsed)
    assert (row["start_us"], row["end_us"]) == (us("2031-04-05T06:01:00"), us("2031-04-05T06:31:00"))
    assert parsed.lines == {"matched": 2, "unmatched": 1}


def test_one_attempt_in_accounting_and_in_the_log_is_counted_once(tmp_path: Path) -> None:
    """Whole seconds there and milliseconds here are one attempt: 8 GPUs for 30 s; the log gives the cause."""
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "slurmctld.log").write_text(
        log(START, "POWER: x", "POWER: x", "requeue job JobId=55 due to failure of node m7")
    )
    head = "JobID|JobIDRaw|State|Submit|Start|End|AllocTRES|NodeList|Cluster\n"
    times = "2031-04-05T05:59:00|2031-04-05T06:00:00|2031-04-05T06:00:30"
    (folder / "sacct.txt").write_text(
        f"{head}55|55|NODE_FAIL|{times}|gres/gpu=8|m7|moon\n".replace("06:00:00", "05:59:59")
    )
    ettlog.ingest([folder], tmp_path / "lake")
    fleet = ettlog.open(tmp_path / "lake")
    (row,) = fleet.sql("SELECT state, reason, gpus, end_us - start_us AS us FROM allocation").to_dicts()
    assert (row["state"], row["reason"], row["gpus"], row["us"]) == ("NODE_FAIL", "failure of node m7", 8, 31_000_000)
    assert fleet.sql("SELECT sum(allocated_gpu_us) AS us FROM ledger")["us"].to_list() == [8 * 31_000_000]


def fleet(tmp_path: Path, **files: str) -> Fleet:
    """Return a lake of some files."""
    folder = tmp_path / "logs"
    folder.mkdir()
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    ettlog.ingest([folder], tmp_path / "lake")
    return ettlog.open(tmp_path / "lake")


def test_an_attempt_that_ends_in_the_next_log_is_not_open(tmp_path: Path) -> None:
    """The log was turned over while the job ran: its end is in the newer file, and so is its next attempt."""
    newer = log("requeue job JobId=55 due to failure of node m7", START).replace("T06", "T07")
    found = fleet(tmp_path, slurmctld_1_log=log(START), slurmctld_log=newer).sql(
        "SELECT state, reason, submit_us, start_us, end_us FROM allocation ORDER BY start_us"
    )
    first, second = found.to_dicts()
    assert (first["state"], first["reason"]) == ("REQUEUED", "failure of node m7")
    assert first["end_us"] == second["submit_us"] == us("2031-04-05T07:00:00")
    assert (second["state"], second["end_us"]) == ("RUNNING", None)


def test_a_job_that_waits_in_the_log_and_ran_by_the_accounting_is_one(tmp_path: Path) -> None:
    """The submission of one job, to the second and to the millisecond."""
    text = "[2031-04-05T06:00:00.480] _slurm_rpc_submit_batch_job: JobId=55 InitPrio=42 usec=300\n"
    head = "JobID|JobIDRaw|State|Submit|Start|End|AllocTRES|NodeList|Cluster\n"
    times = "2031-04-05T06:00:00|2031-04-05T06:10:00|2031-04-05T06:40:00"
    lake = fleet(tmp_path, slurmctld_log=text, sacct_txt=f"{head}55|55|COMPLETED|{times}|gres/gpu=8|m7|moon\n")
    assert lake.sql("SELECT state FROM allocation")["state"].to_list() == ["COMPLETED"]


def test_a_snapshot_without_a_cluster_belongs_to_the_one_that_is_known(tmp_path: Path) -> None:
    """Accounting names the cluster, the snapshot does not: one attempt, waiting there and ended here."""
    show = (
        "JobId=55 JobName=pre UserId=kim(4001) JobState=PENDING Reason=Priority SubmitTime=2031-04-05T06:00:00 "
        "EligibleTime=2031-04-05T06:00:00 StartTime=2031-04-05T09:00:00 EndTime=2031-04-06T09:00:00 NodeList= "
        "ReqTRES=gres/gpu=8\n"
    )
    head = "JobID|JobIDRaw|State|Submit|Start|End|AllocTRES|NodeList|Cluster\n"
    times = "2031-04-05T06:00:00|2031-04-05T06:10:00|2031-04-05T06:40:00"
    lake = fleet(tmp_path, show_txt=show, sacct_txt=f"{head}55|55|COMPLETED|{times}|gres/gpu=8|m7|moon\n")
    assert lake.sql("SELECT state, cluster FROM allocation").rows() == [("COMPLETED", "moon")]


def test_lines_of_other_kinds_are_unmatched(tmp_path: Path) -> None:
    """What is not known is counted by its shape, and lines without a stamp as well."""
    parsed = read(tmp_path / "slurmctld.log", "slurmctld", log(START, "some plugin says hello") + "noise\n\n")
    assert parsed.lines == {"matched": 1, "unmatched": 2, "ignored": 1}
