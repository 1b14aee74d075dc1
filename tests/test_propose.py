"""A format proposed for lines nobody knows: what varies is named, secrets are masked, and the file loads at once."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ettlog.errors import NoDataError, UsageError
from ettlog.lifecycle import KIND_BY_NAME
from ettlog.parse import format as formats
from ettlog.parse import format_proof
from ettlog.parse.envelope import peel
from ettlog.parse.format import FormatSet, fields
from ettlog.parse.propose.draft import Draft, draft, name_for
from ettlog.parse.propose.kind_words import RULES, kinds
from ettlog.parse.propose.mine import mine
from ettlog.parse.propose.pieces import cut
from tests.examples import few

KNOWN = formats.load_all()
NOTHING = FormatSet((), (), "")


def proposed(folder: Path, lines: list[str], known: FormatSet = KNOWN) -> tuple[Draft, formats.Format]:
    """Propose a format for lines, write it, and load it with all its proofs."""
    log = folder / "crane.log"
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = draft([log], known, "crane")
    path = folder / "crane.toml"
    path.write_text(found.text, encoding="utf-8")
    return found, formats.load(path)


def reads(one: formats.Format, line: str) -> tuple[str, dict[str, int | str]]:
    """Return the pattern that reads a line and the fields it gives; one pattern alone does."""
    hits = [(pattern, match) for pattern in one.patterns if (match := pattern.regex.search(line.encode()))]
    assert len(hits) == 1, line
    return hits[0][0].kind, fields(*hits[0])


STEPS = [
    f"crane: iteration {i} of 500, loss {3 - i / 100:.3f}, 1 iteration took {1.2 + i / 1000:.3f} s"
    for i in range(1, 30)
]


def test_numbers_of_a_step_line_get_their_names(tmp_path: Path) -> None:
    """Step, target and duration are named by the words beside them; the loss is not kept; other values are read too."""
    _, one = proposed(tmp_path, STEPS)
    assert not list(format_proof.problems(one, tmp_path, KNOWN.patterns))
    kind, found = reads(one, "crane: iteration 499 of 500, loss nan, 1 iteration took 12.5 s")
    assert kind == "step"
    assert found == {"step": 499, "target": 500, "duration_us": 12_500_000}


def test_json_lines_are_read_too(tmp_path: Path) -> None:
    """A private trainer that prints JSON is described by its own keys."""
    lines = [
        f'{{"event": "train", "global_step": {i}, "loss": {2.5 / i:.4f}, "step_time_ms": {180 + i}.5}}'
        for i in range(1, 9)
    ]
    _, one = proposed(tmp_path, lines)
    kind, found = reads(one, '{"event": "train", "global_step": 70, "loss": 0.0357, "step_time_ms": 201.5}')
    assert (kind, found) == ("step", {"step": 70, "duration_us": 201_500})


def test_a_time_that_grows_counts_from_the_beginning(tmp_path: Path) -> None:
    """`train_time` rises with every line, so it is no step's own time: the difference to the line before is."""
    lines = [f"crane step:{i}/90 crane_time:{i * 250 + 17}ms" for i in range(1, 12)]
    _, one = proposed(tmp_path, lines)
    assert one.patterns[0].groups == ("step", "target", "total_ms")


def test_saving_and_saved_are_two_patterns(tmp_path: Path) -> None:
    """Words that tell what happens are never taken for values."""
    lines = [f"crane {word} checkpoint {i * 100} ok" for i in range(1, 5) for word in ("saving", "saved", "deleting")]
    _, one = proposed(tmp_path, lines)
    found = {pattern.kind for pattern in one.patterns}
    assert found == {"save_request", "save_commit", "save_delete"}
    assert reads(one, "crane saved checkpoint 900 ok") == ("save_commit", {"step": 900})


def test_words_that_vary_are_wildcards(tmp_path: Path) -> None:
    """Lines that differ in one plain word are one pattern, which reads words it never saw."""
    birds = ("heron", "egret", "stork", "ibis")
    lines = [f"crane worker of team {bird} has joined group seven now" for bird in birds]
    _, one = proposed(tmp_path, lines)
    assert len(one.patterns) == 1
    assert one.patterns[0].regex.search(b"crane worker of team bittern has joined group seven now")


def test_what_is_not_sure_is_marked(tmp_path: Path) -> None:
    """Words that speak for two kinds get a mark with the other; a line that tells nothing is ignored, with a mark."""
    found, one = proposed(tmp_path, ["crane model saved checkpoint fully", "crane likes the river very much"])
    assert {pattern.kind for pattern in one.patterns} == {"save_commit", ""}
    assert 'kind = "save_commit"  # choose: or save_written, save_staged' in found.text
    assert "ignore = true  # choose: a kind" in found.text
    assert found.choices == 2


def test_an_error_alone_makes_no_failure(tmp_path: Path) -> None:
    """Only memory and storage that ran out name a cause; a line with the word error is left to a person."""
    _, one = proposed(tmp_path, ["crane error in module alpha was ignored", "crane ran out of memory on its device"])
    kinds_found = {pattern.kind: dict(pattern.constants) for pattern in one.patterns}
    assert kinds_found == {"": {}, "failure": {"cause": "oom"}}


@pytest.mark.parametrize(
    "secret",
    [
        "alice@example.com", "hf_abcdefghijklmnop", "10.11.12.13", "/home/alice/runs/secret-model/ckpt",
        "9f86d081884c7d659a2feaa0c55ad015", "s3://bucket-of-acme/alice/run", "trainer-07.cluster.acme.internal",
        "password=opensesame", "0d9f1f7e-2f44-4b52-9c3d-0d6a1a3a9c11", "host042", "84720391847",
        "AbC1dEf2GhI3jKl4MnO5pQr6StU7",
    ],
)  # fmt: skip
def test_samples_and_regexes_show_no_names(tmp_path: Path, secret: str) -> None:
    """Mail, tokens, addresses, paths, hosts, passwords and identifiers are masked, also where they never vary."""
    lines = [f"crane was told to read {secret} for step {i} of the run" for i in range(3)]
    found, _ = proposed(tmp_path, lines)
    assert secret not in found.text
    assert "alice" not in found.text


def test_lines_that_formats_know_are_left_alone(tmp_path: Path) -> None:
    """Of a log whose lines are known nothing is proposed: there is no data to propose from."""
    log = tmp_path / "titan.log"
    log.write_text(KNOWN.patterns[0].samples[0].line + "\n", encoding="utf-8")
    with pytest.raises(NoDataError, match="nothing to propose"):
        draft([log], KNOWN, "crane")


def test_a_taken_name_and_a_self_describing_file_are_refused(tmp_path: Path) -> None:
    """The name of a known format cannot be used; accounting needs no format."""
    log = tmp_path / "a.txt"
    log.write_text(
        "JobID|State|Submit|Start|End\n1|COMPLETED|2031-03-09T12:00:00|2031-03-09T12:00:00|2031-03-09T12:00:00\n"
    )
    with pytest.raises(UsageError, match="torchtitan"):
        draft([log], KNOWN, "torchtitan")
    with pytest.raises(UsageError, match="needs no format"):
        draft([log], KNOWN, "crane")


def test_a_name_is_made_of_the_file() -> None:
    """Small letters, digits and underscores; never empty."""
    assert name_for(Path("/logs/Crane-7B run.2.log.gz")) == "crane_7b_run"
    assert name_for(Path("--.log")) == "dialect"


def test_every_kind_of_the_rules_is_of_the_vocabulary() -> None:
    """Rules speak in kinds that exist; nothing speaks for a line without their words."""
    assert {kind for rule in RULES for kind in rule.kinds} <= set(KIND_BY_NAME)
    assert kinds("the river is wide") == ((), "")
    assert kinds("perplexity of the bytes") == ((), "")  # `exit` and `bye` are words, not letters


SHIPPED_STEPS = [
    pytest.param(pattern, id=f"{pattern.format}.{pattern.name}")
    for name in ("megatron_steps", "torchtitan", "maxtext", "nanogpt", "modded_nanogpt", "gpt_neox", "nanotron")
    for pattern in KNOWN.patterns
    if pattern.format == name and pattern.kind == "step" and "step" in pattern.groups
]


@pytest.mark.parametrize("pattern", SHIPPED_STEPS)
def test_a_known_dialect_is_found_again(tmp_path: Path, pattern: formats.Pattern) -> None:
    """Were a dialect unknown, its step lines would be proposed as steps, and read with the numbers that they have."""
    body = peel(pattern.samples[0].line.encode()).body
    match = pattern.regex.search(body)
    assert match is not None
    begin, end = match.span("step")
    head, tail, step = body[:begin].decode(), body[end:].decode(), int(match["step"])
    _, one = proposed(tmp_path, [f"{head}{step + i:>{end - begin}}{tail}" for i in range(6)], NOTHING)
    assert one.patterns[0].kind == "step"
    assert one.patterns[0].samples[0].event["step"] == step


TEXT_LINES = st.lists(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\n"), max_size=60), max_size=6)


@settings(max_examples=few(60), deadline=None)
@given(st.lists(st.one_of(st.binary(max_size=120), st.sampled_from([line.encode() for line in STEPS])), max_size=12))
def test_any_bytes_are_mined_without_an_exception(lines: list[bytes]) -> None:
    """Cutting loses nothing but secrets: the pieces put together are the line; the counts are the lines with words."""
    found = mine(lines)
    with_words = sum(any(piece.sort == "word" for piece in cut(line)) for line in lines)
    assert sum(one.count for one in found) == with_words


@settings(max_examples=few(20), deadline=None)
@given(TEXT_LINES)
def test_whatever_is_proposed_loads(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    """For any text: nothing to propose, or a file that is TOML and passes every proof."""
    folder = tmp_path_factory.mktemp("any")
    try:
        found, one = proposed(folder, lines, NOTHING)
    except NoDataError:
        return
    assert tomllib.loads(found.text)["name"] == one.name
    assert not list(format_proof.problems(one, folder, ()))
