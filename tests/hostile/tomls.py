"""Configurations and registries that are deep, long, wrong, dangerous, or writable by others."""

from __future__ import annotations

from typing import NamedTuple


class Toml(NamedTuple):
    """One file of settings: its name, its bytes, and words of the refusal; `line` is where it is wrong, if there."""

    name: str
    data: bytes
    says: str
    line: int = 0
    mode: int = 0o600
    code: int = 2
    registry: bool = False


OWNED = b'[[optimization]]\nname = "a"\nowner = "b"\ncomponents = ["compilation"]\n'
ROLLOUT = b"rollouts = [{ since = 2031-05-06 }]\n"
BOMB = "(a+)+$"

TOMLS: tuple[Toml, ...] = (
    Toml("deep-list", b"paths.templates = " + b"[" * 5_000 + b"]" * 5_000, "not TOML"),
    Toml("deep-table", b"".join(b"[" + b".".join([b"a"] * n) + b"]\n" for n in (5_000,)), "is not a setting"),
    Toml("ten-mebibytes", b"# " + b"x" * (10 << 20), "longer than"),
    Toml("duplicate", b'[clock]\nzone = "UTC"\nzone = "UTC"\n', "not TOML"),
    Toml("no-toml", b"\0\1\2 = 3", "not TOML"),
    Toml("utf-16", "clock.zone='UTC'".encode("utf-16"), "not UTF-8"),
    Toml("unknown", b'[clock]\nzoen = "UTC"\n', "do you mean clock.zone", 2),
    Toml("section-no-table", b"clock = 5\n", "must be a table", 1),
    Toml("wrong-type", b"\n[clock]\nyear = 'x'\n", "must be a whole number", 3),
    Toml("number-too-large", b"[limits]\nline_bytes = 99999999999\n", "must be a whole number", 2),
    Toml("number-too-small", b"[limits]\nline_bytes = -1\n", "must be a whole number", 2),
    Toml("true-is-no-number", b"[limits]\ndepth = true\n", "must be a whole number", 2),
    Toml("zone-path", b'[clock]\nzone = "../../etc/passwd"\n', "is no time zone", 2),
    Toml("zone-nul", b'[clock]\nzone = "a\\u0000b"\n', "is no time zone", 2),
    Toml("regex-bomb", f'[jobs.models]\n"re:{BOMB}" = "m"\n'.encode(), "for ever", 2),
    Toml("regex-bomb-rule", f'[[jobs.rules]]\nmatch = "{BOMB}"\njob = "x"\n'.encode(), "for ever", 2),
    Toml("regex-wrong", b'[jobs.models]\n"re:(" = "m"\n', "is no regex", 2),
    Toml("regex-group", b'[[jobs.rules]]\nmatch = "a"\njob = "\\\\7"\n', "does not fit", 3),
    Toml("glob-bomb", b'[jobs.models]\n"' + b"*a" * 200 + b'" = "m"\n', "", code=0),
    Toml("text-control", b'[paths]\ncluster = "a\\u001b[31m"\n', "printable", 2),
    Toml("text-long", b'[paths]\ncluster = "' + b"x" * 600 + b'"\n', "printable", 2),
    Toml("others-may-write", b'[clock]\nzone = "UTC"\n', "every user of this machine may write", mode=0o666),
    Toml("registry-duplicate", OWNED + ROLLOUT + OWNED + ROLLOUT, "more than once", registry=True),
    Toml("registry-deep", b"optimization = " + b"[" * 5_000 + b"]" * 5_000, "not valid TOML", registry=True),
    Toml("registry-long", b"# " + b"x" * (2 << 20), "longer than", registry=True),
    Toml(
        "registry-rows",
        b"".join(
            b'[[optimization]]\nname="%d"\nowner="b"\ncomponents=["compilation"]\nrollouts=[{since=2031-05-06}]\n' % n
            for n in range(10_001)
        ),
        "10,000",
        registry=True,
    ),
    Toml(
        "registry-types",
        b"[[optimization]]\nname = 5\nowner = []\nparts = 7\nrollouts = 3\n",
        "a text is needed",
        registry=True,
    ),
    Toml("registry-date", OWNED + b'rollouts = [{ since = "31 Feb" }]\n', "is not a date", registry=True),
)
