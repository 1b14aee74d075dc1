"""What Slurm's controller says of jobs and nodes, and what each message does to the attempt of a job."""

from __future__ import annotations

import re
from dataclasses import dataclass

SUBMIT, START, READY, END, NOTE, KILL, REFUSED = "submit", "start", "ready", "end", "note", "kill", "refused"
_JOB = r"JobI[dD]=(?P<id>\d{1,18}(?:_(?:\d{1,18}|\*)|\+\d{1,9})?)(?:\((?P<raw>\d{1,18})\))?"


@dataclass(frozen=True, slots=True)
class Message:
    """One kind of message: what it does to a job's attempt, and the state an attempt ends in."""

    kind: str
    does: str
    state: str | None
    pattern: re.Pattern[str]
    head: re.Pattern[str] | None
    """What stands before the first job of the message; None where that may be another job."""


def _message(kind: str, does: str, state: str | None, pattern: str) -> Message:
    text = re.sub(r"\bDONE\b", lambda _: r"_?job_complete: JOB(?: State=0x\w{1,8} NodeCnt=\d{1,9})?", pattern)
    head, _, behind = re.split(r"\b(JOB)\b", text, maxsplit=1)
    wild = "." in head or r"\S" in head
    return Message(kind, does, state, re.compile(head + _JOB + behind), None if wild else re.compile(head))


MESSAGES = (
    _message("submitted", SUBMIT, None, r"_slurm_rpc_submit_batch_(?:pack_|het_)?job:? JOB "),
    # asked for by salloc or srun; without nodes it waits, and another line tells when it gets them
    _message("submitted", SUBMIT, None, r"(?:sched: )?_slurm_rpc_allocate_resources:? JOB NodeList=\(null\)"),
    _message(
        "allocate", START, None,
        r"(?:sched|backfill)\S*: "
        r"(?:Allocate|(?P<asked>_slurm_rpc_allocate_resources:?)|\S*_start_job: Started|Started) JOB"
        r"(?: in (?P<partition>\S+))?(?: (?:on |NodeList=)(?P<nodes>\S+))?(?: #CPUs=(?P<cpus>\d{1,9}))?"
        r"(?: Partition=(?P<queue>\S+))?",
    ),
    _message(
        "preempted", END, "PREEMPTED",
        r"(?:\w+: )?[Pp]reempted JOB has been (?:(?P<again>requeued)|killed|checkpointed|cancel)",
    ),
    _message("preempted", NOTE, None, r"(?:\w+: )?[Pp]reempted JOB "),
    _message("requeue_due_to_failure", END, "REQUEUED", r"requeue job JOB due to failure of node (?P<node>\S+)"),
    _message("killed_on_failed_node", END, "NODE_FAIL", r"Killing JOB on failed node (?P<node>\S+)"),
    _message("batch_missing", END, "REQUEUED", r"Batch JOB missing from (?:batch )?node (?P<node>\S+) .*[Rr]equeu"),
    _message("batch_missing", END, "NODE_FAIL", r"Batch JOB missing from (?:batch )?node (?P<node>\S+)"),
    _message("requeuing", END, "REQUEUED", r"(?:\w+: )?(?:[Rr]equeuing|[Rr]equeued?(?: job)?) JOB"),
    _message("requeuing", END, "REQUEUED", r"_?job_complete: requeue JOB"),
    _message("complete", END, "NODE_FAIL", r"DONE cancelled by node failure"),
    _message("complete", END, "CANCELLED", r"DONE cancelled by"),
    _message("complete", END, "OUT_OF_MEMORY", r"DONE OOM failure"),
    _message("complete", END, "COMPLETED", r"DONE WEXITSTATUS (?P<code>0)\b"),
    _message("complete", END, "FAILED", r"DONE WEXITSTATUS (?P<code>\d{1,5})"),
    _message("complete", END, "FAILED", r"DONE WTERMSIG (?P<signal>\d{1,3})"),
    _message("complete", END, "COMPLETED", r"DONE done"),
    _message("time_limit", END, "TIMEOUT", r"Time limit exhausted for JOB"),
    _message("inactive", END, "TIMEOUT", r"(?:\w+: )?inactivity time limit reached for JOB"),
    _message("preempted", END, "PREEMPTED", r"(?:\w+: )?Preemption GraceTime reached JOB"),
    # only signal 9 ends a job, and that only where its state says so: 1 is running, 4 cancelled, 8 preempted
    _message("preempted", END, "PREEMPTED", r"_?job_signal: 9 of running JOB successful 0x[0-9a-f]{0,7}8\b"),
    _message("cancelled", END, "CANCELLED", r"_?job_signal: 9 of \w+ JOB successful(?! 0x[0-9a-f]{0,7}1\b)"),
    _message("signal", NOTE, None, r"_?job_signal: \d+ of \w+ JOB "),
    _message("ready", READY, None, r"(?:\w+: )?Configuration for JOB (?:is )?complete"),
    _message("completing", NOTE, None, r"cleanup_completing: JOB completion process took "),
    _message("prolog_failed", NOTE, None, r"Prolog launch failure, JOB"),
    _message("kill_request", KILL, None, r"_slurm_rpc_kill_job2?: REQUEST_KILL_JOB JOB(?!\S)"),
    _message("kill_refused", REFUSED, None, r"Security violation, REQUEST_KILL_JOB RPC for JOB "),
    _message("kill_refused", REFUSED, None, r"_slurm_rpc_kill_job2?: job_str_signal\(\) (?:uid=\d+ )?JOB sig"),
    _message("cancelled", END, "CANCELLED", r"_kill_dependent: Job dependency can't be satisfied, cancelling JOB"),
    _message("node_removed", NOTE, None, r"Removing failed node (?P<node>\S+) from JOB"),
    _message("power", NOTE, None, r"POWER: (?:.*\W)?JOB"),
)  # fmt: skip
"""Messages about jobs, in the order in which they are tried."""
_FIRST = re.compile("JobI[dD]=")
_KEPT, _LONGEST = 4096, 128
"""Most beginnings remembered, and the longest."""


class Told:
    """Finds what a text says of a job: only the messages are tried whose words stand before its first job."""

    def __init__(self) -> None:
        """Start without memory."""
        self._known: dict[str, tuple[Message, ...]] = {}

    def match(self, text: str) -> tuple[Message, re.Match[str]] | None:
        """Return the first message that a text begins with, and its match."""
        job = _FIRST.search(text)
        if job is None:
            return None
        head = text[: job.start()]
        for message in self._known.get(head) or self._begun_by(head):
            found = message.pattern.match(text)
            if found:
                return message, found
        return None

    def _begun_by(self, head: str) -> tuple[Message, ...]:
        found = tuple(one for one in MESSAGES if one.head is None or one.head.fullmatch(head))
        if len(head) <= _LONGEST:
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[head] = found
        return found


OF_NODES = (
    ("update_node", re.compile(r"update_node: node (?P<node>\S+) (?:reason set to: (?P<reason>.*)|state set to .*)\Z")),
    ("node_down", re.compile(r"(?:\w+: )?[Nn]odes? (?P<node>\S+) not (?:resumed|responding)(?P<reason>.*)\Z")),
    ("power_down", re.compile(r"powering down node (?P<node>\S+)")),
    ("power", re.compile(r"POWER: (?:power_save: )?.*?(?:nodes? (?P<node>\S+))?\Z")),
)
