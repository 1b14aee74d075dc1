"""The corpus as a whole: its classes, and one lake made of all that can stand in one folder of logs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tests.hostile import (
    cells,
    compressed,
    encodings,
    escapes,
    jobs,
    killers,
    lakes,
    lines,
    markup,
    names,
    numbers,
    records,
    special,
    tomls,
)
from tests.hostile.case import Case, step

FILES: Mapping[str, Callable[[], Iterator[Case]]] = {
    "lines": lines.cases,
    "encodings": encodings.cases,
    "compressed": compressed.cases,
    "records": records.cases,
    "numbers": numbers.cases,
    "special": special.cases,
}
"""Classes whose inputs are files among the logs."""
NAMES: Mapping[str, tuple[str, ...]] = {
    "escapes": escapes.PAYLOADS,
    "markup": markup.PAYLOADS,
    "cells": cells.PAYLOADS,
    "names": names.PAYLOADS,
}
"""Classes whose inputs are texts: each names a job, its node, and stands in a line that no format knows."""
FLOORS: Mapping[str, int] = {
    "killers": 150,
    "lines": 20,
    "encodings": 280,
    "compressed": 65,
    "escapes": 40,
    "markup": 40,
    "cells": 20,
    "names": 40,
    "records": 25,
    "numbers": 40,
    "special": 16,
    "tomls": 25,
    "lakes": 25,
}
"""The least number of inputs of each class."""


def counts() -> dict[str, int]:
    """Return the number of inputs of each class; of killers, the patterns that have some."""
    from ettlog.parse import format as formats

    found = {name: len(list(make())) for name, make in FILES.items()}
    found |= {name: len(texts) for name, texts in NAMES.items()}
    return found | {
        "tomls": len(tomls.TOMLS),
        "lakes": len(lakes.LAKES),
        "killers": len(formats.load_all().patterns),
    }


def files(*, big: bool = False) -> list[Case]:
    """Return every file of the corpus, each class in a folder of its own."""
    found = [
        case._replace(name=f"{name}/{case.name}")
        for name, make in FILES.items()
        for case in make()
        if big or not case.big
    ]
    return found + [case for name, texts in NAMES.items() for case in _named(name, texts)]


def _named(name: str, texts: tuple[str, ...]) -> Iterator[Case]:
    """Yield the description of jobs of these names, and a log in which each stands on a line of its own."""
    data = jobs.accounting(texts, 100 * list(NAMES).index(name))
    yield Case(f"{name}/batch.json", data, None, total=len(data.splitlines()))
    soup = b"".join(b"soup %03d: " % n + text.encode("utf-8", "surrogatepass") + b"\n" for n, text in enumerate(texts))
    yield Case(f"{name}/soup.log", step(1) + soup + step(2), None)


def written(folder: Path, *, big: bool = False) -> list[Case]:
    """Write the corpus below a folder, and return its cases."""
    cases = files(big=big)
    for case in cases:
        case.write(folder)
    return cases


__all__ = ["FILES", "FLOORS", "NAMES", "counts", "files", "killers", "written"]
