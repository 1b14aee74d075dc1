"""Rows of the traces of Alibaba: PAI 2020, GPU 2023 (openb), disaggregated serving 2025, spot 2026.

Their times count from the start of the trace. A percent of a GPU (PAI), a thousandth (2023) and a GPU per worker (2026)
become thousandths of GPUs of the whole row.
"""

from __future__ import annotations

from ettlog.parse.sacct_cells import Clock
from ettlog.parse.traces.cells import MILLI, Fields, Row, ceiling, gpus, known, seconds, share, whole


def openb(row: Row, _clock: Clock) -> list[Fields]:
    """Return the row of a pod of 2023. The end is the deletion; a pod that was never scheduled held nothing."""
    of_one, number = whole(row["gpu_milli"]), whole(row["num_gpu"])
    asked = None if of_one is None or number is None else of_one * number
    start = seconds(row["scheduled_time"])
    times = {"submit_us": seconds(row["creation_time"]), "start_us": start, "end_us": seconds(row["deletion_time"])}
    words = {"partition": known(row["qos"]), "state": known(row["pod_phase"])}
    held = gpus(asked if start is not None else 0)
    return [{**_named(row["name"]), **times, **words, **held, **_cpus(row), "gpus_requested": ceiling(asked)}]


def openb_node(row: Row, _clock: Clock) -> list[Fields]:
    """Return the row of a node of 2023."""
    held = {"gpus": whole(row["gpu"]), "partition": known(row["model"]), "nodes": 1}
    return [{"record": "capacity", "node": known(row["sn"]), **held, **_cpus(row)}]


def serving(row: Row, _clock: Clock) -> list[Fields]:
    """Return the row of an instance of 2025. A time that is not there lies outside the trace and stays unknown."""
    times = {
        "submit_us": seconds(row["creation_time"]),
        "start_us": seconds(row["scheduled_time"]),
        "end_us": seconds(row["deletion_time"]),
    }
    words = {"name": known(row["app_name"]), "partition": known(row["role"])}
    wanted = share(row["gpu_request"])
    held = {**gpus(wanted), "gpus_requested": ceiling(wanted), "cpus": whole(row["cpu_request"])}
    return [{**_named(row["instance_sn"]), **times, **words, **held}]


def spot(row: Row, _clock: Clock) -> list[Fields]:
    """Return the row of a job of 2026: submission and length of the run, and neither start nor end nor state."""
    of_one, workers = share(row["gpu_request"]), whole(row["worker_num"])
    wanted = None if of_one is None or workers is None else of_one * workers
    times = {"submit_us": seconds(row["submit_time"]), "elapsed_us": seconds(row["duration"])}
    held = {**gpus(wanted), "gpus_requested": ceiling(wanted)}
    return [{**_named(row["job_name"]), **times, **held, "partition": known(row["job_type"])}]


def spot_node(row: Row, _clock: Clock) -> list[Fields]:
    """Return the row of a node of 2026."""
    held = {"gpus": whole(row["gpu_capacity_num"]), "partition": known(row["gpu_model"]), "nodes": 1}
    return [{"record": "capacity", "node": known(row["node_name"]), "cpus": whole(row["cpu_num"]), **held}]


def pai_job(row: Row, _clock: Clock) -> list[Fields]:
    """Return the row of a job of 2020: its `start_time` is the submission, the run is told by the tasks."""
    times = {"submit_us": seconds(row["start_time"]), "end_us": seconds(row["end_time"])}
    return [{**_named(row["job_name"]), **times, "state": known(row["status"]), "user": known(row["user"])}]


def pai_task(row: Row, _clock: Clock) -> list[Fields]:
    """Return the row of a task of 2020: `plan_gpu` is percent of a GPU for each of its instances."""
    each, instances = share(row["plan_gpu"], MILLI // 100), whole(row["inst_num"])
    wanted = None if each is None else each * (instances or 1)
    words = {"state": known(row["status"]), "task": known(row["task_name"])}
    return [{**_named(row["job_name"]), **_run(row), **words, **gpus(wanted), "record": "task"}]


def pai_instance(row: Row, _clock: Clock) -> list[Fields]:
    """Return the row of an instance of 2020: a run inside a task, whose GPUs the task's row counts."""
    words = {"state": known(row["status"]), "node": known(row["machine"]), "task": known(row["task_name"])}
    return [{**_named(row["job_name"]), **_run(row), **words, "record": "step"}]


def pai_machine(row: Row, _clock: Clock) -> list[Fields]:
    """Return the row of a machine of 2020."""
    held = {"gpus": whole(row["cap_gpu"]), "cpus": whole(row["cap_cpu"]), "partition": known(row["gpu_type"])}
    return [{"record": "capacity", "node": known(row["machine"]), "nodes": 1, **held}]


def _named(text: str) -> Fields:
    name = known(text)
    return {"id": name, "raw": name}


def _run(row: Row) -> Fields:
    return {"start_us": seconds(row["start_time"]), "end_us": seconds(row["end_time"])}


def _cpus(row: Row) -> Fields:
    milli = whole(row["cpu_milli"])
    return {"cpus": None if milli is None or milli % MILLI else milli // MILLI}
