"""The registry of optimizations: who changed what, where and when; read from TOML, CSV or JSON, checked as a
whole.
"""

from __future__ import annotations

import csv
import difflib
import io
import json
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ettlog import windows
from ettlog.errors import UsageError
from ettlog.lifecycle import COMPONENTS, PARTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ettlog.config import Config
    from ettlog.lake import Lake

FIELDS = ("name", "owner", "components", "parts", "rollouts", "effect", "note")
ROLLOUT_FIELDS = ("model", "platform", "since", "until")
_GLOB = frozenset("*?[")
MAX_BYTES, MAX_ROWS = 1 << 20, 10_000
"""Longest registry that is read, in bytes and in rows."""
_PART_NAMES = tuple(part.part for part in PARTS)


class Rollout(NamedTuple):
    """Where and when an optimization took effect; `model` and `platform` are globs, instants are microseconds UTC."""

    model: str
    platform: str
    since_us: int
    until_us: int | None

    def touches(self, model: str, platform: str) -> bool:
        """Tell whether the rollout covers a model on a platform."""
        return _fits(model, self.model) and _fits(platform, self.platform)


def _fits(name: str, glob: str) -> bool:
    """Match a glob; most are `*` or a plain name, and large fleets ask a million times."""
    return glob in ("*", name) or (not _GLOB.isdisjoint(glob) and fnmatchcase(name, glob))


class Optimization(NamedTuple):
    """One change somebody made: `parts` are the parts it works on, `effect` the declared cut (0.3 = 30 % less)."""

    name: str
    owner: str
    parts: frozenset[str]
    rollouts: tuple[Rollout, ...]
    effect: float | None = None
    note: str = ""

    def boundaries(self, model: str, platform: str) -> list[int]:
        """Return the instants at which the optimization begins or ends for a model on a platform, sorted."""
        found = [rollout for rollout in self.rollouts if rollout.touches(model, platform)]
        edges = {rollout.since_us for rollout in found} | {r.until_us for r in found if r.until_us is not None}
        return sorted(edges)


class Registry(NamedTuple):
    """All optimizations of a fleet, and where they were read."""

    optimizations: tuple[Optimization, ...]
    path: str = ""

    def boundaries(self, model: str, platform: str) -> dict[int, frozenset[str]]:
        """Return the instants at which something begins or ends for a model on a platform -> its names, sorted."""
        found: dict[int, set[str]] = {}
        for optimization in self.optimizations:
            for edge in optimization.boundaries(model, platform):
                found.setdefault(edge, set()).add(optimization.name)
        return {edge: frozenset(found[edge]) for edge in sorted(found)}

    def claimants(self, names: Iterable[str], part: str) -> tuple[str, ...]:
        """Return those of `names` that declare the part, sorted."""
        by_name = {optimization.name: optimization for optimization in self.optimizations}
        return tuple(sorted(name for name in names if part in by_name[name].parts))

    def owner(self, name: str) -> str:
        """Return the owner of an optimization, or of a bundle: its members' owners joined by ` + `, each once."""
        owners = [item.owner for item in self.optimizations if item.name in name.split(" + ")]
        return " + ".join(sorted(set(owners)))


EMPTY = Registry(())
"""A registry without optimizations: everything that changed is drift."""


def read(path: str | Path) -> Registry:
    """Read a registry from a TOML, CSV or JSON file; raises UsageError naming every mistake at once with its path."""
    text, kind = text_of(Path(path))
    return parse(text, kind=kind, path=str(path))


def in_force(config: Config | None, lake: Lake | None) -> Registry:
    """Return the registry that the configuration names, else the one that a lake or snapshot carries, else none.

    Raise UsageError when it cannot be read.
    """
    found = text_in_force(config, lake)
    return parse(found[0], kind=found[1], path=found[2]) if found else EMPTY


def text_in_force(config: Config | None, lake: Lake | None) -> tuple[str, str, str] | None:
    """Return text, form and path of the registry of `in_force`, or None."""
    named = config.text("attribute.registry") if config else None
    if named:
        return (*text_of(Path(named)), named)
    path = lake.registry_path if lake else None
    if lake is None or path is None:
        return None
    return (*(lake.registry_text or text_of(path)), str(path))


def text_of(file: Path) -> tuple[str, str]:
    """Return the text of a registry's file and its form (`toml`, `csv`, `json`); raise UsageError if unreadable."""
    try:
        with file.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
        text = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = (error.strerror if isinstance(error, OSError) else "it is not UTF-8") or type(error).__name__
        raise UsageError(
            "the registry cannot be read", where=str(file), why=why,
            todo="give the path of an optimizations.toml, .csv or .json",
        ) from error  # fmt: skip
    if len(data) > MAX_BYTES:
        raise UsageError(
            "the registry is too long", where=str(file), why=f"it is longer than {MAX_BYTES:,} bytes",
            todo="keep one row for each optimization",
        )  # fmt: skip
    return text, file.suffix.lstrip(".").lower() or "toml"


def parse(text: str, *, kind: str = "toml", path: str = "optimizations") -> Registry:
    """Parse a registry's text; `kind` is `toml`, `csv` or `json`. Raises UsageError naming every mistake at once."""
    rows = _rows(text, kind, path)
    if len(rows) > MAX_ROWS:
        raise UsageError(
            "the registry is too long", where=path, why=f"it has {len(rows):,} rows, more than {MAX_ROWS:,}",
            todo="keep one row for each optimization",
        )  # fmt: skip
    errors: list[str] = []
    found = [_optimization(row, f"optimization[{index}]", errors) for index, row in enumerate(rows)]
    names = [item.name for item in found]
    errors.extend(f"{name!r} is written more than once" for name in sorted({n for n in names if names.count(n) > 1}))
    if errors:
        raise UsageError(
            f"the registry has {len(errors)} mistake{'s' if len(errors) > 1 else ''}",
            where=path, why="\n         ".join(errors),
            todo="correct the lines named above; see docs/attribution.md for the fields",
        )  # fmt: skip
    return Registry(tuple(sorted(found, key=lambda item: item.name)), path)


def _rows(text: str, kind: str, path: str) -> list[Mapping[str, Any]]:
    readers = {"toml": _from_toml, "json": _from_json, "csv": _from_csv}
    if kind not in readers:
        raise UsageError(
            f"a registry cannot be read from .{kind}", where=path, why="known are " + ", ".join(readers),
            todo="write it as optimizations.toml",
        )  # fmt: skip
    try:
        rows = readers[kind](text)
    except (ValueError, RecursionError) as error:  # TOMLDecodeError and JSONDecodeError are ValueErrors
        raise UsageError(
            f"the registry is not valid {kind.upper()}", where=path, why=str(error), todo="correct it"
        ) from error
    if not all(isinstance(row, dict) for row in rows):
        raise UsageError(
            "the registry holds something that is not an optimization", where=path,
            why="each optimization is a table of fields", todo="write [[optimization]] tables",
        )  # fmt: skip
    return rows


def _from_toml(text: str) -> list[Mapping[str, Any]]:
    return _listed(tomllib.loads(text))


def _from_json(text: str) -> list[Mapping[str, Any]]:
    data = json.loads(text)
    return data if isinstance(data, list) else _listed(data)


def _listed(data: Any) -> list[Mapping[str, Any]]:
    if not isinstance(data, dict) or not isinstance(data.get("optimization"), list) or len(data) != 1:
        raise ValueError("expected a list named `optimization` and nothing else")
    return list(data["optimization"])


def _from_csv(text: str) -> list[Mapping[str, Any]]:
    """Fold CSV rows, one a rollout, into optimizations; lists inside a cell are separated by spaces or semicolons."""
    folded: dict[str, dict[str, Any]] = {}
    for cells in csv.DictReader(io.StringIO(text)):
        row = {key: value.strip() for key, value in cells.items() if key and value and value.strip()}
        rollout = {key: row.pop(key) for key in ROLLOUT_FIELDS if key in row}
        for key in ("components", "parts"):
            if key in row:
                row[key] = row[key].replace(";", " ").split()
        known = folded.setdefault(row.get("name", f"row {len(folded) + 2}"), {"rollouts": []})
        known.update(row)
        known["rollouts"].append(rollout)
    return list(folded.values())


def _optimization(row: Mapping[str, Any], where: str, errors: list[str]) -> Optimization:
    """Check one row; appends every mistake to `errors` and returns what could be read."""
    _unknown_fields(row, FIELDS, where, errors)
    name = _text(row, "name", where, errors)
    label = f"{where} {name!r}" if name else where
    if " + " in name:
        errors.append(f"{label}.name: ' + ' joins the names of a bundle; leave it out of a name")
    rollouts = row.get("rollouts")
    if not isinstance(rollouts, list) or not rollouts:
        errors.append(f"{label}.rollouts: at least one rollout is needed")
        rollouts = []
    return Optimization(
        name=name,
        owner=_text(row, "owner", label, errors),
        parts=_parts(row, label, errors),
        rollouts=tuple(_rollout(item, f"{label}.rollouts[{i}]", errors) for i, item in enumerate(rollouts)),
        effect=_effect(row, label, errors),
        note=str(row.get("note", "")),
    )


def _unknown_fields(row: Mapping[str, Any], known: tuple[str, ...], where: str, errors: list[str]) -> None:
    errors.extend(f"{where}.{key}: unknown field{_meant(key, known)}" for key in row if key not in known)


def _text(row: Mapping[str, Any], key: str, where: str, errors: list[str]) -> str:
    value = row.get(key)
    if not isinstance(value, str) or not value.strip():
        errors.append(f"{where}.{key}: a text is needed")
        return ""
    return value.strip()


def _parts(row: Mapping[str, Any], where: str, errors: list[str]) -> frozenset[str]:
    found: set[str] = set()
    for key, known in (("components", COMPONENTS), ("parts", _PART_NAMES)):
        names = row.get(key, [])
        if not isinstance(names, list):
            errors.append(f"{where}.{key}: a list of names is needed")
            continue
        errors.extend(
            f"{where}.{key}: unknown name {name!r}{_meant(name, known)}" for name in names if name not in known
        )
        found |= {part.part for part in PARTS if (part.part if key == "parts" else part.component) in names}
    if "components" not in row and "parts" not in row:
        errors.append(f"{where}: name the components or parts it works on")
    return frozenset(found)


def _effect(row: Mapping[str, Any], where: str, errors: list[str]) -> float | None:
    if "effect" not in row:
        return None
    try:
        value = float(row["effect"])
    except (TypeError, ValueError):
        value = float("nan")
    if not 0 <= value < 1:
        errors.append(f"{where}.effect: {row['effect']!r} is not a share from 0 up to 1 (0.3 is 30 % less)")
        return None
    return value


def _rollout(row: Any, where: str, errors: list[str]) -> Rollout:
    if not isinstance(row, dict):
        errors.append(f"{where}: a table with model, platform, since, until is needed")
        return Rollout("*", "*", 0, None)
    _unknown_fields(row, ROLLOUT_FIELDS, where, errors)
    since = _instant(row.get("since"), f"{where}.since", errors)
    until = _instant(row["until"], f"{where}.until", errors) if row.get("until") is not None else None
    if until is not None and until <= since:
        errors.append(f"{where}.until: it is not after since")
    return Rollout(str(row.get("model", "*")), str(row.get("platform", "*")), since, until)


def _instant(value: Any, where: str, errors: list[str]) -> int:
    try:
        return windows.instant(value, where=where)
    except (UsageError, AttributeError):
        errors.append(f"{where}: {value!r} is not a date such as 2026-03-01")
        return 0


def _meant(name: object, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(str(name), list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
