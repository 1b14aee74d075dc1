"""The settings: one row for each key of `ettlog.toml`, with its check, its default and a sentence."""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from ettlog.lifecycle import COMPONENTS, PART_BY_NAME

Check = Callable[[Any], "tuple[Any, list[tuple[str, str]]]"]
"""Takes a TOML value, returns it in its final form and (path below the key, what is wrong) pairs."""


LEAST_MEMORY = 128
"""MiB below which nothing can be sorted."""


class Key(NamedTuple):
    """One key of the configuration."""

    name: str
    check: Check
    default: Any
    meaning: str


class Rule(NamedTuple):
    """One row of `jobs.rules`: job names that match become `job` (with the match's groups) and belong to `model`."""

    match: re.Pattern[str]
    job: str | None
    model: str | None


class ModelRule(NamedTuple):
    """One row of `jobs.models`: a glob, or `re:` and a regex, of job names, and their model."""

    pattern: str
    model: str

    def fits(self, job: str) -> bool:
        """Tell whether a job's name is of this model."""
        if self.pattern.startswith("re:"):
            return re.search(self.pattern[3:], job) is not None
        return fnmatchcase(job, self.pattern)


def _text(value: Any) -> tuple[Any, list[tuple[str, str]]]:
    if isinstance(value, str) and value and value.isprintable() and len(value) <= 512:
        return value, []
    return None, [("", "must be a text of 1 to 512 printable characters")]


def _delimiter(value: Any) -> tuple[Any, list[tuple[str, str]]]:
    if isinstance(value, str) and 0 < len(value) <= 16 and not re.search(r"[A-Za-z0-9\n\r]", value):
        return value, []
    return None, [("", "must be 1 to 16 characters without letters, digits and line ends")]


def _zone(value: Any) -> tuple[Any, list[tuple[str, str]]]:
    if isinstance(value, str) and known_zone(value):
        return value, []
    return None, [("", f"{value!r} is no time zone: use an IANA name such as Europe/Berlin, or UTC")]


def known_zone(name: str) -> bool:
    """Tell whether a name is a time zone of the IANA database."""
    from zoneinfo import ZoneInfo

    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return False
    return True


def _choice(*choices: str) -> Check:
    def check(value: Any) -> tuple[Any, list[tuple[str, str]]]:
        if value in choices and isinstance(value, str):
            return value, []
        return None, [("", f"must be one of {', '.join(choices)}")]

    return check


def _switch(value: Any) -> tuple[Any, list[tuple[str, str]]]:
    words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    value = words.get(value.lower(), value) if isinstance(value, str) else value
    return (value, []) if isinstance(value, bool) else (None, [("", "must be true or false")])


def _shift(value: Any) -> tuple[Any, list[tuple[str, str]]]:
    """Turn seconds, or a text such as `-05:00` or `+00:00:07.5`, into microseconds."""
    found = re.fullmatch(r"([+-])(\d{1,2}):(\d\d)(?::(\d\d(?:\.\d{1,6})?))?", value) if isinstance(value, str) else None
    if found:
        seconds = int(found[2]) * 3600 + int(found[3]) * 60 + float(found[4] or 0)
        value = -seconds if found[1] == "-" else seconds
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= 86_400:
        return round(value * 1_000_000), []
    return None, [("", "must be seconds, or a text such as -05:00 or +00:00:07.5, of a day at most")]


def _memory(value: Any) -> tuple[Any, list[tuple[str, str]]]:
    """Turn a size such as `4GB` or `512 MiB` into whole MiB."""
    found = re.fullmatch(r"(\d{1,6}) ?(M|G)(i?)B", value) if isinstance(value, str) else None
    if found:
        unit = {"M": 2, "G": 3}[found[2]]
        size = int(found[1]) * (1 << 10 * unit if found[3] else 10 ** (3 * unit)) >> 20
        if size >= LEAST_MEMORY:
            return size, []
    return None, [("", f"must be a size of at least {LEAST_MEMORY} MiB, such as 512MiB or 4GB")]


def _number(low: int, high: int) -> Check:
    def check(value: Any) -> tuple[Any, list[tuple[str, str]]]:
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 18:
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
            return value, []
        return None, [("", f"must be a whole number from {low:,} to {high:,}")]

    return check


def _budget(value: Any) -> tuple[Any, list[tuple[str, str]]]:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1000:
        return float(value), []
    return None, [("", "must be a number above 0: GPU-hours per effective GPU-hour, such as 0.02")]


def _list(item: Check) -> Check:
    def check(value: Any) -> tuple[Any, list[tuple[str, str]]]:
        if isinstance(value, str):  # the environment and `--sacct-fields` give lists as text
            value = [part.strip() for part in value.split(",") if part.strip()]
        if not isinstance(value, list):
            return (), [("", "must be a list of texts")]
        done = [item(one) for one in value]
        wrong = [(f"[{i}]{where}", why) for i, (_, found) in enumerate(done) for where, why in found]
        return tuple(one for one, found in done if not found), wrong

    return check


def _table(value_check: Check, names: tuple[str, ...] = ()) -> Check:
    def check(value: Any) -> tuple[Any, list[tuple[str, str]]]:
        if not isinstance(value, dict):
            return {}, [("", "must be a table")]
        done, wrong = {}, []
        for name, one in value.items():
            if names and name not in names:
                near = get_close_matches(str(name), names, 1)
                hint = f"; do you mean {near[0]}?" if near else f"; known are {', '.join(names)}"
                wrong.append((f".{name}", f"is not known{hint}"))
            done[name], found = value_check(one)
            wrong += [(f".{name}{where}", why) for where, why in found]
        return done, wrong

    return check


def _template(value: Any) -> tuple[Any, list[tuple[str, str]]]:
    from ettlog.parse import identity

    text, wrong = _text(value)
    why = "" if wrong else identity.template_problem(text)
    return (None, [("", why)]) if why else (text, wrong)


def _regex(value: Any) -> str:
    """Return what is wrong with a regex, or nothing."""
    if not isinstance(value, str) or not value or len(value) > 512:
        return "must be a regex of 1 to 512 characters"
    try:
        re.compile(value)
    except (re.error, RecursionError, OverflowError) as error:
        return f"is no regex: {error}"
    if re.search(r"[*+}][^()|]*\)[*+{]", value):
        return "repeats a group that repeats: it could run for ever on a hostile name"
    return ""


def _rule(value: Any) -> tuple[Any, list[tuple[str, str]]]:
    if not isinstance(value, dict):
        return None, [("", "must be a table with `match` and `job` or `model`")]
    wrong = [
        (f".{name}", "is not a key here; keys are match, job, model") for name in value if name not in Rule._fields
    ]
    why = _regex(value.get("match"))
    wrong += [(".match", why)] if why else []
    for name in ("job", "model"):
        if name in value:
            wrong += [(f".{name}", reason) for _, reason in _text(value[name])[1]]
    if not wrong and "job" not in value and "model" not in value:
        wrong.append(("", "needs `job` or `model`"))
    if not wrong and "job" in value:
        wrong += _job_template(value["match"], value["job"])
    return (None, wrong) if wrong else (Rule(re.compile(value["match"]), value.get("job"), value.get("model")), [])


def _job_template(match: str, job: str) -> list[tuple[str, str]]:
    try:
        re._parser.parse_template(job, re.compile(match))  # type: ignore[attr-defined]
    except (re.error, IndexError) as error:
        return [(".job", f"does not fit `match`: {error}")]
    return []


def _models(value: Any) -> tuple[Any, list[tuple[str, str]]]:
    done, wrong = _table(_text)(value)
    for pattern in done:
        why = _regex(pattern[3:]) if pattern.startswith("re:") else ""
        wrong += [(f".{pattern}", why)] if why else []
    return tuple(ModelRule(pattern, model) for pattern, model in done.items()), wrong


_OWNED = (*(name for name in COMPONENTS if name != "unknown"), *PART_BY_NAME)
_LIST_OF_RULES = _list(_rule)

KEYS: tuple[Key, ...] = (
    Key("paths.templates", _list(_template), (), "shapes of log paths, with fields such as {job} and {rank}"),
    Key("paths.cluster", _text, None, "cluster of all sources that do not name one"),
    Key("clock.zone", _zone, None, "time zone of stamps that carry none"),
    Key("clock.zones", _table(_zone), {}, "the same for sources whose path fits a glob"),
    Key("clock.year", _number(2000, 2100), None, "year of stamps that carry none"),
    Key(
        "clock.correct",
        _choice("unambiguous", "never", "always"),
        "unambiguous",
        "when an inferred clock error is mended",
    ),
    Key("clock.shifts", _table(_shift), {}, "what is added to every instant of sources whose path fits a glob"),
    Key("joins.checkpoint", _switch, True, "join logs that go on from what another log saved to one folder"),
    Key(
        "joins.job_name",
        _choice("resumed", "never", "always"),
        "resumed",
        "when jobs resubmitted under one name are one",
    ),
    Key("joins.beside", _switch, True, "join a scheduler's file kept beside a log where one job alone fits"),
    Key("sacct.delimiter", _delimiter, None, "delimiter of sacct output written without a header"),
    Key("sacct.fields", _list(_text), (), "fields of sacct output written without a header"),
    Key("sacct.zone", _zone, None, "time zone of sacct's local times, where it differs from the trainers'"),
    Key("formats.dirs", _list(_text), (), "folders with format files of your own"),
    Key("owners", _table(_text, _OWNED), {}, "owner of a component or part, in place of the default one"),
    Key("jobs.rules", _LIST_OF_RULES, (), "regexes on job names that join them to logical jobs and models"),
    Key("jobs.models", _models, (), "globs, or `re:` and a regex, of job names, and their model"),
    Key("attribute.registry", _text, None, "path of the registry of optimizations"),
    Key("attribute.basis", _choice("work", "wall"), "work", "what stays fixed: the training done, or the time held"),
    Key("ett.basis", _choice("allocated", "elapsed", "submitted"), "allocated", "which wall time ETT% is a share of"),
    Key("ett.evaluation", _choice("wasted", "effective"), "wasted", "what evaluation inside the loop counts as"),
    Key("slo", _table(_budget, _OWNED), {}, "GPU-hours a component or part may cost per effective GPU-hour"),
    Key("limits.line_bytes", _number(256, 1 << 24), 1 << 16, "bytes of a line that patterns see"),
    Key("limits.output_bytes", _number(1 << 20, 1 << 50), 64 << 30, "decompressed bytes read from one file"),
    Key("limits.record_bytes", _number(1 << 10, 1 << 30), 1 << 24, "bytes of one JSON record"),
    Key("limits.record_depth", _number(1, 500), 64, "objects and lists inside each other in one JSON record"),
    Key("limits.record_keys", _number(1, 1_000_000), 10_000, "keys of one JSON record"),
    Key("limits.files", _number(1, 100_000_000), 1_000_000, "files that one ingest takes"),
    Key("limits.depth", _number(1, 256), 32, "folders inside each other that are looked into"),
    Key("limits.memory", _memory, 1024, "memory that questions may take; what is beyond it goes to disk"),
    Key("limits.spill", _text, None, "folder for what memory cannot hold; by default the system's for temporary files"),
    Key("limits.spill_size", _memory, 10 << 10, "disk that a question may take beside its memory"),
    Key("limits.sql_seconds", _number(1, 86_400), 300, "seconds that a query of `ettlog sql` may take"),
)
KEY_BY_NAME: dict[str, Key] = {key.name: key for key in KEYS}
