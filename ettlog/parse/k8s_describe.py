"""`kubectl describe pod`: one text per pod. Instants stand in it with their zone; the ages of its events are none.

A text is made into the object it was written from, as far as it tells of it, and read as that. When a pod was made is
not told.
"""

from __future__ import annotations

import re
from datetime import UTC
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Final

from ettlog.parse import jsonl
from ettlog.parse.blocks import open_source
from ettlog.parse.gather import IGNORED, LONG, Facts
from ettlog.parse.k8s import Objects
from ettlog.parse.parsed import Parsed, ScanOptions

NAME = "kubernetes_describe"
MAX_LINE: Final = 1 << 16
MOST_LINES: Final = 20_000
"""Lines of one pod; those behind belong to none."""
_SNIFF = re.compile(rb"(?:\A|\n)Name: {2,60}[a-z0-9][a-z0-9.-]{0,252}[ \r]{0,9}\nNamespace: {2,60}[a-z0-9]")
_LINE = re.compile(r"( {0,40})(\S[^:]{0,300}):(?: +(.*))?\Z")
_LABEL = re.compile(r"([\w./-]{1,300})=(\S{0,253})\Z")
_CONTAINERS = {"Containers": "containers", "Init Containers": "initContainers"}
_STATES = {"State": "state", "Last State": "lastState"}
_TOLD = {
    "Reason": "reason",
    "Exit Code": "exitCode",
    "Signal": "signal",
    "Started": "startedAt",
    "Finished": "finishedAt",
}


def sniff(head: bytes, options: ScanOptions) -> bool:  # noqa: ARG001 - every reader is asked in the same way
    """Tell by its first text whether a file describes pods."""
    return _SNIFF.search(head) is not None and b"\nNode: " in head and b"\nStatus: " in head


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read the texts. Raise SourceRefusedError like the scanner."""
    reader = _Texts(Facts(NAME, options))
    with open_source(path, budget=options.limits.output) as source:
        for line in jsonl.lines(source, MAX_LINE):
            reader.line(line)
        reader.close()
        reader.objects.finish()
        return reader.facts.parsed(source)


class _Texts:
    """Puts the lines of a pod together."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self.objects = facts, Objects(facts)
        self._begin, self._count = 0, 0
        self._new()

    def _new(self) -> None:
        self._top: dict[str, str] = {}
        self._labels: dict[str, str] = {}
        self._containers: dict[str, list[dict[str, str]]] = {key: [] for key in _CONTAINERS}
        self._section, self._group = "", ""

    def line(self, line: jsonl.Line) -> None:
        """Take one line of a pod, or one outside of any."""
        text = "" if line.long else line.text.decode("utf-8", "replace").rstrip()
        found = _LINE.match(text)
        if found and not found[1] and found[2] == "Name":
            self.close()
            self._begin = line.number
        if line.long or not self._begin or self._count >= MOST_LINES:
            self.facts.count(LONG if line.long else IGNORED)
            return
        self._count += 1
        if found and not found[1]:
            self._section, self._group = found[2], ""
            self._top.setdefault(found[2], found[3] or "")
            self._label(found[3] or "")
        elif self._section in _CONTAINERS and found:
            self._container(len(found[1]), found[2], found[3] or "")
        else:
            self._label(text.strip())

    def _label(self, text: str) -> None:
        found = _LABEL.match(text) if self._section == "Labels" else None
        if found:
            self._labels[found[1]] = found[2]

    def _container(self, depth: int, key: str, value: str) -> None:
        mine = self._containers[self._section]
        if depth == 2 and not value:
            mine.append({"": key})
        elif depth == 4 and mine:
            self._group = key
            mine[-1][key] = value
        elif depth > 4 and mine:
            mine[-1][f"{self._group}/{key}"] = value

    def close(self) -> None:
        """Make rows of the pod that is open."""
        if self._begin:
            self.facts.count(self.objects.take(self._begin, self._pod()), lines=self._count)
        self._begin, self._count = 0, 0
        self._new()

    def _pod(self) -> dict[str, Any]:
        kind, _, owner = self._top.get("Controlled By", "").partition("/")
        node, start = self._top.get("Node", "").partition("/")[0], _iso(self._top.get("Start Time", ""))
        status = {"phase": self._top.get("Status", "").partition(" ")[0], "startTime": start}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": self._top.get("Name"),
                "namespace": self._top.get("Namespace"),
                "labels": self._labels,
                "ownerReferences": [{"kind": kind, "name": owner, "controller": True}] if owner else [],
            },
            "spec": {
                "nodeName": node if node != "<none>" else None,
                **{place: [_spec(one) for one in self._containers[key]] for key, place in _CONTAINERS.items()},
            },
            "status": status
            | ({"reason": self._top["Reason"]} if self._top.get("Reason") else {})
            | {
                "containerStatuses": [_status(one) for one in self._containers["Containers"]],
                "initContainerStatuses": [_status(one) for one in self._containers["Init Containers"]],
            },
        }


def _spec(told: dict[str, str]) -> dict[str, Any]:
    resources = {
        place.lower(): {key.partition("/")[2]: value for key, value in told.items() if key.startswith(f"{place}/")}
        for place in ("Limits", "Requests")
    }
    return {"name": told[""], "resources": resources}


def _status(told: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {"name": told[""], "restartCount": _number(told.get("Restart Count", ""))}
    for key, place in _STATES.items():
        said = {name: told[f"{key}/{word}"] for word, name in _TOLD.items() if f"{key}/{word}" in told}
        values = {name: _number(text) if name in ("exitCode", "signal") else text for name, text in said.items()}
        values |= {name: _iso(said[name]) for name in ("startedAt", "finishedAt") if name in said}
        if told.get(key):
            found[place] = {told[key].partition(" ")[0].lower(): values}
    return found


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _iso(text: str) -> str | None:
    """Return a stamp such as `Sun, 09 Mar 2031 08:00:00 -0700` in UTC as objects have it; None where it is none."""
    try:
        found = parsedate_to_datetime(text)
        return None if found.tzinfo is None else f"{found.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    except (ValueError, OverflowError, TypeError, IndexError):
        return None
