"""The YAML of kubectl, and Kubernetes objects whose parts are noise or of another type than they should be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ettlog.parse import k8s, k8s_yaml
from tests.examples import few
from tests.test_k8s import OPTIONS, RAN, event, pod, read, rows, us

YAML = """\
apiVersion: v1
kind: Pod
metadata:
  creationTimestamp: "2031-03-09T08:00:00Z"
  annotations:
    note: |
      kind: not a key
      end
    long: a text that goes
      on here
  labels: {}
  name: run-0
  namespace: 'ml'
  ownerReferences:
  - apiVersion: batch/v1
    controller: true
    kind: Job
    name: run   # the job
spec:
  containers:
    - name: main
      args: ["--lr", "0.1"]
      resources:
        limits:
          nvidia.com/gpu: 4
status:
  phase: Running
  conditions:
  - lastTransitionTime: "2031-03-09T08:02:00Z"
    status: "True"
    type: PodScheduled
"""


def test_yaml_of_kubectl(tmp_path: Path) -> None:
    """Lists at the indent of their key and deeper, literal blocks, folded text, quotes, comments; two documents."""
    parsed = read(tmp_path, YAML + "---\n" + YAML.replace("run-0", "run-1"))
    found = [(row["id"], row["task"], row["gpus"], row["line"]) for row in rows(parsed, "task")]
    assert found == [("run", "run-0", 4, 1), ("run", "run-1", 4, YAML.count("\n") + 1)]
    assert rows(parsed, "task")[0]["start_us"] == us("2031-03-09T08:02:00+00:00")


def test_yaml_scalars() -> None:
    """What words and numbers without quotes are."""
    text = "a: true\nb: ~\nc: 12\nd: 1.5\ne: '12'\nf: \"x\\ny\"\ng:\n- - 1\n  - 2\n-\n  h: {}\n"
    (found,) = k8s_yaml.documents(enumerate(text.splitlines(), 1))
    expected = {"a": True, "b": None, "c": 12, "d": 1.5, "e": "12", "f": "x\ny", "g": [[1, 2], {"h": {}}]}
    assert found.found == expected


@pytest.mark.parametrize(
    "text",
    [
        "kind: Pod\n  odd: 1\n bad\n",
        "- " * 400 + "x\n",
        "apiVersion: v1\nkind: Pod\nmetadata: {{{{\n",
        "kind: Pod\nmetadata:\n- a\n",
    ],
)
def test_yaml_of_other_kinds_is_a_bad_record(tmp_path: Path, text: str) -> None:
    """What is no YAML of kubectl's is counted and makes no row."""
    path = tmp_path / "x.yaml"
    path.write_text(text)
    parsed = k8s.read(path, OPTIONS)
    assert set(parsed.lines) <= {"bad_record", "ignored"}
    assert parsed.allocs.num_rows == 0


@settings(max_examples=few(150), deadline=None)
@given(st.binary(max_size=300), st.sampled_from(["json", "yaml", "events"]))
def test_any_bytes_are_read_without_an_error(tmp_path_factory: pytest.TempPathFactory, noise: bytes, form: str) -> None:
    """Noise in place of a part of an object gives outcomes, never an exception."""
    whole = {
        "yaml": YAML.encode(),
        "json": json.dumps(pod(**RAN), indent=1).encode(),
        "events": json.dumps(event("x")).encode(),
    }[form]
    cut = len(noise) * 7 % len(whole)
    path = tmp_path_factory.mktemp("noise") / "x"
    path.write_bytes(whole[:cut] + noise + whole[cut + len(noise) :])
    parsed = k8s.read(path, OPTIONS)
    assert sum(parsed.lines.values()) == parsed.n_lines
