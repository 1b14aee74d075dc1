"""Neighbours of undated lines: the same whether all of a block is looked through for times of day or what is left of
it."""

from __future__ import annotations

import random
from functools import partial

import numpy as np

from ettlog.parse.carry import MANY, DatedLines, Left
from ettlog.parse.finder import Covered, Rest
from ettlog.parse.template import NULL

STEP, TIMED, STAMP = b"step 12 of 99 took 1.5 s\n", b"[07:08:%02d] step 12 of 99 took 1.5 s\n", b"at 06:00:%02d saved\n"
OTHER = b"nothing 1:2:3 to see 12:34\n"


def instant(line: bytes) -> int:
    """Return the seconds of a line with a time of day, some of which say nothing, else NULL."""
    at = line.find(b"0:") + 2 if line.startswith(b"at ") else line.find(b"8:") + 2
    return int(line[at : at + 2]) if at > 1 and b":" in line and line[at : at + 2].isdigit() else NULL


def block(dice: random.Random) -> list[bytes]:
    """Return lines of all kinds, steps most of all."""
    kinds = dice.choices((STEP, TIMED, STAMP, OTHER), (60, dice.choice((0, 9)), dice.choice((0, 4)), 9), k=200)
    return [
        kind % number if b"%" in kind else kind
        for number, kind in zip(dice.choices(range(60), k=200), kinds, strict=True)
    ]


def test_neighbours_are_those_of_a_look_at_all() -> None:
    """Fifty blocks; undated steps are covered, and steps with a time of day, some of which are known already."""
    for seed in range(50):
        dice = random.Random(seed)
        lines = block(dice)
        begin = np.cumsum([0, *map(len, lines[:-1])])
        end = begin + [len(line) for line in lines]
        data = bytearray(b"".join(lines))
        steps = np.array([line == STEP for line in lines])
        timed = np.array([line.startswith(b"[07") for line in lines])
        gone = (steps | timed) & (np.array([dice.random() for _ in lines]) < dice.choice((0.0, 0.5, 1.0)))
        known = np.flatnonzero(timed & (np.array([dice.random() for _ in lines]) < 0.5))
        read = begin[known], np.array([instant(lines[row]) for row in known], np.int64)
        rest = Rest(memoryview(data), Covered(begin[gone], end[gone]))
        left = Left(rest, partial(np.copy, begin[timed]))
        assert steps.sum() >= MANY
        found = DatedLines(data, len(data), instant, read, left=left).around(begin[steps], np.ones(steps.sum(), bool))
        expected = DatedLines(data, len(data), instant, read).around(begin[steps], np.ones(steps.sum(), bool))
        for mine, theirs in zip(found, expected, strict=True):
            assert mine.tolist() == theirs.tolist()
        dated = [(at, instant(line)) for at, line in zip(begin.tolist(), lines, strict=True) if instant(line) != NULL]
        before = [max((one for one in dated if one[0] < at), default=(-1, NULL)) for at in begin[steps].tolist()]
        assert list(zip(found.place.tolist(), found.before.tolist(), strict=True)) == before
