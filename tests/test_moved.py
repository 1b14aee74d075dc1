"""Which logs that are gone a new file may be, by its name and by the bytes that it begins with."""

from __future__ import annotations

from pathlib import Path

import pytest
from blake3 import blake3

from ettlog.ingest import IngestOptions, ingest
from ettlog.lake import Lake
from ettlog.moved import Gone, Missing, begun_with
from tests.ingesting import accounting


def gone(name: str, data: bytes = b"one\n") -> Gone:
    """Return a log that is gone."""
    return Gone(name, len(data), blake3(data).hexdigest())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("logs/a", "logs/a.1"),
        ("logs/train", "logs/old/train"),
        ("logs/a.log", "logs/a.log.1"),
        ("logs/a.log", "logs/a.log-20310506.gz"),
        ("logs/a.log", "logs/a.1.log"),
        ("logs/a.log", "logs/old/a.log"),
        ("logs/x/a.log", "logs/a.log"),
    ],
)
def test_a_file_called_after_a_log_may_be_it(old: str, new: str) -> None:
    """With an end, a date, a number before the suffix, or the same name in a folder above or below."""
    assert [one.name for one in Missing([gone(old)]).of(new)] == [old]


@pytest.mark.parametrize(
    ("old", "new"), [("logs/a.log", "logs/a.log"), ("logs/a.log", "logs/ab.log"), ("logs/x/a.log", "logs/y/a.log.1")]
)
def test_a_file_called_otherwise_is_another_log(old: str, new: str) -> None:
    """Itself, a longer word, a file in a folder beside."""
    assert Missing([gone(old)]).of(new) == ()


def test_logs_that_are_gone_are_named() -> None:
    """Each once, though it is looked for under two names."""
    assert Missing([gone("logs/a.log"), gone("logs/b")]).names() == {"logs/a.log", "logs/b"}


def test_the_longest_comes_first() -> None:
    """A file that begins with two logs is the longer one."""
    short, long = gone("logs/a.log", b"one\n"), gone("logs/a", b"one\ntwo\n")
    assert Missing([short, long]).of("logs/a.log.1") == (long, short)


def test_a_file_goes_on_after_the_logs_it_begins_with(tmp_path: Path) -> None:
    """Three logs, each the beginning of the next; the text is as long as the longest, which is therefore not in it."""
    texts = [b"one\n", b"one\ntwo\n", b"one\ntwo\nthree\n"]
    logs = [gone(f"logs/{number}", text) for number, text in enumerate(texts)]
    path = tmp_path / "new"
    path.write_bytes(texts[2])
    assert begun_with(path, logs, 1 << 20) == ("logs/0", "logs/1")
    path.write_bytes(texts[2] + b"x")
    assert begun_with(path, logs, 1 << 20) == ("logs/0", "logs/1", "logs/2")
    path.write_bytes(b"one\ntWo\nthree\nfour\n")
    assert begun_with(path, logs, 1 << 20) == ("logs/0",)


def test_who_names_one_file_has_not_looked_for_the_others(tmp_path: Path) -> None:
    """A log was renamed and grew. The new name alone is ingested, as part of the same logs: what is not looked for is
    not gone."""
    logs, lake = tmp_path / "logs", tmp_path / "lake"
    logs.mkdir()
    (logs / "a.log").write_text(accounting(1))
    ingest([logs], lake, options=IngestOptions(workers=1))
    (logs / "a.log").rename(logs / "a.log.1")
    with (logs / "a.log.1").open("a") as stream:
        stream.write(accounting(2).split("\n", 1)[1])
    ingest([logs / "a.log.1"], lake, options=IngestOptions(workers=1, label="logs"))
    assert "logs/a.log" in Lake.open(lake).state.current
