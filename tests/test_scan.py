"""Reading one text source: every line accounted for, instants carried, hostile input read without harm."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ettlog.lifecycle import OUTCOMES
from ettlog.parse.format import load_all
from ettlog.parse.parsed import Limits
from ettlog.parse.scan import Parsed, ScanOptions, scan
from ettlog.schema import arrow_schema
from tests.examples import few

FORMATS = load_all()
NOON = 1_930_392_000_000_000  # `date -u -d '2031-03-04 12:00:00' +%s` says 1930392000


TWIN = (
    "[2031-03-04 12:00:09,250] [INFO] [logging.py:96:log_dist] [Rank 0] step=4, skipped=0, "
    "lr=[0.1], mom=[[0.9, 0.95]]\n"
)


def _scan(folder: Path, text: str | bytes, **options: object) -> Parsed:
    path = folder / "train.log"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return scan(path, FORMATS, ScanOptions(**options))  # type: ignore[arg-type]


def _step(step: int, *, ms: float = 1000.0, stamp: str = "") -> str:
    return (
        f"{stamp} iteration {step:8d}/     100 | consumed samples: {step * 8:12d} | "
        f"elapsed time per iteration (ms): {ms:.1f} | "
        "learning rate: 1.000E-04 | global batch size:     8 | lm loss: 2.000000E+00 | loss scale: 1.0 | "
        "grad norm: 0.900 | "
        "number of skipped iterations:   0 | number of nan iterations:   0 |\n"
    )


def test_tables_have_the_columns_of_the_schema(tmp_path: Path) -> None:
    """Events and steps come with the types that the lake writes, even when there are none."""
    for text in ("", _step(1) + "done with setup ...\n"):
        parsed = _scan(tmp_path, text)
        assert parsed.events.schema.equals(arrow_schema("event"))
        assert parsed.steps.schema.equals(arrow_schema("step"))


def test_outcomes_add_up_to_the_lines(tmp_path: Path) -> None:
    """Matched, unmatched and cut lines of a small log are counted once each."""
    parsed = _scan(tmp_path, _step(1) + "some words\n\ndone with setup ...\ntail without end")
    assert {name: count for name, count in parsed.lines.items() if count} == {"matched": 2, "unmatched": 2, "torn": 1}
    assert parsed.n_lines == 5


@given(
    data=st.lists(
        st.sampled_from([_step(7).encode(), b"\n", b"\r", b"\0", b"\xff\xfe", b"training ...\n", b"x" * 90]),
        max_size=30,
    )
)
@settings(max_examples=few(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_counted(data: list[bytes], tmp_path: Path) -> None:
    """Whatever the bytes and the size of the blocks, outcomes add up to newlines plus an unended line."""
    text = b"".join(data)
    parsed = _scan(tmp_path, text, limits=Limits(line=300, block=700))
    assert parsed.n_lines == text.count(b"\n") + (not text.endswith(b"\n") and text != b"")
    assert sum(parsed.lines.values()) == parsed.n_lines
    assert set(parsed.lines) == set(OUTCOMES)
    assert min(parsed.lines.values()) >= 0


def test_blocks_do_not_show_in_the_facts(tmp_path: Path) -> None:
    """The same log in blocks of 2 KB and of 2 MB gives the same tables."""
    text = "[before the start of training step] datetime: 2031-03-04 12:00:00 \n"
    text += "".join(_step(step) + ("noise\n" if step % 3 else "training ...\n") for step in range(1, 90))
    text += "[after training is done] datetime: 2031-03-04 12:03:00 \n"
    small, large = (_scan(tmp_path, text, limits=Limits(line=1024, block=size)) for size in (1 << 11, 1 << 21))
    assert small.events.equals(large.events)
    assert small.steps.equals(large.steps)


def test_undated_steps_follow_the_dated_line_by_their_durations(tmp_path: Path) -> None:
    """Three steps of 1, 2 and 4 seconds after noon end at 12:00:01, :03 and :07, marked as carried."""
    text = "[before the start of training step] datetime: 2031-03-04 12:00:00 \n"
    text += _step(1, ms=1000.0) + _step(2, ms=2000.0) + _step(3, ms=4000.0)
    rows = _scan(tmp_path, text).steps.to_pylist()
    assert [row["ts"] - NOON for row in rows] == [1_000_000, 3_000_000, 7_000_000]
    assert {row["clock"] for row in rows} == {"carried"}


def test_carried_instants_stop_at_the_next_dated_line(tmp_path: Path) -> None:
    """Printed durations that run past the next dated line are held back by it."""
    text = "[before the start of training step] datetime: 2031-03-04 12:00:00 \n" + _step(1, ms=9000.0)
    text += "[after training is done] datetime: 2031-03-04 12:00:05 \n"
    assert _scan(tmp_path, text).steps.to_pylist()[0]["ts"] == NOON + 5_000_000


def test_a_log_interval_counts_its_steps(tmp_path: Path) -> None:
    """Lines of steps 10 and 20 with one second a step stand for ten seconds each."""
    text = "[before the start of training step] datetime: 2031-03-04 12:00:00 \n" + _step(10) + _step(20)
    assert [row["ts"] - NOON for row in _scan(tmp_path, text).steps.to_pylist()] == [10_000_000, 20_000_000]


def test_lines_before_the_first_stamp_take_it(tmp_path: Path) -> None:
    """What stands before the first dated line happened no later than that."""
    text = "training ...\n" + _step(1) + "[after training is done] datetime: 2031-03-04 12:00:00 \n"
    parsed = _scan(tmp_path, text)
    assert parsed.events.to_pylist()[0]["ts"] == parsed.steps.to_pylist()[0]["ts"] == NOON


def test_a_source_without_any_clock_has_no_instants(tmp_path: Path) -> None:
    """Undated steps stay undated, and say so."""
    rows = _scan(tmp_path, _step(1) + _step(2)).steps.to_pylist()
    assert [(row["ts"], row["clock"]) for row in rows] == [(None, "none")] * 2


def test_a_step_takes_the_stamp_of_its_dated_twin(tmp_path: Path) -> None:
    """DeepSpeed's dated line about the same step, just before, dates Megatron's; the twin itself is no second step."""
    rows = _scan(tmp_path, TWIN + "[2031-03-04 12:00:09,300] noise\n" + _step(4)).steps.to_pylist()
    assert [(row["step"], row["ts"]) for row in rows] == [(4, NOON + 9_250_000)]


def _twin(step: int, second: int) -> str:
    return TWIN.replace("12:00:09", f"12:00:{second:02d}").replace("step=4", f"step={step}")


def test_a_dated_line_at_either_end_is_kept_for_the_file_beside_it(tmp_path: Path) -> None:
    """Of a log cut between the two lines of a step the dated one is an event; the step is in the other file."""
    ends = _scan(tmp_path, _twin(4, 9) + _step(4) + _twin(5, 10)).events.to_pylist()
    assert [(row["kind"], row["line"], row["step"], row["ts"]) for row in ends] == [
        ("step_twin", 3, 5, NOON + 10_250_000)
    ]
    begins = _scan(tmp_path, _twin(4, 9) + _step(5) + _twin(5, 10)).events.to_pylist()
    assert [(row["line"], row["step"], row["ts"]) for row in begins] == [(1, 4, NOON + 9_250_000)]


def test_a_dated_line_that_has_dated_no_step_here_is_none(tmp_path: Path) -> None:
    """Lines of a lower tier that agree with no step of the file may count something else: they are left out."""
    assert _scan(tmp_path, _step(4, stamp="[2031-03-04 12:00:00]") + _twin(5, 10)).events.num_rows == 0


def test_the_next_starts_dated_line_is_not_that_of_the_step_before(tmp_path: Path) -> None:
    """A step whose dated line is in another file does not take that of its repetition after a restart."""
    rows = _scan(tmp_path, _step(4) + _twin(3, 40) + _step(3) + _twin(4, 50) + _step(4)).steps.to_pylist()
    assert [(row["step"], row["ts"], row["clock"] == "carried") for row in rows[1:]] == [
        (3, NOON + 40_250_000, False), (4, NOON + 50_250_000, False),
    ]  # fmt: skip
    assert rows[0]["clock"] == "carried"


def test_steps_of_a_lower_tier_count_where_no_other_line_does(tmp_path: Path) -> None:
    """Without a trainer's own line DeepSpeed's line is the step."""
    assert [row["step"] for row in _scan(tmp_path, TWIN).steps.to_pylist()] == [4]


def test_states_of_a_progress_bar_line_are_read_one_by_one(tmp_path: Path) -> None:
    """A step glued behind the states of a progress bar is found, with its own stamp."""
    bar = "\r".join(f" {share}%|###| {share}/100" for share in range(0, 100, 10))
    rows = _scan(tmp_path, bar + "\r" + _step(3, stamp=" [2031-03-04 12:00:00]")).steps.to_pylist()
    assert [(row["step"], row["ts"]) for row in rows] == [(3, NOON)]


def test_a_cut_last_number_is_no_number(tmp_path: Path) -> None:
    """A log copied while a line was written may end inside a number: the line counts as torn, not as a wrong step."""
    text = _step(1) + "loading checkpoint from /data/ckpt at iteration 12"
    parsed = _scan(tmp_path, text)
    assert parsed.lines["torn"] == 1
    assert _scan(tmp_path, text + "\n").lines["torn"] == 0


def test_a_line_beyond_the_limit_is_counted_and_its_neighbours_are_read(tmp_path: Path) -> None:
    """One line longer than a block, one longer than the limit and two steps are four lines."""
    limits = Limits(line=1 << 10, block=1 << 14)
    parsed = _scan(tmp_path, _step(1) + "y" * 50_000 + "\n" + "z" * 3_000 + "\n" + _step(2), limits=limits)
    assert (parsed.n_lines, parsed.lines["long"], parsed.lines["matched"]) == (4, 2, 2)
    assert [row["line"] for row in parsed.steps.to_pylist()] == [1, 4]


def test_packed_logs_give_the_facts_of_their_text(tmp_path: Path) -> None:
    """A gzip file reads like its text, and a torn one keeps its beginning and says so."""
    text = "".join(_step(step) for step in range(1, 60)).encode()
    whole = _scan(tmp_path, gzip.compress(text))
    assert whole.steps.equals(_scan(tmp_path, text).steps)
    torn = _scan(tmp_path, gzip.compress(text)[:-9])
    assert (whole.state, torn.state) == ("whole", "torn")


@pytest.mark.parametrize(("data", "state"), [(b"", "empty"), (b"\x7fELF\0\0\0\n\0", "binary"), (b"words\n", "whole")])
def test_what_is_no_log_says_what_it_is(data: bytes, state: str, tmp_path: Path) -> None:
    """Empty and binary files have a state of their own."""
    assert _scan(tmp_path, data).state == state


def test_a_link_is_refused(tmp_path: Path) -> None:
    """A source that may not be read gives an answer, not an exception."""
    (tmp_path / "link.log").symlink_to(tmp_path)
    parsed = scan(tmp_path / "link.log", FORMATS, ScanOptions())
    assert (parsed.state, parsed.n_lines) == ("refused", 0)
    assert "link" in parsed.inferences[0]


def test_unmatched_lines_show_their_shape_and_no_secret(tmp_path: Path) -> None:
    """Lines of one print statement share a shape; a token, a mail address and a user's folder do not show."""
    text = "".join(f"shard {number} of /home/alice/data token=abc{number} for bob@example.org\n" for number in range(5))
    parsed = _scan(tmp_path, text)
    assert len(parsed.unmatched) == 1
    shown = " ".join([*parsed.unmatched, *parsed.samples])
    assert not any(word in shown for word in ("alice", "abc", "bob@"))


def test_without_steps_only_events_are_read(tmp_path: Path) -> None:
    """The mode `none` leaves step lines unmatched and reads the rest as before."""
    parsed = _scan(tmp_path, _step(1) + "training ...\n", steps="none")
    assert (parsed.steps.num_rows, parsed.events.num_rows, parsed.lines["unmatched"]) == (0, 1, 1)
