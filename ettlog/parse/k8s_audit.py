"""Audit lines of a Kubernetes API server: who did what to which object, and often the object as it was afterwards.

Deleted pods leave no status anywhere else.
"""

from __future__ import annotations

from collections.abc import Iterator

from ettlog.parse.k8s_object import Fields, Object, at, count, moment, part, word

LAST_STAGES = frozenset(("ResponseComplete", "Panic"))
RESOURCES = frozenset(
    (
        "pods", "jobs", "pytorchjobs", "mpijobs", "tfjobs", "trainjobs", "jobsets", "workloads", "rayjobs",
        "rayclusters", "podgroups", "nodes",
    )
)  # fmt: skip
WRITES = frozenset(("create", "update", "patch", "delete", "deletecollection"))
REFUSED = 300


def is_audit(record: Object) -> bool:
    """Tell whether a record is an audit event."""
    return (word(record, "apiVersion") or "").startswith("audit.k8s.io/") and word(record, "kind") == "Event"


def wanted(event: Object) -> bool:
    """Tell whether an audit event changed an object of interest: its last stage, not refused, no dry run."""
    return (
        word(event, "stage") in LAST_STAGES
        and word(event, "verb") in WRITES
        and word(event, "objectRef", "resource") in RESOURCES
        and (count(event, "responseStatus", "code") or 200) < REFUSED
        and "dryRun=All" not in (word(event, "requestURI") or "")
    )


def rows(event: Object) -> Iterator[Fields]:
    """Yield the row of a change: verb and resource, at the instant the server answered."""
    about = part(event, "objectRef")
    sub = word(about, "subresource")
    done = moment(event, "stageTimestamp") or moment(event, "requestReceivedTimestamp")
    resource = word(about, "resource") or ""
    name = word(about, "name") or word(event, "responseObject", "metadata", "name")
    yield {
        "record": "mark",
        "id": None if resource in ("pods", "nodes") else name,
        "raw": word(about, "uid") or word(event, "responseObject", "metadata", "uid"),
        "name": resource,
        "task": name,
        "partition": word(about, "namespace"),
        "user": word(event, "user", "username"),
        "state": f"{word(event, 'verb')} {resource}" + (f"/{sub}" if sub else ""),
        "reason": word(event, "responseStatus", "reason"),
        "node": word(event, "requestObject", "target", "name") if sub == "binding" else None,
        "start_us": done,
        "end_us": done,
        "exit_code": count(event, "responseStatus", "code"),
    }


def version(event: Object) -> tuple[Object | None, bool]:
    """Return the object as it was after the change, where the policy keeps it, and whether it was deleted."""
    found = at(event, "responseObject")
    kept = (
        isinstance(found, dict)
        and isinstance(found.get("status"), dict)
        and word(found, "kind") not in (None, "Status")
    )
    return (found if kept else None), word(event, "verb") == "delete"
