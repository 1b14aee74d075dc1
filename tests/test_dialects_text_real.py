"""Real logs of the text dialects against the facts taken from them by hand: every fact of every set, misses named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ettlog.fleet import Fleet
from tests import facts as known
from tests import score

pytestmark = pytest.mark.shared

_COUNTED = "the world size is printed nowhere; it was counted from copies of lines"
_TESTS = "hundreds of tests save and load the same step of one job: a relation has one row for each"
_EXPORT = "a script without launcher, clock or trainer: no line that ettlog knows"
_PROCESS = "a trace is a process that compiled: it counts as a start"
_LAST = "records behind the end of the run do not end it"
TRACES = (
    "autotune", "cache_hit_miss", "comp_metrics", "corrupted", "mrank_recompile_r0", "mrank_runtime_r5",
    "mrank_sched_r0",
)  # fmt: skip
MISSES: dict[str, dict[str, str]] = {
    "bs_hf_ds_gpt2_n16": {
        "world_size": _COUNTED,
        "last_step_logged_at": "the last state of the bar is glued to a dated line, which dates it",
    },
    "issue_snippets/composer_log_prefix.log": {"starts": "the trainer names its run: a start, if one without steps"},
    "issue_snippets/torchelastic19_restart.log": {"starts": "the start before the restart has no line of its own"},
    "maxtext_gke_errors": {"ended_at": "a remark six microseconds behind the exception ends nothing"},
    "mlperf_bert_clemson_cancelled": {"world_size": _COUNTED},
    "mlperf_bert_clemson_ok": {"world_size": _COUNTED},
    "mlperf_bert_lenovo_ok": {"world_size": _COUNTED},
    "mlperf_dlrm_dell_full": {
        "world_size": _COUNTED,
        "new_steps_range": "the last line speaks of step 112300; 64 more are known from the summary",
    },
    "mlperf_dlrm_intel_torchrec": {"world_size": _COUNTED, "ended_at": _LAST},
    "mlperf_gpt3_nemo_n96": {
        "world_size": _COUNTED, "ended_at": _LAST,
        "new_steps_range": "records count tokens, and the size of a step is printed nowhere",
    },
    "mlperf_maskrcnn_azure_ok": {"world_size": _COUNTED},
    "dse_gpt2_medium": {"world_size": _COUNTED},
    "dse_sft_opt13b": {"world_size": _COUNTED},
    "mlm_ci_checkpoints": {
        "world_size": _COUNTED,
        "ended_at": "the launcher's report stands behind the last rank's end",
        "loads": _TESTS, "saves_requested": _TESTS,
    },
    "neox_export_hf_1": {"starts": _EXPORT},
    "neox_export_hf_2": {"starts": _EXPORT},
    "nanogpt_driver_acc10": {"world_size": _COUNTED},
    "nanogpt_driver_preloaded": {"world_size": _COUNTED},
    "nanogpt_driver_preloaded2": {"world_size": _COUNTED},
    "nanogpt_driver_preloaded4": {"world_size": _COUNTED},
    "nanogpt_driver_resume": {"world_size": _COUNTED},
    "nanogpt_track3_10runs": {"world_size": _COUNTED},
    "titan_ansi_worddiff": {"starts": "the coloured difference of two logs reads like one of them"},
    **{f"trace_{name}": {"starts": _PROCESS} for name in TRACES},
}  # fmt: skip
"""Facts that are answered in another way, and why."""


@pytest.fixture(scope="module")
def facts(shared: Path) -> dict[str, dict[str, Any]]:
    """Return the facts of each set."""
    return known.load(shared)


@pytest.fixture(scope="module")
def real(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    """Return a fleet over all sets, the 205 runs of one fleet aside: one of them is there twice."""
    names = [name for name in known.load(shared) if not name.startswith(score.FLEET)]
    return score.read(shared / "data" / "trainer", names, tmp_path_factory.mktemp("dialects") / "lake")


@pytest.fixture(scope="module")
def titan(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    """Return a fleet over the 205 runs."""
    return score.read(shared / "data" / "trainer", [score.FLEET], tmp_path_factory.mktemp("titan") / "lake")


def test_every_fact_of_every_set(real: Fleet, facts: dict[str, dict[str, Any]]) -> None:
    """Starts, stamps, steps, resumption, saves, loads, end, cause: all agree but the misses, each with its reason."""
    names = [name for name in facts if not name.startswith(score.FLEET)]
    found = {name: known.differences(real, facts[name]) for name in names}
    assert len(names) == 89
    assert {name: keys for name, keys in found.items() if keys} == {name: set(why) for name, why in MISSES.items()}


def test_all_205_runs_of_one_fleet(titan: Fleet, facts: dict[str, dict[str, Any]]) -> None:
    """Outcome, cause, world size and all boundary times of every run."""
    runs = {name: fact for name, fact in facts.items() if name.startswith("titan_fleet/")}
    assert len(runs) == 205
    found = {name: known.differences(titan, fact) for name, fact in runs.items()}
    assert {name: keys for name, keys in found.items() if keys} == {}
    assert titan.table("start").height == 205


def test_the_score_by_dialect(real: Fleet, titan: Fleet, facts: dict[str, dict[str, Any]]) -> None:
    """At least 98 of 100 facts agree over all, and 85 of 100 in every dialect of which more than ten are known."""
    told = ((fact, titan if name.startswith(score.FLEET) else real) for name, fact in facts.items())
    agree, total, misses = score.score(told)
    print(score.table(agree, total))
    assert total.total() > 5_000
    assert agree.total() >= 0.98 * total.total()
    assert {name for name in total if total[name] > 10 and agree[name] < 0.85 * total[name]} <= {"Megatron-LM"}
    assert len(misses) == total.total() - agree.total()


def test_the_stall_began_when_the_watchdog_began_to_wait(real: Fleet, facts: dict[str, dict[str, Any]]) -> None:
    """The hang lasts from the stamp less the printed wait, 06:26:04.999, to the watchdog's line."""
    fact = facts["titan_nccl_watchdog_hang"]["starts"][0]
    job = known.of_set(real, "start", "titan_nccl_watchdog_hang")["job"].item()
    hang = real.table("segment").filter(pl.col("job") == job, pl.col("part") == "hang")
    assert known.same_instant(hang.select(pl.from_epoch("begin_us", time_unit="us")).item(0, 0), fact["stall_began_at"])


def test_compile_seconds_of_the_console(real: Fleet, facts: dict[str, dict[str, Any]]) -> None:
    """Two autotune lines state 11.8422 s of benchmarking and precompiling; recompile lines are counted a start."""
    marks = real.table("mark")
    mine = marks.filter(pl.col("path").str.starts_with("titan_autotune/"), pl.col("kind") == "compile")
    assert mine["duration_us"].sum() == round(facts["titan_autotune"]["compile"]["seconds"] * 1e6)
    lines = marks.filter(pl.col("path").str.starts_with("nanogpt_track3_10runs/"), pl.col("kind") == "recompile")
    counts = dict(lines.group_by("k").len().iter_rows())
    starts = facts["nanogpt_track3_10runs"]["starts"]
    assert [counts[start["k"]] for start in starts] == [start["recompile_lines"] for start in starts]


def test_overflow_steps_of_fairseq_are_told(real: Fleet, facts: dict[str, dict[str, Any]]) -> None:
    """Sixty gradient overflows: executed, learned nothing."""
    mine = pl.col("path").str.starts_with("fairseq_wav2vec_22h/")
    count = real.table("mark").filter(mine, pl.col("kind") == "overflow").height
    assert count == facts["fairseq_wav2vec_22h"]["gradient_overflow_lines"]


def test_nothing_crashes_and_every_line_is_accounted_for(real: Fleet) -> None:
    """All sets are read; the outcomes of each source add up to its lines; every check of the fleet passes."""
    assert real.check().filter(pl.col("level") == "error").is_empty()
    lines = real.table("line_stat").group_by("path").agg(pl.col("lines").sum())
    total = dict(real.table("source").select("path", "n_lines").iter_rows())
    assert dict(lines.iter_rows()) == total
