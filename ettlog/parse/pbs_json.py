"""`qstat -f -F json` of PBS Pro and OpenPBS: the full listing as one object, its jobs by their ids under `Jobs`.

The words are those of `qstat -f`, resources one level deeper; times are local, as `ctime` writes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from ettlog.parse import pbs_qstat
from ettlog.parse.attempts import Attempts
from ettlog.parse.blocks import open_source
from ettlog.parse.gather import BAD_RECORD, DUPLICATE, IGNORED, MATCHED, Facts
from ettlog.parse.json_values import Values, each
from ettlog.parse.parsed import Parsed, ScanOptions

NAME = "pbs_json"
_DEEPER = ("Resource_List", "resources_used")


def sniff(head: bytes, options: ScanOptions) -> bool:  # noqa: ARG001 - every reader is asked in the same way
    """Tell by its first bytes whether a file is the full listing of qstat as JSON."""
    return b'"Jobs"' in head and (b'"pbs_version"' in head or b'"Job_Name"' in head)


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read the jobs. Raise SourceRefusedError like the scanner."""
    facts, attempts = Facts(NAME, options), Attempts()
    with open_source(path, budget=options.limits.output) as source:
        each(Values(source), facts, partial(_take, facts, attempts))
        return facts.parsed(source)


def _take(facts: Facts, attempts: Attempts, line: int, found: Any) -> str:
    jobs = found.get("Jobs") if isinstance(found, dict) else None
    if not isinstance(jobs, dict):
        return BAD_RECORD
    outcomes = {
        pbs_qstat.take(facts, attempts, line, name, dict(_told(job))) if isinstance(job, dict) else BAD_RECORD
        for name, job in jobs.items()
    }
    # the lines of all jobs have one outcome: the best of theirs
    return next((one for one in (MATCHED, DUPLICATE, *sorted(outcomes)) if one in outcomes), IGNORED)


def _told(job: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in job.items():
        if key in _DEEPER and isinstance(value, dict):
            yield from (
                (f"{key}.{name}", str(one)) for name, one in value.items() if isinstance(one, str | int | float)
            )
        elif isinstance(value, str | int | float):
            yield key, str(value)
