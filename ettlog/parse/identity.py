"""Whose log is it: cluster, job, model, allocation, start, rank and node of a source.

Four authorities, in this order: a path template of the configuration, what the lines say, the file's name, its folder.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ettlog.parse import naming

if TYPE_CHECKING:
    from ettlog.config import Config

TEMPLATE, LINE, NAME, FOLDER, RULE, SETTING, DEFAULT = (
    "template", "line", "file name", "folder", "name rule", "setting", "default",
)  # fmt: skip

FIELDS = ("cluster", "job", "model", "platform", "allocation", "start", "rank", "node", "part")
NUMBERS = ("start", "rank", "part")


class Identity(NamedTuple):
    """What a source is a log of; unknown fields are None.

    `stream` is the name all parts and all ranks of one log share: files of one stream with equal rank and node are
    parts of one text in the order of `part`, files of one stream with other ranks are other ranks of one job.
    `how` names the authority of each known field.
    """

    job_name: str
    cluster: str | None
    model: str | None
    platform: str | None
    allocation: str | None
    start: int | None
    rank: int | None
    node: str | None
    stream: str
    part: int
    how: dict[str, str]


def resolve(path: str, hints: Mapping[str, str], config: Config) -> Identity:
    """Return the identity of a source.

    `path` is its name in the lake: relative, with slashes, beginning with the root's own name. `hints` is what its
    lines say (`allocation`, `cluster`, `node`, `rank`, `job`, `model`).
    """
    named = naming.take_apart(path, hints.get("node", ""))
    found: dict[str, str] = {}
    how: dict[str, str] = {}
    for authority, values in (
        (TEMPLATE, _by_template(path, config)),
        (LINE, {name: hints[name] for name in FIELDS if hints.get(name)}),
        (NAME, named.in_name),
        (FOLDER, named.in_folder),
        (SETTING, {"cluster": config.text("paths.cluster") or ""}),
    ):
        for name, value in values.items():
            if value and name not in found:
                found[name], how[name] = value, authority
    job = found.pop("job", None)
    how["job_name"] = how.pop("job", NAME if named.job_from_name else FOLDER)
    name, model = logical(job or named.job, config)
    if name != (job or named.job):
        how["job_name"] = RULE
    if model and "model" not in found:
        found["model"], how["model"] = model, RULE
    return _identity(name, found, named.stream, how)


def _identity(job: str, found: Mapping[str, str], stream: str, how: dict[str, str]) -> Identity:
    numbers = {name: _number(found.get(name)) for name in NUMBERS}
    # Starts of one writer in folders of their own are parts of one text, one after the other.
    part = numbers["part"] if numbers["part"] is not None else numbers["start"]
    return Identity(
        job_name=job,
        cluster=found.get("cluster"),
        model=found.get("model"),
        platform=found.get("platform"),
        allocation=found.get("allocation"),
        start=numbers["start"],
        rank=numbers["rank"],
        node=found.get("node"),
        stream=stream,
        part=part or 0,
        how=how,
    )


def _number(text: str | None) -> int | None:
    return int(text) if text and text.lstrip("-").isdigit() and len(text) < 19 else None


def logical(job: str, config: Config) -> tuple[str, str | None]:
    """Return the logical job of a name, and its model, by `jobs.rules` and `jobs.models`; no model is guessed.

    The first rule whose regex is found in the name decides. It serves names from logs and from schedulers alike.
    """
    name, model = job, None
    for rule in config.get("jobs.rules"):
        match = rule.match.search(job[:512])
        if match:
            name = match.expand(rule.job) if rule.job else job
            model = match.expand(rule.model) if rule.model else None
            break
    if model is None:
        model = next((row.model for row in config.get("jobs.models") if row.fits(name) or row.fits(job)), None)
    return name or job, model


def _by_template(path: str, config: Config) -> dict[str, str]:
    """Return what the first template that fits says, with or without the root's name in front."""
    bare = path.partition("/")[2]
    for template in config.get("paths.templates"):
        pattern = _compiled(template)
        match = (bare and pattern.fullmatch(bare)) or pattern.fullmatch(path)
        if match:
            return {name: value for name, value in match.groupdict().items() if value}
    return {}


_TOKEN = re.compile(r"\{(\w*)\}|(\*\*/?)|(\*)|(\?)|([^{*?]+|\{)")


@lru_cache(maxsize=256)
def _compiled(template: str) -> re.Pattern[str]:
    """Turn a template into a regex: fields and `*` stay inside one folder, `**` crosses folders."""
    parts, seen = [], set()
    for field, across, star, one, text in _TOKEN.findall(template):
        if field and field in seen:
            parts.append(f"(?P={field})")
        elif field:
            seen.add(field)
            parts.append(rf"(?P<{field}>\d+)" if field in NUMBERS else rf"(?P<{field}>[^/]+?)")
        elif across:
            parts.append("(?:[^/]+/)*" if across == "**/" else ".*")
        elif star:
            parts.append("[^/]*")
        else:
            parts.append("[^/]" if one else re.escape(text))
    return re.compile("".join(parts))


def template_problem(template: str) -> str:
    """Return what is wrong with a path template, as a sentence, or nothing."""
    fields = re.findall(r"\{(\w*)\}", template)
    unknown = [name for name in fields if name not in FIELDS]
    if unknown:
        return f"has the unknown field {{{unknown[0]}}}; fields are {', '.join(FIELDS)}"
    if not fields:
        return "has no field such as {job}"
    if re.sub(r"\{\w+\}", "", template).count("{"):
        return "has a brace that does not enclose a field"
    if template.startswith("/") or ".." in template.split("/"):
        return "must be relative to the folder that is ingested"
    if template.count("*") > 8:
        return "has more than 8 stars"
    return ""
