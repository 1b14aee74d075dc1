"""What belongs together: logs of resubmitted jobs, records, starts; by what rule, and how to switch it off."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

import ettlog
from ettlog.cli import app
from ettlog.config import Config
from ettlog.errors import UsageError
from ettlog.fleet import Fleet
from ettlog.joins import joins, unjoined
from ettlog.lifecycle import JOIN_RULES
from tests.tables import Log, fleet, minute, record

FOLDER = "/ckpt/owl-7b"


def saving(key: str, name: str, at: int, folder: str | None = FOLDER, step: int = 10, **source: Any) -> Log:
    """Return a log of one start that trains from step 1 and commits a checkpoint, in four minutes."""
    log = Log(key, job_name=name, first_us=minute(at), last_us=minute(at + 4), **source)
    log.say(at, "launch")
    log.step(at + 1, 1)
    log.step(at + 2, step)
    path = None if folder is None else f"{folder}/iter_{step:07d}/mp_rank_00.pt"
    log.say(at + 3, "save_commit", step=step, name=path)
    log.say(at + 4, "failure", cause="oom")
    return log


def loading(
    key: str, name: str, at: int, folder: str | None = FOLDER, step: int = 10, first: int = 11, **source: Any
) -> Log:
    """Return a log of one start that loads a checkpoint and goes on, in four minutes."""
    log = Log(key, job_name=name, first_us=minute(at), last_us=minute(at + 4), **source)
    log.say(at, "launch")
    log.say(at + 1, "restore_end", step=step, name=folder)
    log.say(at + 1, "resume", step=step)
    log.step(at + 3, first)
    log.step(at + 4, first + 9)
    return log


def jobs(made: Fleet) -> dict[str, int]:
    """Return the starts of each job."""
    return dict(made.sql("SELECT job, count(DISTINCT k) FROM launch GROUP BY job ORDER BY job").iter_rows())


def told(**values: Any) -> Config:
    """Return a configuration that sets keys of `joins`."""
    return Config({f"joins.{name}": value for name, value in values.items()})


def test_logs_that_go_on_from_one_folder_are_one_job() -> None:
    """The second log loads step 10, which the first saved below the same folder, and counts on: one job, two starts."""
    made = fleet(saving("a", "owl-a", 0), loading("b", "owl-b", 10))
    assert jobs(made) == {"owl-a": 2}
    assert made.table("start").select("k", "kind", "new_steps").rows() == [(0, "first", 10), (1, "failure", 10)]
    found = joins(made).filter(pl.col("what") == "resubmission")
    columns = ["job", "subject", "rule", "inferred", "evidence"]
    assert found.select(columns).rows() == [("owl-a", "owl-b", "checkpoint folder", True, "logs/b.log:2")]


@pytest.mark.parametrize(
    ("second", "why"),
    [
        ({"folder": "/ckpt/hawk"}, "it loads from another folder"),
        ({"step": 20}, "nobody saved the step that it loads"),
        ({"first": 1}, "it counts from the beginning: a fine-tuning run, not a resubmission"),
        ({"at": 2}, "both run at the same time"),
        ({"folder": None}, "it names no folder"),
    ],
)
def test_logs_that_do_not_go_on_stay_jobs_of_their_own(second: Mapping[str, Any], why: str) -> None:
    """Each condition alone keeps the two apart."""
    given = {"at": 10} | dict(second)
    assert jobs(fleet(saving("a", "owl-a", 0), loading("b", "owl-b", **given))) == {"owl-a": 1, "owl-b": 1}, why


def test_relative_folders_join_nothing() -> None:
    """`checkpoints` is another folder in every working directory."""
    made = fleet(saving("a", "a", 0, "checkpoints"), loading("b", "b", 10, "checkpoints"))
    assert jobs(made) == {"a": 1, "b": 1}


FOLDERS = {
    "/a/owl/iter_0000010/mp_rank_00/model.pt": "/a/owl",
    "/b/owl/10": "/b/owl",
    "/c/owl/00010/data": "/c/owl",
    "/d/owl/epoch=1-step=10.ckpt": "/d/owl",
    "/e/owl/step10=last/x": "/e/owl",
    "/f/1010/iter_10": "/f/1010",
    "/g/owl10b/global_step10/zero.pt": "/g/owl10b",
    "/h/owl/iter_1010/model.pt": "/h/owl/iter_1010",
    "/i/owl/iter_10x/model.pt": "/i/owl/iter_10x",
    "/j/10/iter_10": "/j",
}
"""Files of checkpoints of step 10, and the folder that each was saved to."""


def test_the_folder_of_a_checkpoint_is_what_stands_before_its_step() -> None:
    """The first piece of the path that holds the step as a number of its own ends it; a folder below is another."""
    logs = []
    for name, (saved, folder) in enumerate(FOLDERS.items()):
        first = Log(f"s{name}", job_name=f"owl-{name}", first_us=minute(0), last_us=minute(4))
        first.say(0, "launch")
        first.step(1, 1)
        first.step(2, 10)
        first.say(3, "save_commit", step=10, name=saved)
        logs += [first, loading(f"l{name}", f"load-{name}", 10, folder)]
        logs.append(loading(f"m{name}", f"miss-{name}", 10, f"{folder}/owl"))
    found = jobs(fleet(*logs))
    assert found == {f"owl-{name}": 2 for name in range(10)} | {f"miss-{name}": 1 for name in range(10)}


def test_a_chain_of_resubmissions_is_one_job_also_where_its_folder_changes() -> None:
    """The third log goes on from what the second saved, in a folder of its own."""
    second = loading("b", "owl-b", 10)
    second.say(14, "save_commit", step=20, name="s3://store/owl2/step_20.pt")
    made = fleet(saving("a", "owl-a", 0), second, loading("c", "owl-c", 20, "s3://store/owl2", 20, 21))
    assert jobs(made) == {"owl-a": 3}


def test_joining_by_folder_can_be_switched_off() -> None:
    """With joins.checkpoint = false each name stays a job."""
    made = fleet(saving("a", "owl-a", 0), loading("b", "owl-b", 10), config=told(checkpoint=False))
    assert jobs(made) == {"owl-a": 1, "owl-b": 1}


NAMED = [
    record(id="71", raw="71", name="owl", user="u1", submit=0, start=0, end=5, state="FAILED"),
    record(line=3, id="72", raw="72", name="owl", user="u1", submit=6, start=9, end=20),
]


def test_a_scheduler_name_joins_logs_that_go_on() -> None:
    """The logs name no folder; the scheduler calls both jobs owl; the second goes on from a step the first saved."""
    logs = (saving("a", "71", 0, None, allocation="71"), loading("b", "72", 10, None, allocation="72"))
    made = fleet(*logs, alloc=NAMED)
    assert jobs(made) == {"71": 2}
    assert joins(made).filter(pl.col("what") == "resubmission")["rule"].to_list() == ["resubmitted"]
    assert jobs(fleet(*logs, alloc=NAMED, config=told(job_name="never"))) == {"71": 1, "72": 1}


def test_a_scheduler_name_joins_nothing_where_folders_or_users_differ() -> None:
    """Two runs called owl that save to different folders, or are of different users, are two jobs."""
    logs = (saving("a", "71", 0, allocation="71"), loading("b", "72", 10, "/ckpt/else", allocation="72"))
    assert jobs(fleet(*logs, alloc=NAMED)) == {"71": 1, "72": 1}
    logs = (saving("a", "71", 0, None, allocation="71"), loading("b", "72", 10, None, allocation="72"))
    assert jobs(fleet(*logs, alloc=[NAMED[0], NAMED[1] | {"user": "u2"}])) == {"71": 1, "72": 1}


RETRIED = [
    record(line=n, id=f"{70 + n}", raw=f"{70 + n}", name="night", submit=at, start=at + 1, end=at + 5, state=state)
    for n, at, state in ((2, 0, "FAILED"), (3, 10, "NODE_FAIL"), (4, 20, "COMPLETED"), (5, 30, "COMPLETED"))
]


def test_scheduler_jobs_of_one_name_are_one_only_where_that_is_asked_for() -> None:
    """Three tries of which the last completed are one job, the next one begins another; by default all stay apart."""
    assert fleet(alloc=RETRIED).table("allocation")["job"].to_list() == ["72", "73", "74", "75"]
    made = fleet(alloc=RETRIED, config=told(job_name="always"))
    assert made.table("allocation").select("job", "id", "rule").rows() == [
        ("72", "72", None), ("72", "73", "resubmitted"), ("72", "74", "resubmitted"), ("75", "75", None),
    ]  # fmt: skip
    assert made.table("allocation")["evidence"][1] == "logs/s.sacct:3 (resubmitted)"


def test_a_record_beside_a_log_can_be_left_alone() -> None:
    """A scheduler's file in the folder of a log joins it by containment, unless that is switched off."""
    log = Log(path="logs/run.log")
    log.say(1, "launch")
    log.step(4, 1)
    alloc = [record(name="wrap", submit=0, start=0, end=9)]
    assert fleet(log, alloc=alloc).table("allocation").select("job", "rule").rows() == [("run", "beside the log")]
    apart = fleet(log, alloc=alloc, config=told(beside=False))
    assert apart.table("allocation").select("job", "rule").rows() == [("7", None)]
    assert unjoined(apart).select("what", "subject").rows() == [("allocation", "7"), ("job", "run")]


def test_a_log_that_names_another_allocation_is_not_joined_to_the_one_beside_it() -> None:
    """The record fits in time, but the log says whose it is."""
    log = Log(path="logs/run.log", allocation="6")
    log.say(1, "launch")
    made = fleet(log, alloc=[record(name="wrap", submit=0, start=0, end=9)])
    assert made.table("allocation")["job"].to_list() == ["7"]


SACCT = """\
JobID|JobIDRaw|JobName|State|Submit|Start|End|Elapsed|AllocTRES
4101|4101|owl-try1|FAILED|2031-04-05T06:00:00|2031-04-05T06:10:00|2031-04-05T06:40:00|00:30:00|gres/gpu=8
4102|4102|owl-try2|COMPLETED|2031-04-05T06:50:00|2031-04-05T07:10:00|2031-04-05T07:40:00|00:30:00|gres/gpu=8
4200|4200|crow|COMPLETED|2031-04-05T06:50:00|2031-04-05T07:10:00|2031-04-05T07:40:00|00:30:00|gres/gpu=8
"""
STEP = " [2031-04-05 {at}] iteration {n:>8}/     500 | consumed samples:  {n} | elapsed time per iteration (ms): 9 |\n"
TOML = """\
[paths]
templates = ["runs/{job}/{allocation}/rank{rank}.log"]
[jobs]
rules = [{ match = '^(owl)-try\\d+$', job = '\\1' }]
"""


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Return a lake of two attempts of one job by path templates and name rules, and a job that wrote no log."""
    logs = tmp_path / "logs"
    for folder, hour in (("4101", 6), ("4102", 7)):
        (logs / "runs/owl" / folder).mkdir(parents=True)
        text = "".join(STEP.format(at=f"{hour:02d}:{15 + n}:00", n=n + 10 * (hour - 6)) for n in range(1, 9))
        (logs / "runs/owl" / folder / "rank0.log").write_text(text)
    (logs / "sacct.txt").write_text(SACCT)
    (logs / "ettlog.toml").write_text(TOML)
    ettlog.ingest([logs], tmp_path / "lake")
    return tmp_path / "lake"


def run(*args: str) -> str:
    """Run a command and return what it printed."""
    result = CliRunner().invoke(app, list(args), catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_status_explains_every_join(lake: Path) -> None:
    """The table names each log, record and start with the rule that joined it, and how many joins each rule made."""
    text = run("status", "--joins", "--lake", str(lake))
    assert "2 logs by template: a path template of the configuration names it" in text
    assert "2 records by template" in text
    assert "2 starts by id: the log names the allocation" in text
    assert "ettlog jobs --unjoined" in text
    row = next(line for line in text.splitlines() if line.startswith("record") and "4102" in line)
    assert "owl" in row
    assert "template" in row
    assert "sacct.txt:3" in row
    assert "crow" not in run("status", "--joins", "-j", "owl", "--lake", str(lake))


def test_jobs_list_what_hangs_loose(lake: Path) -> None:
    """The job without a log is listed with its time and what would join it, and nothing else is."""
    text = run("jobs", "--unjoined", "--lake", str(lake))
    assert text.startswith("1 loose end; allocations among them held their hardware for 0.5 h")
    assert "a log with 4200 in its name, folder or lines, or jobs.rules for the name crow" in text
    assert "4101" not in text


def test_a_setting_can_be_made_for_one_call(lake: Path) -> None:
    """`--set` stands above the configuration, for that call only; what is no setting is a usage error."""
    from ettlog import config

    run("--set", "joins.beside=no", "--set", "joins.job_name=always", "jobs", "--lake", str(lake))
    assert config.load(environ={}).get("joins.beside") is True
    with pytest.raises(UsageError, match=r"joins\.besides"):
        run("--set", "joins.besides=no", "jobs", "--lake", str(lake))


def test_every_rule_has_a_sentence() -> None:
    """The rules that the relation's comment names are those of the vocabulary."""
    from ettlog.relations import relations

    named = relations()["link"].columns["rule"].split(", ")
    assert set(named) == set(JOIN_RULES)


POD = "run-w-0-{n}-x7k2p"


@pytest.mark.parametrize(
    "path",
    [
        "logs/{pod}.log",
        "logs/containers/{pod}_team_train-0123456789abcdef.log",
        "logs/pods/team_{pod}_01234567-89ab-cdef-0123-456789abcdef/train/0.log",
    ],
)
def test_logs_named_after_pods_are_of_their_job(path: str) -> None:
    """Two pods of one job wrote a log each, in the places where kubectl and kubelet put them: one job, one start."""
    logs, alloc = [], []
    for n in range(2):
        pod = POD.format(n=n)
        log = Log(f"p{n}", path=path.format(pod=pod), job_name=pod, job_by="file name", stream=pod)
        log.say(2, "launch")
        log.step(4, 1)
        logs.append(log)
        alloc.append(record(line=2 + n, id="run", raw="u", name="run", record="task", task=pod, start=1, end=6, gpus=8))
    made = fleet(*logs, alloc=alloc)
    assert jobs(made) == {"run": 1}
    found = joins(made)
    assert set(found.filter(pl.col("what") == "log")["rule"]) == {"pod name"}
    assert found.filter(pl.col("what") == "record").select("job", "rule").rows() == [("run", "job name")]
