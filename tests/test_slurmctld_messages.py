"""Which message a line of Slurm's controller is: the first one that matches, whichever are tried."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from ettlog.parse.slurmctld_messages import MESSAGES, Told

BEGIN = (
    "", "sched: Allocate ", "sched/backfill: _start_job: Started ", "sched: _slurm_rpc_allocate_resources ",
    "_job_complete: ", "_slurm_rpc_submit_batch_job: ", "job_complete: requeue ", "_job_signal: 9 of running ",
    "job_signal: 15 of pending ", "requeue job ", "Requeuing ", "preempt: Requeued job ", "Killing ", "Batch ",
    "Preempted ", "x: preempted ", "POWER: ", "POWER: no more nodes for job ", "Time limit exhausted for ",
    "prolog_running_decr: Configuration for ", "_slurm_rpc_kill_job: REQUEST_KILL_JOB ",
    "Security violation, REQUEST_KILL_JOB RPC for ", "anything else of ",
    "_slurm_rpc_kill_job2: job_str_signal() uid=7 ", "sched: x JobId=3: Allocate ", "Removing failed node m7 from ",
)  # fmt: skip
JOB = ("JobId=55", "JobID=55_7(58)", "JobId=55_*", "JobId=55+1(57) ", "JobId= ", "JobI", "")
END = (
    "", " ", " NodeList=m7 #CPUs=8 Partition=big", " NodeList=(null)", " WEXITSTATUS 0", " WEXITSTATUS 12",
    " WTERMSIG 9", " done", " OOM failure", " cancelled by node failure", " cancelled by interactive user",
    " has been requeued", " due to failure of node m7", " on failed node m7",
    " missing from node m7 (not found BatchStartTime) Requeuing JobId=55", " successful 0x8004", " successful 0x1",
    " successful", " is complete", " complete", " uid 7", " State=0x1 NodeCnt=2 done", " Requeuing JobId=9",
    " POWER: JobId=9",
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(BEGIN), st.sampled_from(JOB), st.sampled_from(END)), min_size=1, max_size=12))
def test_first_message_that_matches_is_found(parts: list[tuple[str, str, str]]) -> None:
    """Whatever was read before, the message and what it holds are those of trying all in their order."""
    told = Told()
    for text in map("".join, [*parts, *parts]):
        tried = ((one, one.pattern.match(text)) for one in MESSAGES)
        wanted = next(((one, match.groupdict()) for one, match in tried if match), None)
        found = told.match(text)
        assert (found and (found[0], found[1].groupdict())) == wanted


def test_every_message_names_its_job() -> None:
    """A message whose pattern holds no job could never be told of one."""
    assert [one.kind for one in MESSAGES if "id" not in one.pattern.groupindex] == []


def test_power_saving_tells_of_a_job_anywhere_on_its_line() -> None:
    """The job stands behind other words, or at once."""
    for text in ("POWER: no more nodes to resume for job JobId=55", "POWER: JobId=55 waits"):
        found = Told().match(text)
        assert found is not None
        assert (found[0].kind, found[1]["id"]) == ("power", "55")
