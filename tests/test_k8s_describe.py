"""`kubectl describe pod`: instants with their zone, runs of a container, GPUs; what it does not tell."""

from __future__ import annotations

import random
from pathlib import Path

from tests.scheduling import read, us

POD = """Name:             finch-worker-{number}
Namespace:        ml
Priority:         0
Node:             {node}
Start Time:       Sun, 09 Mar 2031 01:00:00 -0700
Labels:           training.kubeflow.org/job-name=finch
                  training.kubeflow.org/replica-index={number}
Annotations:      note: kept by nobody
Status:           {status}
Controlled By:    PyTorchJob/finch
Init Containers:
  wait:
    State:          Terminated
      Reason:       Completed
      Exit Code:    0
      Started:      Sun, 09 Mar 2031 01:00:05 -0700
      Finished:     Sun, 09 Mar 2031 01:00:09 -0700
    Restart Count:  0
Containers:
  main:
    Image:          registry.example.org/train:1
    State:          Terminated
      Reason:       OOMKilled
      Exit Code:    137
      Started:      Sun, 09 Mar 2031 01:02:00 -0700
      Finished:     Sun, 09 Mar 2031 02:02:00 -0700
    Last State:     Terminated
      Reason:       Error
      Exit Code:    1
      Started:      Sun, 09 Mar 2031 01:00:30 -0700
      Finished:     Sun, 09 Mar 2031 01:01:30 -0700
    Ready:          False
    Restart Count:  1
    Limits:
      nvidia.com/gpu:  8
    Requests:
      cpu:             64
      nvidia.com/gpu:  8
    Environment:
      URL:  http://example.org
Conditions:
  Type              Status
  PodScheduled      True
Events:
  Type     Reason     Age   From               Message
  ----     ------     ----  ----               -------
  Normal   Scheduled  65m   default-scheduler  Successfully assigned ml/finch-worker-{number} to gpu-a
"""


def pod(number: int = 0, node: str = "gpu-a/10.0.0.1", status: str = "Failed") -> str:
    """Return what is printed of one pod."""
    return POD.format(number=number, node=node, status=status)


def test_a_pod_is_read_with_its_runs(tmp_path: Path) -> None:
    """01:00 in a zone seven hours behind is 08:00: placed then, first run 30 seconds later, ended at 09:02."""
    parsed = read(tmp_path / "pods.txt", "kubernetes_describe", pod() + "\n\n" + pod(1))
    rows = parsed.allocs.to_pylist()
    tasks = [row for row in rows if row["record"] == "task"]
    assert [(row["id"], row["task"], row["node"], row["gpus"], row["restarts"]) for row in tasks] == [
        ("finch", "finch-worker-0", "gpu-a", 8, 1), ("finch", "finch-worker-1", "gpu-a", 8, 1),
    ]  # fmt: skip
    assert [tasks[0][key] for key in ("submit_us", "start_us", "ready_us", "end_us", "exit_code", "reason")] == [
        None, us("2031-03-09T08:00:00"), us("2031-03-09T08:00:30"), us("2031-03-09T09:02:00"), 137, "OOMKilled",
    ]  # fmt: skip
    runs = [row for row in rows if row["record"] == "step" and row["task"] == "finch-worker-0/main"]
    assert [(row["start_us"], row["exit_code"]) for row in runs] == [
        (us("2031-03-09T08:02:00"), 137), (us("2031-03-09T08:00:30"), 1),
    ]  # fmt: skip
    lines = pod().count("\n")
    assert {key: count for key, count in parsed.lines.items() if count} == {"matched": 2 * lines + 2}


def test_a_pod_that_waits_holds_nothing(tmp_path: Path) -> None:
    """Without a start time there is no placement, and no GPU is held; what it asks for is known."""
    text = "".join(
        line + "\n"
        for line in pod(node="<none>", status="Pending").splitlines()
        if "Start Time" not in line and "State" not in line and not line.startswith("      ")
    ).replace("    Limits:\n", "    Limits:\n      nvidia.com/gpu:  8\n")
    (row,) = [
        row
        for row in read(tmp_path / "p.txt", "kubernetes_describe", text).allocs.to_pylist()
        if row["record"] == "task"
    ]
    assert [row[key] for key in ("start_us", "end_us", "node", "gpus", "gpus_requested")] == [None, None, None, 0, 8]


def test_whatever_is_cut_out_of_it_is_read_without_an_error(tmp_path: Path) -> None:
    """Bytes lost and put elsewhere: every line is counted once, and nothing is raised."""
    dice = random.Random(7)
    text = pod() + pod(1)
    for number in range(60):
        at, size = dice.randrange(200, len(text)), dice.randrange(1, 200)
        damaged = text[:at] + text[at + size :] + text[at : at + size // 2]
        parsed = read(tmp_path / f"{number}.txt", "kubernetes_describe", damaged)
        assert sum(parsed.lines.values()) == parsed.n_lines
