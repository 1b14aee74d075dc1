"""Objects of Kubernetes and what runs on it, as kubectl, a server or an audit log write them: JSON, JSON lines, YAML.

Lists are read element by element. Versions of one object, as a watch shows them, are put together before rows are
made of it.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ettlog.parse import jobset, jsonl, k8s_audit, k8s_job, k8s_pod, k8s_yaml, kueue, ray_job, volcano
from ettlog.parse.blocks import Reader, open_source
from ettlog.parse.gather import BAD_RECORD, IGNORED, MATCHED, TORN, Facts
from ettlog.parse.json_values import Values
from ettlog.parse.k8s_object import Fields, Object, Story, base, word
from ettlog.parse.parsed import Parsed, ScanOptions

NAME = "kubernetes"
MOST = 2000
"""Objects whose versions are awaited at a time; the one not seen for longest is written down first."""
Rows = Callable[[Story], Iterator[Fields]]

_GROUPS: tuple[tuple[str, str, Rows], ...] = (
    ("v1", "Pod", k8s_pod.rows),
    ("batch/", "Job", k8s_job.batch_job),
    ("batch.volcano.sh/", "Job", volcano.rows),
    ("trainer.kubeflow.org/", "TrainJob", k8s_job.train_job),
    ("jobset.x-k8s.io/", "JobSet", jobset.rows),
    ("kueue.x-k8s.io/", "Workload", kueue.rows),
    ("ray.io/", "RayJob", ray_job.rows),
)
KINDS = r"(?:Pod|Job|\w+Job|JobSet|Workload|Event)(?:List)?|List|WatchEvent"
_JSON_HEAD = re.compile(rb'\s*+[\[{]\s*+(?:\{\s*+)?"(?:apiVersion|kind|items|type|metadata|auditID|level)"')
_JSON_KIND = re.compile(rb'"kind"\s*:\s*"(?:' + KINDS.encode() + rb')"')
_YAML_HEAD = re.compile(rb"(?:[ \t\r]*+(?:#[^\n]*+)?\n|---[^\n]*+\n)*+(?:- )?(?:apiVersion|kind|items): ?[^\n]*\n")
_YAML_KIND = re.compile(rb"^(?:- |  )?kind: [\"']?(?:" + KINDS.encode() + rb")[\"']?\s*$", re.M)
_YAML_KEYS = re.compile(rb"^ *(?:- )?(?:metadata|status|items|involvedObject):", re.M)


def sniff(head: bytes, options: ScanOptions) -> bool:  # noqa: ARG001 - every reader is asked in the same way
    """Tell by its first bytes whether a file holds objects of Kubernetes that this reader knows."""
    return _is_json(head) or (
        _YAML_HEAD.match(head) is not None and bool(_YAML_KIND.search(head) and _YAML_KEYS.search(head))
    )


def _is_json(head: bytes) -> bool:
    if not _JSON_HEAD.match(head) or not _JSON_KIND.search(head):
        return False
    return b'"apiVersion"' in head and (b'"metadata"' in head or b'"auditID"' in head)


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read objects. Raise SourceRefusedError like the scanner."""
    facts = Facts(NAME, options)
    reader = Objects(facts)
    with open_source(path, budget=options.limits.output) as source:
        is_json = source.read_all(1 << 12).lstrip()[:1] in (b"{", b"[")
    with open_source(path, budget=options.limits.output) as source:
        if is_json:
            _read_json(source, facts, reader)
        else:
            _read_yaml(source, facts, reader)
        reader.finish()
        return facts.parsed(source)


def _read_json(source: Reader, facts: Facts, reader: Objects) -> None:
    values = Values(source, lists=("items",))
    for value in values:
        outcome = reader.take(value.line, value.found)
        facts.count(TORN if values.torn and value.found is None else outcome, lines=value.lines)
    facts.count(IGNORED, lines=values.rest)


def _read_yaml(source: Reader, facts: Facts, reader: Objects) -> None:
    lines = ((line.number, line.text.decode("utf-8", "replace")) for line in jsonl.lines(source))
    for document in k8s_yaml.documents(lines):
        facts.count(reader.take(document.line, document.found), lines=document.lines)


class Objects:
    """Sorts objects by kind; keeps what it was told of each until it is complete."""

    def __init__(self, facts: Facts) -> None:
        """Start without objects; rows go to `facts`."""
        self._facts = facts
        self._stories: OrderedDict[tuple[str, ...], tuple[Story, Rows]] = OrderedDict()

    def take(self, line: int, found: Any) -> str:
        """Take one object, list, watch event or audit event and return the outcome of its lines."""
        if not isinstance(found, dict):
            return BAD_RECORD
        if k8s_audit.is_audit(found):
            return self._audit(line, found)
        if isinstance(found.get("object"), dict) and word(found, "type"):
            return self._object(line, found["object"], found["type"] == "DELETED")
        items = found.get("items")
        if isinstance(items, list):
            outcomes = [self.take(getattr(item, "line", line), item) for item in items]
            return MATCHED if MATCHED in outcomes or not outcomes else outcomes[0]
        return self._object(line, found, False)

    def finish(self) -> None:
        """Write down what is left."""
        while self._stories:
            self._flush()

    def _audit(self, line: int, event: Object) -> str:
        if not k8s_audit.wanted(event):
            return IGNORED
        for fields in k8s_audit.rows(event):
            self._add(line, fields)
        version, deleted = k8s_audit.version(event)
        if version is not None:
            self._object(line, version, deleted)
        return MATCHED

    def _object(self, line: int, found: Object, deleted: bool) -> str:
        if k8s_pod.is_event(found):
            for fields in k8s_pod.event_rows(found):
                self._add(line, fields)
            return MATCHED
        handler = handler_of(found)
        if handler is None:
            return IGNORED
        name = base(found)
        if not name["id"]:
            return BAD_RECORD
        attempt = ray_job.key_of(found) if handler is ray_job.rows else ""
        key = (word(found, "kind") or "", str(name["partition"]), str(name["raw"]), attempt)
        story = self._stories.pop(key, (Story(line, found), handler))[0]
        story.see(found, deleted)
        self._stories[key] = (story, handler)
        if len(self._stories) > MOST:
            self._flush()
        return MATCHED

    def _flush(self) -> None:
        story, handler = self._stories.popitem(last=False)[1]
        for fields in handler(story):
            self._add(story.line, fields)

    def _add(self, line: int, fields: Fields) -> None:
        fields = dict(fields)
        self._facts.alloc(line, fields.pop("record"), **fields)


def handler_of(found: Object) -> Rows | None:
    """Return what makes rows of an object, by its group and kind; elements of a typed list name neither."""
    kind, version = word(found, "kind"), word(found, "apiVersion")
    for group, name, rows in _GROUPS:
        if kind == name and (version or group).startswith(group):
            return rows
    if k8s_job.is_kubeflow(found):
        return k8s_job.training_job
    return _untyped(found) if kind is None else None


def _untyped(found: Object) -> Rows | None:
    """Return the rows of an element of a JobList or PodList, whose elements may leave their kind out."""
    spec = found.get("spec")
    if not isinstance(spec, dict):
        return None
    return k8s_pod.rows if "containers" in spec else k8s_job.batch_job if "template" in spec else None
