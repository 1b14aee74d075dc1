"""What bends ETT most in scheduler logs: each hazard with the tests that fail when it comes back.

`HAZARDS` names, for each hazard, its forms and the test of each: `MODULE::TEST`, or `RELATION.toml::CASE`.
"""

from __future__ import annotations

import json
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import ettlog
from ettlog.fleet import Fleet
from tests.conftest import ROOT
from tests.scheduling import us
from tests.tables import MINUTE, Log, fleet, record

HAZARDS: dict[int, tuple[str, dict[str, str]]] = {
    1: ("attempts that are missing make wasted training look effective", {
        "a listing without -D": "test_sacct_chains::test_a_listing_without_its_earlier_attempts_says_so",
        "one transition per condition": "test_k8s_jobs::test_a_restart_leaves_an_attempt_without_a_start",
        "restarts of a container": "test_k8s::test_only_the_last_two_runs_of_a_container_are_known",
        "restarts inside an allocation": "test_htcondor::test_the_trainer_ran_more_often_than_the_scheduler_shows",
        "steps done again": "step_run.toml::steps up to the high-water mark are replayed",
        "in one allocation": "test_hazards::test_steps_done_again_in_one_allocation_are_no_training",
    }),
    2: ("a requeue sets the submission anew", {
        "accounting": "test_sacct_chains::test_the_first_submission_is_that_of_the_oldest_row",
        "JSON": "test_slurm_json::test_a_requeue_is_another_row_with_its_own_submission",
        "the wall": "test_hazards::test_the_wall_begins_with_the_first_submission",
    }),
    3: ("a job that never started is no run, of zero or of 50 years", {
        "accounting": "test_sacct_cells::test_a_job_that_never_ran_has_no_start_and_no_gpus",
        "JSON": "test_slurm_json::test_a_job_cancelled_while_it_waited_never_started",
        "jobcomp": "test_slurm_jobcomp::test_a_job_cancelled_while_it_waited_never_started",
        "LSF": "test_lsf::test_a_job_that_never_started",
        "PBS": "test_pbs::test_a_job_deleted_while_it_waited_has_an_end_only",
        "Grid Engine": "test_sge::test_a_job_that_never_started",
        "HTCondor": "test_htcondor::test_aborted_waiting_and_running_jobs",
        "AWS Batch": "test_k8s_cloud::test_batch_without_a_start_is_never_negative",
        "pods": "test_k8s::test_pod_that_was_never_placed_holds_nothing",
        "GPU time": "test_hazards::test_what_never_started_holds_no_gpu_time",
    }),
    4: ("local times without a zone shift attempts by hours", {
        "told": "test_sacct_cells::test_local_times_are_of_the_zone_told_or_said_to_be_assumed",
        "inferred": "test_clocks::test_the_zone_of_accounting_is_inferred_where_one_alone_holds_the_lines",
        "over a change of clocks": "test_clocks::test_a_zone_with_clock_changes_is_inferred_where_no_fixed_offset_fits",
        "ambiguous": "test_clocks::test_an_ambiguous_zone_is_said_and_not_applied",
        "warned of": "test_hazards::test_lines_outside_their_allocation_are_warned_of",
    }),
    5: ("the time of the last state is not the end of work", {
        "steps end after their job": "test_hazards::test_lines_a_minute_behind_the_end_move_no_end",
        "eviction before the stop": "test_k8s_jobs::test_workload_admission_ends_when_it_is_taken_back",
        "eviction without a stop": "test_hazards::test_an_eviction_is_no_stop_until_something_stopped",
        "Running kept at its start": "test_k8s_jobs::test_of_two_times_of_a_condition_the_later_counts",
        "startTime": "test_k8s_jobs::test_start_time_of_a_training_job_is_no_start",
        "a release is no run": "test_htcondor::test_a_removed_job_did_not_run_until_it_was_removed",
    }),
    6: ("hardware is counted twice", {
        "step rows": "test_hazards::test_steps_and_typed_gpus_are_counted_once",
        "typed gres": "test_sacct_cells::test_gpus_are_counted_once",
        "typed gres in JSON": "test_slurm_json::test_typed_gpus_are_not_added_to_the_untyped_entry",
        "two events of one eviction": "test_hazards::test_two_events_of_one_eviction_are_no_two_allocations",
        "equal lines of a controller": "test_slurmctld::test_three_equal_lines_are_one_start",
        "repeated events of a controller": "test_k8s_jobs::test_controller_lines_that_repeat_count_once",
        "one attempt in two sources": "test_slurmctld::test_one_attempt_in_accounting_and_in_the_log_is_counted_once",
        "quota and pods": "allocation.toml::quota is no second allocation of a job that shows when it ran",
        "a doubled execute event": "test_htcondor::test_a_doubled_execute_event_is_one_run",
    }),
    7: ("a checkpoint that was said to be saved may be lost", {
        "the probe": "test_htcondor::test_a_save_that_the_next_start_did_not_restore_is_lost",
        "any log": "checkpoint.toml::a save that the next start did not go on from was not durable",
        "requested is not committed": "checkpoint.toml::a save that failed is asked for and never committed",
        "old text": "test_dialects_text::test_old_text_that_announced_asynchronous_saves_as_saved_commits_nothing",
    }),
    8: ("what is foretold or asked for is not what was got", {
        "scontrol": "test_scontrol::test_the_start_of_a_waiting_job_is_a_forecast",
        "the limit of a running job": "test_scontrol::test_a_running_job_has_a_start_and_no_end",
        "JSON": "test_slurm_json::test_forecasts_of_the_controller_are_no_facts",
        "ReqTRES": "test_sacct_chains::test_what_a_waiting_job_asks_for_is_not_held",
    }),
    9: ("units differ", {
        "UGE milliseconds": "test_sge::test_seconds_and_milliseconds_are_told_by_their_digits",
        "AWS milliseconds": "test_k8s_cloud::test_batch_attempts_have_their_own_times",
        "Ray milliseconds": "test_k8s_cloud::test_ray_submission_runs_from_its_running_line",
        "percent of GPUs": "test_traces::test_pai_task_gpus_are_percent_of_each_instance",
        "thousandths of GPUs": "test_traces::test_openb_gpus_are_thousandths_and_a_pending_pod_holds_none",
        "queue inside durations": "test_traces::test_kalos_durations_hold_the_queue_and_are_not_used",
        "shares in GPU time": "test_hazards::test_a_share_of_a_gpu_weighs_as_a_share",
    }),
    10: ("text is not escaped", {
        "a record over lines": "test_sacct::test_a_record_broken_over_lines_is_joined",
        "a delimiter in a name": "test_sacct::test_a_delimiter_in_the_only_free_text_is_put_back",
        "a record without its head": "test_sacct::test_a_record_cut_at_its_head_is_rejected_not_shifted",
        "bad bytes": "test_sacct::test_bad_bytes_carriage_returns_and_marks_are_tolerated",
        "names with keys": "test_slurm_jobcomp::test_a_name_with_blanks_and_keys",
        "plain lines among JSON": "test_k8s_jobs::test_controller_lines_that_repeat_count_once",
        "bars and watchdogs in one line": "test_dialects_text::test_a_watchdog_glued_to_a_bar_is_read_with_the_step",
    }),
    11: ("windows cut, and absence is no evidence", {
        "open on the right": "test_hazards::test_a_log_that_stops_leaves_its_job_open",
        "open on the left": "start.toml::a first start that continues from a checkpoint is not the first",
        "absent from a later listing": "test_hazards::test_a_job_that_a_later_listing_lacks_has_not_ended",
        "an end without a begin": "test_slurmctld::test_an_end_without_a_begin_is_no_run",
        "the end in the next log": "test_slurmctld::test_an_attempt_that_ends_in_the_next_log_is_not_open",
        "deleted pods": "test_k8s::test_audit_lines_keep_what_deleted_pods_took_along",
    }),
    12: ("clocks round, and late writes put times back", {
        "neighbours out of order": "test_htcondor::test_neighbours_out_of_order_break_nothing",
        "whole seconds": "test_hazards::test_whole_seconds_of_a_scheduler_put_nothing_out_of_order",
        "a stale write": "test_k8s_jobs::test_a_late_write_does_not_put_a_condition_back",
        "an hour that comes twice": "test_traces::test_an_hour_that_comes_twice_does_not_run_backwards",
        "a change of clocks inside a job": "test_sacct_cells::test_a_clock_change_inside_a_job_is_seen_through",
        "an end before its start": "test_sacct_cells::test_an_end_before_its_start_is_a_bad_time",
    }),
}  # fmt: skip
FORMS = [
    pytest.param(where, id=f"{number}-{form.replace(' ', '-')}")
    for number, (_, forms) in HAZARDS.items()
    for form, where in forms.items()
]


def test_every_hazard_has_tests() -> None:
    """All twelve are here, each with two forms at least."""
    assert list(HAZARDS) == list(range(1, 13))
    assert min(len(forms) for _, forms in HAZARDS.values()) > 1


@pytest.mark.parametrize("where", FORMS)
def test_the_test_of_a_hazard_is_there(where: str) -> None:
    """The named test, or case of a relation, exists under this very name."""
    place, _, name = where.partition("::")
    if place.endswith(".toml"):
        cases = tomllib.loads((ROOT / "tests/relations" / place).read_text(encoding="utf-8"))["case"]
        assert name in {case["name"] for case in cases}
    else:
        assert callable(getattr(import_module(f"tests.{place}"), name, None))


def seconds(made: Fleet, column: str, where: str = "TRUE") -> dict[str, float]:
    """Return the minutes of segments by a column."""
    query = f"SELECT {column}, sum(end_us - begin_us) AS us FROM segment WHERE {where} GROUP BY 1"
    return {name: us / MINUTE for name, us in made.sql(query).iter_rows()}


def training(*steps: tuple[float, int], begin: float = 1, **source: object) -> Log:
    """Return a log that is launched and prints steps of one minute."""
    log = Log("a", **source)
    log.say(begin, "launch")
    for at, step in steps:
        log.step(at, step, 1)
    return log


def test_steps_done_again_in_one_allocation_are_no_training() -> None:
    """The scheduler shows one attempt; the trainer came up twice in it and did steps 2 and 3 again."""
    log = training((3, 1), (4, 2), (5, 3))
    log.say(6, "failure", cause="node")
    log.say(7, "launch")
    log.say(7, "resume", step=1)
    for at, step in ((9, 2), (10, 3), (11, 4)):
        log.step(at, step, 1)
    log.say(12, "train_end")
    spent = seconds(fleet(log, alloc=[record(submit=0, start=1, end=12)]), "part")
    assert (spent["step"], spent["replay"]) == (4, 2)


def test_the_wall_begins_with_the_first_submission() -> None:
    """The requeue at minute 20 has a submission of its own; the job waited since minute 0."""
    rows = [record(submit=0, start=10, end=20, state="NODE_FAIL"), record(line=3, submit=20, start=30, end=40)]
    made = fleet(alloc=rows)
    assert made.sql("SELECT wall_us, submit_us = first_us FROM job").row(0) == (40 * MINUTE, True)
    assert seconds(made, "part")["queue"] == 20


def test_what_never_started_holds_no_gpu_time() -> None:
    """Cancelled after an hour of waiting: an hour of queue, nothing held, no GPU time."""
    made = fleet(alloc=[record(submit=0, end=60, state="CANCELLED", gpus_requested=8)])
    assert seconds(made, "part") == {"queue": 60}
    assert made.sql("SELECT sum(allocated_us), sum(allocated_gpu_us) FROM ledger").row(0) == (0, 0)


def test_lines_outside_their_allocation_are_warned_of() -> None:
    """Three hours too late by the scheduler's clock: a check names the start and by how much."""
    log = training((190, 1), begin=185, allocation="7")
    found = fleet(log, alloc=[record(submit=0, start=1, end=12)]).check()
    assert "lines reach 10680 s beyond allocation 7" in found["detail"].to_list()


def test_lines_a_minute_behind_the_end_move_no_end() -> None:
    """Steps end up to 76 s after their job: the allocation ends when accounting says, and no check complains."""
    log = training((3, 1), (4, 2), allocation="7")
    log.say(12 + 76 / 60, "exit_ok")
    made = fleet(log, alloc=[record(submit=0, start=1, end=12)])
    assert made.sql("SELECT allocated_us FROM job").item() == 11 * MINUTE
    assert made.check().is_empty()


def z(clock: str) -> str:
    """Return an instant of the day as Kubernetes writes it."""
    return f"2031-04-05T{clock}Z"


def lake(tmp_path: Path, **files: str) -> Fleet:
    """Return a lake of files; a dot in a name is written as two underscores."""
    (tmp_path / "logs").mkdir()
    for name, text in files.items():
        (tmp_path / "logs" / name.replace("__", ".")).write_text(text)
    ettlog.ingest([tmp_path / "logs"], tmp_path / "lake")
    return ettlog.open(tmp_path / "lake")


def test_an_eviction_is_no_stop_until_something_stopped(tmp_path: Path) -> None:
    """Evicted at 08:10, admitted until 08:40: the allocation ends at 08:40, and the eviction is a mark."""
    told = [("Admitted", "True", "08:00:00"), ("Evicted", "True", "08:10:00"), ("Finished", "True", "08:40:00")]
    conditions = [{"type": kind, "status": on, "lastTransitionTime": z(at)} for kind, on, at in told]
    workload = {
        "apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload", "status": {"conditions": conditions},
        "metadata": {"name": "job-run-1", "namespace": "a", "uid": "u", "creationTimestamp": z("07:59:00")},
    }  # fmt: skip
    made = lake(tmp_path, workload__json=json.dumps(workload))
    held = made.sql("SELECT start_us, end_us FROM allocation").rows()
    assert held == [(us("2031-04-05T08:00:00"), us("2031-04-05T08:40:00"))]
    assert made.sql("SELECT count(*) FROM alloc WHERE record = 'mark' AND state = 'Evicted'").item() == 1


SACCT = """\
JobID|JobIDRaw|JobName|State|Submit|Start|End|Elapsed|AllocTRES|NodeList
71|71|owl|{state}|2031-04-05T06:00:00|2031-04-05T06:00:00|{end}|01:00:00|gres/gpu=8,gres/gpu:h9=8|n1
71.batch|71.batch|batch|{state}|2031-04-05T06:00:00|2031-04-05T06:00:00|{end}|01:00:00|gres/gpu=8|n1
71.0|71.0|train|{state}|2031-04-05T06:00:00|2031-04-05T06:00:00|{end}|01:00:00|gres/gpu=8,gres/gpu:h9=8|n1
"""


def test_steps_and_typed_gpus_are_counted_once(tmp_path: Path) -> None:
    """A job, its batch and its step name eight GPUs of one type for one hour: eight GPU-hours."""
    made = lake(tmp_path, sacct__txt=SACCT.format(state="COMPLETED", end="2031-04-05T07:00:00"))
    assert made.sql("SELECT sum(gpus * (end_us - start_us)) / 3.6e9 FROM allocation").item() == 8
    assert made.sql("SELECT sum(allocated_gpu_us) / 3.6e9 FROM ledger").item() == 8
    assert ettlog.ett(made)["wall_gpu_hours"].to_list() == [8.0]


def test_two_events_of_one_eviction_are_no_two_allocations(tmp_path: Path) -> None:
    """EvictedDueToPreempted and Preempted tell of one happening: two marks, and no allocation is made or ended."""
    about = {"kind": "Workload", "name": "job-run-1", "namespace": "a", "uid": "u"}
    events = [
        {
            "kind": "Event", "apiVersion": "v1", "metadata": {"name": f"e{n}", "creationTimestamp": z("08:10:00")},
            "involvedObject": about, "reason": reason, "firstTimestamp": z("08:10:00"), "lastTimestamp": z("08:10:00"),
            "count": 1,
        }
        for n, reason in enumerate(("EvictedDueToPreempted", "Preempted"))
    ]  # fmt: skip
    made = lake(tmp_path, events__json=json.dumps({"kind": "List", "apiVersion": "v1", "items": events}))
    assert made.sql("SELECT count(*) FROM allocation").item() == 0
    assert made.sql("SELECT count(*) FROM alloc WHERE record = 'mark'").item() == 2


def test_a_share_of_a_gpu_weighs_as_a_share() -> None:
    """Half a GPU for an hour and two GPUs for an hour: two and a half GPU-hours, in the ledger and in `ett`."""
    rows = [
        record(submit=0, start=0, end=60, gpu_milli=500),
        record(line=3, id="8", raw="8", name="b", submit=0, start=0, end=60, gpus=2),
    ]
    made = fleet(alloc=rows)
    assert made.sql("SELECT sum(allocated_gpu_us) / 3.6e9 FROM ledger").item() == 2.5
    assert ettlog.ett(made)["wall_gpu_hours"].to_list() == [2.5]


def test_a_log_that_stops_leaves_its_job_open() -> None:
    """No end is printed and no scheduler tells one: the job is open, its last steps are neither lost nor abandoned."""
    made = fleet(training((3, 1), (4, 2)))
    assert made.sql("SELECT open, end_state FROM job").row(0) == (True, "truncated")
    assert "abandoned" not in seconds(made, "part")


def test_a_job_that_a_later_listing_lacks_has_not_ended(tmp_path: Path) -> None:
    """The first listing shows 71 running; the second, an hour later, shows another job only: no end is made of that."""
    running = SACCT.format(state="RUNNING", end="Unknown").splitlines()
    other = running[1].replace("71|71", "72|72").replace("T06:00:00", "T07:00:00")
    made = lake(tmp_path, a__txt="\n".join(running[:2]) + "\n", b__txt=f"{running[0]}\n{other}\n")
    assert made.sql("SELECT id, end_us FROM allocation ORDER BY id").rows() == [("71", None), ("72", None)]
    assert made.sql("SELECT open FROM job ORDER BY job")["open"].to_list() == [True, True]


def test_whole_seconds_of_a_scheduler_put_nothing_out_of_order() -> None:
    """The first line comes 0.4 s before the second that accounting names, the last 0.6 s behind it: no time is lost."""
    log = training((3, 1), (4, 2), begin=1 - 0.4 / 60, allocation="7")
    log.say(12 + 0.6 / 60, "train_end")
    made = fleet(log, alloc=[record(submit=0, start=1, end=12)])
    lengths = made.sql("SELECT end_us - begin_us AS us FROM segment")["us"].to_list()
    assert min(lengths) > 0
    assert sum(lengths) == made.sql("SELECT wall_us FROM job").item()
    assert made.check().is_empty()


def test_invariants_hold_over_a_chain() -> None:
    """Parts add up to the wall; attempts do not overlap; what was restored had been committed."""
    log = training((3, 1), (4, 2), allocation="7")
    log.say(4, "save_commit", step=2)
    log.say(5, "failure", cause="node")
    log.say(21, "launch")
    log.say(22, "restore_end", step=2)
    log.say(22, "resume", step=2)
    log.step(24, 3, 1)
    log.say(25, "train_end")
    rows = [record(submit=0, start=1, end=6, state="NODE_FAIL"), record(line=3, submit=6, start=20, end=26)]
    made = fleet(log, alloc=rows)
    wall, held = made.sql("SELECT wall_us, allocated_us FROM job").row(0)
    assert sum(seconds(made, "part").values()) == wall / MINUTE == 26
    assert held == 11 * MINUTE
    times = made.sql("SELECT start_us, end_us FROM allocation ORDER BY start_us").rows()
    assert times[0][1] <= times[1][0]
    assert sum(end - start for start, end in times) <= wall
    restored = made.sql("SELECT resumed_from FROM start WHERE k = 1").item()
    assert restored <= made.sql("SELECT max(step) FROM checkpoint WHERE state = 'committed' AND NOT lost").item()
