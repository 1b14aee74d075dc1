"""Jobs of Kubernetes' operators: what their conditions and counters tell of attempts, and what they do not."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from ettlog.parse import k8s, kueue_log, kueue_watch
from ettlog.parse.parsed import Parsed, ScanOptions

OPTIONS = ScanOptions()
Row = dict[str, Any]


def us(clock: str) -> int:
    """Return microseconds of a time of the day of all examples."""
    return round(datetime.fromisoformat(f"2031-03-09T{clock}+00:00").timestamp() * 1_000_000)


def z(clock: str) -> str:
    """Return a stamp of that day."""
    return f"2031-03-09T{clock}Z"


def condition(kind: str, on: bool, since: str, reason: str = "", **more: str) -> Row:
    """Return a condition."""
    return {"type": kind, "status": str(on), "lastTransitionTime": z(since), "reason": reason, **more}


def made(kind: str, version: str, status: Row, spec: Row | None = None, **meta: Any) -> Row:
    """Return an object made at eight o'clock."""
    head = {"name": "run", "namespace": "ml", "uid": "u1", "creationTimestamp": z("08:00:00"), **meta}
    return {"apiVersion": version, "kind": kind, "metadata": head, "spec": spec or {}, "status": status}


def read(tmp_path: Path, *versions: Row) -> list[Row]:
    """Return the job rows of one object in several versions."""
    path = tmp_path / "objects.json"
    path.write_text("".join(json.dumps(version) + "\n" for version in versions))
    parsed = k8s.read(path, OPTIONS)
    assert parsed.lines == {"matched": len(versions)}
    return [row for row in parsed.allocs.to_pylist() if row["record"] == "job"]


def times(rows: list[Row]) -> list[tuple[int | None, int | None, str | None]]:
    """Return start, end and state of rows."""
    return [(row["start_us"], row["end_us"], row["state"]) for row in rows]


TRAINING = "kubeflow.org/v1"
GPU_POD = {"spec": {"containers": [{"name": "pytorch", "resources": {"limits": {"nvidia.com/gpu": 8}}}]}}


def test_of_two_times_of_a_condition_the_later_counts(tmp_path: Path) -> None:
    """An operator that wrote the creation into every transition time has the true time in the update time."""
    frozen = [
        condition(kind, on, "08:00:00", lastUpdateTime=z(update))
        for kind, on, update in (
            ("Created", True, "08:00:00"),
            ("Running", False, "08:01:30"),
            ("Succeeded", True, "08:20:00"),
        )
    ]
    rows = read(tmp_path, made("PyTorchJob", TRAINING, {"conditions": frozen, "startTime": z("08:00:01")}))
    assert times(rows) == [(us("08:01:30"), us("08:20:00"), "Succeeded")]
    assert rows[0]["submit_us"] == us("08:00:00")


def test_start_time_of_a_training_job_is_no_start(tmp_path: Path) -> None:
    """The field equals the creation in recent releases; the job waited twelve minutes for its pods."""
    run = [condition("Created", True, "08:00:00"), condition("Running", True, "08:12:00")]
    spec = {"pytorchReplicaSpecs": {"Master": {"template": GPU_POD}, "Worker": {"replicas": 3, "template": GPU_POD}}}
    (row,) = read(tmp_path, made("PyTorchJob", TRAINING, {"conditions": run, "startTime": z("08:00:00")}, spec))
    assert (row["start_us"], row["end_us"], row["state"]) == (us("08:12:00"), None, "Running")
    assert (row["gpus"], row["gpus_requested"]) == (32, 32)


def test_a_restart_leaves_an_attempt_without_a_start(tmp_path: Path) -> None:
    """When it broke and when it ran again is shown; when it ran first is lost, and how often it broke unknown."""
    run = [
        condition("Created", True, "08:00:00"),
        condition("Restarting", False, "08:30:00"),
        condition("Running", True, "08:35:00"),
    ]
    rows = read(tmp_path, made("PyTorchJob", TRAINING, {"conditions": run}))
    assert times(rows) == [(None, us("08:30:00"), "Restarting"), (us("08:35:00"), None, "Running")]
    assert rows[0]["restarts"] is None
    assert rows[0]["raw"] != rows[1]["raw"]


def test_a_watch_keeps_every_attempt(tmp_path: Path) -> None:
    """Versions of the object show each run, although the last one has lost all but one."""
    begin = condition("Created", True, "08:00:00")
    versions = [
        [begin, condition("Running", True, "08:05:00")],
        [begin, condition("Running", False, "08:05:00"), condition("Restarting", True, "08:30:00")],
        [begin, condition("Running", True, "08:35:00"), condition("Restarting", False, "08:30:00")],
        [begin, condition("Running", False, "08:35:00"), condition("Failed", True, "08:50:00", "BackoffLimitExceeded")],
    ]
    rows = read(tmp_path, *(made("PyTorchJob", TRAINING, {"conditions": found}) for found in versions))
    assert times(rows) == [(us("08:05:00"), us("08:30:00"), "Restarting"), (us("08:35:00"), us("08:50:00"), "Failed")]
    assert rows[1]["reason"] == "BackoffLimitExceeded"


def test_train_job_shows_no_start(tmp_path: Path) -> None:
    """Trainer v2 tells when the job was let go and how it ended."""
    told = [
        condition("Suspended", False, "08:10:00", "Resumed"),
        condition("Failed", True, "09:00:00", "DeadlineExceeded"),
    ]
    (row,) = read(tmp_path, made("TrainJob", "trainer.kubeflow.org/v1alpha1", {"conditions": told}))
    assert (row["eligible_us"], row["start_us"], row["end_us"]) == (us("08:10:00"), None, us("09:00:00"))
    assert (row["state"], row["reason"]) == ("Failed", "DeadlineExceeded")


def test_job_restarts_its_clock_when_it_resumes(tmp_path: Path) -> None:
    """The start time of a Job is that of its controller: kept as the time it could run, never as hardware."""
    status = {
        "startTime": z("08:40:00"),
        "conditions": [condition("Failed", True, "09:00:00", "BackoffLimitExceeded")],
        "failed": 4,
    }
    (row,) = read(tmp_path, made("Job", "batch/v1", status, {"parallelism": 2, "template": GPU_POD}))
    assert (row["eligible_us"], row["start_us"], row["end_us"]) == (us("08:40:00"), None, us("09:00:00"))
    assert (row["state"], row["reason"], row["gpus"], row["gpus_requested"]) == (
        "Failed",
        "BackoffLimitExceeded",
        None,
        16,
    )


JOBSET = "jobset.x-k8s.io/v1alpha2"


def test_jobset_restarts_of_the_set_and_of_single_jobs_are_added(tmp_path: Path) -> None:
    """`restarts` does not hold the restarts of single Jobs."""
    status = {"restarts": 2, "replicatedJobsStatus": [{"name": "w", "jobRestarts": [0, 1, 3]}]}
    spec = {"replicatedJobs": [{"replicas": 4, "template": {"spec": {"parallelism": 2, "template": GPU_POD}}}]}
    (row,) = read(tmp_path, made("JobSet", JOBSET, status, spec))
    assert (row["restarts"], row["gpus_requested"], row["start_us"], row["state"]) == (6, 64, None, "Active")


def test_jobset_tells_of_its_last_restart(tmp_path: Path) -> None:
    """The condition of 2026 gives the end of one attempt and the start of the next."""
    told = [
        condition("RestartingJobSet", False, "08:42:00", "JobsReady"),
        condition("Completed", True, "09:30:00", "AllJobsCompleted"),
    ]
    rows = read(tmp_path, made("JobSet", JOBSET, {"restarts": 1, "conditions": told}))
    assert times(rows) == [(us("08:42:00"), us("09:30:00"), "Completed")]
    early = made(
        "JobSet",
        JOBSET,
        {"restarts": 1, "conditions": [condition("RestartingJobSet", True, "08:40:00", "DefaultFailurePolicy")]},
    )
    late = made("JobSet", JOBSET, {"restarts": 1, "conditions": told})
    rows = read(tmp_path, early, late)
    assert times(rows) == [(None, us("08:40:00"), "RestartingJobSet"), (us("08:42:00"), us("09:30:00"), "Completed")]


KUEUE = "kueue.x-k8s.io/v1beta2"
OWNED = {"ownerReferences": [{"kind": "JobSet", "name": "owner", "controller": True}]}


def test_workload_admission_ends_when_it_is_taken_back(tmp_path: Path) -> None:
    """Evicted comes a second before Admitted turns false, and Running is not proved by either."""
    held = [condition("QuotaReserved", True, "08:01:00"), condition("Admitted", True, "08:01:05")]
    gone = [
        condition("Evicted", True, "08:20:00", "Preempted"),
        condition("Admitted", False, "08:20:01", "NoReservation"),
    ]
    spec = {"podSets": [{"count": 4, "template": GPU_POD}]}
    rows = read(
        tmp_path,
        made("Workload", KUEUE, {"conditions": held}, spec, **OWNED),
        made("Workload", KUEUE, {"conditions": [held[0], *gone]}, spec, **OWNED),
    )
    assert times(rows) == [(us("08:01:05"), us("08:20:01"), "Evicted")]
    assert (rows[0]["id"], rows[0]["task"], rows[0]["reason"], rows[0]["gpus"]) == ("owner", "run", "Preempted", 32)


def test_workload_that_was_requeued_does_not_say_when_it_began(tmp_path: Path) -> None:
    """The seconds of past admissions are those of several times: they are kept as a length, not made into a start."""
    status = {
        "conditions": [condition("Admitted", False, "09:00:00"), condition("Finished", True, "09:00:00", "Succeeded")],
        "accumulatedPastExecutionTimeSeconds": 1200, "requeueState": {"count": 2},
    }  # fmt: skip
    (row,) = read(tmp_path, made("Workload", KUEUE, status))
    assert (row["start_us"], row["end_us"], row["elapsed_us"], row["state"]) == (
        None,
        us("09:00:00"),
        1_200_000_000,
        "Succeeded",
    )


def test_a_late_write_does_not_put_a_condition_back(tmp_path: Path) -> None:
    """An older time of a condition in a later row of a watch is not believed."""
    shown = "map[lastTransitionTime:{} message:told so observedGeneration:1 reason:R status:{} type:{}]"

    def line(second: int, *told: tuple[str, str, str]) -> str:
        found = " ".join(shown.format(z(at), on, kind) for kind, on, at in told)
        return f"2031-03-09 13:00:{second:02d}.100000 MODIFIED   load-1   true     [{found}]\n"

    text = "2031-03-09 13:00:00.100000 EVENT   NAME   ACTIVE   CONDITIONS\n"
    text += "2031-03-09 13:00:00.2 ADDED   load-1   true     <none>\n"
    text += line(1, ("Admitted", "True", "08:00:01")) + line(30, ("Admitted", "False", "08:00:30"))
    text += line(31, ("Admitted", "True", "08:00:01")) + line(59, ("Admitted", "True", "08:00:59")) + "noise\n"
    path = tmp_path / "watch.txt"
    path.write_text(text)
    assert kueue_watch.sniff(text.encode(), OPTIONS)
    parsed = kueue_watch.read(path, OPTIONS)
    rows = [row for row in parsed.allocs.to_pylist() if row["record"] == "job"]
    assert [(row["start_us"], row["end_us"]) for row in rows] == [
        (us("08:00:01"), us("08:00:30")),
        (us("08:00:59"), None),
    ]
    assert parsed.lines == {"matched": 5, "ignored": 1, "bad_record": 1}
    assert "the stamp in front of a row is 18000 s ahead of UTC and is not used" in parsed.inferences


def test_controller_lines_that_repeat_count_once(tmp_path: Path) -> None:
    """Equal events of one object within a second are one; later ones are another; plain lines are other programs'."""

    def line(clock: str, reason: str) -> str:
        about = {"kind": "Workload", "namespace": "ml", "name": "jobset-exp-7-1a2b3", "uid": "u"}
        head = {
            "level": "debug",
            "ts": z(clock),
            "logger": "events",
            "caller": "recorder/recorder.go:104",
            "msg": "told",
        }
        return json.dumps(head | {"type": "Normal", "object": about, "reason": reason}, separators=(",", ":")) + "\n"

    text = (
        line("08:00:00.000000001", "Admitted")
        + line("08:00:00.5", "Admitted")
        + "2031/03/09 08:00:01 http: TLS error\n"
    )
    text += line("08:10:00", "Admitted") + '{"level":"info","ts":"then","caller":"x.go:1"}\n'
    path = tmp_path / "log"
    path.write_text(text)
    assert kueue_log.sniff(text.encode(), OPTIONS)
    parsed: Parsed = kueue_log.read(path, OPTIONS)
    assert parsed.lines == {"matched": 2, "duplicate": 1, "ignored": 1, "bad_time": 1}
    assert {row["id"] for row in parsed.allocs.to_pylist()} == {"exp-7"}


def test_volcano_phases(tmp_path: Path) -> None:
    """One time per phase; where Running is not told the length of the run is."""
    phases = [
        {"status": phase, "lastTransitionTime": z(at)}
        for phase, at in (("Pending", "08:00:02"), ("Running", "08:04:00"), ("Completed", "08:54:00"))
    ]
    status = {
        "state": {"phase": "Completed", "lastTransitionTime": z("08:54:00")},
        "conditions": phases,
        "retryCount": 2,
    }
    spec = {
        "queue": "prod",
        "tasks": [{"replicas": 2, "template": GPU_POD}, {"replicas": 1, "template": {"spec": {"containers": [{}]}}}],
    }
    (row,) = read(tmp_path, made("Job", "batch.volcano.sh/v1alpha1", status, spec))
    assert (row["start_us"], row["end_us"], row["restarts"], row["gpus"], row["partition"]) == (
        us("08:04:00"),
        us("08:54:00"),
        2,
        16,
        "prod",
    )
    status = {"state": {"phase": "Failed", "lastTransitionTime": z("09:10:00")}, "runningDuration": "1h5m0.5s"}
    (row,) = read(tmp_path, made("Job", "batch.volcano.sh/v1alpha1", status))
    assert row["start_us"] == us("08:04:59.5")


@pytest.mark.parametrize("info", [{}, {"rayJobInfo": {"startTime": z("08:09:00"), "endTime": z("08:39:00")}}])
def test_rayjob_start_time_is_that_of_the_set_up(tmp_path: Path, info: Row) -> None:
    """The try begins to be set up long before it runs; each cluster is another try."""
    status = {"jobStatus": "SUCCEEDED", "jobDeploymentStatus": "Complete", "startTime": z("08:01:00"),
              "endTime": z("08:40:00"), "rayClusterName": "run-b", "failed": 1, **info}  # fmt: skip
    first = made(
        "RayJob", "ray.io/v1", {"jobStatus": "FAILED", "jobDeploymentStatus": "Retrying", "rayClusterName": "run-a"}
    )
    rows = read(tmp_path, first, made("RayJob", "ray.io/v1", status))
    assert [(row["raw"], row["state"]) for row in rows] == [("u1/run-a", "FAILED"), ("u1/run-b", "SUCCEEDED")]
    assert rows[1]["eligible_us"] == us("08:01:00")
    assert (rows[1]["start_us"], rows[1]["end_us"]) == (
        (us("08:09:00"), us("08:39:00")) if info else (None, us("08:40:00"))
    )


def test_a_train_job_asks_for_the_gpus_of_all_its_nodes(tmp_path: Path) -> None:
    """Two nodes of eight GPUs; where the runtime decides, nothing is told."""
    trainer = {"numNodes": 2, "resourcesPerNode": {"limits": {"nvidia.com/gpu": "8"}}}
    (row,) = read(tmp_path, made("TrainJob", "trainer.kubeflow.org/v1alpha1", {}, {"trainer": trainer}))
    assert row["gpus_requested"] == 16
    (row,) = read(tmp_path, made("TrainJob", "trainer.kubeflow.org/v1alpha1", {}, {"trainer": {"numNodes": 2}}))
    assert row["gpus_requested"] is None
