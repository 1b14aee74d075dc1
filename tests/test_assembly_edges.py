"""Hard cases of what was collected: cut logs, some ranks only, logs without a scheduler, records without a log."""

from __future__ import annotations

from tests.assembly import segments, starts, stepping
from tests.tables import Log, fleet, record


def test_a_job_still_running_is_clipped_and_open() -> None:
    """The record has no end: the job is open, and its wall ends with the newest instant of all logs."""
    log, other = Log(allocation="7"), Log("b", job_name="other")
    log.say(1, "launch")
    stepping(log, 1, (2, 3))
    other.say(0, "launch")
    stepping(other, 1, (1, 5))
    made = fleet(log, other, alloc=[record(submit=0, start=0, gpus=8, state="RUNNING")])
    assert segments(made) == [(0, "placement", 0, 1), (0, "step", 1, 3), (0, "gap", 3, 5)]
    job = {row["job"]: row["open"] for row in made.table("job").iter_rows(named=True)}
    assert job["run"] is True


def test_a_log_cut_at_the_left_begins_with_its_first_line() -> None:
    """The head is lost: the first line is of step 50, what it took is an inference, and nothing before it is
    claimed."""
    log = Log()
    for step, at in ((50, 10), (51, 11), (52, 12)):
        log.step(at, step, 1)
    log.say(12, "exit_ok")
    made = fleet(log)
    assert segments(made) == [(0, "step", 9, 10), (0, "step", 10, 12)]
    assert made.table("segment").sort("begin_us")["inferred"].to_list() == [True, False]
    assert starts(made, "first_step", "new_steps") == [(50, 3)]


def test_a_long_first_step_beside_too_few_others_is_an_inference() -> None:
    """Of two steps nobody can tell what one takes: a compile may lie in the first, which took twice as long."""
    log = Log()
    log.say(0, "launch")
    log.step(5, 1, 4)
    log.step(7, 2, 2)
    log.say(7, "exit_ok")
    made = fleet(log)
    first, second = made.table("segment").filter(component="effective_training").sort("begin_us").iter_rows(named=True)
    assert (first["inferred"], second["inferred"]) == (True, False)
    assert segments(made)[-2:] == [(0, "step", 1, 5), (0, "step", 5, 7)]


def test_batches_behind_the_last_numbered_step_are_unknown_and_no_teardown() -> None:
    """Three steps have numbers, then batches go on for eight minutes: what they trained cannot be counted."""
    log = Log()
    log.say(0, "launch")
    stepping(log, 1, (1, 2, 3))
    for at in (4, 6, 8, 11):
        log.say(at, "heartbeat")
    log.say(11, "train_end")
    log.say(12, "exit_ok")
    made = fleet(log)
    assert segments(made) == [(0, "step", 0, 3), (0, "gap", 3, 11), (0, "teardown", 11, 12)]
    assert made.table("segment").sort("begin_us")["stage"].to_list() == ["steady", "steady", "shutdown"]


def test_signs_of_life_of_the_last_save_are_no_training() -> None:
    """The save asked for behind the last step closes the loop: what its writer says later is shutdown."""
    log = Log()
    log.say(0, "launch")
    stepping(log, 1, (1, 2, 3))
    log.say(3, "save_request", step=3)
    log.say(4, "heartbeat")
    log.say(5, "save_commit", step=3)
    log.say(7, "heartbeat")
    log.say(8, "train_end")
    log.say(8, "exit_ok")
    assert segments(fleet(log)) == [(0, "step", 0, 3), (0, "final_save", 3, 5), (0, "teardown", 5, 8)]


def test_a_log_cut_at_the_left_inside_an_allocation_leaves_a_gap() -> None:
    """Hardware was held from 0; what happened until the first line is unknown, no start-up."""
    log = Log(allocation="7")
    for step, at in ((50, 10), (51, 11), (52, 12)):
        log.step(at, step, 1)
    log.say(12, "exit_ok")
    made = fleet(log, alloc=[record(submit=0, start=0, end=12, gpus=8)])
    assert segments(made) == [(0, "gap", 0, 9), (0, "step", 9, 10), (0, "step", 10, 12)]
    assert made.table("segment")["stage"].unique().to_list() == ["steady"]


def test_a_log_that_begins_with_the_first_step_is_not_cut() -> None:
    """A trainer that prints nothing before step 1: until then hardware was held and no trainer showed."""
    log = Log(allocation="7")
    stepping(log, 1, (10, 11, 12))
    log.say(12, "exit_ok")
    made = fleet(log, alloc=[record(submit=0, start=0, end=12, gpus=8)])
    assert segments(made) == [(0, "placement", 0, 9), (0, "step", 9, 12)]


def test_a_log_cut_at_the_right_is_truncated() -> None:
    """No line tells the end: nothing is called a failure, and nothing abandoned."""
    log = Log()
    log.say(0, "launch")
    stepping(log, 1, (2, 3))
    made = fleet(log)
    assert starts(made, "end_state") == [("truncated",)]
    assert segments(made) == [(0, "other", 0, 1), (0, "step", 1, 3)]


def test_logs_of_some_ranks_give_the_same_start() -> None:
    """Of four ranks two were collected: the start is theirs together, with the printed world size."""
    logs = []
    for rank in (1, 3):
        log = Log(f"r{rank}", rank=rank, stream="run")
        log.say(0, "launch", world=4)
        stepping(log, 1, (2, 3))
        log.say(4, "exit_ok")
        logs.append(log)
    made = fleet(*logs)
    assert starts(made, "steps", "world_size") == [(2, 4)]
    assert segments(made) == [(0, "other", 0, 1), (0, "step", 1, 3), (0, "teardown", 3, 4)]


def test_a_trainer_without_a_scheduler_holds_what_its_log_shows() -> None:
    """Two starts in two logs: between them nobody knows who held the hardware."""
    first, second = Log("a"), Log("b")
    first.say(0, "launch")
    stepping(first, 1, (1, 2))
    first.say(3, "failure", cause="oom")
    second.say(10, "launch")
    second.say(10, "resume", step=2)
    stepping(second, 3, (11,))
    second.say(11, "exit_ok")
    made = fleet(first, second)
    assert segments(made) == [(0, "step", 0, 2), (1, "hang", 2, 3), (1, "gap", 3, 10), (1, "step", 10, 11)]
    held = made.table("segment").filter(made.table("segment")["part"] == "gap")["allocated"].to_list()
    assert held == [False]


def test_a_record_without_a_trainer_is_a_wait_and_an_unknown_time() -> None:
    """Accounting alone: the queue is known, the rest is not called training."""
    made = fleet(alloc=[record(submit=0, start=4, end=60, gpus=8)])
    assert segments(made, "7") == [(None, "queue", 0, 4), (None, "gap", 4, 60)]


def test_an_allocation_without_lines_between_two_with_lines_stays_unknown() -> None:
    """Of three allocations the middle one has no log: its time is a gap, never training."""
    first, third = Log("a", allocation="7"), Log("c", allocation="9")
    first.say(0, "launch")
    stepping(first, 1, (1, 2))
    first.say(3, "failure", cause="node")
    third.say(20, "launch")
    third.say(21, "resume", step=2)
    stepping(third, 3, (22,))
    third.say(22, "exit_ok")
    made = fleet(first, third, alloc=[
        record(submit=0, start=0, end=3, gpus=8, state="FAILED"),
        record(line=3, id="8", raw="8", submit=3, start=5, end=15, gpus=8, state="FAILED"),
        record(line=4, id="9", raw="9", submit=15, start=19, end=22, gpus=8),
    ])  # fmt: skip
    assert segments(made) == [
        (0, "step", 0, 2), (1, "hang", 2, 3), (1, "queue", 3, 5), (1, "gap", 5, 15), (1, "queue", 15, 19),
        (1, "placement", 19, 20), (1, "other", 20, 21), (1, "step", 21, 22),
    ]  # fmt: skip
