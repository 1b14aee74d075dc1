"""The accounting of a simulated fleet, as `sacct --parsable2` prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ettlog.simulate.words import SECOND, End
from ettlog.windows import moment

if TYPE_CHECKING:
    from ettlog.simulate.plan import Job, Start
    from ettlog.simulate.run import Simulated

HEAD = "JobID|JobIDRaw|JobName|Cluster|Partition|State|Submit|Eligible|Start|End|ElapsedRaw|NNodes|AllocTRES|ExitCode"
STATES = {
    End.done: "COMPLETED", End.planned: "COMPLETED", End.failed: "FAILED", End.hung: "CANCELLED by 1003",
    End.node: "NODE_FAIL", End.preempted: "PREEMPTED",
}  # fmt: skip


def accounting(fleet: Simulated, shift_us: int = 0) -> dict[str, str]:
    """Return name -> text of one dump a cluster, in order of submission; stamps are UTC and `shift_us`."""
    rows: dict[str, list[tuple[int, str]]] = {}
    for job in fleet.plans:
        rows.setdefault(fleet.models[job.model].cluster, []).extend(
            _job(job, fleet.models[job.model].cluster, shift_us)
        )
    return {
        f"sacct-{cluster}.txt": "\n".join([HEAD, *(text for _, text in sorted(found))]) + "\n"
        for cluster, found in rows.items()
    }


def _job(job: Job, cluster: str, shift_us: int) -> list[tuple[int, str]]:
    return [
        (one.submit_us, text) for one in job.starts if one.releases for text in _records(job, one, cluster, shift_us)
    ]


def _records(job: Job, one: Start, cluster: str, shift_us: int) -> list[str]:
    """Return the records of an allocation and its steps; its last start says how it ended."""
    number, nodes = 100_000 + job.number * 100 + one.allocation, max(1, one.gpus // 8)
    submit, start, end = (
        f"{moment(us + shift_us):%Y-%m-%dT%H:%M:%S}" for us in (one.submit_us, one.granted_us, one.done_us)
    )
    state, code = STATES[one.end], "0:0" if one.end in (End.done, End.planned, End.preempted) else "1:0"
    tres = f"billing={one.gpus},cpu={nodes * 96},gres/gpu={one.gpus},mem={nodes * 1800}G,node={nodes}"
    spell = f"{start}|{end}|{(one.done_us - one.granted_us) // SECOND}|{nodes}|{tres}|{code}"
    return [
        f"{number}|{number}|{job.name}|{cluster}|train|{state}|{submit}|{submit}|{spell}",
        f"{number}.batch|{number}.batch|batch|{cluster}||{state}|{start}|{start}|{spell}",
        f"{number}.0|{number}.0|train.sh|{cluster}||{state}|{start}|{start}|{spell}",
    ]
