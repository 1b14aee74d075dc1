"""HTCondor: user logs, history in three shapes, and the tables of a checkpoint probe."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ettlog
from ettlog.fleet import Fleet
from tests.scheduling import jobs, read, us

JOB = "(412.000.000)"


def event(code: str, at: str, text: str, job: str = JOB, body: str = "") -> str:
    """Write one event with its body and end."""
    return f"{code} {job} 2031-04-05 {at} {text}\n{body}...\n"


SUBMITTED = event("000", "06:00:00", "Job submitted from host: <192.0.2.1:9618>")
RUNS = event(
    "001", "06:01:00", "Job executing on host: <192.0.2.7:9618?a=b>", body="\tSlotName: slot1_2@m7\n\tGPUs = 4\n"
)
EVICTED = event("004", "06:31:00", "Job was evicted.", body="\t(0) CPU times\n")
AGAIN = event("001", "06:41:00", "Job executing on host: <192.0.2.8:9618>")
ENDED = event("005", "07:41:00", "Job terminated.", body="\t(1) Normal termination (return value 0)\n")


def log(tmp_path: Path, *events: str, **options: Any) -> list[dict[str, Any]]:
    """Return the attempts of a user log."""
    return jobs(read(tmp_path / "job.log", "htcondor", "".join(events), **options))


def test_an_evicted_job_has_two_runs(tmp_path: Path) -> None:
    """The second run waits from the eviction; the wait between is no run."""
    first, second = log(tmp_path, SUBMITTED, RUNS, EVICTED, AGAIN, ENDED, zone="UTC")
    assert (first["id"], first["state"], second["state"]) == ("412.000", "evicted", "terminated")
    assert [row["start_us"] - row["submit_us"] for row in (first, second)] == [60_000_000, 600_000_000]
    assert [row["end_us"] - row["start_us"] for row in (first, second)] == [1_800_000_000, 3_600_000_000]
    assert [row["restarts"] for row in (first, second)] == [0, 1]
    assert first["submit_us"] == us("2031-04-05T06:00:00")


@pytest.mark.parametrize(
    ("host", "body", "node"),
    [
        ("<192.0.2.7:9618?addrs=192.0.2.7-9618&noUDP&sock=2275_0a0c_3>", "", "192.0.2.7"),
        ("<192.0.2.7:9618?addrs=192.0.2.7-9618&alias=m7.example.org&sock=startd_1>", "", "m7.example.org"),
        ("<192.0.2.7:9618?sock=startd_1>", "\tSlotName: slot1_2@m7.example.org\n\tGPUs = 4\n", "m7.example.org"),
        ("<[2001:db8::7]:9618?sock=startd_1>", "", "2001:db8::7"),
        ("slot1@m7.example.org", "", "m7.example.org"),
    ],
)
def test_a_node_is_the_host_and_not_its_socket(tmp_path: Path, host: str, body: str, node: str) -> None:
    """The address of an execution names the socket of the day too: one host goes by one name."""
    (row,) = log(tmp_path, SUBMITTED, event("001", "06:01:00", f"Job executing on host: {host}", body=body), ENDED)
    assert row["node"] == node


def test_what_ended_a_run_tells_how(tmp_path: Path) -> None:
    """An eviction is a preemption, unless the job ended and asked to run again; an exit code tells the rest."""
    ends = {
        "1": (EVICTED, "preempted"),
        "2": (event("004", "06:31:00", "Job was evicted.", body="\t(0) Job terminated and was requeued\n"), "unknown"),
        "3": (ENDED, "completed"),
        "4": (ENDED.replace("value 0", "value 3"), "failed"),
        "5": (event("005", "07:41:00", "Job terminated.", body="\t(0) Abnormal termination (signal 9)\n"), "failed"),
    }
    text = "".join((SUBMITTED + RUNS + end).replace("(412.", f"({job}.") for job, (end, _) in ends.items())
    (tmp_path / "job.log").write_text(text)
    ettlog.ingest([tmp_path / "job.log"], tmp_path / "lake")
    held = ettlog.open(tmp_path / "lake").sql("SELECT job, end_state FROM _held WHERE from_us IS NOT NULL").rows()
    assert {job.split(".")[0]: state or "unknown" for job, state in held} == {
        job: told for job, (_, told) in ends.items()
    }


def test_a_doubled_execute_event_is_one_run(tmp_path: Path) -> None:
    """The same host again without an end between is one run; another host is another run, the first without an end."""
    assert len(log(tmp_path, SUBMITTED, RUNS, RUNS, ENDED)) == 1
    first, second = log(tmp_path, SUBMITTED, RUNS, AGAIN, ENDED)
    assert (first["end_us"], first["state"], second["state"]) == (None, "executing", "terminated")


@pytest.mark.parametrize("code", ["004", "007", "012", "024"])
def test_whatever_takes_the_job_off_its_host_ends_the_run(tmp_path: Path, code: str) -> None:
    """Eviction, shadow exception, hold and a failed reconnection end the run and not the job."""
    first, second = log(tmp_path, SUBMITTED, RUNS, event(code, "06:31:00", "Gone."), AGAIN, ENDED)
    assert first["end_us"] == second["submit_us"] == us("2031-04-05T06:31:00")


def test_a_release_is_when_the_job_could_run_again(tmp_path: Path) -> None:
    """Held from 6:31 to 6:36, then waiting for five minutes."""
    held, released = event("012", "06:31:00", "Job was held."), event("013", "06:36:00", "Job was released.")
    row = log(tmp_path, SUBMITTED, RUNS, held, released, AGAIN, ENDED)[1]
    assert row["start_us"] - row["eligible_us"] == 300_000_000


def test_suspension_is_summed(tmp_path: Path) -> None:
    """Ten minutes of suspension inside a run."""
    stops = event("010", "06:10:00", "Job was suspended."), event("011", "06:20:00", "Job was unsuspended.")
    (row,) = log(tmp_path, SUBMITTED, RUNS, *stops, ENDED)
    assert row["suspended_us"] == 600_000_000


def test_aborted_waiting_and_running_jobs(tmp_path: Path) -> None:
    """A job aborted while it waited never started; one without an end is open; one only submitted waits."""
    other = "(413.000.000)"
    texts = SUBMITTED, event("009", "06:05:00", "Job was aborted."), SUBMITTED.replace(JOB, other)
    aborted, waiting = log(tmp_path, *texts)
    assert (aborted["start_us"], aborted["end_us"]) == (None, us("2031-04-05T06:05:00"))
    assert (waiting["start_us"], waiting["end_us"], waiting["state"]) == (None, None, "submitted")
    (running,) = log(tmp_path, SUBMITTED, RUNS)
    assert (running["start_us"], running["end_us"]) == (us("2031-04-05T06:01:00"), None)


def test_exit_codes_and_signals(tmp_path: Path) -> None:
    """The line below the event tells how the job ended."""
    abnormal = ENDED.replace("(1) Normal termination (return value 0)", "(0) Abnormal termination (signal 9)")
    assert log(tmp_path, SUBMITTED, RUNS, ENDED)[0]["exit_code"] == 0
    assert log(tmp_path, SUBMITTED, RUNS, abnormal)[0]["exit_signal"] == 9


def test_gpus_are_told_at_either_end_of_a_run(tmp_path: Path) -> None:
    """Event 001 of newer releases lists them, and the table below 005 does: usage, request, what was allocated."""
    table = (
        '\tPartitionable Resources : Usage Request Allocated Assigned\n\t   Gpus (Average) : 0.87 1 2 "GPU-1, GPU-2"\n'
    )
    bare = RUNS.replace("\tGPUs = 4\n", "")
    ended = ENDED.replace("...\n", table + "...\n")
    assert log(tmp_path, SUBMITTED, RUNS, ENDED)[0]["gpus"] == 4
    assert log(tmp_path, SUBMITTED, bare, ended)[0]["gpus"] == 2
    assert log(tmp_path, SUBMITTED, bare, ended.replace("0.87 1 2", "1 2"))[0]["gpus"] == 2
    assert log(tmp_path, SUBMITTED, bare, ENDED)[0]["gpus"] is None


def test_stamps_without_a_year(tmp_path: Path) -> None:
    """The old form has month and day only: the year is the one that is told."""
    text = (SUBMITTED + RUNS + ENDED).replace("2031-04-05", "04/05")
    (row,) = log(tmp_path, text, year_hint=2031, zone="UTC")
    assert (row["start_us"], row["clock"]) == (us("2031-04-05T06:01:00"), "date_inferred")
    (row,) = log(tmp_path, text)
    assert (row["end_us"] - row["start_us"], row["clock"]) == (6_000_000_000, "date_nominal")


def ad(**more: object) -> str:
    """Write an ad of history; text values have their quotes."""
    base: dict[str, object] = {
        "ClusterId": 412, "ProcId": 0, "Owner": '"kim"', "QDate": 1_933_135_600, "JobStatus": 4,
        "JobStartDate": 1_933_135_660, "JobCurrentStartDate": 1_933_136_000, "CompletionDate": 1_933_137_000,
        "EnteredCurrentStatus": 1_933_137_000, "NumJobStarts": 2, "NumShadowStarts": 2, "NumRestarts": 0,
        "RemoteWallClockTime": "1200.0", "LastRemoteWallClockTime": "1000.0", "RequestGPUs": 2, "ExitCode": 0,
    }  # fmt: skip
    return "".join(f"{key} = {value}\n" for key, value in {**base, **more}.items() if value is not None) + "\n"


def test_the_runs_before_the_last_one_are_told_by_the_difference(tmp_path: Path) -> None:
    """1,200 s in all and 1,000 s of the last run: 200 s before it. NumRestarts counts something else."""
    first, last = sorted(jobs(read(tmp_path / "history", "htcondor", ad())), key=lambda row: row["start_us"])
    assert (first["elapsed_us"], last["elapsed_us"], last["restarts"]) == (200_000_000, 1_000_000_000, 1)
    assert (first["end_us"] - first["start_us"], last["end_us"] - last["start_us"]) == (200_000_000, 1_000_000_000)
    assert (last["state"], last["gpus"], last["gpus_requested"], last["user"]) == ("COMPLETED", None, 2, "kim")


def test_a_removed_job_did_not_run_until_it_was_removed(tmp_path: Path) -> None:
    """Held for hours and then removed: the run has its own length, whatever the dates around it."""
    text = ad(JobStatus=3, CompletionDate=0, EnteredCurrentStatus=1_933_199_000, LastRemoteWallClockTime="1000.0")
    last = max(jobs(read(tmp_path / "history", "htcondor", text)), key=lambda row: row["start_us"])
    assert last["end_us"] - last["start_us"] == 1_000_000_000


def test_history_files_and_json(tmp_path: Path) -> None:
    """Banners between ads of a history file, and the same ads as JSON."""
    once: dict[str, object] = {"NumJobStarts": 1, "NumShadowStarts": 1, "LastRemoteWallClockTime": None}
    banner = '*** Offset = 0 ClusterId = 412 ProcId = 0 Owner = "kim" CompletionDate = 1933137000\n'
    text = ad(**once).rstrip("\n") + "\n" + banner + ad(ClusterId=413, **once).rstrip("\n") + "\n" + banner
    assert [row["id"] for row in jobs(read(tmp_path / "history", "htcondor", text))] == ["412.0", "413.0"]
    found = json.dumps([{"ClusterId": 412, "ProcId": 1, "QDate": 1_933_135_600, "RemoteWallClockTime": 9.0}])
    assert [row["id"] for row in jobs(read(tmp_path / "history.json", "htcondor", found))] == ["412.1"]


def test_dates_that_do_not_hold_the_run_are_no_run(tmp_path: Path) -> None:
    """19 s of wall time between dates hours apart stay 19 s; the dates are kept as marks."""
    text = "ce#1.0#9|kim|19|18|8|1933135600|1933155600|7|8|2\nce#2.0#9|kim|60|18|8|1933135600|1933135661|7|8|2|1.5\n"
    parsed = read(tmp_path / "history.txt", "htcondor", text)
    odd, good = jobs(parsed)
    assert (odd["elapsed_us"], odd["start_us"], odd["end_us"]) == (19_000_000, None, None)
    assert good["end_us"] - good["start_us"] == 61_000_000
    assert [row["state"] for row in parsed.allocs.to_pylist() if row["record"] == "mark"] == [
        "JobStartDate",
        "EnteredCurrentStatus",
    ]


def test_broken_input_is_counted(tmp_path: Path) -> None:
    """Text between events, an end before its begin, an impossible date, a torn line."""
    late = event("005", "05:00:00", "Job terminated.")
    text = SUBMITTED + RUNS + late + "noise\n" + SUBMITTED.replace("04-05", "13-45") + "001 (4"
    parsed = read(tmp_path / "job.log", "htcondor", text)
    assert parsed.lines == {"matched": 2, "bad_time": 2, "bad_record": 1, "ignored": 6, "torn": 1}


TRAINER = "clock\ttime\texecution\tevent\tstep\tdetail\n"


def probe(*rows: tuple[str, str, str, int, str]) -> str:
    """Write the trainer's table of a probe."""
    return TRAINER + "".join("EP\t" + "\t".join(str(cell) for cell in row) + "\n" for row in rows)


@pytest.fixture
def joined(tmp_path: Path) -> Fleet:
    """Return a lake with a trainer that ran three times in two runs of its job, and lost its last save."""
    folder = tmp_path / "logs" / "probe"
    folder.mkdir(parents=True)
    table = [
        ("10:00:00.0", "000", "submitted", "host"),
        ("10:00:10.0", "001", "executing", "slot1@m1; GPUs=2"),
        ("10:02:00.0", "040", "file_transfer", "Started transferring output files"),
        ("10:10:00.0", "004", "evicted", "Reason: Job vacated by schedd"),
        ("10:11:00.0", "001", "executing", "slot1@m2; GPUs=2"),
        ("10:20:00.0", "005", "terminated", "(1) Normal termination (return value 0)"),
    ]
    text = "clock\ttime\tcode\tevent\tdetail\n" + "".join("AP\t" + "\t".join(row) + "\n" for row in table)
    (folder / "joblog.tsv").write_text(text)
    rows = [
        ("10:00:12.0", "a1", "start", 0, "no checkpoint found"),
        ("10:00:13.0", "a1", "loop_start", 0, "total_steps=300"),
        ("10:00:14.0", "a1", "save_start", 1, "periodic"),
        ("10:01:59.0", "a1", "save_done", 60, "voluntary 0.500 s"),
        ("10:02:00.0", "a1", "exit", 60, "code 85"),
        ("10:02:05.0", "b2", "start", 60, "same sandbox"),
        ("10:02:06.0", "b2", "loop_start", 60, "restored 60"),
        ("10:09:58.0", "b2", "signal", 149, "SIGTERM"),
        ("10:09:59.0", "b2", "save_done", 149, "signal 0.300 s"),
        ("10:09:59.5", "b2", "exit", 149, "code 85"),
        ("10:11:02.0", "c3", "start", 60, "new sandbox"),
        ("10:11:03.0", "c3", "loop_start", 60, "restored 60"),
        ("10:19:58.0", "c3", "save_done", 300, "final 0.400 s"),
        ("10:19:59.0", "c3", "exit", 300, "code 0"),
    ]
    (folder / "trainer.tsv").write_text(probe(*rows))
    outcomes = (
        "probe\texecutions_by_trainer\texecuting_events_in_joblog\tNumJobStarts\tstep_saved_at_signal"
        "\tstep_restored_next\tsave_survived\trestart_gap_s\tsame_host\tgrace_s_if_not_exited\n"
        "one\t3\t2\t2\t100\t60\tno\t9\tno\t\ntwo\t3\t2\t2\t100\t100\tyes\t9\tno\t\nthree\t3\t2\t2\t\t5\tno_handler\t9\tno\t9\n"
    )
    (folder / "outcomes.tsv").write_text(outcomes)
    ettlog.ingest([tmp_path / "logs"], tmp_path / "lake")
    return ettlog.open(tmp_path / "lake")


def test_the_trainer_ran_more_often_than_the_scheduler_shows(joined: Fleet) -> None:
    """Three starts in two runs: a self-checkpoint exit restarts the trainer inside its run."""
    starts = joined.sql("SELECT kind FROM start WHERE job LIKE '%trainer%' ORDER BY k")["kind"].to_list()
    runs = joined.sql("SELECT state, start_us, end_us FROM allocation WHERE job LIKE '%trainer%' ORDER BY start_us")
    assert starts == ["first", "planned", "failure"]
    assert runs["state"].to_list() == ["evicted", "terminated"]
    assert (runs["end_us"] - runs["start_us"]).to_list() == [590_000_000, 540_000_000]


def test_a_save_that_the_next_start_did_not_restore_is_lost(joined: Fleet) -> None:
    """Steps 61 to 149 were saved, said the trainer, and done again: they are replayed, not effective."""
    natures = joined.sql("SELECT nature, sum(steps) AS steps FROM step_run WHERE job LIKE '%trainer%' GROUP BY nature")
    assert dict(natures.iter_rows())["step"] == 300
    assert dict(natures.iter_rows())["replay"] == 89
    query = "SELECT step, lost FROM checkpoint WHERE job LIKE '%trainer%' AND state = 'committed' ORDER BY step"
    assert list(joined.sql(query).iter_rows()) == [(60, False), (149, True), (300, None)]
    waits = "SELECT sum(end_us - begin_us) AS us FROM segment WHERE job LIKE '%trainer%' AND part = 'queue'"
    assert joined.sql(waits)["us"].to_list() == [70_000_000]


def test_neighbours_out_of_order_break_nothing(tmp_path: Path) -> None:
    """Clocks of whole seconds put a line before its neighbour: no check fails, and no time is negative."""
    folder = tmp_path / "logs"
    folder.mkdir()
    rows = [
        ("10:00:00.0", "a1", "start", 0, "no checkpoint found"),
        ("10:00:01.0", "a1", "loop_start", 0, "total_steps=90"),
        ("10:00:31.6", "a1", "save_start", 30, "periodic"),
        ("10:00:31.0", "a1", "save_done", 30, "periodic 0.340 s"),
        ("10:01:31.0", "a1", "save_done", 90, "final 0.340 s"),
        ("10:01:30.0", "a1", "exit", 90, "code 0"),
    ]
    (folder / "trainer.tsv").write_text(probe(*rows))
    ettlog.ingest([folder], tmp_path / "lake")
    fleet = ettlog.open(tmp_path / "lake")
    assert "error" not in fleet.check()["level"].to_list()
    lengths = fleet.sql("SELECT end_us - begin_us AS us FROM segment")["us"].to_list()
    assert lengths
    assert min(lengths) > 0


LOST = (
    "SELECT c.step - s.resumed_from AS lost FROM checkpoint AS c JOIN start AS s ON s.job = c.job AND s.k = c.k "
    "WHERE c.job LIKE '%outcomes%' AND c.state = 'committed' AND s.resumed_from < c.step ORDER BY s.k"
)


def test_lost_saves_of_many_probes(joined: Fleet) -> None:
    """Of three probes one lost its save of step 100 and went on from 60; one lost none, one saved none."""
    assert joined.sql(LOST)["lost"].to_list() == [40]


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> Fleet:
    """Return a lake of the real probe and of the real requeued job."""
    lake = tmp_path_factory.mktemp("lake") / "lake"
    folders = [shared / "data/scheduler" / name for name in ("htcondor_ckpt_probe", "slurm_requeue_reportseff")]
    ettlog.ingest(folders, lake)
    return ettlog.open(lake)


@pytest.mark.shared
def test_the_real_probe(real: Fleet) -> None:
    """The trainer ran three times, the scheduler shows two runs of 161 and 278 s after 9 and 46 s of waiting."""
    assert real.sql("SELECT k FROM start WHERE job LIKE '%trainer%'").height == 3
    runs = real.sql(
        "SELECT start_us - submit_us AS wait, end_us - start_us AS held, gpus FROM allocation "
        "WHERE job LIKE '%trainer%' ORDER BY start_us"
    )
    assert list(runs.iter_rows()) == [(9_000_000, 161_000_000, 1), (46_000_000, 278_000_000, 1)]
    steps = real.sql("SELECT nature, sum(steps) AS steps FROM step_run WHERE job LIKE '%trainer%' GROUP BY nature")
    assert list(steps.iter_rows()) == [("step", 420)]
    assert real.sql(LOST)["lost"].to_list() == [89, 102, 89]


@pytest.mark.shared
def test_the_real_requeued_job(real: Fleet) -> None:
    """One job, four allocations of 3,889, 4,473, 6,122 and 2,153 s."""
    found = real.sql(
        "SELECT job, elapsed_us FROM allocation WHERE raw = '235929' ORDER BY CAST(split_part(evidence, ':', 2) AS INT)"
    )
    assert set(found["job"]) == {"235929"}
    assert [us // 1_000_000 for us in found["elapsed_us"]] == [3889, 4473, 6122, 2153]
