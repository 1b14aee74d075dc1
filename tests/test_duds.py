"""Bars of other work are told from steps by their like, and never in place of a step."""

from __future__ import annotations

from pathlib import Path

import pytest

from ettlog.parse import block, duds
from ettlog.parse import format as formats
from ettlog.parse.duds import Duds
from ettlog.parse.scan import Limits, ScanOptions, scan

FORMATS = formats.load_all()
SLOW = next(at for at, one in enumerate(FORMATS.patterns) if (one.format, one.name) == ("torchrec", "bar_slow"))
BAR = "Processing shards:   9%|9         | {0}/100 [00:09<01:50,  1.21s/it]"


def numbers(folder: Path, *lines: str) -> tuple[list[int], int]:
    """Return the steps of a log of these lines, and the lines that nothing matched."""
    path = folder / "bar.log"
    path.write_text("".join(f"{line}\n" for line in lines))
    parsed = scan(path, FORMATS, ScanOptions())
    return parsed.steps["step"].to_pylist(), parsed.lines["unmatched"]


def test_a_bar_is_read_once_and_its_like_never(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a hundred bars that differ in digits only, states of one line or not, the first is read by the regexes."""
    read, plain = list[bytes](), block.BlockScan.read

    def counted(self: block.BlockScan, begin: int, end: int, *args: object, **more: object) -> object:
        read.append(bytes(self.data[begin:end]))
        return plain(self, begin, end, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(block.BlockScan, "read", counted)
    states = ["\r".join(BAR.format(number) for number in range(first, first + 5)) for first in range(10, 90)]
    assert numbers(tmp_path, *states) == ([], 80)
    assert len(read) <= 1


def test_a_step_that_looks_like_a_bar_is_a_step(tmp_path: Path) -> None:
    """Of `Epoch <n>:` bars the format counts those of epoch 0: a digit decides, and nothing is remembered of them."""
    others = [f"Epoch {epoch}: {epoch}2it [00:30,  2.50s/it]" for epoch in range(1, 9)]
    assert numbers(tmp_path, *others, "Epoch 0: 12it [00:30,  2.50s/it]", *others) == ([12], 16)


def test_what_a_digit_decides_is_not_remembered() -> None:
    """Neither a line whose regex looks at a digit, nor one behind a stamp with its year, nor a very long one."""
    known = Duds(FORMATS.patterns)

    def remembers(line: bytes) -> bool:
        name, names = known.name(line), known.of((SLOW,))
        known.learn(names, name, line, (SLOW,))
        return name in names

    assert remembers(b"Loading: 12it [00:30,  2.50s/it]")
    assert not remembers(b"Epoch 1: 12it [00:30,  2.50s/it]")
    assert not remembers(b"03/09/2031 08:12:13 12it [00:30,  2.50s/it]")
    assert not remembers(b"x" * duds.MAX_LINE + b" 2.50s/it]")


def test_a_line_that_lost_its_end_says_nothing_of_whole_ones(tmp_path: Path) -> None:
    """A number that the limit of a line cuts off is no step's; a whole line that differs from what is seen of it in
    digits only is one."""
    step = " global_step: {0}, interval_runtime: 5.0, interval_samples_per_second: 16.0, interval_steps_per_second: {1}"
    cut, whole = ("x" * 2500 + step.format(number, rate) for number, rate in ((11, "2.05"), (12, "4.0")))
    path = tmp_path / "train.log"
    path.write_text(f"{cut}\n{whole}\n")
    parsed = scan(path, FORMATS, ScanOptions(limits=Limits(line=len(whole))))
    assert parsed.steps["step"].to_pylist() == [12]


def test_the_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many kinds of bars come, for however many sets of patterns, no more are kept than the limit."""
    monkeypatch.setattr(duds, "KEPT", 8)
    known = Duds(FORMATS.patterns)
    for size in range(100):
        line = b"x" * size + b" 2.50s/it]"
        known.learn(known.of((SLOW,)), known.name(line), line, (SLOW,))
        known.of((size,))
    assert 0 < sum(map(len, known._known.values())) <= 8
    assert len(known._known) <= 8
