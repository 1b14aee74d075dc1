"""Whose log a source is, by its path, its lines and the configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from ettlog import config
from ettlog.parse import identity, naming
from ettlog.parse.identity import Identity

PLAIN = config.Config()


def who(path: str, hints: dict[str, str] | None = None, text: str = "") -> Identity:
    """Resolve a path under a configuration given as TOML."""
    settings = config.Config(config.parse(text.encode(), Path("ettlog.toml"))) if text else PLAIN
    return identity.resolve(path, hints or {}, settings)


@pytest.mark.parametrize(
    ("path", "job", "allocation"),
    [
        ("logs/slurm-41234.out", "logs", "41234"),
        ("logs/slurm-41234_5.out", "logs", "41234_5"),
        ("logs/big/pretrain_7b_8812345.out", "big/pretrain_7b", "8812345"),
        ("logs/big/pretrain-7b-8812345.log", "big/pretrain-7b", "8812345"),
        ("logs/big/pretrain-8812345_12.err", "big/pretrain", "8812345_12"),
        ("logs/sweep/8812345.output", "sweep", "8812345"),
        ("logs/sweep/job-8812345.log", "sweep", "8812345"),
        ("logs/8812345/train.log", "8812345", "8812345"),
        ("logs/runs/job_8812345/train.log", "runs/job_8812345", "8812345"),
        ("logs/big/pretrain_512.out", "big/pretrain_512", None),
        ("logs/big/eval_2024.log", "big/eval_2024", None),
        ("logs/big/eval-20240131.log", "big/eval-20240131", None),
        ("logs/big/eval_20240131_093000.log", "big/eval_20240131_093000", None),
        ("logs/big/230730105751422914054_02.log", "big/230730105751422914054_02", None),
        ("logs/big/lr-3.0e-4.log", "big/lr-3.0e-4", None),
    ],
)
def test_a_scheduler_id_is_taken_off_the_name(path: str, job: str, allocation: str | None) -> None:
    """Ids of four digits or more give the allocation; dates, clock times and short numbers do not."""
    found = who(path)
    assert (found.job_name, found.allocation) == (job, allocation)


@pytest.mark.parametrize(
    "stem", ["log", "train", "training", "trainer", "output", "out", "stdout", "console", "result_3"]
)
def test_a_stem_that_says_nothing_takes_the_folder(stem: str) -> None:
    """The folder names the job of a file that could be called so anywhere."""
    found = who(f"logs/team/llama/{stem}.log")
    assert (found.job_name, found.how["job_name"]) == ("team/llama", "folder")


def test_names_that_differ_are_jobs_that_differ() -> None:
    """Run folders with numbered logs hold one job a file."""
    assert len({who(f"fleet/night/run{n}.log").job_name for n in range(40)}) == 40


def test_a_file_beside_nothing_names_its_job() -> None:
    """A generic file directly in the root takes the root's name; one without any folder its own."""
    assert who("logs/train.log").job_name == "logs"
    assert who("train.log").job_name == "train"


@pytest.mark.parametrize(
    ("name", "rank", "node"),
    [
        ("rank0.log", 0, None),
        ("rank_3.log", 3, None),
        ("train.rank12.log", 12, None),
        ("train-r5.log", 5, None),
        ("train-0007.log", 7, None),
        ("worker-0007.log", 7, None),
        ("trace_rank_2_x8yz01ab.log", 2, None),
        ("train-node07.log", None, "node07"),
        ("gpu-node-12.log", None, "gpu-node-12"),
        ("train-node07-rank3.log", 3, "node07"),
        ("train_4711223-node07.out", None, "node07"),
    ],
)
def test_rank_and_node_are_taken_off_the_name(name: str, rank: int | None, node: str | None) -> None:
    """A rank or node in the name is no part of the job's name."""
    found = who(f"logs/llama/{name}")
    assert (found.rank, found.node) == (rank, node)
    assert found.job_name in ("llama", "llama/trace")


def test_files_that_differ_by_rank_alone_are_one_stream() -> None:
    """Ranks of one job share job and stream, and differ in rank."""
    found = [who(f"logs/a/pre.rank{n}.log") for n in range(4)]
    assert len({(one.job_name, one.stream) for one in found}) == 1
    assert [one.rank for one in found] == [0, 1, 2, 3]


def test_a_node_told_by_the_lines_is_known_in_the_name() -> None:
    """A host name of any shape is taken off the name once the lines have told it."""
    found = who("logs/a/pre-c3po17.log", {"node": "c3po17"})
    assert (found.job_name, found.node, found.how["node"]) == ("a/pre", "c3po17", "line")


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("pre.log.part1of2", 1),
        ("pre.log.part2of2", 2),
        ("pre.part1of2.log", 1),
        ("pre-part_2.log.gz", 2),
        ("pre.log", 0),
        ("pre.log.1", -1),
        ("pre.log.12", -12),
        ("pre.log.2.gz", -2),
        ("pre.log.zst", 0),
        ("pre.log-20240131.gz", 20240131 - 30000000),
        ("pre.log.2024-01-31", 20240131 - 30000000),
    ],
)
def test_parts_rotations_and_packing_are_one_stream(name: str, part: int) -> None:
    """All pieces of one text share a stream; sorted by part they are in the order of time."""
    found = who(f"logs/a/{name}")
    assert (found.stream, found.part, found.job_name) == ("logs/a/pre.log", part, "a/pre")


@pytest.mark.parametrize(
    ("name", "rank", "part"),
    [
        ("rank3.log.2", 3, -2),
        ("rank3.log.1.gz", 3, -1),
        ("train.rank3.log", 3, 0),
        ("rank.1", 1, 0),
        ("rank3.part2of2.log", 3, 2),
    ],
)
def test_a_ranks_log_is_rotated_like_any_other(name: str, rank: int, part: int) -> None:
    """A number behind a rank's file is a rotation, unless it is the rank's own."""
    found = who(f"logs/llama/{name}")
    assert (found.job_name, found.rank, found.part) == ("llama", rank, part)


def test_rotations_of_a_ranks_log_are_one_stream() -> None:
    """The live file and its rotations share the stream of their rank."""
    assert len({who(f"logs/llama/rank3.log{end}").stream for end in ("", ".1", ".2", ".1.gz")}) == 1


def test_rotations_sort_from_old_to_new() -> None:
    """Higher rotation numbers are older, dates are older than the live file."""
    names = ["x.log.3", "x.log.2", "x.log.1", "x.log"]
    assert sorted(set(names), key=lambda name: who(f"l/{name}").part) == names
    dates = ["x.log-20231231", "x.log-20240101", "x.log"]
    assert sorted(set(dates), key=lambda name: who(f"l/{name}").part) == dates


def test_an_agents_log_folder_gives_start_and_rank() -> None:
    """RUN/attempt_2/5/stdout.log is rank 5 of start 2 of the run."""
    found = who("logs/llama/attempt_2/5/stdout.log")
    assert (found.job_name, found.start, found.rank) == ("llama", 2, 5)
    assert found.how["start"] == "folder"
    later = who("logs/llama/attempt_10/5/stdout.log")
    assert (later.stream, later.rank, later.part > found.part) == (found.stream, 5, True)


def test_lines_stand_above_names() -> None:
    """What a line says of its allocation is surer than a number in the file's name."""
    found = who("logs/a/pre-5551234.out", {"allocation": "7770001", "cluster": "west"})
    assert (found.allocation, found.how["allocation"]) == ("7770001", "line")
    assert (found.cluster, found.how["cluster"]) == ("west", "line")


def test_a_template_stands_above_all() -> None:
    """Fields of a path template win, with or without the root in front."""
    text = '[paths]\ntemplates = ["{cluster}/{model}/{job}/{allocation}/**/rank{rank}.txt"]\n'
    found = who("logs/west/llama/ll-7b/99/x/y/rank12.txt", {"cluster": "east"}, text)
    assert (found.cluster, found.model, found.job_name, found.allocation, found.rank) == (
        "west",
        "llama",
        "ll-7b",
        "99",
        12,
    )
    assert found.how["job_name"] == "template"
    assert who("west/llama/ll-7b/99/rank1.txt", {}, text).job_name == "ll-7b"


def test_a_template_that_does_not_fit_changes_nothing() -> None:
    """Other paths fall back on their names."""
    assert who("logs/a/pre.log", {}, '[paths]\ntemplates = ["{job}/x/{rank}.log"]\n').job_name == "a/pre"


def test_the_cluster_of_the_configuration_is_the_last_resort() -> None:
    """A cluster is filled in where nothing names one."""
    text = '[paths]\ncluster = "home"\n'
    assert (who("l/a.log", {}, text).cluster, who("l/a.log", {"cluster": "west"}, text).cluster) == ("home", "west")


def test_rules_join_names_to_logical_jobs_and_models() -> None:
    """A rule renames with the groups of its match, and gives the model; the first that fits decides."""
    text = """
[jobs]
rules = [
  { match = "^(llama-\\\\d+b)-try\\\\d+$", job = "\\\\1", model = "llama" },
  { match = "llama", model = "other" },
]
"""
    found = who("logs/llama-7b-try3.log", {}, text)
    assert (found.job_name, found.model, found.how["job_name"]) == ("llama-7b", "llama", "name rule")
    assert who("logs/my-llama.log", {}, text).model == "other"


def test_models_go_by_glob_or_regex_and_are_unknown_else() -> None:
    """No model is guessed."""
    text = '[jobs.models]\n"team/*70b*" = "llama-70b"\n"re:^eval" = "evals"\n'
    assert who("logs/team/x-70b-a.log", {}, text).model == "llama-70b"
    assert who("logs/eval7.log", {}, text).model == "evals"
    assert who("logs/team/x-7b.log", {}, text).model is None
    assert who("logs/team/x-70b-a.log").model is None


@pytest.mark.parametrize(
    "name", ["../x.log", "\u202etxt.log", "x" * 4000, "$(rm).log", "; drop", "é.log", "-.log", "...", "0"]
)
def test_hostile_names_are_data(name: str) -> None:
    """Any name gives a job name and never an error."""
    assert who(f"logs/{name}").job_name


@pytest.mark.shared
def test_the_shared_runs_of_a_fleet_are_as_many_jobs(shared: Path) -> None:
    """The 205 runs of one folder are 205 jobs; split parts are one stream; one log of many launches is one job."""
    root = shared / "data/trainer"
    runs = {who(f"trainer/titan_fleet/{p.name}").job_name for p in (root / "titan_fleet").glob("run*.log")}
    assert len(runs) == 205
    parts = [who(f"trainer/{p.relative_to(root)}") for p in sorted((root / "neox_llemma7b_resume8000").iterdir())]
    assert len({part.stream for part in parts}) == 1
    assert [part.part for part in parts] == [1, 2]
    assert {part.allocation for part in parts} == {"62635162"}
    assert who("trainer/dse_vit_18launches/training.log").job_name == "dse_vit_18launches"


@pytest.mark.parametrize(
    ("path", "expected"),
    [("logs/README.md", True), ("logs/INDEX.TSV.gz", True), ("logs/run.log", False), ("logs/md", False)],
)
def test_documents_are_told_from_logs(path: str, expected: bool) -> None:
    """Prose and tables are known by their ending, compressed or not."""
    assert naming.is_document(path) is expected
