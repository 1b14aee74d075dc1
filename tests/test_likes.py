"""Step lines taken before any search: the same facts as by search and regexes, whatever stands between them."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ettlog.lifecycle import KIND_BY_NAME
from ettlog.parse import likes, scan
from ettlog.parse import stamp as stamps
from ettlog.parse.engine import engine
from ettlog.parse.envelope import peel
from ettlog.parse.finder import Finder, Rest
from ettlog.parse.format import FormatSet, load_all
from ettlog.parse.parsed import ALL, Limits, Parsed, ScanOptions
from ettlog.parse.template import barren
from ettlog.parse.vector import Template
from tests.test_recipe import with_other_digits

FORMATS = load_all()
STEP = KIND_BY_NAME["step"].kind


def whole(line: bytes) -> bool:
    """Tell whether a line holds no stamp, or one with its date and its year: others hang on the stamp before."""
    outer = peel(line).stamp
    stamp = stamps.parse(outer) if outer else stamps.find(line)
    return stamp is None or (stamp.year and stamp.date)


SAMPLES = [(one.kind == STEP, s.line.encode()) for one in FORMATS.patterns for s in one.samples]
LINES = {kind: [line for is_step, line in SAMPLES if is_step == kind and whole(line)] for kind in (True, False)}
BARS = (
    b"\r".join(b"Processing shards:   9%%|9         | %d/100 [00:09<01:50,  1.21s/it]" % at for at in range(10, 20)),
    b"memory (MB) | allocated: 1234.500 | max allocated: 23456.750 | reserved: 31000.0",
    b"Epoch 1: 12it [00:30,  2.50s/it]",
)
"""Lines that look like steps."""
SMALL = ScanOptions(limits=Limits(block=1 << 15, line=1 << 13))


def log(seed: int, steps: int, others: int) -> bytes:
    """Return a log: lines of a few step patterns with ever other digits, and others between them."""
    dice = random.Random(seed)
    kinds = [dice.choice((b"", b"[rank3]:", b" 7: ")) + line for line in dice.sample(LINES[True], 3)]
    lines = [with_other_digits(dice.choice(kinds), number) for number in range(steps)]
    lines += [with_other_digits(dice.choice(LINES[False]), number) for number in range(others)]
    lines += [with_other_digits(dice.choice(BARS), number) for number in range(dice.choice((0, 20, steps)))]
    dice.shuffle(lines)
    return b"\n".join(lines) + (b"\n" if seed % 2 else b"")


def facts(parsed: Parsed) -> tuple[object, ...]:
    """Return all that was found in a log."""
    counts = (parsed.lines, parsed.formats, parsed.n_lines)
    return parsed.steps.to_pylist(), parsed.events.to_pylist(), *counts, parsed.clock, parsed.first_us, parsed.last_us


@pytest.fixture
def without() -> FormatSet:
    """Return the formats under another fingerprint, for which no line is known before it is searched."""
    formats = replace(FORMATS, fingerprint="no likes")
    engine(formats, ALL).likes.add = lambda *_: None  # type: ignore[method-assign]
    engine(formats, ALL).likes.add_barren = lambda *_: None  # type: ignore[method-assign]
    engine(formats, ALL).steps._learnt = lambda *_: None
    return formats


@pytest.mark.parametrize("seed", range(40))
def test_what_is_taken_first_changes_no_fact(tmp_path: Path, without: FormatSet, seed: int) -> None:
    """Logs of many small blocks, mostly of steps or mostly of other lines, read twice so that all is known."""
    path = tmp_path / "run.log"
    path.write_bytes(log(seed, *((900, 60) if seed % 3 else (80, 900))))
    expected = facts(scan.scan(path, without, SMALL))
    assert facts(scan.scan(path, FORMATS, SMALL)) == expected
    assert facts(scan.scan(path, FORMATS, SMALL)) == expected


def test_known_steps_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most lines of a plain log are taken without a search: all but the first block of each number of digits."""
    step = b" iteration %8d/   10000 | consumed samples: %12d | elapsed time per iteration (ms): 1000.0 |"
    path = tmp_path / "run.log"
    path.write_bytes(b"".join(step % (number, 8 * number) + b"\n" for number in range(1, 3001)))
    taken = 0
    take = likes.Likes.take

    def counting(*told: object) -> list[likes.Taken]:
        nonlocal taken
        found = list(take(*told))  # type: ignore[arg-type]
        taken += sum(len(one.pool.at) for one in found)
        return found

    monkeypatch.setattr(likes.Likes, "take", counting)
    parsed = scan.scan(path, replace(FORMATS, fingerprint="known steps"), SMALL)
    assert parsed.steps["step"].to_pylist() == list(range(1, 3001))
    assert taken > 2000


def test_lines_that_only_look_like_steps_are_not_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log of bars and memory reports, read for the second time: next to nothing of it is left for the search."""
    path, searched = tmp_path / "run.log", list[int]()
    path.write_bytes(b"".join(with_other_digits(BARS[number % 2], number) + b"\n" for number in range(2000)))
    formats = replace(FORMATS, fingerprint="bars")
    first = scan.scan(path, formats, SMALL)
    search = Finder.step_hits

    def counting(self: Finder, rest: Rest) -> object:
        searched.append(len(rest.text))
        return search(self, rest)

    monkeypatch.setattr(Finder, "step_hits", counting)
    assert facts(scan.scan(path, formats, SMALL)) == facts(first)
    assert first.lines["unmatched"] == 2000
    assert sum(searched) < 0.02 * path.stat().st_size


def test_a_bar_that_can_be_a_step_is_searched(tmp_path: Path) -> None:
    """Of `Epoch <n>:` bars those of epoch 0 count: a thousand others are read before, and it is found all the same."""
    path = tmp_path / "run.log"
    path.write_bytes((BARS[2] + b"\n") * 1000)
    assert scan.scan(path, FORMATS, SMALL).steps.num_rows == 0
    path.write_bytes((BARS[2] + b"\n") * 9 + BARS[2].replace(b"Epoch 1", b"Epoch 0") + b"\n")
    assert scan.scan(path, FORMATS, SMALL).steps["step"].to_pylist() == [12]


def test_like_of_a_dated_line_has_its_century() -> None:
    """Prefixes look for the century of a date: with another one, or with other text, a line is not of its like."""
    line = b"2031-03-01 06:00:00 Loading: 12it [00:30,  2.50s/it]"
    others = (
        b"2047-09-30 16:01:12 Loading: 99it [01:59,  1.00s/it]\n",
        b"1931-03-01 06:00:00 Loading: 12it [00:30,  2.50s/it]\n",
        b"2031-03-01 06:00:00 Loading: 12it [00:30,  2.50s/it] \n",
        b"2031-03-01 06:00:00 Loading: :2it [00:30,  2.50s/it]\n",
    )
    text = bytearray(b"".join(others) + bytes(len(line)))
    begin = np.cumsum([0, *map(len, others[:-1])])
    assert Template(barren(line)).match(text, begin)[0].tolist() == [True, False, False, False]


def test_memory_of_templates_is_bounded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """However many shapes of step lines come, no more are kept than the limit."""
    monkeypatch.setattr(likes, "KEPT", 4)
    formats = replace(FORMATS, fingerprint="few likes")
    for number in range(12):
        path = tmp_path / f"{number}.log"
        name = b"abcdefghijkl"[number : number + 1]
        path.write_bytes(
            b"".join(
                b" iteration %8d/ 99 | %s | elapsed time per iteration (ms): 9.0 |\n" % (k, name) for k in range(40)
            )
        )
        scan.scan(path, formats, SMALL)
    assert sum(map(len, engine(formats, ALL).likes._known.values())) <= 4
