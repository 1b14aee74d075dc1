"""What the records of Slurm mean in whatever form: job ids, states, when hardware was held, GPUs asked for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ettlog.parse import sacct_cells as cells
from ettlog.parse.parsed import Parsed
from ettlog.parse.spool import Spool

if TYPE_CHECKING:
    from collections.abc import Sequence

FLAGS = ("REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "RESIZING", "SPECIAL_EXIT", "REVOKED")
"""Flags that text output shows in place of the base state: they tell why a row was closed."""
UNSTARTED = frozenset(("PENDING", "REQUEUE_HOLD", "SPECIAL_EXIT"))
RUNNING = frozenset(("RUNNING", "SUSPENDED", "STOPPED", "CONFIGURING", "SIGNALING"))
NOWHERE = frozenset(("", "None assigned", "None", "(null)", "N/A"))
_ASKED = re.compile(r"(?:^|\s)(?:--gpus[= ]|-G[= ]?)(?:[\w.-]{1,64}:)?(\d{1,6})(?=\s|$)")
_ASKED_BY_NODE = re.compile(r"(?:^|\s)--gpus-per-node[= ](?:[\w.-]{1,64}:)?(\d{1,6})(?=\s|$)")
_ASKED_GRES = re.compile(
    r"(?:^|\s)--gres[= ](?:\S{0,128}?,)?(?:gres:|gres/)?gpu(?::[A-Za-z][\w.-]{0,63})?(?:[:=](\d{1,6}))?(?=[\s,]|$)"
)
_GRES = re.compile(r"(?:^|,)(?:gres[:/])?gpu(?::([A-Za-z][\w.-]{0,63}))?(?:[:=](\d{1,6}))?(?:\([^)]{0,64}\))?(?=,|$)")


class Held(NamedTuple):
    """When hardware was held, in microseconds since 1970 UTC; None for never, and for not yet."""

    start: int | None
    end: int | None


def job_id(
    raw: object, array: int | None, task: object = None, het: int | None = None, offset: int | None = None
) -> str:
    """Return a job's id as text output prints it: `A_T`, `A_[T-T]`, `H+O` or the plain number."""
    if array and task is not None and task != "":
        text = str(task)
        return f"{array}_{text}" if text.isdigit() or text == "*" else f"{array}_[{text.strip('[]')}]"
    return f"{het}+{offset or 0}" if het else str(raw)


def state(words: Sequence[str]) -> str | None:
    """Return the state text output shows for a base state and its flags."""
    named = [word for word in words if word]
    return next((flag for flag in FLAGS if flag in named), named[0] if named else None)


def held(status: str | None, start: int | None, end: int | None, nodes: str | None, *, forecasts: bool) -> Held:
    """Return when hardware was held. `forecasts` tells that a controller wrote the record: it foretells the start of
    a waiting job and the end of a running one.
    """
    nowhere = nodes is not None and nodes.strip() in NOWHERE
    if status in UNSTARTED and (forecasts or nowhere or nodes is None):
        return Held(None, None)
    if status in RUNNING or status in UNSTARTED:
        return Held(start, None)
    if start is not None and start == end and (nowhere or (nodes is None and status == "CANCELLED")):
        start = None
    return Held(start, end)


def gpus(text: str | None) -> int | None:
    """Return the GPUs of a TRES text, each counted once; None where it names none."""
    return cells.gpus(text.encode("utf-8", "replace")) if text else None


def gres(text: str) -> int | None:
    """Return the GPUs of one node by its gres text such as `gpu:h100:4(IDX:0-3)`; types add up."""
    found = [int(count or 1) for _, count in _GRES.findall(text)]
    return sum(found) if found else None


def asked(line: str | None, nodes: int | None) -> int | None:
    """Return the GPUs that a submit line asks for; None where it asks for none or by a measure not known here."""
    text = (line or "")[: 1 << 14]
    total = _ASKED.search(text)
    if total:
        return int(total[1])
    each = _ASKED_BY_NODE.search(text) or _ASKED_GRES.search(text)
    return int(each[1] or 1) * nodes if each and nodes else None


class Restarts:
    """Counts restarts that records tell of against the records of restarted attempts that there are."""

    def __init__(self) -> None:
        """Know of none yet."""
        self._seen: dict[str, tuple[int, int]] = {}

    def saw(self, raw: str, restarts: int | None) -> None:
        """Take one attempt and the number of restarts before it."""
        if restarts:
            records, most = self._seen.get(raw, (0, 0))
            self._seen[raw] = (records + 1, max(most, restarts))

    def note(self) -> str | None:
        """Return a sentence on jobs whose earlier attempts are not in the source, or None."""
        short = sum(most > records for records, most in self._seen.values())
        jobs = "1 job was" if short == 1 else f"{short} jobs were"
        return (
            f"{jobs} restarted more often than the records show: attempts are missing (sacct lists all with -D)"
            if short
            else None
        )


def unless_told(parsed: Parsed, told: bool) -> Parsed:
    """Return what was read; where no record of the source names a GPU, whether any was held is not known."""
    import pyarrow as pa

    if not told and isinstance(parsed.allocs, Spool):
        parsed.allocs.clear("gpus")
    elif not told and parsed.allocs.num_rows:
        at = parsed.allocs.schema.get_field_index("gpus")
        field = parsed.allocs.schema.field(at)
        parsed.allocs = parsed.allocs.set_column(at, field, pa.nulls(parsed.allocs.num_rows, field.type))
    return parsed
