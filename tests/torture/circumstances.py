"""D1: the same logs under other circumstances, every pair of which is met: lake, relations, answers, exports alike."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import zstandard

from tests.conftest import ROOT
from tests.ingesting import tree
from tests.torture import results, shim
from tests.torture.registry import Outcome

if TYPE_CHECKING:
    from tests.torture.registry import Scope

LOCALES = {"tr_TR": "ISO-8859-9", "de_DE": "UTF-8", "ar_EG": "UTF-8"}
"""Locales to be made: dotless i, commas in numbers, other digits."""
AXES: dict[str, tuple[str, ...]] = {
    "workers": ("1", "2", "8"),
    "threads": ("2", "1", "8"),
    "polars": ("2", "1"),
    "order": ("as listed", "reversed", "shuffle 1", "shuffle 2", "shuffle 3"),
    "block": (str(1 << 21), str(4 << 10), str(64 << 10), str(8 << 20)),
    "hash": ("0", "1", "random"),
    "zone": ("UTC", "Etc/GMT+12", "Etc/GMT-14", "Asia/Kolkata", "Australia/Lord_Howe"),
    "locale": ("C.UTF-8", "C", *LOCALES),
    "umask": ("022", "000", "077"),
    "cwd": (str(ROOT), "/"),
    "home": ("private", "unset"),
    "user": ("alice", ""),
    "host": ("as it is", "Node-7.Ünder"),
    "lake": ("plain", "with 'quotes\" and [blanks] *", "date=2024-01-01", "a=1/b=2"),
    "clock": ("now", "1999", "2100"),
    "course": ("straight", "killed"),
    "relations": ("made", "kept"),
    "packing": ("raw", "gz", "zst"),
}
"""What may differ between two runs, and how; the first value of each is the usual one."""
PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "raw": bytes,
    "gz": lambda data: gzip.compress(data, mtime=0),
    "zst": lambda data: zstandard.compress(data, 3),
}
MAY_CHANGE: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "packing": (
        ("digest", "bytes", "text", "crc"),
        (
            "relation-source", "answer-status", "lake/relations/source-*", "lake/relations/index.json",
            "snapshot/*source.parquet",
        ),
    ),
    "block": (("unmatched", "crc"), ("answer-status", "lake/relations/index.json", "snapshot/snapshot_source.parquet")),
}  # fmt: skip
"""What an axis may change: fields of a manifest line, and files that hold these. Of a packed log it is the length and
digest as stored (`relation-source-unsized` is the relation without, and compared), of blocks of another size (which
nobody can choose) the few unmatched lines that are looked at."""


def pairwise(axes: dict[str, tuple[str, ...]], seed: int) -> Iterator[dict[str, str]]:
    """Yield combinations until every two values of two axes have met in one; greedy, and the same for one seed."""
    chance = random.Random(seed)
    left = {
        frozenset([(one, a), (other, b)])
        for one, other in itertools.combinations(axes, 2)
        for a, b in itertools.product(axes[one], axes[other])
    }
    while left:
        names = list(axes)
        chance.shuffle(names)
        row = dict(chance.choice(sorted(sorted(pair) for pair in left)))
        for name in names:
            if name not in row:
                row[name] = max(axes[name], key=lambda value: (_met(row, name, value, left), chance.random()))
        left -= {frozenset(pair) for pair in itertools.combinations(row.items(), 2)}
        yield {name: row[name] for name in axes}


def _met(row: dict[str, str], name: str, value: str, left: set[frozenset[tuple[str, str]]]) -> int:
    """Count the pairs that a value would be the first to bring together."""
    return sum(frozenset([item, (name, value)]) in left for item in row.items())


def run(scope: Scope) -> Outcome:
    """Run the usual circumstances and a pairwise set of others; every file is that of the usual run."""
    found = Outcome()
    axes = _possible(found, scope.folder)
    usual = {name: values[0] for name, values in axes.items()}
    if not scope.full:
        axes["workers"] = axes["workers"][:2]  # a process takes a second to come up
    rows = list(pairwise(axes, scope.seed))
    parts = _parts(scope)
    if not (parts / "00/done").exists():
        shutil.rmtree(parts / "00", ignore_errors=True)
        start(parts / "00", usual, scope)
        (parts / "00/done").touch()
    found.counts["executions"] += 1
    for row in scope.some(rows, 2):
        found.failures.extend(_once(row, parts, scope))
        found.counts["executions"] += 1
    values = sum(map(len, axes.values()))
    found.notes.append(f"{len(axes)} axes, {values} values, all pairs of them in {len(rows)} runs")
    return found


def _once(row: dict[str, str], parts: Path, scope: Scope) -> list[str]:
    """Return the differences of one run from the usual one, found now or in an earlier part of an interrupted run."""
    name = hashlib.sha256(json.dumps(row).encode()).hexdigest()[:16]
    told = parts / f"{name}.json"
    if not told.exists():
        folder = scope.folder / name
        start(folder, row, scope)
        found = list(differences(parts / "00/out", folder / "out", row))
        shutil.rmtree(folder)
        told.with_suffix(".tmp").write_text(json.dumps(found))
        told.with_suffix(".tmp").replace(told)
    kept: list[str] = json.loads(told.read_text())
    return kept


def _parts(scope: Scope) -> Path:
    """Return the folder of what was run before; it is emptied where any code, fixture or circumstance is another."""
    state = repr((AXES, scope.full, scope.seed))
    mine = (f"tests/torture/{name}" for name in ("circumstance.py", "circumstances.py", "shim.py", "shim.c"))
    code = ("ettlog", "fixtures/tiny/logs", "fixtures/messy/logs", "tests/ingesting.py", *mine)
    parts = results.parts(scope.kept or scope.folder / "parts", state, *code)
    assert parts is not None
    return parts


def _possible(found: Outcome, folder: Path) -> dict[str, tuple[str, ...]]:
    """Return the axes that this machine has; say what it lacks."""
    axes = dict(AXES)
    if shim.library() is None:
        found.skipped.append("no C compiler: the clock stays as it is (tests/test_ingest.py moves times of files)")
        axes["clock"] = axes["clock"][:1]
    made = [name for name in LOCALES if _localedef(name, folder / "locales")]
    if len(made) < len(LOCALES):
        found.skipped.append("no localedef or no sources of locales: C and C.UTF-8 only")
    axes["locale"] = (*AXES["locale"][:2], *made)
    return axes


def _localedef(name: str, folder: Path) -> bool:
    """Make a locale in a folder of its own."""
    program = shutil.which("localedef")
    if program is None:
        return False
    folder.mkdir(parents=True, exist_ok=True)
    command = [program, "-i", name, "-f", LOCALES[name], str(folder / name)]
    return subprocess.run(command, check=False, capture_output=True).returncode in (0, 1) and (folder / name).is_dir()


def start(folder: Path, row: dict[str, str], scope: Scope, python: str = sys.executable) -> None:
    """Lay out the logs and run one process, of a certain Python, under these circumstances."""
    logs, out = folder / "logs", folder / "out"
    out.mkdir(parents=True)
    for fleet in ("tiny", "messy"):
        for path in sorted((ROOT / "fixtures" / fleet / "logs").rglob("*")):
            if path.is_file():
                copy = logs / fleet / path.relative_to(ROOT / "fixtures" / fleet / "logs")
                copy.parent.mkdir(parents=True, exist_ok=True)
                # What is packed already stays: an archive in an archive is another source.
                packing = "raw" if path.suffix == ".gz" or not path.stat().st_size else row["packing"]
                copy.write_bytes(PACKINGS[packing](path.read_bytes()))
    case = folder / "case.json"
    case.write_text(json.dumps({"axes": row, "logs": str(logs), "out": str(out), "whole": scope.full}))
    command = [python, "-m", "tests.torture.circumstance", str(case)]
    told = _environment(folder, row, scope.folder)
    done = subprocess.run(command, env=told, cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == 0, f"{row}: {done.stderr.decode(errors='replace')[-2000:]}"


def _environment(folder: Path, row: dict[str, str], shared: Path) -> dict[str, str]:
    """Return the environment of a process, nothing of this one but where programs are."""
    (folder / "home").mkdir()
    told = {
        "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": row["hash"], "TZ": row["zone"],
        "LC_ALL": row["locale"], "LANG": row["locale"], "LOCPATH": str(shared / "locales"),
        "POLARS_MAX_THREADS": row["polars"], "XYZZY": "an unknown word", "MPLCONFIGDIR": str(shared / "matplotlib"),
    }  # fmt: skip
    if row["locale"] in AXES["locale"][:2]:
        del told["LOCPATH"]
    if row["home"] == "private":
        told["HOME"] = str(folder / "home")
    if row["user"]:
        told |= {"USER": row["user"], "LOGNAME": row["user"]}
    if row["clock"] != "now":
        told["LD_PRELOAD"] = str(shim.library())
    return told


def differences(usual: Path, other: Path, row: dict[str, str]) -> Iterator[str]:
    """Yield one sentence where files differ from those of the usual circumstances: how many, and the first."""
    other_axes = [axis for axis in MAY_CHANGE if row[axis] != AXES[axis][0]]
    one, two = (dict(_files(folder, other_axes)) for folder in (usual, other))
    names = [name for name in sorted(one.keys() | two.keys()) if one.get(name) != two.get(name)]
    if names:
        under = {name: value for name, value in row.items() if value != AXES[name][0]}
        first = _where(one.get(names[0], b""), two.get(names[0], b""))
        yield f"{len(names)} of {len(one)} files differ under {under}: {', '.join(names[:9])}; {first}"


def _where(one: bytes, other: bytes) -> str:
    """Return the first bytes in which two files differ."""
    pairs = enumerate(zip(one, other, strict=False))
    at = next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))
    begin = max(0, at - 60)
    return f"{one[begin : at + 60]!r} and {other[begin : at + 60]!r} (lengths {len(one)}, {len(other)})"


def _files(folder: Path, axes: list[str]) -> Iterator[tuple[str, bytes]]:
    """Yield name and bytes of what is compared, without what these axes may change."""
    fields = {field for axis in axes for field in MAY_CHANGE[axis][0]}
    patterns = [pattern for axis in axes for pattern in MAY_CHANGE[axis][1]]
    for name, data in tree(folder).items():
        if name == "lake/manifest.jsonl":
            lines = [json.loads(line) for line in data.splitlines()]
            yield name, json.dumps([{k: v for k, v in one.items() if k not in fields} for one in lines]).encode()
        elif not any(PurePath(name).match(pattern) for pattern in patterns):
            yield name, data
