"""What the parts of Kubernetes objects mean: instants, conditions, owners, GPUs asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from ettlog.parse.gather import exact

Object = Mapping[str, Any]
Fields = dict[str, Any]

MAX_TASKS = 1 << 20
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?\s?(?:Z|\+00:?00)\Z")
_COUNT = re.compile(r"\d{1,9}\Z")
_SHARE = re.compile(r"/(?:mig-|gpu\.shared|gpu-?mem|gpu-?core|vgpu|vcuda)")
"""Names of resources that are slices of a GPU: how much of it is held is not counted in whole ones."""
_GPUS = ("aws.amazon.com/neuron", "aws.amazon.com/neuroncore", "google.com/tpu", "habana.ai/gaudi")
JOB_LABELS = (
    "jobset.sigs.k8s.io/jobset-name",
    "training.kubeflow.org/job-name",
    "pytorch-job-name",
    "trainer.kubeflow.org/trainjob-name",
    "volcano.sh/job-name",
    "ray.io/originated-from-cr-name",
    "ray.io/cluster",
    "leaderworkerset.sigs.k8s.io/name",
    "batch.kubernetes.io/job-name",
    "job-name",
)
"""Labels that name the job of a pod, the outermost owner first."""
ATTEMPT_LABELS = ("jobset.sigs.k8s.io/restart-attempt",)


class Condition(NamedTuple):
    """One condition of an object: since when it is what it is."""

    type: str
    on: bool
    at: int | None
    """Microseconds since 1970 UTC."""
    reason: str
    message: str


def at(record: Object, *path: str) -> Any:
    """Return what lies at a path of keys, None where the path ends early."""
    found: Any = record
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def part(record: Object, *path: str) -> Object:
    """Return the object at a path, an empty one where there is none."""
    found = at(record, *path)
    return found if isinstance(found, Mapping) else {}


def parts(record: Object, *path: str) -> list[Object]:
    """Return the objects of the list at a path."""
    found = at(record, *path)
    return [item for item in found if isinstance(item, Mapping)] if isinstance(found, list) else []


def word(record: Object, *path: str) -> str | None:
    """Return the text at a path, None where there is none."""
    found = at(record, *path)
    return found if isinstance(found, str) and found else None


def count(record: Object, *path: str) -> int | None:
    """Return the whole number at a path (3 or "3"), None for anything else."""
    found = at(record, *path)
    if isinstance(found, str) and _COUNT.match(found):
        return int(found)
    return found if isinstance(found, int) and not isinstance(found, bool) and abs(found) < 1 << 31 else None


def micros(text: object) -> int | None:
    """Return the microseconds of an RFC 3339 stamp in UTC, cut below a microsecond; None for what is no such stamp."""
    match = _STAMP.match(text) if isinstance(text, str) and len(text) < 50 else None
    if match is None:
        return None
    try:
        gap = datetime.fromisoformat(f"{match[1]}T{match[2]}+00:00") - datetime(1970, 1, 1, tzinfo=UTC)
    except ValueError:
        return None
    found = exact((gap.days * 86_400 + gap.seconds) * 1_000_000 + int((match[3] or "0").ljust(6, "0")[:6]))
    return found.us if found else None


def moment(record: Object, *path: str) -> int | None:
    """Return the instant at a path."""
    return micros(at(record, *path))


def conditions(record: Object) -> list[Condition]:
    """Return the conditions of an object. Of two times the later counts: old operators froze one of them."""
    return [_condition(found) for found in parts(record, "status", "conditions") if word(found, "type")]


def _condition(found: Object) -> Condition:
    times = [micros(found.get(name)) for name in ("lastTransitionTime", "lastUpdateTime")]
    return Condition(
        str(found["type"]),
        str(found.get("status")) in ("True", "true"),
        max((time for time in times if time is not None), default=None),
        word(found, "reason") or "",
        word(found, "message") or "",
    )


@dataclass
class Story:
    """One object in all versions of it that a source shows."""

    line: int
    newest: Object
    marks: dict[Condition, None] = field(default_factory=dict)
    """Every condition that any version had, in the order they were seen."""
    deleted_us: int | None = None

    def see(self, version: Object, deleted: bool = False) -> None:
        """Take the next version."""
        self.newest = version
        for condition in conditions(version):
            if not _is_stale(self.marks, condition):
                self.marks.setdefault(condition)
        if deleted:
            self.deleted_us = moment(version, "metadata", "deletionTimestamp")

    def times(self, *types: str, on: bool | None = None) -> list[Condition]:
        """Return the dated conditions of these types in order of time."""
        found = [mark for mark in self.marks if mark.type in types and mark.at is not None and on in (None, mark.on)]
        return sorted(found, key=lambda mark: mark.at or 0)

    def last(self, *types: str) -> Condition | None:
        """Return the newest dated condition of these types that is true."""
        found = self.times(*types, on=True)
        return found[-1] if found else None

    @property
    def created_us(self) -> int | None:
        """Return the creation: of the object, else the earliest time in it."""
        told = moment(self.newest, "metadata", "creationTimestamp")
        return told if told is not None else min((mark.at for mark in self.marks if mark.at is not None), default=None)


def _is_stale(marks: Iterable[Condition], new: Condition) -> bool:
    """Tell whether a condition is older than one of its type that was seen: a late write put it back."""
    return any(old.type == new.type and (old.at or 0) > (new.at or 0) for old in marks)


class Cycle(NamedTuple):
    """One time that an object held hardware; `start` is None where it is lost, `end` while it holds it."""

    start: int | None
    end: int | None
    why: str


def cycles(marks: Iterable[tuple[int, bool, str]]) -> Iterator[Cycle]:
    """Pair instants at which hardware was taken (True) and given back (False); they come in order of time."""
    held: int | None = None
    seen = False
    for time, on, why in marks:
        if on:
            held, seen = time if held is None else held, True
        elif held is not None or not seen:
            yield Cycle(held, time, why)
            held, seen = None, True
    if held is not None:
        yield Cycle(held, None, "")


def base(record: Object) -> Fields:
    """Return the columns that every row of an object has."""
    name = word(record, "metadata", "name")
    raw = word(record, "metadata", "uid") or name
    return {"id": name, "raw": raw, "name": name, "partition": word(record, "metadata", "namespace")}


def owner(record: Object) -> tuple[str | None, str | None]:
    """Return kind and name of the controlling owner."""
    refs = parts(record, "metadata", "ownerReferences")
    ref = next((found for found in refs if found.get("controller") is True), refs[0] if refs else {})
    return word(ref, "kind"), word(ref, "name")


def mark(story: Story, found: Condition, **fields: Any) -> Fields:
    """Return the row of a condition."""
    kind = word(story.newest, "kind")
    state = found.type if found.on else f"{found.type}=False"
    said = {"state": state, "reason": found.reason or found.message, "start_us": found.at, "end_us": found.at}
    return {**base(story.newest), "record": "mark", "name": kind, **said, **fields}


def gpus_of_pod(spec: Object) -> int | None:
    """Return the GPUs that a pod asks for; None where it shows no container, or asks for shares or by claims."""
    containers = parts(spec, "containers")
    found = [
        gpus_asked({**part(one, "resources", "requests"), **part(one, "resources", "limits")}) for one in containers
    ]
    known = [each for each in found if each is not None]
    return sum(known) if containers and len(known) == len(found) and not parts(spec, "resourceClaims") else None


def gpus_asked(resources: Object) -> int | None:
    """Return the GPUs that a list of resources names; None where it names shares of GPUs, which are not counted."""
    if any(_SHARE.search(str(name)) for name in resources):
        return None
    return sum(count(resources, name) or 0 for name in resources if str(name).endswith("/gpu") or name in _GPUS)


def gpus_of_sets(sets: Iterable[tuple[int | None, Object]]) -> int | None:
    """Return the GPUs of several sets of equal pods (number, pod spec); None where one of them is not shown."""
    total = 0
    for number, spec in sets:
        each = gpus_of_pod(spec)
        if each is None or number is None or number > MAX_TASKS:
            return None
        total += number * each
    return total
