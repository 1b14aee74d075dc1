"""The configuration: `ettlog.toml`, the environment and the flags, checked as a whole, each value with its origin."""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from ettlog.errors import UsageError
from ettlog.lifecycle import PART_BY_NAME
from ettlog.settings import KEY_BY_NAME, KEYS

NAME = "ettlog.toml"
FORMATS = "formats.dirs"
MAX_BYTES = 1 << 20
FLAG, ENVIRONMENT, PROJECT, LAKE, DEFAULT = "flag", "environment", "project", "lake", "default"


class Setting(NamedTuple):
    """One value in force and where it comes from."""

    key: str
    value: Any
    origin: str


@dataclass(frozen=True)
class Config:
    """All values in force; every key of KEYS is present."""

    values: Mapping[str, Any] = field(default_factory=dict)
    origins: Mapping[str, str] = field(default_factory=dict)

    def get(self, key: str) -> Any:
        """Return the value of a key, its default where nothing sets it."""
        return self.values.get(key, KEY_BY_NAME[key].default)

    def text(self, key: str) -> str | None:
        """Return a text value, or None where it is not set."""
        value = self.get(key)
        return None if value is None else str(value)

    def number(self, key: str) -> int | None:
        """Return a number, or None where it is not set."""
        value = self.get(key)
        return None if value is None else int(value)

    def effective(self) -> list[Setting]:
        """Return every key with its value and origin (`flag`, `environment`, `project`, `lake` or `default`)."""
        return [Setting(key.name, self.get(key.name), self.origins.get(key.name, DEFAULT)) for key in KEYS]

    def zone_of(self, path: str) -> str | None:
        """Return the zone of a source's bare stamps: of the first glob that fits its path, else the general one."""
        zones: Mapping[str, str] = self.get("clock.zones")
        return next((zone for glob, zone in zones.items() if fnmatchcase(path, glob)), self.text("clock.zone"))

    def owner_of(self, part: str) -> str:
        """Return who owns a part of the timeline: by its part, by its component, else as the vocabulary says."""
        owners: Mapping[str, str] = self.get("owners")
        row = PART_BY_NAME[part]
        return owners.get(part) or owners.get(row.component) or row.owner

    @property
    def format_dirs(self) -> tuple[Path, ...]:
        """Return the folders with format files of the user; raise UsageError for one that is not there."""
        found = tuple(Path(name) for name in self.get(FORMATS))
        missing = next((folder for folder in found if not folder.is_dir()), None)
        if missing is not None:
            raise UsageError(
                "a folder of formats is not there", where=f"{FORMATS} = {missing}", why="it is no folder",
                todo="correct the path; a relative one counts from the folder of the ettlog.toml that names it",
            )  # fmt: skip
        return found

    @property
    def sacct_fields(self) -> tuple[str, ...]:
        """Return the fields of `sacct` output without a header; empty where not told."""
        return tuple(self.get("sacct.fields"))


def _placed(values: dict[str, Any], file: Path) -> dict[str, Any]:
    """Let relative folders count from the folder of the file that names them."""
    if FORMATS in values:
        values[FORMATS] = tuple(str(file.parent / name) for name in values[FORMATS])
    return values


_TABLES = ("jobs.rules", "jobs.models")
"""Keys whose values are tables, though their defaults are not."""
ALIASES = {"ETTLOG_TZ": "clock.zone"}
"""Further names of environment variables."""


def variable(key: str) -> str:
    """Return the environment variable of a key: `clock.zone` is ETTLOG_CLOCK_ZONE."""
    return f"ETTLOG_{key.replace('.', '_').upper()}"


_OVERRIDES: ContextVar[Mapping[str, Any]] = ContextVar("ettlog_overrides", default={})  # noqa: B039 - never changed in place


def override(texts: Sequence[str]) -> Callable[[], None]:
    """Let every later `load` take these `KEY=VALUE` texts as flags; return what ends that.

    Raise UsageError for a text of another shape, a key that is none or takes a table, and a value that does not fit.
    """
    given: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or key not in KEY_BY_NAME or isinstance(KEY_BY_NAME[key].default, dict) or key in _TABLES:
            near = _unknown(key, [name for name in KEY_BY_NAME if name not in _TABLES])
            raise UsageError(
                "the setting cannot be made",
                where=f"--set {text}",
                why=f"{key!r} {near}" if equals else "it has no =",
                todo="write KEY=VALUE with a key of docs/config.md that takes no table",
            )
        given[key] = value
    token = _OVERRIDES.set(_single(given, "--set"))
    return lambda: _OVERRIDES.reset(token)


def load(
    path: Path | None = None,
    *,
    flags: Mapping[str, Any] | None = None,
    lake_copy: Path | None = None,
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Config:
    """Return the configuration in force: flag > environment > project file > the lake's copy > default.

    `path` is the file of `--config` (ETTLOG_CONFIG names it too); without it `ettlog.toml` of `folder`, by default the
    working folder, is read if it is there. Raise UsageError that lists everything wrong with a file.
    """
    environ = os.environ if environ is None else environ
    named = path or (Path(environ["ETTLOG_CONFIG"]) if environ.get("ETTLOG_CONFIG") else None)
    project = named or (folder or Path()) / NAME
    layers: list[tuple[str, Mapping[str, Any]]] = []
    if lake_copy is not None and lake_copy.is_file():
        layers.append((LAKE, _placed(parse(read_bytes(lake_copy), lake_copy), lake_copy)))
    if named is not None or project.is_file():
        layers.append((PROJECT, _placed(parse(read_bytes(project), project), project)))
    layers.append((ENVIRONMENT, _environment(environ)))
    layers.append((FLAG, {**_OVERRIDES.get(), **_flags(flags or {})}))
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for origin, layer in layers:
        values.update(layer)
        origins.update(dict.fromkeys(layer, origin))
    return Config(values, origins)


def _environment(environ: Mapping[str, str]) -> dict[str, Any]:
    names = {variable(key.name): key.name for key in KEYS if not isinstance(key.default, dict)}
    names = ALIASES | {name: key for name, key in names.items() if key not in _TABLES}
    return _single({key: environ[name] for name, key in names.items() if environ.get(name)}, "the environment")


def _flags(flags: Mapping[str, Any]) -> dict[str, Any]:
    return _single({key: value for key, value in flags.items() if value not in (None, (), "")}, "the command line")


def _single(given: Mapping[str, Any], where: str) -> dict[str, Any]:
    done: dict[str, Any] = {}
    for key, value in given.items():
        done[key], wrong = KEY_BY_NAME[key].check(list(value) if isinstance(value, tuple) else value)
        if wrong:
            raise UsageError(
                f"the setting {key} cannot be used",
                where=where,
                why=f"{value!r} {wrong[0][1]}",
                todo="correct it: docs/config.md lists what each setting takes",
            )
    return done


def read_bytes(path: Path) -> bytes:
    """Read a small file of settings; raise UsageError when others may write it, it is too long, or cannot be read."""
    try:
        with path.open("rb") as stream:
            info = os.fstat(stream.fileno())
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise _unusable(path, error.strerror or "it cannot be read", "name a readable file") from error
    if info.st_mode & stat.S_IWOTH:
        raise _unusable(
            path, "every user of this machine may write it", f"run `chmod o-w {path}` if you trust its content"
        )
    if len(data) > MAX_BYTES:
        raise _unusable(path, f"it is longer than {MAX_BYTES:,} bytes", "keep settings only in this file")
    return data


def _unusable(path: Path, why: str, todo: str) -> UsageError:
    return UsageError("the configuration cannot be used", where=str(path), why=why, todo=todo)


def parse(data: bytes, path: Path) -> dict[str, Any]:
    """Return the checked values of a file, keyed by dotted name; raise UsageError that lists all that is wrong."""
    try:
        text = data.decode("utf-8-sig")
        tree = tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise _unusable(path, f"it is not UTF-8 at byte {error.start}", "save it as UTF-8") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise _unusable(path, f"it is not TOML: {error or 'too deep'}", "correct the file") from error
    values: dict[str, Any] = {}
    wrong: list[tuple[str, str]] = []
    for name, value in _flat(tree, wrong):
        values[name], found = KEY_BY_NAME[name].check(value)
        wrong += [(f"{name}{where}", why) for where, why in found]
    if wrong:
        lines = sorted((line_of(text, key), key, why) for key, why in wrong)
        listed = [f"{path}:{line}: {key} {why}" for line, key, why in lines]
        raise UsageError(
            f"{len(wrong)} setting(s) cannot be used",
            where=str(path),
            why="\n         ".join(listed),
            todo="correct them",
        )
    return values


def _flat(tree: Mapping[str, Any], wrong: list[tuple[str, str]]) -> list[tuple[str, Any]]:
    """Return (dotted key, value) of a tree; names that are no keys go to `wrong`, with the nearest that is one."""
    found: list[tuple[str, Any]] = []
    sections = {key.name.partition(".")[0] for key in KEYS if "." in key.name}
    for section, value in tree.items():
        if section in KEY_BY_NAME:
            found.append((section, value))
        elif section not in sections:
            wrong.append((section, _unknown(section, [*sections, "owners", "slo"])))
        elif not isinstance(value, dict):
            wrong.append((section, "must be a table"))
        else:
            for name, one in value.items():
                key = f"{section}.{name}"
                if key in KEY_BY_NAME:
                    found.append((key, one))
                else:
                    wrong.append((key, _unknown(key, list(KEY_BY_NAME))))
    return found


def _unknown(name: str, names: list[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, names, 1)
    return "is not a setting" + (f"; do you mean {near[0]}?" if near else "")


_KEY_LINE = "|".join(
    (
        r"""^\s*\[\[?[^\]\n]*?["']?{key}["']?\s*\]""",  # [section] and [[section.key]]
        r"""^\s*\[{{0,2}}(?:[^=\n#]*\.\s*)?["']?{key}["']?\s*[=.]""",  # key =, section.key = and [section.key]
        r"""[{{,]\s*["']?{key}["']?\s*=""",  # inside an inline table
    )
)


def line_of(text: str, key: str) -> int:
    """Return the line of a dotted key in a TOML text, or of the nearest outer name that can be found; else 1."""
    names = [name for name in re.split(r"\.|\[\d+\]", key) if name]
    at = 0
    for name in names:
        match = re.compile(_KEY_LINE.format(key=re.escape(name)), re.MULTILINE).search(text, at)
        if match is None:
            break
        at = match.start() + len(match.group()) - len(match.group().lstrip())
    return text.count("\n", 0, at) + 1
