"""Pseudonyms for the names of users, hosts and paths: one name has one pseudonym wherever it stands, under one key."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

KEY_BYTES = 32
DIGITS = 10
"""Hexadecimal digits of a pseudonym: a million names meet by chance once in a million."""

USER, HOST, PATH, EVIDENCE, TEXT, NAMED, KEPT = "user", "host", "path", "evidence", "text", "named", "kept"
RULES: dict[str, str] = {
    **dict.fromkeys(("user",), USER),
    **dict.fromkeys(("node",), HOST),
    **dict.fromkeys(("path", "stream", "of"), PATH),
    **dict.fromkeys(("evidence", "end_evidence", "held_evidence"), EVIDENCE),
    **dict.fromkeys(("job", "job_name", "name", "task", "subject", "detail", "reason", "against", "why"), TEXT),
    **dict.fromkeys(("remedy",), TEXT),
    **dict.fromkeys(("model", "cluster", "platform", "partition", "allocation", "id", "raw", "value"), NAMED),
    **dict.fromkeys(
        (
            "key", "state", "clock", "format", "formats", "pattern", "kind", "cause", "outcome", "component", "part",
            "stage", "owner", "role", "nature", "warmth", "end_state", "record", "edge", "term", "meaning", "check",
            "level", "sentence", "told_state", "scheduler_state", "scheduler_cause",
            "phase", "todo", "what", "rule", "job_by", "allocation_by", "verdict",
        ),
        KEPT,
    ),
}  # fmt: skip
"""What stands in a column of this name; columns that are not named here are texts, the strictest of the rules that
leave a sentence readable."""

_SUFFIXES = re.compile(
    r"(?:\.(?:log|txt|out|err|stdout|stderr|gz|zst|bz2|xz|lz4|jsonl?|csv|tsv|ya?ml|toml|md|parquet|pt|ckpt|distcp)){1,8}\Z"
)
_EVIDENCE = re.compile(r"(.*):(\d+(?: \([^()]*\))?)\Z", re.DOTALL)
_HOME = re.compile(r"(?:^|/)(?:home|users|Users)/([^/]+)")
_PATHLIKE = re.compile(r"(?:(?<!\w)\w+:/|(?<![~.\w@+=,%-]))[~.\w@+=,%-]*(?:/[.\w@+=,%-]+)+/?")
_ADDRESS = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])")
_MAIL = re.compile(r"[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+")


@dataclass
class Redactor:
    """Gives pseudonyms that nobody without `key` can undo by trying names; learn all names before asking for any."""

    key: bytes
    users: set[str] = field(default_factory=set)
    hosts: set[str] = field(default_factory=set)

    def learn(self, frame: pl.DataFrame) -> None:
        """Take the users and hosts that stand in columns of their own, and the users whose homes paths name."""
        for name in frame.columns:
            rule = RULES.get(name, TEXT)
            if rule in (USER, HOST, PATH, TEXT) and str(frame.schema[name]) in ("String", "Categorical"):
                values = [str(value) for value in frame[name].drop_nulls().unique().to_list()]
                self._take(rule, values)

    def _take(self, rule: str, values: Iterable[str]) -> None:
        if rule == USER:
            self.users |= set(values)
        elif rule == HOST:
            self.hosts |= {part for value in values for part in (value, value.partition(".")[0])}
        else:
            self.users |= {match for value in values for match in _HOME.findall(value)}

    def frame(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return a frame with its names replaced, column by column."""
        import polars as pl

        made = []
        for name, kind in frame.schema.items():
            change = self.rule(RULES.get(name, TEXT))
            if kind != pl.String or change is None:
                continue
            values = frame[name].drop_nulls().unique().to_list()
            made.append(pl.col(name).replace_strict(values, [change(value) for value in values], default=None))
        return frame.with_columns(made) if made else frame

    def rule(self, name: str) -> Callable[[str], str] | None:
        """Return what a rule does with a text; None where it leaves it alone."""
        rules: dict[str, Any] = {
            USER: self.user, HOST: self.host, PATH: self.path, EVIDENCE: self.evidence, TEXT: self.text,
            NAMED: self.named,
        }  # fmt: skip
        found: Callable[[str], str] | None = rules.get(name)
        return found

    def user(self, name: str) -> str:
        """Return the pseudonym of a user."""
        return self._made(USER, name)

    def host(self, name: str) -> str:
        """Return the pseudonym of a host, label by label, so that a short and a full name begin alike."""
        return ".".join(self._made(HOST, label) if label else "" for label in name.split("."))

    def path(self, name: str) -> str:
        """Return the pseudonym of a path, component by component; known suffixes and the shape of the tree stay."""
        return "/".join(self._component(part) for part in name.split("/"))

    def evidence(self, text: str) -> str:
        """Return `path:line (note)` with its path replaced."""
        found = _EVIDENCE.match(text)
        return f"{self.path(found[1])}:{found[2]}" if found else self.text(text)

    def text(self, text: str) -> str:
        """Return a text with paths, addresses and known names in it replaced."""
        text = _MAIL.sub(lambda found: self._made(USER, found[0]), text)
        text = _PATHLIKE.sub(lambda found: self.path(found[0]), text)
        text = _ADDRESS.sub(lambda found: self._made(HOST, found[0]), text)
        return self.named(text)

    def named(self, text: str) -> str:
        """Return a text with the known users and hosts in it replaced, and what only looks like a path left."""
        return self._known.sub(self._replaced, text)

    @cached_property
    def _known(self) -> re.Pattern[str]:
        names = {name for name in self.users | self.hosts if len(name) > 1 and not name.isdigit()}
        ordered = sorted(names, key=lambda name: (-len(name), name))
        return re.compile(r"(?<![A-Za-z0-9])(?:" + "|".join([*map(re.escape, ordered), r"(?!)"]) + r")(?![A-Za-z0-9])")

    def _replaced(self, found: re.Match[str]) -> str:
        return self.user(found[0]) if found[0] in self.users else self.host(found[0])

    def _component(self, part: str) -> str:
        if part in ("", ".", "..", "~") or part.endswith(":"):
            return part
        suffix = found[0] if (found := _SUFFIXES.search(part)) else ""
        stem = part.removesuffix(suffix)
        if stem in self.users:
            return self.user(stem) + suffix
        if stem in self.hosts:
            return self.host(stem) + suffix
        return self._made(PATH, stem) + suffix if stem else part

    def _made(self, kind: str, name: str) -> str:
        digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), key=self.key, person=kind.encode())
        return f"{kind}-{digest.hexdigest()[:DIGITS]}"
