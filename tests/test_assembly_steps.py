"""Hard cases of step lines, each a small log with segments worked out by hand: what is new, what is done again."""

from __future__ import annotations

import polars as pl
import pytest

from tests.assembly import minutes, segments, starts, stepping
from tests.tables import Log, fleet


def two_starts(first: Log, again: Log) -> list[tuple[int | None, str, float, float]]:
    """Return the segments of two logs of one job."""
    return segments(fleet(first, again))


def test_samples_decide_what_is_new_where_the_batch_changed() -> None:
    """Step 4 saw 400 samples; resumed at 200 with twice the batch, step 3 is old data and step 4 is new."""
    log = Log()
    log.say(0, "launch")
    for step in range(1, 5):
        log.step(step, step, 1, samples=100 * step)
    log.say(5, "failure", cause="oom")
    log.say(6, "launch")
    log.say(7, "resume", step=2)
    for n, step in enumerate(range(3, 7)):
        log.step(9 + 2 * n, step, 2, samples=400 + 200 * n)
    log.say(15, "exit_ok")
    assert segments(fleet(log)) == [
        (0, "step", 0, 4), (1, "hang", 4, 5), (1, "placement", 5, 6), (1, "other", 6, 7),
        (1, "replay", 7, 9), (1, "step", 9, 15),
    ]  # fmt: skip


def test_a_smaller_batch_makes_more_steps_old() -> None:
    """Resumed at 200 samples with half the batch, steps 3 to 6 see what steps 3 and 4 saw; step 7 is new."""
    log = Log()
    log.say(0, "launch")
    for step in range(1, 5):
        log.step(step, step, 1, samples=100 * step)
    log.say(5, "failure", cause="oom")
    log.say(6, "launch")
    log.say(7, "resume", step=2)
    for n, step in enumerate(range(3, 9)):
        log.step(8 + n, step, 1, samples=200 + 50 * (n + 1))
    log.say(13, "exit_ok")
    assert minutes(fleet(log))["replay"] == 4
    assert minutes(fleet(log))["step"] == 4 + 2
    assert starts(fleet(log), "steps", "new_steps") == [(4, 4), (6, 2)]


def test_a_counter_of_samples_that_begins_again_decides_nothing() -> None:
    """A start that counts its own samples from nought is judged by its step numbers."""
    log = Log()
    log.say(0, "launch")
    for step in range(1, 5):
        log.step(step, step, 1, samples=100 * step)
    log.say(5, "failure", cause="oom")
    log.say(6, "launch")
    log.say(7, "resume", step=3)
    for n, step in enumerate(range(4, 7)):
        log.step(8 + n, step, 1, samples=100 * (n + 1))
    log.say(10, "exit_ok")
    assert starts(fleet(log), "steps", "new_steps") == [(4, 4), (3, 2)]


@pytest.mark.parametrize("every", [10, 100])
def test_sparse_lines_cover_all_steps_between(every: int) -> None:
    """Lines every 10th or 100th step, a minute apart: each covers its interval, the replayed one whole."""
    log = Log()
    log.say(0, "launch")
    for n in range(1, 6):
        log.step(n, every * n, 1 / every)
    log.say(6, "failure", cause="oom")
    log.say(7, "launch")
    log.say(8, "resume", step=4 * every)
    for n, at in ((5, 9), (6, 10), (7, 11)):
        log.step(at, every * n, 1 / every)
    log.say(11, "exit_ok")
    made = fleet(log)
    assert segments(made) == [
        (0, "step", 0, 5), (1, "hang", 5, 6), (1, "placement", 6, 7), (1, "other", 7, 8),
        (1, "replay", 8, 9), (1, "step", 9, 11),
    ]  # fmt: skip
    assert starts(made, "steps", "new_steps") == [(5 * every, 5 * every), (3 * every, 2 * every)]


def test_a_sparse_line_across_the_checkpoint_is_divided() -> None:
    """Lines every 10th step; resumed at 45, the line of 50 covers five steps, all of them old."""
    log = Log()
    log.say(0, "launch")
    for n in range(1, 6):
        log.step(10 * n, 10 * n, 1)
    log.say(52, "failure", cause="oom")
    log.say(60, "launch")
    log.say(60, "resume", step=45)
    log.step(65, 50, 1)
    log.step(75, 60, 1)
    log.say(75, "exit_ok")
    assert segments(fleet(log))[-2:] == [(1, "replay", 60, 65), (1, "step", 65, 75)]


def test_a_gap_in_the_log_is_unknown_and_its_steps_are_covered() -> None:
    """Lines of steps 4 to 7 were lost: the line of step 8 covers five steps, and what it did not need is a gap.

    The lines beside the gap are inferences: a pause that nothing explains stands behind the one, lines are missing
    before the other.
    """
    log = Log()
    log.say(0, "launch")
    stepping(log, 1, (1, 2, 3))
    stepping(log, 8, (20, 21))
    log.say(21, "exit_ok")
    made = fleet(log)
    parts = [(0, "step", 0, 2), (0, "step", 2, 3), (0, "gap", 3, 15), (0, "step", 15, 20), (0, "step", 20, 21)]
    assert segments(made) == parts
    unsure = made.table("segment").sort("begin_us").filter(pl.col("part") == "step")["inferred"].to_list()
    assert unsure == [False, True, True, False]


def test_lines_out_of_order_are_sorted_by_step() -> None:
    """Two lines changed places; the segments are those of the right order."""
    log = Log()
    log.say(0, "launch")
    for step, at in ((1, 1), (3, 3), (2, 2), (4, 4)):
        log.step(at, step, 1)
    log.say(4, "exit_ok")
    assert segments(fleet(log)) == [(0, "step", 0, 4)]


def test_a_line_printed_twice_counts_once() -> None:
    """A shipper repeats lines: the first copy counts."""
    log = Log()
    log.say(0, "launch")
    for step in (1, 2, 2, 3, 3, 3):
        log.step(step, step, 1)
    log.say(3, "exit_ok")
    assert segments(fleet(log)) == [(0, "step", 0, 3)]
    assert starts(fleet(log), "steps", "new_steps") == [(3, 3)]


def test_eight_ranks_that_say_the_same_are_one_start() -> None:
    """Every rank prints launch, steps and failure; the wall is that of one."""
    logs = []
    for rank in range(8):
        log = Log(f"r{rank}", rank=rank, stream="run")
        log.launch = 1
        log.say(0, "worker_start", world=8, rank=rank)
        stepping(log, 1, (2, 3, 4))
        log.say(4, "save_commit", step=3)
        log.say(5, "failure", cause="nccl_timeout", rank=rank)
        logs.append(log)
    made = fleet(*logs)
    assert segments(made) == [(0, "other", 0, 1), (0, "step", 1, 4), (0, "hang", 4, 5)]
    assert starts(made, "k", "steps", "cause") == [(0, 3, "nccl_timeout")]


def test_a_phase_ends_when_its_slowest_rank_ends() -> None:
    """Rank 1 restores for three minutes longer than rank 0: the restore lasts until it is done."""
    fast, slow = Log("r0", rank=0, stream="run"), Log("r1", rank=1, stream="run")
    for log, done in ((fast, 2), (slow, 5)):
        log.say(0, "launch")
        log.say(1, "restore_begin")
        log.say(done, "restore_end", step=3)
    stepping(fast, 4, (6, 7))
    fast.say(7, "exit_ok")
    assert segments(fleet(fast, slow)) == [
        (0, "launch", 0, 1), (0, "restore", 1, 5), (0, "step", 5, 7),
    ]  # fmt: skip


def test_a_restart_that_repeats_no_step_is_a_recovery_all_the_same() -> None:
    """Failed right behind the save of step 3 and continued at 4: nothing is done again, and the gap is no step."""
    log = Log()
    log.say(0, "launch")
    stepping(log, 1, (1, 2, 3))
    log.say(3.5, "failure", cause="node")
    log.say(8, "launch")
    log.say(9, "resume", step=3)
    stepping(log, 4, (10, 11))
    log.say(11, "exit_ok")
    made = fleet(log)
    assert segments(made) == [
        (0, "step", 0, 3), (1, "hang", 3, 3.5), (1, "placement", 3.5, 8), (1, "other", 8, 9), (1, "step", 9, 11),
    ]  # fmt: skip
    assert starts(made, "kind", "new_steps") == [("first", 3), ("failure", 2)]


def test_evaluation_inside_and_outside_the_step_time() -> None:
    """An evaluation between two step lines is not the next step's; one that the printed time holds is cut out."""
    log = Log()
    log.say(0, "launch")
    stepping(log, 1, (1, 2))
    log.say(2, "evaluation_begin")
    log.say(5, "evaluation_end")
    stepping(log, 3, (6, 7))
    log.say(7.25, "evaluation_begin")
    log.say(9, "evaluation_end")
    log.step(9.25, 5, 2.25)
    log.say(9.25, "exit_ok")
    assert minutes(fleet(log)) == {"step": 4 + 0.5, "evaluation": 3 + 1.75}


def test_a_compile_in_the_middle_of_the_run_is_no_step() -> None:
    """A recompile of two minutes inside a step of three leaves it one."""
    log = Log()
    log.say(0, "launch")
    stepping(log, 1, (1, 2, 3))
    log.say(5.5, "recompile", duration_us=120_000_000)
    log.step(6, 4, 3)
    log.step(7, 5, 1)
    log.say(7, "exit_ok")
    assert segments(fleet(log)) == [(0, "step", 0, 3.5), (0, "recompile", 3.5, 5.5), (0, "step", 5.5, 7)]


def test_a_save_hidden_in_the_next_step_is_a_stall() -> None:
    """A save asked for at 3 and committed at 5 holds the next line back; its own minute is left."""
    log = Log()
    log.say(0, "launch")
    stepping(log, 1, (1, 2, 3))
    log.say(3, "save_request", step=3)
    log.say(5, "save_commit", step=3)
    log.step(6, 4, 3)
    stepping(log, 5, (7, 8))
    log.say(8, "exit_ok")
    assert segments(fleet(log)) == [(0, "step", 0, 3), (0, "save_stall", 3, 5), (0, "step", 5, 8)]


def test_a_save_in_the_background_that_never_committed_protects_nothing() -> None:
    """Asked for at step 4 and staged, never committed: the tail of the job that died is lost from step 3 on."""
    log = Log()
    log.say(0, "launch")
    stepping(log, 1, (1, 2))
    log.say(2, "save_request", step=2)
    log.say(2, "save_staged", step=2)
    log.say(3, "save_commit", step=2)
    stepping(log, 3, (3, 4))
    log.say(4, "save_request", step=4)
    log.say(4, "save_staged", step=4)
    stepping(log, 5, (5,))
    log.say(6, "failure", cause="node")
    assert minutes(fleet(log)) == {"step": 2, "abandoned": 3, "hang": 1}


RISING = (0.02, 0.05, 0.1, 0.3, 0.6, 0.9, 1, 1, 1, 1)
"""Minutes a step that a bar prints after it counted 500 skipped steps as done in the first one; each truly took one."""


def test_a_bar_that_counted_skipped_steps_loses_no_time() -> None:
    """Ten dated steps of a minute each: what the moving mean says of the first six is too short, and no gap."""
    log = Log()
    log.say(0, "launch")
    log.say(0, "resume", step=500)
    for number, took in enumerate(RISING):
        log.step(1 + number, 501 + number, took)
    log.say(10, "exit_ok")
    assert segments(fleet(log)) == [(0, "step", 0, 10)]


def test_undated_lines_of_such_a_bar_are_put_where_they_belong() -> None:
    """Carried by what is printed they would end at minute 5.97; the save is dated, and nothing else happened before."""
    log, at = Log(), 0.0
    log.say(0, "launch")
    log.say(0, "resume", step=500)
    for number, took in enumerate(RISING):
        at += took
        log.step(at, 501 + number, took, clock="carried")
    log.say(10, "save_request", step=510)
    log.say(11, "save_commit", step=510)
    log.say(12, "exit_ok")
    made = fleet(log)
    assert segments(made) == [(0, "step", 0, 10), (0, "final_save", 10, 11), (0, "teardown", 11, 12)]
    assert made.table("segment").filter(part="step")["inferred"].to_list() == [True]


def test_durations_that_rise_a_little_are_believed() -> None:
    """Printed durations twice what they were are a trainer's own: the rest of each minute is unknown."""
    log = Log()
    log.say(0, "launch")
    log.say(0, "resume", step=500)
    for number, took in enumerate((0.1, 0.12, 0.14, 0.16, 0.18, 0.2)):
        log.step(1 + number, 501 + number, took)
    log.say(6, "exit_ok")
    assert round(minutes(fleet(log))["gap"], 2) == round(5 - 0.12 - 0.14 - 0.16 - 0.18 - 0.2, 2)


def test_behind_an_undated_step_the_end_is_an_inference() -> None:
    """When the last step ended is carried, so where teardown begins nobody printed."""
    log = Log()
    log.say(0, "launch")
    stepping(log, 1, (1, 2, 3), clock="carried")
    log.say(5, "train_end")
    log.say(6, "exit_ok")
    found = fleet(log).table("segment").filter(part="teardown")
    assert found["inferred"].to_list() == [True]
