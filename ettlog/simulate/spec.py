"""What a simulated fleet is like: read from TOML over the built-in scenario, checked as a whole."""

from __future__ import annotations

import difflib
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from ettlog.errors import UsageError
from ettlog.lifecycle import CAUSES, COMPONENTS, PARTS
from ettlog.simulate import dialect
from ettlog.simulate.words import SCHEDULERS, P

DEFAULT = Path(__file__).with_name("default.toml")
SECTIONS = ("fleet", "parts", "loop", "failures")


class Time(NamedTuple):
    """What a part takes: mean seconds on a first and on later starts, sigma of its log, growth with GPUs."""

    first: float = 0.0
    again: float = 0.0
    sigma: float = 0.0
    grows: float = 0.0


class Change(NamedTuple):
    """An optimization: factors on parts (first, later starts), settings of the loop, and to whom it comes when."""

    name: str
    owner: str
    effect: dict[str, tuple[float, float]]
    set: dict[str, float]
    parts: tuple[str, ...]
    """Parts that the registry declares: those of `effect` and what its settings work on."""
    when: tuple[float, float]
    """Shares of the days between which its rollout to a model lies."""
    share: float


class Spec(NamedTuple):
    """A scenario: `fleet`, `loop` and `failures` as in default.toml, times by part, optimizations."""

    fleet: dict[str, Any]
    parts: dict[str, Time]
    loop: dict[str, float]
    failures: dict[str, Any]
    optimizations: tuple[Change, ...]

    def without(self, *names: str) -> Spec:
        """Return the same scenario without some optimizations; draws stay the same."""
        return self._replace(optimizations=tuple(one for one in self.optimizations if one.name not in names))

    def having(self, **fleet: Any) -> Spec:
        """Return the same scenario with other values of `fleet` (models=12); raises UsageError for wrong ones."""
        made = {**self.fleet, **fleet}
        errors: list[str] = []
        _unknown(fleet, tuple(self.fleet), "fleet", errors)
        _check_fleet(made, errors)
        if errors:
            raise _mistaken(errors, "the values given")
        return self._replace(fleet=made)


def default() -> Spec:
    """Return the built-in scenario."""
    return parse("")


def read(path: str | Path) -> Spec:
    """Read a scenario; raises UsageError naming every mistake with the file's path."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            "the scenario cannot be read", where=str(path), why=str(error), todo="give the path of a TOML file"
        ) from error
    return parse(text, str(path))


def parse(text: str, where: str = "scenario") -> Spec:
    """Parse a scenario over the default one; raises UsageError naming every mistake at once."""
    base = tomllib.loads(DEFAULT.read_text(encoding="utf-8"))
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError("the scenario is not valid TOML", where=where, why=str(error), todo="correct it") from error
    errors: list[str] = []
    _unknown(given, (*SECTIONS, "optimization"), "scenario", errors)
    made = _laid_over(base, given, errors)
    spec = _spec(made, errors) if not errors else None
    if spec is None or errors:
        raise _mistaken(errors, where)
    return spec


def _mistaken(errors: list[str], where: str) -> UsageError:
    return UsageError(
        f"the scenario has {len(errors)} mistake{'s' if len(errors) > 1 else ''}", where=where,
        why="\n         ".join(errors), todo="correct what is named above; docs/simulate.md has the fields",
    )  # fmt: skip


def _laid_over(base: dict[str, Any], given: dict[str, Any], errors: list[str]) -> dict[str, Any]:
    made = {"optimization": given.get("optimization", base["optimization"])}
    for section in SECTIONS:
        over = given.get(section, {})
        _unknown(over, tuple(base[section]), section, errors)
        made[section] = {**base[section], **over}
    for part, times in given.get("parts", {}).items():
        made["parts"][part] = {**base["parts"].get(part, {}), **times}
    return made


def _unknown(table: dict[str, Any], known: tuple[str, ...], where: str, errors: list[str]) -> None:
    for name in table:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            errors.append(f"{where}.{name}: unknown{f'; did you mean {near[0]}?' if near else ''}")


def _spec(made: dict[str, Any], errors: list[str]) -> Spec:
    parts = {name: _time(name, times, errors) for name, times in made["parts"].items()}
    _check_fleet(made["fleet"], errors)
    errors.extend(f"failures.causes.{name}: no cause" for name in made["failures"]["causes"] if name not in CAUSES)
    for section in ("loop", "failures"):
        errors.extend(
            f"{section}.{name}: a number of 0 or more is needed"
            for name, value in made[section].items()
            if name != "causes" and not (_number(value) and value >= 0)
        )
    changes = tuple(_change(row, f"optimization[{index}]", errors) for index, row in enumerate(made["optimization"]))
    return Spec(made["fleet"], parts, made["loop"], made["failures"], changes)


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _time(part: str, times: dict[str, Any], errors: list[str]) -> Time:
    _unknown(times, Time._fields, f"parts.{part}", errors)
    bad = [name for name, value in times.items() if not (_number(value) and (value >= 0 or name == "grows"))]
    errors.extend(f"parts.{part}.{name}: a number of 0 or more is needed" for name in bad)
    return Time(**{name: float(v) for name, v in times.items() if name in Time._fields and name not in bad})


def _check_fleet(fleet: dict[str, Any], errors: list[str]) -> None:
    counts = [name for name in ("models", "jobs", "days", "log_every", "ranks") if not _whole(fleet[name])]
    errors.extend(f"fleet.{name}: a whole number from 1 on is needed" for name in counts)
    pairs = [name for name in ("hours", "step_s") if not _pair(fleet[name])]
    errors.extend(f"fleet.{name}: two numbers, the smaller first, are needed" for name in pairs)
    lists = [name for name in ("gpus", "clusters", "dialects") if not (isinstance(fleet[name], list) and fleet[name])]
    errors.extend(f"fleet.{name}: a list that is not empty is needed" for name in lists)
    if fleet["scheduler"] not in SCHEDULERS:
        errors.append(f"fleet.scheduler: {fleet['scheduler']!r} is none of {', '.join(SCHEDULERS)}")
    known = dialect.names()
    unknown = [name for name in fleet["dialects"] if name not in known]
    errors.extend(f"fleet.dialects: {name!r} is none of {', '.join(known)}" for name in unknown)
    errors.extend(f"fleet.drift.{name}: no part" for name in fleet["drift"] if name not in set(P))


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 1_000_000


def _pair(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_number, value)) and 0 < value[0] <= value[1]


def _change(row: dict[str, Any], where: str, errors: list[str]) -> Change:
    _unknown(row, ("name", "owner", "effect", "set", "parts", "components", "when", "share"), where, errors)
    errors.extend(f"{where}.{key}: needed" for key in ("name", "owner", "when") if key not in row)
    effect = {part: (float(pair[0]), float(pair[1])) for part, pair in row.get("effect", {}).items()}
    named = [*row.get("parts", []), *(p.part for p in PARTS if p.component in row.get("components", []))]
    errors.extend(f"{where}: {part!r} is no part" for part in [*effect, *named] if part not in set(P))
    errors.extend(f"{where}: {name!r} is no component" for name in row.get("components", []) if name not in COMPONENTS)
    when = row.get("when", [0, 0])
    return Change(
        str(row.get("name", "")), str(row.get("owner", "")), effect, dict(row.get("set", {})),
        tuple(sorted({*effect, *named})), (float(when[0]), float(when[1])), float(row.get("share", 1.0)),
    )  # fmt: skip
