"""Hard cases of starts, each a small log with segments worked out by hand: crashes, loops, sizes, overlaps."""

from __future__ import annotations

import polars as pl

from tests.assembly import minutes, segments, starts, stepping
from tests.tables import MINUTE, Log, fleet, minute, record


def test_a_crash_before_the_first_checkpoint_loses_everything() -> None:
    """The second start begins at step 1 again: all three steps are done again."""
    log = Log()
    log.say(0, "launch")
    stepping(log, 1, (1, 2, 3))
    log.say(4, "failure", cause="oom")
    log.say(5, "launch")
    stepping(log, 1, (6, 7, 8, 9))
    log.say(9, "exit_ok")
    made = fleet(log)
    assert segments(made) == [
        (0, "step", 0, 3), (1, "hang", 3, 4), (1, "placement", 4, 5), (1, "replay", 5, 8), (1, "step", 8, 9),
    ]  # fmt: skip
    assert starts(made, "kind", "new_steps") == [("first", 3), ("failure", 1)]


def test_a_crash_loop_counts_every_start() -> None:
    """Three starts die before a step: three recoveries, the last ends with the first new step."""
    log = Log()
    log.say(0, "launch")
    stepping(log, 1, (1, 2))
    log.say(2, "failure", cause="node")
    for at in (3, 5, 7):
        log.say(at, "launch")
        log.say(at + 1, "failure", cause="import_error")
    log.say(9, "launch")
    log.say(10, "resume", step=2)
    stepping(log, 3, (11,))
    log.say(11, "exit_ok")
    made = fleet(log)
    assert [kind for (kind,) in starts(made, "kind")] == ["first", *["failure"] * 4]
    assert segments(made) == [
        (0, "step", 0, 2), (1, "placement", 2, 3), (1, "other", 3, 4), (2, "placement", 4, 5), (2, "other", 5, 6),
        (3, "placement", 6, 7), (3, "other", 7, 8), (4, "placement", 8, 9), (4, "other", 9, 10), (4, "step", 10, 11),
    ]  # fmt: skip


def test_a_start_may_load_an_older_checkpoint_than_the_newest() -> None:
    """Committed at 2 and 4; the second start loads 2 because 4 is broken: four steps are done again, not two."""
    log = Log()
    log.say(0, "launch")
    stepping(log, 1, (1, 2))
    log.say(2, "save_request", step=2)
    log.say(2, "save_commit", step=2)
    stepping(log, 3, (3, 4))
    log.say(4, "save_request", step=4)
    log.say(4, "save_commit", step=4)
    stepping(log, 5, (5, 6))
    log.say(7, "failure", cause="storage")
    log.say(8, "launch")
    log.say(8, "restore_begin")
    log.say(9, "restore_end", step=2)
    log.say(9, "resume", step=2)
    stepping(log, 3, (10, 11, 12, 13, 14))
    log.say(14, "exit_ok")
    assert minutes(fleet(log)) == {"step": 6 + 1, "hang": 1, "placement": 1, "restore": 1, "replay": 4}


def test_a_start_that_resumes_at_its_end_does_nothing() -> None:
    """A resubmission finds all steps done: init, a load, and out; no step, no replay."""
    log = Log()
    log.say(0, "launch")
    stepping(log, 1, (1, 2, 3))
    log.say(3, "exit_planned")
    log.say(5, "launch")
    log.say(6, "restore_end", step=3)
    log.say(6, "resume", step=3)
    log.say(7, "train_start")
    log.say(7, "train_end")
    log.say(8, "exit_ok")
    made = fleet(log)
    assert starts(made, "kind", "steps", "new_steps", "end_state") == [
        ("first", 3, 3, "completed"), ("planned", 0, 0, "completed"),
    ]  # fmt: skip
    assert minutes(made).get("replay", 0) == 0
    assert minutes(made)["step"] == 3
    assert segments(made)[-1] == (1, "teardown", 7, 8)


def test_a_hang_without_a_message_ends_where_the_scheduler_ends_it() -> None:
    """The log stops at step 3; accounting says the job failed at 33: half an hour of hanging hardware."""
    log = Log(allocation="7")
    log.say(0, "launch")
    stepping(log, 1, (1, 2, 3))
    made = fleet(log, alloc=[record(submit=0, start=0, end=33, gpus=8, state="FAILED")])
    assert minutes(made)["hang"] == 30
    assert starts(made, "end_state") == [("failed",)]


def test_a_hang_that_a_watchdog_names_begins_where_it_began_to_wait() -> None:
    """A watchdog gives up at 15 after ten minutes of waiting: the ranks worked until 5, two minutes past the line."""
    log = Log()
    log.say(0, "launch")
    stepping(log, 1, (1, 2, 3))
    log.say(15, "failure", cause="nccl_timeout", duration_us=600_000_000)
    log.say(20, "launch")
    log.say(20, "resume", step=3)
    stepping(log, 4, (21,))
    log.say(21, "exit_ok")
    assert (1, "hang", 5, 15) in segments(fleet(log))


def test_an_elastic_job_weighs_by_what_it_held() -> None:
    """Eight GPUs until the failure, six behind it: each start's segments carry its own size."""
    log = Log()
    log.say(0, "launch", world=8)
    stepping(log, 1, (1, 2))
    log.say(3, "failure", cause="node")
    log.say(4, "restart", world=6)
    log.say(5, "resume", step=2)
    stepping(log, 3, (6, 7))
    log.say(7, "exit_ok")
    frame = fleet(log).table("segment")
    held = {(start, part): gpus for start, part, gpus in frame.select("start", "part", "gpus").rows()}
    assert held[0, "step"] == 8
    assert held[1, "step"] == 6


def test_starts_that_overlap_share_no_moment() -> None:
    """An old attempt still prints while the new one comes up: every moment is counted once."""
    old, new = Log("a", allocation="7", start=0), Log("b", allocation="8", start=1)
    old.say(0, "launch")
    stepping(old, 1, (1, 2, 3, 4, 5, 6))
    new.say(5, "launch")
    new.say(5.5, "resume", step=4)
    stepping(new, 5, (7, 8, 9))
    new.say(9, "exit_ok")
    rows = segments(fleet(old, new, alloc=[
        record(submit=0, start=0, end=6, gpus=8, state="FAILED"),
        record(line=3, id="8", raw="8", submit=5, start=5, end=9, gpus=8),
    ]))  # fmt: skip
    assert sum(end - begin for *_, begin, end in rows) == 9
    assert minutes(fleet(old, new))["step"] >= 6


def test_allocations_of_one_job_that_overlap_hold_their_gpus_together() -> None:
    """8 GPUs from minute 0 to 6 and 8 others from 4 to 10: 96 GPU-minutes, and for two minutes 16 GPUs do what the job
    does, which is said to be an inference."""
    first, second = Log("a", allocation="7"), Log("b", allocation="8")
    for log, begin, step in ((first, 0, 1), (second, 7, 5)):
        log.say(begin, "launch")
        if step > 1:
            log.say(begin, "resume", step=step - 1)
        stepping(log, step, [begin + number for number in (1, 2, 3)])
    first.say(3, "save_commit", step=4)
    first.say(6, "failure", cause="oom")
    second.say(10, "exit_ok")
    one = record(submit=0, start=0, end=6, gpus=8, state="FAILED")
    other = record(line=3, id="8", raw="8", submit=1, start=4, end=10, gpus=8)
    found = fleet(first, second, alloc=[one, other]).table("segment").sort("begin_us")
    held = found.select((pl.col("end_us") - pl.col("begin_us")) * pl.col("gpus")).to_series()
    assert held.sum() == 96 * MINUTE
    both = found.filter(gpus=16)
    assert (both["begin_us"].min(), both["end_us"].max()) == (minute(4), minute(6))
    assert both["inferred"].all()
    assert (found["end_us"] - found["begin_us"]).sum() == 10 * MINUTE


def test_a_clock_behind_does_not_turn_time_back() -> None:
    """The node of the second start is two minutes behind: its first lines lie before the last of the first start."""
    first, second = Log("a"), Log("b")
    first.say(0, "launch")
    stepping(first, 1, (1, 2, 3, 4))
    first.say(5, "failure", cause="node")
    second.say(5.5, "launch")
    second.say(6, "resume", step=3)
    stepping(second, 4, (7, 8))
    second.say(8, "exit_ok")
    plain = minutes(fleet(first, second))
    late = Log("b")
    late.say(4.5, "launch")
    late.say(5, "resume", step=3)
    stepping(late, 4, (6, 7))
    late.say(7, "exit_ok")
    skewed = minutes(fleet(first, late))
    assert skewed["step"] == plain["step"]
    assert skewed["replay"] == plain["replay"] == 1
    assert sum(skewed.values()) == 7


def test_a_clock_ahead_lengthens_the_wait_and_nothing_else() -> None:
    """A second start whose clock is ten minutes ahead looks as if it waited ten minutes longer."""
    first, second = Log("a"), Log("b")
    first.say(0, "launch")
    stepping(first, 1, (1, 2, 3, 4))
    first.say(5, "failure", cause="node")
    second.say(16, "launch")
    second.say(17, "resume", step=4)
    stepping(second, 5, (18, 19))
    second.say(19, "exit_ok")
    found = minutes(fleet(first, second))
    assert found == {"step": 6, "hang": 1, "gap": 11, "other": 1}
