"""Chains of attempts in accounting: requeues, resizes, arrays, heterogeneous jobs, and listings of `squeue`."""

from __future__ import annotations

from pathlib import Path

import pytest

import ettlog
from bench import accounting as generated
from ettlog.fleet import Fleet
from tests import accounting
from tests.accounting import us

HEAD = "JobID|JobIDRaw|SLUID|State|Submit|Eligible|Start|End|Elapsed|Restarts|AllocTRES|ReqTRES|NodeList|Cluster\n"


def row(
    job: str = "500", state: str = "COMPLETED", at: int = 0, held: int = 60, restarts: int = 0, raw: str = "500"
) -> str:
    """Write an attempt that is submitted `at` minutes after 6:00, starts ten minutes later and is held for `held`."""
    submit, start, end = (f"2031-04-05T{6 + m // 60:02d}:{m % 60:02d}:00" for m in (at, at + 10, at + 10 + held))
    tres = "cpu=8,gres/gpu=8,gres/gpu:h9=8,node=1"
    return (
        f"{job}|{raw}|s{at}|{state}|{submit}|{submit}|{start}|{end}|{held // 60:02d}:{held % 60:02d}:00|{restarts}|"
        f"{tres}|cpu=8,gres/gpu=8,node=1|m1|moon\n"
    )


CHAIN = row(state="REQUEUED", held=30) + row(state="NODE_FAIL", at=40, held=60, restarts=1) + row(at=110, restarts=2)


def fleet(tmp_path: Path, text: str) -> Fleet:
    """Return a lake of one listing."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "sacct.txt").write_text(HEAD + text)
    ettlog.ingest([tmp_path / "logs"], tmp_path / "lake")
    return ettlog.open(tmp_path / "lake")


def test_every_attempt_of_a_requeued_job_is_kept(tmp_path: Path) -> None:
    """Three rows of one id are three allocations; GPU-hours are those of all: 8 GPUs for 150 minutes."""
    lake = fleet(tmp_path, CHAIN)
    found = lake.sql("SELECT state, end_us - start_us AS us, gpus FROM allocation ORDER BY start_us")
    assert found["state"].to_list() == ["REQUEUED", "NODE_FAIL", "COMPLETED"]
    assert (found["us"] * found["gpus"]).sum() == 8 * 150 * 60 * 1_000_000


def test_the_first_submission_is_that_of_the_oldest_row(tmp_path: Path) -> None:
    """A requeue sets the submission anew; the job's own is the first, and the waits between are queue."""
    lake = fleet(tmp_path, CHAIN)
    (job,) = lake.sql("SELECT submit_us, first_us, last_us, wall_us FROM job").to_dicts()
    assert job["submit_us"] == job["first_us"] == us("2031-04-05T06:00:00")
    assert job["wall_us"] == 180 * 60 * 1_000_000
    queue = lake.sql("SELECT sum(end_us - begin_us) AS us FROM segment WHERE part = 'queue'")
    assert queue["us"].to_list() == [30 * 60 * 1_000_000]


def test_a_listing_without_its_earlier_attempts_says_so(tmp_path: Path) -> None:
    """The newest row alone says that it was restarted twice: two attempts are missing. The whole chain lacks none."""
    newest = accounting.read(tmp_path, HEAD + row(at=110, restarts=2))
    assert [line for line in newest.inferences if "attempts are missing" in line] == [
        "1 job was restarted more often than the records show: attempts are missing (sacct lists all with -D)"
    ]
    whole = accounting.read(tmp_path, HEAD + CHAIN)
    assert not [line for line in whole.inferences if "attempts are missing" in line]


def test_a_resize_keeps_submission_and_is_an_allocation_of_its_own(tmp_path: Path) -> None:
    """Both rows of a resized job share their submission; each holds what it held."""
    rest = row().replace("T06:10:00", "T06:40:00")
    lake = fleet(tmp_path, row(state="RESIZING", held=30) + rest)
    found = lake.sql("SELECT state, start_us, end_us, submit_us FROM allocation ORDER BY start_us")
    assert found["state"].to_list() == ["RESIZING", "COMPLETED"]
    assert found["end_us"][0] == found["start_us"][1] == us("2031-04-05T06:40:00")
    assert found["submit_us"].n_unique() == 1


def test_a_recycled_id_is_another_attempt(tmp_path: Path) -> None:
    """Equal ids with other submissions are never merged into one row."""
    parsed = accounting.read(tmp_path, HEAD + row() + row(at=600))
    assert [found["raw"] for found in accounting.rows(parsed)] == ["500", "500"]


@pytest.mark.parametrize(
    "job", ["500_7", "500_[1-3,5%2]", "500_[8-", "500_*", "500+2"], ids=["task", "range", "cut", "rest", "het"]
)
def test_shapes_of_ids(tmp_path: Path, job: str) -> None:
    """Array tasks, unexpanded and cut ranges and heterogeneous parts are jobs; the plain number is the key."""
    (found,) = accounting.rows(accounting.read(tmp_path, HEAD + row(job, raw="512")))
    assert (found["record"], found["id"], found["raw"]) == ("job", job, "512")


def test_what_a_waiting_job_asks_for_is_not_held(tmp_path: Path) -> None:
    """A waiting row may have its allocation filled in: the GPUs are asked for, none is held."""
    (waiting, _) = accounting.rows(accounting.read(tmp_path, HEAD + row(state="PENDING") + row(at=600)))
    assert (waiting["start_us"], waiting["gpus"], waiting["gpus_requested"]) == (None, 0, 8)


SQUEUE = (
    "JOBARRAYID",
    "JOBID",
    "NAME",
    "STATE",
    "USERNAME",
    "STARTTIME",
    "ENDTIME",
    "SUBMITTIME",
    "TRES-ALLOC",
    "RESTARTCNT",
    "TIMEUSED",
)


def test_squeue_listings(tmp_path: Path) -> None:
    """Columns of `squeue -O` are told; ends are forecasts, and what a waiting job would get is what it asks for."""
    text = (
        "90_3|#95|#run|#RUNNING|#kim|#2031-04-05T06:10:00|#2031-04-06T06:10:00|#2031-04-05T06:00:00|#gres/gpu=16|#2|#1-02:00:00|#\n"
        "90_[4-9]|#90|#run|#PENDING|#kim|#2031-04-05T09:10:00|#N/A|#2031-04-05T06:00:00|#gres/gpu=16|#0|#0:00|#\n"
    )
    parsed = accounting.read(tmp_path, text, sacct_fields=SQUEUE, sacct_delimiter="|#")
    runs, waits = accounting.rows(parsed)
    assert (runs["id"], runs["raw"], runs["gpus"], runs["end_us"], runs["restarts"]) == ("90_3", "95", 16, None, 2)
    assert (runs["start_us"], runs["elapsed_us"]) == (us("2031-04-05T06:10:00"), 26 * 3600 * 1_000_000)
    assert (waits["start_us"], waits["gpus"], waits["gpus_requested"]) == (None, 0, 16)


def test_squeue_with_its_own_header(tmp_path: Path) -> None:
    """`squeue -o` writes names in capitals."""
    head = "JOBID|NAME|STATE|START_TIME|SUBMIT_TIME|TIME|NODES\n"
    text = f"{head}7|x|RUNNING|2031-04-05T06:10:00|2031-04-05T06:00:00|4:59|2\n"
    (found,) = accounting.rows(accounting.read(tmp_path, text))
    assert (found["start_us"], found["elapsed_us"], found["nodes"]) == (us("2031-04-05T06:10:00"), 299_000_000, 2)


def test_the_rows_that_speed_is_measured_with_are_all_read(tmp_path: Path) -> None:
    """Three rows an attempt: a job and two steps, none of them lost."""
    parsed = accounting.read(tmp_path, generated.HEAD + "".join(generated.rows(1, 300)))
    assert parsed.lines == {"matched": 300, "ignored": 1}
    assert [found["record"] for found in accounting.rows(parsed)].count("job") == 100
