"""Numbers and times outside of any calendar: years 0 and 9999, 31 February, leap seconds, twenty digits, two zones."""

from __future__ import annotations

from collections.abc import Iterator

from tests.hostile.case import HEAD, Case, step

A, B = step(1), step(2)
CLOCK = b"2031-05-06 08:01:30"
STAMPS = {
    "year-0": b"0000-01-01 00:00:00",
    "year-1": b"0001-01-01 00:00:00",
    "year-1999": b"1999-12-31 23:59:59",
    "year-2101": b"2101-01-01 00:00:00",
    "year-9999": b"9999-12-31 23:59:59",
    "month-13": b"2031-13-01 00:00:00",
    "day-31-feb": b"2031-02-31 00:00:00",
    "day-29-feb": b"2031-02-29 00:00:00",
    "day-0": b"2031-05-00 00:00:00",
    "hour-24": b"2031-05-06 24:00:00",
    "minute-60": b"2031-05-06 08:60:00",
    "second-61": b"2031-05-06 08:00:61",
    "month-0": b"2031-00-06 08:00:00",
}
"""Stamps that are none: the step is read, its time is bad."""
STEPS = {
    "20-digits": b"12345678901234567890",
    "19-digits": b"1234567890123456789",
    "two-points": b"1.2.5",
    "exponent": b"1e18",
    "signs": b"+-5",
    "hex": b"0x1F",
    "infinite": b"inf",
    "nan": b"nan",
    "arabic": "\u0661\u0662".encode(),
    "full-width": "\uff11".encode(),
}
SACCT = {
    "end-before-start": ("2031-05-06T09:00:00", "2031-05-06T08:00:00"),
    "31-feb": ("2031-02-31T08:00:00", "2031-05-06T09:00:00"),
    "year-9999": ("9999-01-01T08:00:00", "9999-01-01T09:00:00"),
    "year-0": ("0000-01-01T08:00:00", "2031-05-06T09:00:00"),
    "word": ("yesterday", "2031-05-06T09:00:00"),
    "epoch": ("1e18", "2031-05-06T09:00:00"),
    "negative": ("-1", "2031-05-06T09:00:00"),
    "12-hours": ("2031-05-06T08:00:00 PM", "2031-05-06T09:00:00"),
}


def cases() -> Iterator[Case]:
    """Yield step lines and accounting with one impossible value each; what stands around it is read."""
    for name, stamp in STAMPS.items():
        fate = "bad_time" if stamp.startswith(b"2031") else "unmatched"
        yield Case(f"stamp-{name}.log", A + step(7).replace(b"2031-05-06 08:07:00", stamp) + B, {"matched": 2, fate: 1})
    for name, number in STEPS.items():
        line = step(7).replace(b"iteration        7/", b"iteration " + number + b"/")
        yield Case(f"step-{name}.log", A + line + B, None, total=3)
    for name, (start, end) in SACCT.items():
        row = f"77|77|owl|maple|COMPLETED|2031-05-06T07:00:00|{start}|{end}|1|gres/gpu=8|n1"
        yield Case(f"sacct-{name}.txt", f"{HEAD}\n{row}\n".encode(), {"ignored": 1, "bad_time": 1})
    yield Case(
        "two-zones.log",
        step(1).replace(b":01:00]", b":01:00+0200]") + step(2).replace(b":02:00]", b":02:00Z]"),
        None,
        total=2,
    )
    yield Case("backwards.log", step(9) + step(3) + step(1), {"matched": 3})
    yield Case("same-instant.log", A * 50, {"matched": 50})
    yield Case("leap-second.log", A + step(7).replace(b"08:07:00", b"23:59:60") + B, None, total=3)
    yield Case("elapsed-20-digits.log", A.replace(b"12000.0", b"12345678901234567890.5") + B, {"matched": 2})
    yield Case("elapsed-minus.log", A.replace(b"12000.0", b"-1.0") + B, None, total=2)
    yield Case("elapsed-two-points.log", A.replace(b"12000.0", b"1.2.5") + B, None, total=2)
    yield Case("gpus-20-digits.txt", _gpus("12345678901234567890"), None, total=2)
    yield Case("gpus-minus.txt", _gpus("-8"), None, total=2)
    for name, old, new in LARGE:
        text = LAUNCHED.replace(old, new)
        assert text != LAUNCHED, name
        yield Case(f"large-{name}.log", text, {"matched": text.count(b"\n")})
    yield Case("gpus-of-a-century.txt", _gpus("2147483647").replace(b"2031-05-06T09", b"2099-05-06T09"), None, total=2)


LAUNCHED = b"""\
+ srun --jobid 61 bash -c python pretrain_gpt.py
using world size: 16, data-parallel-size: 4, tensor-model-parallel size: 4, pipeline-model-parallel size: 1
""" + b"".join(map(step, range(1, 7)))  # fmt: skip
TOP = b"999999999999999999"
LARGE = (
    ("world", b"world size: 16,", b"world size: 2147483647,"),
    ("step", b"iteration        4/", b"iteration " + TOP + b"/"),
    ("last-step", b"iteration        6/", b"iteration " + TOP + b"/"),
    ("target", b"/     500 |", b"/" + TOP + b" |"),
    ("samples", b"samples:         2560", b"samples: " + TOP),
    ("duration", b"(ms): 12000.0", b"(ms): 999999999999999.0"),
    ("year-2001", b"2031-05-06 08:03:00", b"2001-05-06 08:03:00"),
    ("year-2099", b"2031-05-06 08:03:00", b"2099-05-06 08:03:00"),
)
"""Numbers that fit their columns, but not their products: one such line must not take the fleet its answers."""


def _gpus(count: str) -> bytes:
    times = "2031-05-06T07:00:00|2031-05-06T08:00:00|2031-05-06T09:00:00"
    return f"{HEAD}\n78|78|owl|maple|COMPLETED|{times}|1|gres/gpu={count}|n1\n".encode()
