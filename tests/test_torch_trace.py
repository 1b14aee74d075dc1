"""TORCH_TRACE files: payloads checked, compiles as unions, restarts and recompiles apart, clocks from epoch
values.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ettlog.parse.parsed import Parsed, ScanOptions
from tests.telemetry import BASE, SECOND, events, read, seconds, write

NAME = "torch_trace"
OFFSET = -7 * 3600
"""The writer's clock stands seven hours behind UTC."""


class Trace:
    """Writes records as torch does: a glog prefix in local time without a year, a payload behind TABs with its
    MD5.
    """

    def __init__(self, rank: int | None = 0) -> None:
        """Start with no line."""
        self.lines: list[str] = []
        self.rank = rank

    def add(self, second: float, kind: str, value: Any = None, payload: str | None = None, **envelope: Any) -> Trace:
        """Add a record so many seconds after the base; `compile` is a compile id such as (0, 1)."""
        when = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=BASE + OFFSET, milliseconds=round(second * 1e3))
        record = {kind: {} if value is None else value}
        if self.rank is not None:
            record["rank"] = self.rank
        frame, again = envelope.pop("compile", (0, 0))
        record |= {"frame_id": frame, "frame_compile_id": again, "attempt": 0, **envelope}
        if payload is not None:
            record.setdefault("has_payload", hashlib.md5(payload.encode()).hexdigest())
        self.lines.append(
            f"V{when:%m%d %H:%M:%S}.{when.microsecond:06d} 4242 torch/_dynamo/utils.py:12] {json.dumps(record)}"
        )
        self.lines += [] if payload is None else ["\t" + line for line in payload.split("\n")]
        return self

    def mark(self, second: float, name: str, phase: str, **envelope: Any) -> Trace:
        """Add a chromium event."""
        frame, again = envelope.get("compile", (0, 0))
        event = {
            "name": name,
            "ts": (BASE + second) * SECOND + 0.25,
            "args": {"compile_id": f"{frame}/{again}"},
            "ph": phase,
            "cat": "dynamo_timed",
            "tid": 0,
            "pid": 0,
        }
        return self.add(second, "chromium_event", payload=json.dumps(event, indent=1), **envelope)

    def compile(self, begin: float, end: float, **envelope: Any) -> Trace:
        """Add a compile with its nested parts."""
        self.mark(begin, "dynamo", "B", **envelope).mark(begin, "entire_frame_compile", "B", **envelope)
        self.mark(begin, "backend_compile", "B", **envelope).mark(end, "backend_compile", "E", **envelope)
        return self.mark(end, "entire_frame_compile", "E", **envelope).mark(end, "dynamo", "E", **envelope)

    def read(
        self,
        tmp_path: Path,
        name: str = "dedicated_log_torch_trace_rank_5_ab12.log",
        options: ScanOptions | None = None,
    ) -> Parsed:
        """Write the trace and read it."""
        return read(write(tmp_path / name, self.lines), NAME, options)


def compiles(parsed: Parsed) -> list[tuple[str, float | None, float | None, str]]:
    """Return kind, begin, end and name of the compiles."""
    rows = [row for row in parsed.events.to_pylist() if row["kind"] in ("compile", "recompile")]
    return [(row["kind"], seconds(row["ts"] - row["duration_us"]), seconds(row["ts"]), row["name"]) for row in rows]


def test_compile_is_its_outermost_interval(tmp_path: Path) -> None:
    """Nested intervals are one compile, and a compile number above 0 is a recompile."""
    parsed = Trace().compile(1, 4).compile(5, 6, compile=(0, 1)).read(tmp_path)
    assert compiles(parsed) == [("compile", 1, 4, "0/0"), ("recompile", 5, 6, "0/1")]


def test_function_and_reason_are_named(tmp_path: Path) -> None:
    """The metrics name the function, the artifact says why it was compiled again."""
    trace = Trace().compile(1, 2).mark(3, "dynamo", "B", compile=(0, 1))
    trace.add(3, "artifact", {"name": "recompile_reasons", "encoding": "json"}, '["size of x changed"]', compile=(0, 1))
    trace.add(5, "compilation_metrics", {"co_name": "forward", "duration_us": 2_000_000}, compile=(0, 1))
    parsed = trace.mark(5, "dynamo", "E", compile=(0, 1)).read(tmp_path)
    assert compiles(parsed)[1] == ("recompile", 3, 5, "0/1 forward: size of x changed")


def test_same_interval_twice_is_one_compile(tmp_path: Path) -> None:
    """Copied records of one compile are duplicates, not more compile time."""
    trace = Trace().compile(1, 4)
    trace.lines += trace.lines[:]
    parsed = trace.read(tmp_path)
    assert (len(compiles(parsed)), parsed.lines["duplicate"]) == (1, 1)


def test_zone_and_year_come_from_the_epoch_values(tmp_path: Path) -> None:
    """A prefix without year and zone is dated by the epoch value beside it."""
    trace = Trace().mark(1, "dynamo", "B").add(2, "artifact", {"name": "fx_graph_cache_miss"}, '{"key": "fabc"}')
    parsed = trace.mark(3, "dynamo", "E").read(tmp_path)
    assert [(seconds(row[1]), row[2]) for row in events(parsed, "ts", "name") if row[0] == "cache_miss"] == [
        (2, "fabc")
    ]
    assert "zone UTC-07:00 inferred from an epoch value beside a local stamp" in parsed.inferences
    assert (seconds(parsed.first_us), seconds(parsed.last_us)) == (1, 3)


def test_damaged_payload_is_counted_and_not_believed(tmp_path: Path) -> None:
    """A payload that does not match its MD5 makes its record bad, whatever it says."""
    trace = Trace().compile(1, 4).add(5, "artifact", {"name": "fx_graph_cache_hit"}, '{"key": "fabc"}')
    trace.lines[-1] = '\t{"key": "fabd"}'
    parsed = trace.read(tmp_path)
    assert parsed.lines["bad_record"] == 1
    assert not any(row[0] == "cache_hit" for row in events(parsed))
    assert "payloads checked by their MD5: 6 whole, 1 damaged" in parsed.inferences


def test_damaged_end_of_an_inner_part_leaves_the_outer_interval(tmp_path: Path) -> None:
    """A lost end of a nested part does not hide the compile around it."""
    trace = Trace().compile(1, 4)
    lost = [number for number, line in enumerate(trace.lines) if '"entire_frame_compile"' in line][-1]
    trace.lines[lost] = trace.lines[lost].replace("entire", "Entire")
    assert compiles(trace.read(tmp_path)) == [("compile", 1, 4, "0/0")]


def test_caches_hit_miss_bypass_disabled(tmp_path: Path) -> None:
    """Each look-up is evidence: found, or not found in one of three ways, told apart by pattern."""
    trace = Trace().mark(1, "dynamo", "B")
    for name in ("fx_graph_cache_hit", "aotautograd_cache_miss", "aotautograd_cache_bypass", "fx_graph_cache_hash"):
        trace.add(2, "artifact", {"name": name, "encoding": "json"}, '{"key": "k", "time_saved_ns": 2500000}')
    parsed = (
        trace.mark(2, "fx_graph_cache_disabled", "i")
        .mark(2, "fx_graph_cache_hit", "i")
        .mark(3, "dynamo", "E")
        .read(tmp_path)
    )
    assert [row for row in events(parsed, "pattern", "duration_us") if row[0].startswith("cache")] == [
        ("cache_hit", "fx_graph_cache_hit", 2500), ("cache_miss", "aotautograd_cache_miss", 2500),
        ("cache_miss", "aotautograd_cache_bypass", 2500), ("cache_miss", "fx_graph_cache_disabled", None),
    ]  # fmt: skip


def test_restart_of_a_compile_is_no_recompile(tmp_path: Path) -> None:
    """An attempt above 0 is the same compile begun again: kept as a note, once, with what it cost."""
    trace = Trace().mark(1, "dynamo", "B").add(2, "dynamo_start", attempt=1).add(2, "dynamo_output_graph", attempt=1)
    trace.add(
        3,
        "compilation_metrics",
        {"restart_reasons": ["graph break"], "dynamo_time_before_restart_s": 0.5, "duration_us": 2_000_000},
    )
    parsed = trace.mark(3, "dynamo", "E").read(tmp_path)
    assert [row[0] for row in compiles(parsed)] == ["compile"]
    assert [row for row in events(parsed, "pattern", "name", "duration_us") if row[0] == "timer"] == [
        ("timer", "compile_restart", "0/0_1", None), ("timer", "time_before_restart", "0/0: graph break", 500_000),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "metrics", "end"),
    [
        (
            "compilation_metrics",
            {"start_time": BASE + 1.0, "entire_frame_compile_time_s": 2.0, "code_gen_time_s": 1.0},
            3,
        ),
        ("compilation_metrics", {"dynamo_cumulative_compile_time_us": 2_000_000, "guard_count": None}, 9),
        (
            "compilation_metrics",
            {"start_time_us": (BASE + 1) * SECOND, "end_time_us": (BASE + 3) * SECOND, "duration_us": 2_000_000},
            3,
        ),
        ("bwd_compilation_metrics", {"inductor_compile_time_s": 2.0, "code_gen_time_s": 1.0}, 9),
        ("aot_autograd_backward_compilation_metrics", {"start_time": BASE + 1.0, "inductor_compile_time_s": 2.0}, 3),
    ],
)
def test_metrics_of_every_generation(tmp_path: Path, kind: str, metrics: dict[str, Any], end: float) -> None:
    """Without intervals the metrics tell how long a compile was: by its own end, else by the instant of the
    record.
    """
    trace = (
        Trace()
        .add(9, kind, {"restart_reasons": None, **metrics})
        .add(9, "compilation_metrics", {"start_time": BASE + 9.0, "entire_frame_compile_time_s": 0})
    )
    parsed = trace.read(tmp_path, options=ScanOptions(zone="Etc/GMT+7", year_hint=2031))
    assert compiles(parsed) == [("compile", end - 2, end, "0/0")]


def test_metrics_inside_an_interval_are_not_counted_again(tmp_path: Path) -> None:
    """Where an interval covers a compile, its metrics add no second one."""
    trace = (
        Trace()
        .mark(1, "dynamo", "B")
        .add(3.9, "compilation_metrics", {"start_time": BASE + 1.0, "entire_frame_compile_time_s": 2.5})
    )
    assert compiles(trace.mark(4, "dynamo", "E").read(tmp_path)) == [("compile", 1, 4, "0/0")]


def test_remote_cache_and_runtime(tmp_path: Path) -> None:
    """Look-ups in the remote cache, the time they saved, and autotuning at run time are kept beside the compile."""
    told = {
        "inductor_fx_remote_cache_hit_count": 3,
        "inductor_fx_remote_cache_miss_count": None,
        "remote_cache_time_saved_s": 12.5,
    }
    trace = Trace().compile(1, 2).add(2, "compilation_metrics", told)
    trace.add(
        3,
        "compilation_metrics_runtime",
        {"compile_id": "0/0", "runtime_triton_autotune_time_us": 700, "runtime_cudagraphify_time_us": None},
    )
    rows = [
        row
        for row in events(trace.read(tmp_path), "pattern", "name", "duration_us")
        if row[0] in ("cache_hit", "timer")
    ]
    assert sorted(rows) == [
        ("cache_hit", "inductor_fx_remote_cache_hit", "3", None),
        ("timer", "remote_cache_time_saved", "0/0", 12_500_000),
        ("timer", "runtime", "0/0", 700),
    ]  # fmt: skip


def test_failed_compile_says_so(tmp_path: Path) -> None:
    """A compile that failed took its time too, and its name says what failed."""
    trace = (
        Trace()
        .mark(1, "dynamo", "B")
        .add(2, "compilation_metrics", {"co_name": "f", "fail_type": "Unsupported", "duration_us": 1_000_000})
    )
    assert compiles(trace.mark(2, "dynamo", "E").read(tmp_path)) == [("compile", 1, 2, "0/0 f: failed: Unsupported")]


def test_compile_that_never_ended(tmp_path: Path) -> None:
    """A process killed in a compile leaves a begin."""
    parsed = Trace().compile(1, 2).mark(3, "dynamo", "B", compile=(1, 0)).read(tmp_path)
    assert [(row[0], seconds(row[1]), row[2]) for row in events(parsed, "ts", "name")][-1] == (
        "compile_begin",
        3,
        "1/0",
    )


def test_rank_of_the_record_stands_above_that_of_the_name(tmp_path: Path) -> None:
    """The file's name gives the rank only where records give none."""
    assert {row[1] for row in events(Trace(rank=1).compile(1, 2).read(tmp_path), "rank") if row[0] == "compile"} == {1}
    assert {row[1] for row in events(Trace(rank=None).compile(1, 2).read(tmp_path), "rank") if row[0] == "compile"} == {
        5
    }


def test_every_line_has_an_outcome(tmp_path: Path) -> None:
    """Unknown kinds are kept by their name, broken records and lines outside records are told apart."""
    trace = (
        Trace()
        .compile(1, 2)
        .add(3, "a_new_kind", {"x": 1}, "payload\nof two lines")
        .add(4, "dynamo_guards", payload="[]")
    )
    trace.lines += ["\tpayload of nobody", "stray text", "", trace.lines[0][:60] + '{"broken": '[:11]]
    parsed = trace.read(tmp_path)
    assert parsed.unmatched == {"a_new_kind": 1, "stray text": 1}
    assert parsed.lines["bad_record"] == 2
    assert parsed.n_lines == len(trace.lines)


def test_payload_longer_than_is_looked_into_is_still_checked(tmp_path: Path) -> None:
    """A huge graph is hashed while it passes and not kept."""
    trace = Trace().compile(1, 2).add(3, "inductor_output_code", {"filename": "x"}, "a = 1\n" * 1_000_000 + "b = 2")
    parsed = trace.read(tmp_path)
    assert "payloads checked by their MD5: 7 whole, 0 damaged" in parsed.inferences
    assert Counter(parsed.lines)["ignored"] > 1_000_000
