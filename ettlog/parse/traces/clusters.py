"""Rows of the traces of Helios, Acme (Seren, Kalos), Philly's derived files and MIT SuperCloud."""

from __future__ import annotations

import re

from ettlog.parse.sacct_cells import Clock
from ettlog.parse.traces.cells import SECOND, Fields, Row, end_after, gpus, known, seconds, share, stamp, whole

DAY = 86_400 * SECOND
SLURM_STATES = (
    "PENDING", "RUNNING", "SUSPENDED", "COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED",
    "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY",
)  # fmt: skip
"""Names of the numbers that Slurm's data base has for states."""
NO_TASK = 4_294_967_294
_TRES = re.compile(r"(?:^|,)(\d{1,6})=(\d{1,12})")
_CPU, _GPU, _TYPED_GPU = 1, 1001, 1002


def slurm_csv(row: Row, clock: Clock) -> list[Fields]:
    """Return the row of a job of Helios, Seren or Kalos: columns of equal names, times local or with their offset.

    A printed duration that holds the queue is no run time: neither it nor the GPU time made from it is used.
    """
    submit, start = stamp(row["submit_time"], clock), stamp(row["start_time"], clock)
    end = end_after(start, row["end_time"], clock)
    number = known(row["job_id"])
    times: Fields = {"submit_us": submit, "start_us": start, "end_us": end}
    words = {
        "state": known(row["state"]),
        "user": known(row["user"]),
        "partition": known(row.get("vc", row.get("type", ""))),
    }
    held = {"nodes": whole(row["node_num"]), "cpus": whole(row["cpu_num"]), **gpus(share(row["gpu_num"]))}
    return [{"id": number, "raw": number, **times, **words, **held, **_printed(row, times)}]


def _printed(row: Row, times: Fields) -> Fields:
    """Return the printed duration and GPU time where they are those of the run."""
    length, spent = seconds(row["duration"]), seconds(row.get("gpu_time", ""))
    if None in times.values() or length in (None, times["end_us"] - times["start_us"]):
        return {"elapsed_us": length, "gpu_us": spent}
    return {"queue_counted": True, "elapsed_us": None, "not_run_us": length, "not_gpu_us": spent}


def run_time(row: Row, _clock: Clock) -> list[Fields]:
    """Return the row of one run time without a job."""
    return [{"record": "run", "elapsed_us": seconds(row["runtime"])}]


def nodes_by_cluster(row: Row, _clock: Clock) -> list[Fields]:
    """Return the row of the nodes of a virtual cluster of Philly."""
    return [{"record": "capacity", "partition": known(row["vc"]), "nodes": whole(row["node num"])}]


def nodes_by_minute(row: Row, clock: Clock) -> list[Fields]:
    """Return what Philly had and used in a minute: nodes."""
    at = stamp(row["time"], clock)
    return [
        {"record": "capacity", "start_us": at, "nodes": whole(row["total"])},
        {"record": "use", "start_us": at, "nodes": whole(row["active"])},
    ]


def gpus_by_minute(row: Row, clock: Clock) -> list[Fields]:
    """Return what a cluster of Helios had and used in a minute: GPUs and jobs."""
    at = stamp(row["time"], clock)
    count = whole(row["running_job_num"])
    return [
        {"record": "capacity", "start_us": at, "gpus": whole(row["total_gpu_num"])},
        {"record": "use", "start_us": at, "gpus": whole(row["running_gpu_num"]), "count": count},
    ]


def gpus_by_day(row: Row, clock: Clock) -> list[Fields]:
    """Return the GPUs that each virtual cluster of Helios had on a day; a column each."""
    at = stamp(row["date"] + "T00:00:00", clock)
    end = None if at is None else at + DAY
    counts = [(name, whole(cell)) for name, cell in row.items() if name != "date"]
    day = {"record": "capacity", "start_us": at, "end_us": end}
    return [{**day, "partition": name, "gpus": count} for name, count in counts if count is not None]


def summary(row: Row, _clock: Clock) -> list[Fields]:
    """Return what a publisher added up for a cluster: jobs, GPU jobs, and GPU jobs and their GPU time by end."""
    base = {"record": "summary", "cluster": known(row["id"])}
    jobs = whole(row["gpu_job_num"])
    rows: list[Fields] = [{**base, "count": whole(row["job_num"])}, {**base, "partition": "gpu", "count": jobs}]
    for end in ("complete", "cancel", "fail"):
        rate, spent = share(row[f"{end}_rate_gpu"]), seconds(row[f"{end}_gpu_time"])
        count = None if rate is None or jobs is None else (rate * jobs + 500) // 1000
        rows.append({**base, "partition": "gpu", "state": end, "count": count, "gpu_us": spent})
    if "gpu_num" in row:
        rows.append({**base, "record": "capacity", "gpus": whole(row["gpu_num"])})
    return rows


def supercloud(row: Row, _clock: Clock) -> list[Fields]:
    """Return the row of a job of MIT SuperCloud: Slurm's data base, seconds since 1970, states as numbers."""
    tres = {int(key): int(value) for key, value in _TRES.findall(row["tres_alloc"])}
    start, end, code = _epoch(row["time_start"]), _epoch(row["time_end"]), whole(row.get("exit_code", ""))
    nodes = whole(row.get("nodes_alloc", ""))
    if start == end and not nodes:
        start = None
    held = {"gpus": tres.get(_TYPED_GPU, tres.get(_GPU, 0)) if tres else None, "cpus": tres.get(_CPU), "nodes": nodes}
    times = {"submit_us": _epoch(row["time_submit"]), "start_us": start, "end_us": end}
    words = {
        "state": _state(row["state"]),
        "partition": known(row.get("partition", "")),
        "user": known(row.get("id_user", "")),
    }
    exits = {} if code is None else {"exit_code": code >> 8 & 255, "exit_signal": code & 127}
    eligible = {"eligible_us": _epoch(row.get("time_eligible", ""))}
    return [{**_array(row), **times, **eligible, **words, **held, **exits}]


def _array(row: Row) -> Fields:
    raw, array, task = known(row["id_job"]), whole(row.get("id_array_job", "")), whole(row.get("id_array_task", ""))
    name = f"{array}_{task}" if array and task is not None and task < NO_TASK else raw
    return {"id": name, "raw": raw}


def _epoch(text: str) -> int | None:
    return seconds(text) or None


def _state(text: str) -> str | None:
    number = whole(text)
    if number is None:
        return known(text)
    return SLURM_STATES[number & 255] if number >= 0 and number & 255 < len(SLURM_STATES) else text
