"""A format file proves itself or is refused with file, pattern, sample and place; groups decode to columns."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

from ettlog.errors import FormatError
from ettlog.parse import decode, format_proof
from ettlog.parse import format as formats

GOOD: dict[str, Any] = {
    "name": "heron",
    "title": "Heron trainer",
    "source": "trainer",
    "url": "https://example.org/heron",
    "pattern": [
        {
            "name": "v1",
            "kind": "step",
            "anchor": "heron step ",
            "regex": r"heron step (?P<step>\d++)/(?P<target>\d++) took (?P<duration_ms>[\d.]++)ms",
            "samples": [{"line": "heron step 12/900 took 250.5ms", "step": 12, "target": 900, "duration_us": 250500}],
        }
    ],
}


def write(folder: Path, name: str = "heron", /, **changes: Any) -> Path:
    """Write the good format with changes to its pattern (or, with a leading underscore, to the file's own keys)."""
    table = {**GOOD, "name": name, **{key[1:]: value for key, value in changes.items() if key.startswith("_")}}
    inner = {key: value for key, value in changes.items() if not key.startswith("_")}
    if "pattern" not in {key[1:] for key in changes}:
        table["pattern"] = [{**GOOD["pattern"][0], **inner}]
    path = folder / f"{name}.toml"
    path.write_bytes(tomli_w.dumps({key: value for key, value in table.items() if value is not None}).encode())
    return path


def test_good_format_loads(tmp_path: Path) -> None:
    """The format above is taken, with its groups in the order of the regex."""
    one = formats.load(write(tmp_path))
    assert one.name == "heron"
    assert one.patterns[0].groups == ("step", "target", "duration_ms")
    assert one.patterns[0].samples[0].event == {"step": 12, "target": 900, "duration_us": 250500}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"samples": []}, "a pattern has no sample"),
        ({"samples": [7]}, "a sample has the wrong type"),
        ({"samples": ["heron step 1/2 took 1ms\n"]}, "a sample holds a line end"),
        ({"samples": ["heron step twelve"]}, "a sample does not match its pattern"),
        ({"samples": [{"line": "heron step 12/900 took 1ms", "step": 13}]}, "a sample gives another value"),
        ({"anchor": "hero"}, "the anchor is too short"),
        ({"anchor": "heron steps"}, "the anchor is not in every line the regex matches"),
        ({"anchor": " took ", "regex": r"heron step (?P<step>\d++)(?:/900 took )?"}, "the anchor is not in every line"),
        (
            {"anchor": "heron step ", "regex": r"(?:heron step |crane step )(?P<step>\d++)"},
            "the anchor is not in every",
        ),
        ({"kind": "stepp"}, "unknown kind 'stepp'"),
        ({"regex": r"heron step (?P<number>\d++)"}, "unknown group 'number'"),
        ({"regex": r"heron step (?P<step>\d++"}, "the regex is not valid"),
        ({"regex": r"(?i)heron step (?P<step>\d++)"}, "the regex sets flags"),
        ({"regex": r"heron step (?:\d+)*x?"}, "the regex has nested quantifiers"),
        ({"regex": r"heron step .*/.*took"}, "more than one unbounded wildcard"),
        ({"regex": r"heron step (?P<step>\d+)/\d+ took [^ ]*m[^|]*"}, "more than one unbounded wildcard"),
        (
            {"regex": r"\w*heron step (?P<step>\d+)", "samples": ["heron step 1"]},
            "the regex is too slow on a hostile line",
        ),
        ({"regex": r"heron step (?:a{1,50}){1,50}b"}, "the regex has nested quantifiers"),
        ({"regex": r"heron step (?:1|11)*x", "samples": ["heron step 1x"]}, "too slow on a hostile line"),
        (
            {"regex": r"heron step [a-z]*[a-z]*[a-z]*[a-z]*[a-z]*[a-z]*[a-z]*7?8", "samples": ["heron step ab8"]},
            "too slow on a hostile line",
        ),
        ({"constants": {"cause": "moon"}}, "wrong constant 'cause'"),
        ({"constants": {"colour": "red"}}, "wrong constant 'colour'"),
        ({"constants": 3}, "constants is no table"),
        ({"tier": "two"}, "ignore or tier has the wrong type"),
        ({"beside": "v2"}, "beside is no list of names"),
        ({"shape": "round"}, "unknown key 'shape'"),
        ({"_source": "moon"}, "unknown source 'moon'"),
        ({"_url": ""}, "'url' is missing"),
        ({"_pattern": []}, "a format has no patterns"),
        ({"_pattern": GOOD["pattern"] * 2}, "pattern 'v1' exists twice"),
        ({"_colour": "red"}, "unknown key 'colour'"),
    ],
)
def test_bad_format_is_refused(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    """Every rule of docs/formats.md is an error that names the file and has all four parts."""
    path = write(tmp_path, **changes)
    with pytest.raises(FormatError) as caught:
        formats.load(path)
    assert says in caught.value.what
    assert str(path) in caught.value.where
    assert caught.value.why
    assert caught.value.todo
    assert caught.value.exit_code == 2


def test_an_anchor_may_stand_in_what_a_regex_only_looks_at(tmp_path: Path) -> None:
    """A positive look ahead is in the line; a negative one is not."""
    seen = {
        "anchor": " took ",
        "regex": r"^(?=heron step (?P<step>\d++)/(?P<target>\d++) took (?P<duration_ms>[\d.]++)ms)",
    }
    assert formats.load(write(tmp_path, **seen)).patterns[0].anchor == b" took "
    unseen = {"anchor": " took ", "regex": r"heron step (?P<step>\d++)(?!/900 took )"}
    with pytest.raises(FormatError, match="the anchor is not in every line"):
        formats.load(write(tmp_path, **unseen))


def test_caret_stands_where_the_match_stopped(tmp_path: Path) -> None:
    """The error shows the sample and a caret below the first byte the regex did not take: the 22nd here."""
    path = write(tmp_path, samples=["heron step 12/900 took no time"])
    with pytest.raises(FormatError) as caught:
        formats.load(path)
    shown = caught.value.what.splitlines()
    assert shown[1].strip() == "heron step 12/900 took no time"
    assert shown[2].index("^") - shown[1].index("heron") == len("heron step 12/900 took ")
    assert "v1 stopped here" in shown[2]


@pytest.mark.parametrize(
    "data",
    [b"name = ", b"\xff\xfe", b"a" * (formats.MAX_FILE + 1), b"x = " + b"[" * 5000, b'name = "a"\nname = "b"\n', b""],
)
def test_broken_file_is_refused(tmp_path: Path, data: bytes) -> None:
    """A file that is no TOML, too large, too deep or empty is a FormatError, never another exception."""
    path = tmp_path / "broken.toml"
    path.write_bytes(data)
    with pytest.raises(FormatError):
        formats.load(path)


def test_missing_file_is_refused(tmp_path: Path) -> None:
    """A path that cannot be read is a FormatError with the path."""
    with pytest.raises(FormatError, match="cannot be read"):
        formats.load(tmp_path / "absent.toml")


def test_own_formats_and_users_formats_load_together(tmp_path: Path) -> None:
    """A user's format joins the built-in ones in name order and changes the fingerprint."""
    write(tmp_path)
    both, own = formats.load_all([tmp_path]), formats.load_all()
    assert "heron" in [one.name for one in both.formats]
    assert [one.name for one in both.formats] == sorted(one.name for one in both.formats)
    assert re.fullmatch(r"[0-9a-f]{64}", both.fingerprint)
    assert both.fingerprint != own.fingerprint == formats.load_all().fingerprint


def test_users_formats_are_always_proved(tmp_path: Path) -> None:
    """A user's format is proved although built-in ones are not proved again."""
    write(tmp_path, samples=["heron step twelve"])
    with pytest.raises(FormatError, match="does not match"):
        formats.load_all([tmp_path])


def test_two_formats_may_not_claim_one_line(tmp_path: Path) -> None:
    """A sample that another format's pattern matches is refused and both are named."""
    write(tmp_path, "heron")
    write(tmp_path, "stork", regex=r"heron step (?P<step>\d++)", samples=["heron step 12"])
    write(tmp_path, "tern", regex=r"heron step (?P<step>\d++)", samples=["heron step 12"])
    with pytest.raises(FormatError, match="a sample matches two patterns") as caught:
        formats.load_all([tmp_path])
    assert {"stork", "tern"} <= set(re.findall(r"stork|tern", str(caught.value)))


def test_beside_allows_a_line_with_two_facts(tmp_path: Path) -> None:
    """A pattern that names the other in `beside` may match the same line."""
    write(tmp_path, "heron")
    changes = {"anchor": " took ", "regex": r" took (?P<duration_ms>[\d.]++)ms", "kind": "timer"}
    write(tmp_path, "stork", **changes, beside=["heron.v1"], samples=["heron step 12/900 took 250.5ms"])
    names = [one.name for one in formats.load_all([tmp_path]).formats]
    assert {"heron", "stork"} <= set(names)


def test_a_name_may_exist_once(tmp_path: Path) -> None:
    """A user's format may not take the name of a built-in one."""
    write(tmp_path, "slurm_text")
    with pytest.raises(FormatError, match="exists twice"):
        formats.load_all([tmp_path])


def one_pattern(tmp_path: Path, regex: str, sample: str, **more: Any) -> formats.Pattern:
    """Return a pattern of kind `timer` with the given regex."""
    path = write(tmp_path, kind="timer", anchor="heron ", regex=regex, samples=[sample], **more)
    return formats.load(path).patterns[0]


@pytest.mark.parametrize(
    ("regex", "text", "column", "value"),
    [
        (r"heron (?P<step>[\d,]++)", "heron 1,234,567", "step", 1234567),
        (r"heron (?P<duration_s>-?[\d.]++)", "heron -45.152", "duration_us", -45152000),
        (r"heron (?P<duration_ms>[\d.]++)", "heron 150891.7", "duration_us", 150891700),
        (r"heron (?P<duration_us>[\d.]++)", "heron 12.9", "duration_us", 12),
        (r"heron (?P<duration_min>[\d.]++)", "heron 0.5", "duration_us", 30000000),
        (r"heron (?P<hms>[\d:-]++)", "heron 1-02:03:04", "duration_us", 93784000000),
        (r"heron (?P<hms>[\d:]++)", "heron 02:03", "duration_us", 123000000),
        (r"heron (?P<signal>[\w.]++)", "heron SIGTERM", "code", -15),
        (r"heron (?P<signal>[\w.]++)", "heron Signals.SIGKILL", "code", -9),
        (r"heron (?P<signal>[\w.]++)", "heron 6", "code", -6),
        (r"heron (?P<cause>\w++)", "heron oom", "cause", "oom"),
        (r"heron (?P<cause>\w++)", "heron aliens", "cause", "other"),
        (r"heron (?P<name>\S++)", "heron /ckpt/a", "name", "/ckpt/a"),
        (r"heron (?P<stamp>[\d :-]++)", "heron 2031-03-09 11:15:00", "stamp", "2031-03-09 11:15:00"),
    ],
)
def test_groups_become_columns(tmp_path: Path, regex: str, text: str, column: str, value: object) -> None:
    """Each group name decodes to its column; values worked by hand."""
    pattern = one_pattern(tmp_path, regex, text)
    match = pattern.regex.search(text.encode())
    assert match is not None
    assert formats.fields(pattern, match) == {column: value}


@pytest.mark.parametrize("text", ["heron nan", "heron N/A", "heron 1.2.5", "heron 1e400", "heron --5", "heron ."])
def test_values_that_are_no_numbers_are_left_out(tmp_path: Path, text: str) -> None:
    """A duration that cannot be read is no field; the rest of the line stays."""
    pattern = one_pattern(tmp_path, r"heron (?P<duration_s>\S++)", "heron 1.5", constants={"name": "load"})
    match = pattern.regex.search(text.encode())
    assert match is not None
    assert formats.fields(pattern, match) == {"name": "load"}


def test_numbers_that_do_not_fit_are_left_out() -> None:
    """More than 18 digits, or more than 32 bits for a small column, give no value."""
    assert decode.whole(b"9" * 18) == 10**18 - 1
    assert decode.whole(b"9" * 19) is None
    assert decode.small(b"2147483647") == 2147483647
    assert decode.small(b"2147483648") is None


def test_text_is_cut_and_printable() -> None:
    """A text holds at most 256 characters, without control characters."""
    assert decode.words(b"x" * 1000) == "x" * 256
    assert decode.words(b"a\x1b[31mb") == "a\ufffd[31mb"
    assert decode.words(b"  ") is None


@settings(deadline=None)
@given(st.binary(max_size=80))
def test_decoders_never_raise(text: bytes) -> None:
    """Whatever bytes a group holds, decoding gives a value that fits its column, or none."""
    for group in formats.GROUP_NAMES:
        column, convert = decode.decoder(group)
        value = convert(text)
        assert value is None or isinstance(value, int | str)
        if column in ("code", "world", "rank", "skipped") and isinstance(value, int):
            assert abs(value) < 1 << 31


@settings(deadline=None)
@given(st.integers(0, 10**8), st.integers(0, 999_999))
def test_scaled_is_exact(head: int, tail: int) -> None:
    """Seconds with six decimals come out as the very microseconds, in integers."""
    assert decode.scaled(f"{head}.{tail:06d}".encode(), 1_000_000) == head * 1_000_000 + tail


def test_reach_tells_how_far_a_regex_went(tmp_path: Path) -> None:
    """The longest beginning of the regex that matches ends behind `step 12`, 13 bytes into the text."""
    pattern = formats.load(write(tmp_path)).patterns[0]
    assert format_proof.reach(pattern, b"heron step 12|900") == 13
    assert format_proof.reach(pattern, b"0123") == 0


def test_example_of_the_manual_loads(root: Path, tmp_path: Path) -> None:
    """The format shown in docs/formats.md proves itself, beside all built-in ones."""
    text = (root / "docs/formats.md").read_text(encoding="utf-8")
    (tmp_path / "heron.toml").write_text(text.split("```toml\n")[1].split("```")[0], encoding="utf-8")
    assert [pattern.name for pattern in formats.load(tmp_path / "heron.toml").patterns] == ["step_v2", "saved"]
    formats.load_all([tmp_path])


def test_manual_names_every_key_group_and_source(root: Path) -> None:
    """docs/formats.md explains each key, group and source there is."""
    told = set(re.findall(r"`(\w+)`", (root / "docs/formats.md").read_text(encoding="utf-8")))
    assert set(formats.GROUP_NAMES) | formats.FORMAT_KEYS | formats.PATTERN_KEYS | set(formats.SOURCES) <= told | {
        "pattern"
    }


def test_error_of_the_manual_is_what_is_said(root: Path, tmp_path: Path) -> None:
    """The error shown in docs/formats.md is the error that format gives for that sample."""
    path = write(tmp_path, samples=["heron step 12/900 took no time"])
    with pytest.raises(FormatError) as caught:
        formats.load(path)
    shown = (root / "docs/formats.md").read_text(encoding="utf-8").split("```\na sample")[1].split("```")[0]
    assert str(caught.value).replace(str(tmp_path), "formats").replace("v1", "step_v2") == "a sample" + shown.rstrip(
        "\n"
    )
