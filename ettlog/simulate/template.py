"""Lines of real dialects, made of the samples of the formats: groups and stamps are filled anew."""

from __future__ import annotations

import re
import tomllib
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ettlog.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_EPOCH = datetime(1970, 1, 1)
FORMATS = Path(__file__).parent.parent / "parse" / "formats"
STAMPED: tuple[tuple[re.Pattern[str], Callable[[datetime, int, str], str]], ...] = (
    (
        re.compile(r"2031-03-(?:09|10)(?P<mid>[ T_])\d\d:\d\d:\d\d(?P<dot>[.,]?)(?P<digits>(?<=[.,])\d{3,6})?"),
        lambda at, digits, mid: f"{at.isoformat(mid[0])[:19]}{mid[1:]}{_fraction(at, digits)}",
    ),
    (
        re.compile(r"(?<=[IWEV])0309 \d\d:\d\d:\d\d(?P<mid>)(?P<dot>\.)(?P<digits>\d{6})"),
        lambda at, digits, mid: f"{at:%m%d %H:%M:%S}{mid}{_fraction(at, digits)}",
    ),
    (
        re.compile(r"(?<=\[[IWE])309 \d\d:\d\d:\d\d(?P<mid>)(?P<dot>\.)(?P<digits>\d{9})"),
        lambda at, digits, mid: f"{at.month}{at:%d %H:%M:%S}{mid}{_fraction(at, digits)}",
    ),
    (
        re.compile(r"03/09/2031 \d\d:\d\d:\d\d(?P<mid>)(?P<dot>)(?P<digits>)"),
        lambda at, _digits, _mid: f"{at:%m/%d/%Y %H:%M:%S}",
    ),
)
"""Layouts of stamps in samples, all of them of one day, and how an instant is written in each."""


def _fraction(at: datetime, digits: int) -> str:
    return f"{at.microsecond:06d}000"[:digits]


class Template(NamedTuple):
    """A sample cut at its groups and its stamp: texts, and between them the name of what is filled in."""

    texts: tuple[str, ...]
    fields: tuple[str, ...]
    usual: tuple[str, ...]
    """What the sample itself holds there, for what nobody fills in."""
    layout: int
    digits: int
    mid: str

    def fill(self, us: int, values: Mapping[str, Any]) -> str:
        """Return the line at an instant; `values` are texts or numbers by group."""
        made = [self.texts[0]]
        for text, name, usual in zip(self.texts[1:], self.fields, self.usual, strict=True):
            made.append(self._stamp(us) if name == "stamp" else str(values.get(name, usual)))
            made.append(text)
        return "".join(made)

    def _stamp(self, us: int) -> str:
        return STAMPED[self.layout][1](_EPOCH + timedelta(microseconds=us), self.digits, self.mid)


@cache
def _format(name: str) -> dict[str, Any]:
    data = tomllib.loads((FORMATS / f"{name}.toml").read_text(encoding="utf-8"))
    return {pattern["name"]: pattern for pattern in data["pattern"]}


def pattern(key: str) -> dict[str, Any]:
    """Return the pattern FORMAT.PATTERN as its file has it; raises KeyError and OSError where there is none."""
    file, _, name = key.partition(".")
    found: dict[str, Any] = _format(file)[name]
    return found


@cache
def template(key: str) -> Template:
    """Return the template `FORMAT.PATTERN[:N][~D]`: N-th sample from 0, D digits of seconds; or raises UsageError."""
    name, _, digits = key.partition("~")
    name, _, number = name.partition(":")
    try:
        found = pattern(name)
        sample = found["samples"][int(number or 0)]
    except (OSError, KeyError, IndexError, ValueError) as error:
        raise UsageError(
            "a simulated dialect names a line that no format has", where=key, why=str(error),
            todo="name it FORMAT.PATTERN or FORMAT.PATTERN:SAMPLE, as in ettlog/parse/formats",
        ) from error  # fmt: skip
    line = sample if isinstance(sample, str) else sample["line"]
    made = cut(line, found["regex"])
    return made._replace(digits=int(digits), mid=made.mid[0] + ".") if digits else made


def cut(line: str, regex: str) -> Template:
    """Cut a line at the groups of a regex and at its stamp; of nested groups the inner one is filled."""
    spans: dict[tuple[int, int], str] = {}
    layout, digits, mid = 0, 0, ""
    for at, (shape, _) in enumerate(STAMPED):
        if stamped := shape.search(line):
            layout, digits, mid = at, len(stamped["digits"] or ""), stamped["mid"] + stamped["dot"]
            spans[stamped.span()] = "stamp"
            break
    spans.update({span: name for span, name in _groups(line, regex).items() if span not in spans})
    inner = [span for span in spans if not any(o != span and span[0] <= o[0] and o[1] <= span[1] for o in spans)]
    edges = sorted(inner)
    starts, ends = [0, *(end for _, end in edges)], [*(begin for begin, _ in edges), len(line)]
    return Template(
        tuple(line[begin:end] for begin, end in zip(starts, ends, strict=True)), tuple(spans[span] for span in edges),
        tuple(line[begin:end] for begin, end in edges), layout, digits, mid,
    )  # fmt: skip


def _groups(line: str, regex: str) -> dict[tuple[int, int], str]:
    """Return the groups by their place; a regex that begins at `^` is tried behind each prefix the line may have."""
    for begin in range(len(line)):
        if match := re.search(regex, line[begin:]):
            spans = {name: match.span(name) for name in match.groupdict() if name != "stamp"}
            return {(begin + a, begin + b): name for name, (a, b) in spans.items() if a >= 0}
    return {}
