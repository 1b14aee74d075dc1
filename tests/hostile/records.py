"""JSON as nobody should write it: too deep, too long, numbers of thousands of digits, keys twice, halves of pairs."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.hostile.case import TORN, Case

GOOD = b'{"step": 1, "perf/step_time_seconds": 1.5, "learning/loss": 2.5}\n'
KEY = b'"perf/step_time_seconds": 1.0'
BAD = {"matched": 2, "bad_record": 1}
RECORDS: dict[str, bytes] = {
    "deep-list": b'{"step": 2, "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep-object": b'{"step": 2, "x": ' + b'{"a":' * 5_000 + b"1" + b"}" * 5_000 + b"}",
    "5000-digits": b'{"step": ' + b"9" * 5_000 + b", " + KEY + b"}",
    "duplicate": b'{"step": 2, "step": 3, ' + KEY + b"}",
    "duplicate-inside": b'{"step": 2, "a": {"b": 1, "b": 2}, ' + KEY + b"}",
    "no-colon": b'{"step" 2}', "no-end": b'{"step": 2, ' + KEY, "two-objects": b'{"step": 2} {"step": 3}',
    "single-quotes": b"{'step': 2}", "trailing-comma": b'{"step": 2,}', "list": b'[{"step": 2}]', "string": b'"step"',
    "number": b"17", "null": b"null", "bad-escape": b'{"step": "\\x41"}', "control": b'{"step": "a\x01b"}',
    "utf-8": b'{"step": 2, "x": "\xff\xfe", ' + KEY + b"}", "nul": b"\0" * 64, "comment": b'{"step": 2} // two',
    "step-nan": b'{"step": NaN, ' + KEY + b"}", "step-text": b'{"step": "two", ' + KEY + b"}",
    "step-20-digits": b'{"step": 12345678901234567890, ' + KEY + b"}", "step-list": b'{"step": [2], ' + KEY + b"}",
    "step-negative": b'{"step": -1, ' + KEY + b"}", "step-true": b'{"step": true, ' + KEY + b"}",
    "10001-keys": json.dumps({"step": 2, "perf/step_time_seconds": 1.0} | {f"k{n}": n for n in range(9_999)}).encode(),
    "depth-65": b'{"step": 2, ' + KEY + b', "x": ' + b"[" * 64 + b"]" * 64 + b"}",
}  # fmt: skip
"""Records that are refused, each between two good ones."""
READ = {
    "nan": b'{"step": 2, "perf/step_time_seconds": NaN}',
    "1e400": b'{"step": 2, "perf/step_time_seconds": 1e400}',
    "lone-surrogate": b'{"step": 2, "x": "\\ud800", ' + KEY + b"}",
    "empty-key": b'{"": 1, "step": 2, ' + KEY + b"}",
    "10000-keys": json.dumps({"step": 2, "perf/step_time_seconds": 1.0} | {f"k{n}": n for n in range(9_998)}).encode(),
    "depth-64": b'{"step": 2, ' + KEY + b', "x": ' + b"[" * 63 + b"]" * 63 + b"}",
}
"""Odd records that are read all the same; a time that is no number has no value."""


def cases() -> Iterator[Case]:
    """Yield files of three records, the odd one in the middle; a long one and a cut one."""
    for name, record in RECORDS.items():
        yield Case(f"{name}.jsonl", GOOD + record + b"\n" + GOOD, BAD)
    for name, record in READ.items():
        yield Case(f"{name}.jsonl", GOOD + record + b"\n" + GOOD, {"matched": 3})
    big = b'{"step": 2, ' + KEY + b', "x": "' + b"s" * (17 << 20) + b'"}\n'
    yield Case("over-16-mib.jsonl", GOOD + big + GOOD, {"matched": 2, "long": 1})
    yield Case("100-mb-string.jsonl", _long, {"matched": 2, "long": 1}, big=True)
    yield Case("cut.jsonl", GOOD + b'{"step": 2, "perf', {"matched": 1, "torn": 1}, TORN)


def _long(path: object) -> None:
    from pathlib import Path

    with Path(str(path)).open("wb") as file:
        file.write(GOOD + b'{"step": 2, "x": "')
        for _ in range(100):
            file.write(b"s" * 1_000_000)
        file.write(b'"}\n' + GOOD)
