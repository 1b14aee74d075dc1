"""Limits: what is one below, at and one above each, who set it, and that all of them are shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ettlog
from ettlog import registry
from ettlog.cli.limits import fixed
from ettlog.config import MAX_BYTES, load, read_bytes
from ettlog.discover import discover
from ettlog.errors import UsageError
from ettlog.ingest import LIMITS
from ettlog.parse import decode, maxtext_metrics, shapes, stamp
from ettlog.parse import format as formats
from ettlog.parse.parsed import Limits, ScanOptions
from ettlog.parse.record_limits import within
from ettlog.parse.scan import scan
from ettlog.schema import MOST_STEP_US
from ettlog.settings import KEYS
from tests.hostile.case import HEAD, step
from tests.hostile.numbers import LAUNCHED
from tests.hostile.run import ettlog as command

SET = formats.load_all()
GOOD = b'{"step": 1, "perf/step_time_seconds": 1.5, "x": "%s"}\n'


def outcomes(path: Path, data: bytes, limits: Limits) -> dict[str, int]:
    """Return the outcomes of the lines of a text."""
    path.write_bytes(data)
    return {name: count for name, count in scan(path, SET, ScanOptions(limits=limits)).lines.items() if count}


def records(path: Path, data: bytes, limits: Limits) -> dict[str, int]:
    """Return the outcomes of the lines of a file of JSON records."""
    path.write_bytes(data)
    parsed = maxtext_metrics.read(path, ScanOptions(limits=limits))
    return {name: count for name, count in parsed.lines.items() if count}


@pytest.mark.parametrize(("more", "outcome"), [(-1, "unmatched"), (0, "unmatched"), (1, "long")])
def test_line(tmp_path: Path, more: int, outcome: str) -> None:
    """A line of the limit is looked at, one byte more makes it long; its neighbours are read."""
    data = step(1) + b"x" * (1024 + more) + b"\n" + step(2)
    assert outcomes(tmp_path / "a.log", data, Limits(line=1024)) == {"matched": 2, outcome: 1}


@pytest.mark.parametrize(("more", "outcome"), [(-1, "matched"), (0, "matched"), (1, "long")])
def test_record_bytes(tmp_path: Path, more: int, outcome: str) -> None:
    """A record of the limit, without its newline, is read; one byte more makes it long."""
    first = GOOD % b""
    big = GOOD % (b"y" * (200 + more - len(first) + 1))
    found = records(tmp_path / "a.jsonl", first + big + first, Limits(record=200))
    assert found == ({"matched": 3} if outcome == "matched" else {"matched": 2, "long": 1})


@pytest.mark.parametrize(("depth", "fits"), [(63, True), (64, True), (65, False)])
def test_record_depth(depth: int, fits: bool) -> None:
    """64 brackets inside each other are let through; brackets inside a string are no depth."""
    record = b'{"a": ' + b"[" * (depth - 1) + b"]" * (depth - 1) + b', "b": "' + b"[{" * 99 + b'\\""}'
    assert within(record, 64, 10_000) is fits


@pytest.mark.parametrize(("keys", "fits"), [(99, True), (100, True), (101, False)])
def test_record_keys(keys: int, fits: bool) -> None:
    """A hundred keys are let through, wherever they stand; colons inside a string are no keys."""
    record = json.dumps({f"k{number}": "::" for number in range(keys - 1)} | {"z": [{}]}).encode()
    assert within(record, 64, 100) is fits


@pytest.mark.parametrize(("more", "state"), [(-1, "whole"), (0, "whole"), (1, "torn")])
def test_decompressed_output(tmp_path: Path, more: int, state: str) -> None:
    """Text of the budget is read whole; one byte more ends it."""
    import gzip

    path = tmp_path / "a.log.gz"
    path.write_bytes(gzip.compress((step(1) * 4000)[: (1 << 20) + more]))
    assert scan(path, SET, ScanOptions(limits=Limits(output=1 << 20))).state == state


@pytest.mark.parametrize(("files", "fits"), [(2, True), (3, True), (4, False)])
def test_files(tmp_path: Path, files: int, fits: bool) -> None:
    """As many files as the limit are taken; one more is refused before any is read."""
    (tmp_path / "logs").mkdir()
    for number in range(files):
        (tmp_path / f"logs/{number}.log").write_bytes(step(1))
    if fits:
        assert len(discover([tmp_path / "logs"], tmp_path / "lake", most=3).files) == files
        return
    with pytest.raises(UsageError, match="too many files"):
        discover([tmp_path / "logs"], tmp_path / "lake", most=3)


@pytest.mark.parametrize(("depth", "found"), [(2, 1), (3, 1), (4, 0)])
def test_depth(tmp_path: Path, depth: int, found: int) -> None:
    """The root is the first folder; a file in the third of three that are looked into is found, one deeper is not."""
    inner = tmp_path.joinpath("logs", *["d"] * (depth - 1))
    inner.mkdir(parents=True)
    (inner / "a.log").write_bytes(step(1))
    assert len(discover([tmp_path / "logs"], tmp_path / "lake", depth=3).files) == found


@pytest.mark.parametrize(("digits", "value"), [(17, int("9" * 17)), (18, int("9" * 18)), (19, None)])
def test_digits(digits: int, value: int | None) -> None:
    """A whole number of 18 digits is one, of 19 none."""
    assert decode.whole(b"9" * digits) == value


@pytest.mark.parametrize(("length", "kept"), [(255, 255), (256, 256), (257, 256)])
def test_text(length: int, kept: int) -> None:
    """Text of a field is cut at 256 characters."""
    assert len(decode.words(b"x" * length) or "") == kept


@pytest.mark.parametrize(("year", "dated"), [(1999, False), (2000, True), (2001, True), (2099, True), (2100, False)])
def test_years(year: int, dated: bool) -> None:
    """Stamps of 2000 to 2099 are instants, others none."""
    assert (stamp.parse(f"{year}-06-01 08:00:00") is not None) is dated


@pytest.mark.parametrize(("gpus", "known"), [(999_999, 999_999), (1_000_000, 1_000_000), (1_000_001, None)])
@pytest.mark.parametrize("told", ["log", "record"])
def test_gpus(tmp_path: Path, told: str, gpus: int, known: int | None) -> None:
    """A million GPUs of a log or of a record of accounting are believed, one more is not known."""
    times = "2031-05-06T07:00:00|2031-05-06T08:00:00|2031-05-06T09:00:00"
    text = f"{HEAD}\n78|78|owl|maple|COMPLETED|{times}|1|gres/gpu={gpus}|n1\n".encode()
    if told == "log":
        text = LAUNCHED.replace(b"world size: 16,", f"world size: {gpus},".encode())
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/owl-78.out").write_bytes(text)
    ettlog.ingest([tmp_path / "logs"], tmp_path / "lake")
    fleet = ettlog.open(tmp_path / "lake")
    found = fleet.table("start" if told == "log" else "allocation")["gpus"].to_list()
    assert found == [known]


@pytest.mark.parametrize(("more", "wall_s"), [(-1, 864_059), (0, 864_060), (1, 60)])
def test_duration_of_a_step(tmp_path: Path, more: int, wall_s: int) -> None:
    """A first step that prints ten days is believed and began then; one that prints a second more is not."""
    told = f"(ms): {(MOST_STEP_US // 1_000_000 + more) * 1000}.0".encode()
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/owl.out").write_bytes(step(1).replace(b"(ms): 12000.0", told) + step(2))
    ettlog.ingest([tmp_path / "logs"], tmp_path / "lake")
    assert ettlog.open(tmp_path / "lake").table("job")["wall_us"].to_list() == [wall_s * 1_000_000]


def test_samples() -> None:
    """Of 30 different lines 20 are kept as samples, each of 512 bytes at most."""
    found = shapes.Unmatched()
    for number in range(30):
        found.look(bytes([97 + number % 26]) * (600 + number))
    assert len(found.samples()) == shapes.MAX_SAMPLES == 20
    assert max(map(len, found.samples())) == shapes.SAMPLE_BYTES == 512


@pytest.mark.parametrize(("more", "fits"), [(-1, True), (0, True), (1, False)])
def test_configuration_and_registry_bytes(tmp_path: Path, more: int, fits: bool) -> None:
    """A mebibyte is read, one byte more is refused, of the configuration and of the registry."""
    path = tmp_path / "optimizations.toml"
    path.write_bytes(b"#" + b"x" * (MAX_BYTES + more - 1))
    path.chmod(0o600)
    if fits:
        assert len(read_bytes(path)) == len(registry.text_of(path)[0]) == MAX_BYTES + more
        return
    with pytest.raises(UsageError, match="cannot be used"):
        read_bytes(path)
    with pytest.raises(UsageError, match="too long"):
        registry.text_of(path)


@pytest.mark.parametrize(("rows", "fits"), [(9_999, True), (10_000, True), (10_001, False)])
def test_registry_rows(rows: int, fits: bool) -> None:
    """Ten thousand optimizations are a registry, one more is refused before any is looked at."""
    line = '{{"name": "o{}", "owner": "a", "components": ["compilation"], "rollouts": [{{"since": "2031-05-06"}}]}}'
    text = "[" + ",".join(line.format(number) for number in range(rows)) + "]"
    if fits:
        assert len(registry.parse(text, kind="json").optimizations) == rows
    else:
        with pytest.raises(UsageError, match="too long"):
            registry.parse(text, kind="json")


def test_a_query_ends_after_its_time(tmp_path: Path) -> None:
    """A join that would run for hours is stopped after a fifth of a second, and says how to get more."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/a.log").write_bytes(step(1))
    assert command("ingest", tmp_path / "logs", "--lake", tmp_path / "lake", "-q").code == 0
    endless = "select count(*) from range(1000000) a, range(1000000) b where a.range % 7 = b.range % 11"
    ran = command("sql", endless, "--timeout", "0.2", "--lake", tmp_path / "lake")
    assert ran.faults((2,)) == []
    assert b"takes too long" in ran.err
    assert b"--timeout" in ran.err
    assert command("sql", "select 1 as n", "--timeout", "60", "--lake", tmp_path / "lake").code == 0


def test_status_shows_every_limit_and_who_set_it(tmp_path: Path) -> None:
    """Every key below `limits` and every limit that is built in has a row; a key of the configuration names it."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/a.log").write_bytes(step(1))
    (tmp_path / "logs/ettlog.toml").write_text("[limits]\nrecord_keys = 77\n")
    ettlog.ingest([tmp_path / "logs"], tmp_path / "lake")
    ran = command("status", "--limits", "--format", "json", "--lake", tmp_path / "lake")
    rows = {row["limit"]: row for row in json.loads(ran.out)["rows"]}
    keys = {key.name for key in KEYS if key.name.startswith("limits.")}
    assert rows.keys() == keys | {limit.name for limit in fixed()}
    assert (rows["limits.record_keys"]["value"], rows["limits.record_keys"]["origin"]) == (77, "lake")
    assert rows["limits.files"]["origin"] == "default"
    assert rows["registry_rows"]["value"] == registry.MAX_ROWS


def test_defaults_of_the_configuration_are_those_of_the_scanner() -> None:
    """Who reads without a configuration has the same limits, but for the budget of unpacked bytes."""
    default, plain = load(environ={}, folder=Path("/nonexistent")), Limits()
    for field, key in LIMITS.items():
        if field != "output":
            assert getattr(plain, field) == default.number(f"limits.{key}"), key
