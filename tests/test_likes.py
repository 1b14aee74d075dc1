"""Step lines taken before any search: the same facts as by search and regexes, whatever stands between them."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from ettlog.lifecycle import KIND_BY_NAME
from ettlog.parse import likes, scan
from ettlog.parse import stamp as stamps
from ettlog.parse.engine import engine
from ettlog.parse.envelope import peel
from ettlog.parse.format import FormatSet, load_all
from ettlog.parse.parsed import ALL, Limits, Parsed, ScanOptions
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
SMALL = ScanOptions(limits=Limits(block=1 << 15, line=1 << 13))


def log(seed: int, steps: int, others: int) -> bytes:
    """Return a log: lines of a few step patterns with ever other digits, and others between them."""
    dice = random.Random(seed)
    kinds = [dice.choice((b"", b"[rank3]:", b" 7: ")) + line for line in dice.sample(LINES[True], 3)]
    lines = [with_other_digits(dice.choice(kinds), number) for number in range(steps)]
    lines += [with_other_digits(dice.choice(LINES[False]), number) for number in range(others)]
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
