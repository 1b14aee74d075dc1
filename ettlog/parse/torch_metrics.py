"""The `compilation_metrics` of a TORCH_TRACE record, whatever the generation of its schema.

Spring 2024: `start_time` and `*_time_s`; end of 2024: `*_cumulative_compile_time_us` only; since 2025 both, and
absolute `start_time_us`, `end_time_us`, `duration_us`. Lists may be null.
"""

from __future__ import annotations

from typing import NamedTuple

from ettlog.parse import jsonl
from ettlog.parse.jsonl import Record

_DURATIONS = (("duration_us", 1), ("entire_frame_compile_time_s", 1_000_000), ("dynamo_cumulative_compile_time_us", 1))
_BACKWARD = (("duration_us", 1), ("inductor_compile_time_s", 1_000_000), ("inductor_cumulative_compile_time_us", 1))
_REMOTE = ("inductor_fx_remote_cache_hit", "inductor_fx_remote_cache_miss")


class Told(NamedTuple):
    """What one metrics record tells of a compile; durations in microseconds, None where it does not tell."""

    function: str | None = None
    reason: str | None = None
    """Why it was compiled again."""
    failed: str | None = None
    restarts: str | None = None
    before_restart_us: int | None = None
    duration_us: int | None = None
    end_us: int | None = None
    saved_us: int | None = None
    remote: tuple[tuple[str, int], ...] = ()
    """Look-ups in the remote cache: `..._hit` or `..._miss`, and how many."""


NOTHING = Told()


def read(metrics: Record, *, backward: bool) -> Told:
    """Return what a metrics object tells; a field it lacks is None, never an error."""
    duration = next(
        (found for key, unit in (_BACKWARD if backward else _DURATIONS) if (found := jsonl.micros(metrics, key, unit))),
        None,
    )
    return Told(
        function=jsonl.text(metrics, "co_name"),
        reason=jsonl.text(metrics, "recompile_reason"),
        failed=jsonl.text(metrics, "fail_type"),
        restarts=_joined(metrics.get("restart_reasons")),
        before_restart_us=jsonl.micros(metrics, "dynamo_time_before_restart_s"),
        duration_us=duration,
        end_us=_end(metrics, duration),
        saved_us=jsonl.micros(metrics, "remote_cache_time_saved_s"),
        remote=tuple((key, count) for key in _REMOTE if (count := jsonl.whole(metrics, f"{key}_count") or 0) > 0),
    )


def describe(compile_id: str, told: Told | None) -> str:
    """Return a compile in words: id, function, and why it was made again or failed."""
    if told is None:
        return compile_id
    name = f"{compile_id} {told.function}" if told.function else compile_id
    why = f"failed: {told.failed}" if told.failed else told.reason
    return f"{name}: {why}" if why else name


def _end(metrics: Record, duration: int | None) -> int | None:
    end = jsonl.whole(metrics, "end_time_us")
    if end is not None:
        return end
    start = jsonl.whole(metrics, "start_time_us")
    if start is None:
        start = jsonl.micros(metrics, "start_time")
    return None if start is None or duration is None else start + duration


def _joined(reasons: object) -> str | None:
    if not isinstance(reasons, list):
        return None
    return "; ".join(reason for reason in reasons if isinstance(reason, str)) or None
