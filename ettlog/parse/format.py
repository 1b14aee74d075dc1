"""Formats: text dialects of trainer, launcher and scheduler logs as TOML data, which prove themselves before use.

A format file holds `name`, `title`, `source`, `url` and `[[pattern]]` tables; docs/formats.md is their manual.
Regexes have bytes semantics and are searched (not anchored) in a line's body, after `envelope.peel` took its prefixes.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ettlog.errors import FormatError
from ettlog.lifecycle import CAUSES, KIND_BY_NAME
from ettlog.parse.decode import CONVERTERS, NUMBERS, TEXTS, combine, decoder

FOLDER = Path(__file__).parent / "formats"
"""Where the formats that come with ettlog live."""

SOURCES = ("trainer", "launcher", "checkpoint", "compiler", "scheduler", "runtime")
MIN_ANCHOR = 5
"""Shortest anchor in bytes: `it/s]` of a progress bar is one."""
MAX_FILE = 1 << 20
GROUP_NAMES = frozenset((*NUMBERS, *TEXTS, *CONVERTERS))
"""Every name a group of a regex may have."""

_GROUP = re.compile(r"\(\?P<(\w+)>")
FORMAT_KEYS = {"name", "title", "source", "url", "pattern"}
PATTERN_KEYS = {"name", "kind", "anchor", "regex", "constants", "ignore", "tier", "needs", "beside", "samples"}


@dataclass(frozen=True, slots=True)
class Sample:
    """One line in the true shape of the dialect, with the fields it must give (those named; none when empty)."""

    line: str
    event: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Pattern:
    """One shape of line of one version of a dialect; `anchor` is a literal that every matching line contains."""

    format: str
    name: str
    kind: str
    """A row of `lifecycle.KINDS`, or empty when `ignore` is set."""
    anchor: bytes
    expression: bytes
    """Source of the regex."""
    groups: tuple[str, ...]
    constants: Mapping[str, str | int]
    """Fields that every line of this pattern has."""
    samples: tuple[Sample, ...]
    tier: int = 1
    """Of the patterns of kind `step` seen in one launch only those of the lowest tier count."""
    ignore: bool = False
    """The line is noise by rule: counted as ignored, no event."""
    needs: tuple[str, ...] = ()
    """Patterns (format.name) of which one must match before it in the launch, else steps of this one do not count."""
    beside: tuple[str, ...] = ()
    """Patterns (`format.name`) that may match the same line: two writers glued together, or one line with two facts."""

    @property
    def regex(self) -> re.Pattern[bytes]:
        """Return the regex, compiled when first asked for."""
        return _compile(self.expression)

    def __hash__(self) -> int:
        """Hash by name: names are unique in a set of formats."""
        return hash((self.format, self.name))


@functools.cache
def _compile(expression: bytes) -> re.Pattern[bytes]:
    return re.compile(expression)


@dataclass(frozen=True, slots=True)
class Format:
    """One dialect: who writes it (`source`), where it is described (`url`), its patterns in the order of the file."""

    name: str
    title: str
    source: str
    url: str
    patterns: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class FormatSet:
    """All formats of one run: patterns by format name, then file order; `fingerprint` is BLAKE3 (hex) of all files."""

    formats: tuple[Format, ...]
    patterns: tuple[Pattern, ...]
    fingerprint: str


def fields(pattern: Pattern, match: re.Match[bytes]) -> dict[str, int | str]:
    """Decode the named groups of a match to columns of the event or step table, constants included.

    Durations are integer microseconds, `stamp` stays text for the clock. A value that is no number, or does not fit its
    column, is left out: never an exception.
    """
    found: dict[str, int | str] = dict(pattern.constants)
    for group in pattern.groups:
        text = match[group]
        if text is not None:
            column, convert = decoder(group)
            value = convert(text)
            if value is not None:
                found[column] = value
    return combine(found)


def load(path: Path, *, prove: bool = True) -> Format:
    """Read one format file and let it prove itself; raises `FormatError` that names file, pattern, sample and place.

    `prove=False` leaves out what costs time (samples against regexes, run-away checks) for files proved before.
    """
    found = _read(path, _bytes(path))
    if prove:
        from ettlog.parse import format_proof

        format_proof.prove(found, path)
    return found


def load_all(extra_dirs: Sequence[Path] = (), *, prove: bool = False) -> FormatSet:
    """Load ettlog's own formats and those of `extra_dirs`; raises `FormatError`.

    Files of `extra_dirs` are always proved, and no sample may match a pattern of any other format. ettlog's own files
    are proved by its tests; `prove=True` proves them again.
    """
    from blake3 import blake3

    own = sorted(FOLDER.glob("*.toml"))
    extra = [path for folder in extra_dirs for path in sorted(Path(folder).glob("*.toml"))]
    digest = blake3()
    formats: list[Format] = []
    where: dict[str, Path] = {}
    for path in own + extra:
        data = _bytes(path)
        digest.update(len(data).to_bytes(8, "little") + data)
        found = _read(path, data)
        if found.name in where:
            raise _error(
                path, f"format {found.name!r} exists twice", f"it is also in {where[found.name]}", "rename one of them"
            )
        where[found.name] = path
        formats.append(found)
    formats.sort(key=lambda one: one.name)
    patterns = tuple(pattern for one in formats for pattern in one.patterns)
    if prove or extra:
        from ettlog.parse import format_proof

        wanted = own + extra if prove else extra
        for one in formats:
            if where[one.name] in wanted:
                format_proof.prove(one, where[one.name])
        format_proof.prove_disjoint(patterns, where)
    return FormatSet(tuple(formats), patterns, digest.hexdigest())


def _error(path: Path, what: str, why: str, todo: str, place: str = "") -> FormatError:
    return FormatError(what, where=f"{path}{place}", why=why, todo=todo)


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE + 1)
    except OSError as error:
        raise _error(path, "a format file cannot be read", str(error), "check the path and its permissions") from error
    if len(data) > MAX_FILE:
        raise _error(path, "a format file is too large", f"it holds more than {MAX_FILE} bytes", "split it")
    return data


@functools.lru_cache(maxsize=256)
def _read(path: Path, data: bytes) -> Format:
    """Return the format that a file of this content holds; one process often asks for the same files again."""
    try:
        table = tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        todo = "give a TOML file; `ettlog format new LOG` writes one"
        raise _error(path, "a format file is not TOML", str(error), todo) from error
    _known(path, table, FORMAT_KEYS, "")
    texts = {key: _text(path, table, key, "") for key in ("name", "title", "source", "url")}
    if texts["source"] not in SOURCES:
        raise _error(
            path, f"unknown source {texts['source']!r}", f"sources are {', '.join(SOURCES)}", "use one of them"
        )
    rows = table.get("pattern")
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise _error(path, "a format has no patterns", "it needs [[pattern]] tables", "add one for each shape of line")
    patterns = tuple(_read_pattern(path, texts["name"], row) for row in rows)
    names = [pattern.name for pattern in patterns]
    for name in names:
        if names.count(name) > 1:
            raise _error(path, f"pattern {name!r} exists twice", "names tell versions apart", "rename one", f": {name}")
    return Format(texts["name"], texts["title"], texts["source"], texts["url"], patterns)


def _known(path: Path, table: Mapping[str, object], keys: set[str], place: str) -> None:
    unknown = sorted(set(table) - keys)
    if unknown:
        raise _error(
            path, f"unknown key {unknown[0]!r}", f"keys are {', '.join(sorted(keys))}", "remove or rename it", place
        )


def _text(path: Path, table: Mapping[str, object], key: str, place: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value:
        raise _error(path, f"{key!r} is missing", "it must be a text that is not empty", f"add {key} = ...", place)
    return value


def _read_pattern(path: Path, format_name: str, row: Mapping[str, object]) -> Pattern:
    name = _text(path, row, "name", "")
    place = f": {name}"
    _known(path, row, PATTERN_KEYS, place)
    ignore, tier = row.get("ignore", False), row.get("tier", 1)
    if not isinstance(ignore, bool) or isinstance(tier, bool) or not isinstance(tier, int):
        raise _error(
            path, "ignore or tier has the wrong type", "ignore is true or false, tier a number", "mend it", place
        )
    kind = "" if ignore and "kind" not in row else _text(path, row, "kind", place)
    if kind and kind not in KIND_BY_NAME:
        raise _error(
            path, f"unknown kind {kind!r}", "kinds are the rows of ettlog.lifecycle.KINDS", "use one of them", place
        )
    anchor = _text(path, row, "anchor", place).encode()
    if len(anchor) < MIN_ANCHOR:
        raise _error(path, "the anchor is too short", f"it needs {MIN_ANCHOR} bytes", "take a longer literal", place)
    regex = _text(path, row, "regex", place)
    return Pattern(
        format_name, name, kind, anchor, regex.encode(), _groups(path, regex, place), _constants(path, row, place),
        _samples(path, row, place), tier, ignore, _names(path, row, "needs", place),
        _names(path, row, "beside", place),
    )  # fmt: skip


def _groups(path: Path, regex: str, place: str) -> tuple[str, ...]:
    names = tuple(_GROUP.findall(regex))
    for name in names:
        if name not in GROUP_NAMES:
            todo = f"name it after a field: {', '.join(sorted(GROUP_NAMES))}"
            raise _error(path, f"unknown group {name!r}", "groups fill columns of the event or step table", todo, place)
    return names


def _constants(path: Path, row: Mapping[str, object], place: str) -> Mapping[str, str | int]:
    table = row.get("constants", {})
    if not isinstance(table, dict):
        raise _error(
            path, "constants is no table", "it maps fields to values", "write constants = {cause = ...}", place
        )
    for key, value in table.items():
        right = isinstance(value, str) if key in TEXTS else isinstance(value, int) and key in (*NUMBERS, "duration_us")
        if not right or (key == "cause" and value not in CAUSES):
            raise _error(
                path, f"wrong constant {key!r}", "it is no field, or has a wrong value", "see docs/formats.md", place
            )
    return table


def _samples(path: Path, row: Mapping[str, object], place: str) -> tuple[Sample, ...]:
    rows = row.get("samples", [])
    if not isinstance(rows, list) or not rows:
        raise _error(path, "a pattern has no sample", "a pattern proves itself by samples", "add one line", place)
    return tuple(_sample(path, one, place) for one in rows)


def _sample(path: Path, row: object, place: str) -> Sample:
    if isinstance(row, str):
        return Sample(row, {})
    if isinstance(row, dict) and isinstance(row.get("line"), str):
        return Sample(row["line"], {key: value for key, value in row.items() if key != "line"})
    raise _error(path, "a sample has the wrong type", "it is a text, or a table with line = ...", "mend it", place)


def _names(path: Path, row: Mapping[str, object], key: str, place: str) -> tuple[str, ...]:
    names = row.get(key, [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise _error(path, f"{key} is no list of names", "it names patterns as format.name", "mend it", place)
    return tuple(names)
