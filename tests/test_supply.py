"""What comes with ettlog and what it may call: locked requirements, the bill of materials, and no way to run data."""

from __future__ import annotations

import ast
import configparser
import json
import re
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests import sbom
from tests.conftest import ROOT
from tests.imports import imports, modules

NEVER = (
    "pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "yaml", "xml", "lxml", "socket", "ssl", "http",
    "urllib.request", "requests", "urllib3", "httpx", "aiohttp", "ftplib", "smtplib", "subprocess", "pty", "code",
    "webbrowser", "runpy",
)  # fmt: skip
"""Modules that run what data says, start programs or open connections: none is imported, at no depth of the package."""
EXCEPT = {
    ("ettlog.engine.session", "socket"): "the address of an engine that the user names with --engine",
}
"""What is imported all the same, and why."""

NEWER = {"python_version": "3.12", "python_full_version": "3.12.0", "sys_platform": "linux", "extra": ""}

CALLS = {"eval", "exec", "compile", "__import__", "breakpoint", "input"}
ATTRIBUTES = {("os", "system"), ("os", "popen"), ("os", "execv"), ("os", "execve"), ("os", "fork"), ("os", "spawnv")}
FORKS = {
    "ettlog.nursery": "workers, from a process that has read no log",
    "ettlog.together": "readers of one huge source, from the worker that opened it, inside its fence",
}
"""Modules that may fork, and what."""

REASONS = {
    "ctypes": ({"ettlog.confine"}, "Landlock and prctl have no other door"),
    "multiprocessing": (
        {"ettlog.workers", "ettlog.nursery", "ettlog.together"},
        "processes that read logs; both ends of the pipe are ettlog",
    ),
}
"""Modules that reach far, the places that may import each, and why."""

WRITERS = {
    "ettlog.database": "a private folder for what DuckDB spills",
    "ettlog.durable": "all files of a lake: exclusive, no link followed, not inherited",
    "ettlog.cli.output": "-o: a temporary file by mkstemp beside it, then renamed",
    "ettlog.aliases": "the key of pseudonyms: exclusive, 0600",
    "ettlog.engine.remote": "on the machines of an engine: what was sent, in a private folder",
    "ettlog.engine.session": "the folder of a session that was asked for",
    "ettlog.engine.shipping": "the code that is sent to the machines of an engine, in a private folder",
    "ettlog.engine.source": "on the machines of an engine: a part of a log, in a private folder",
    "ettlog.objects": "a private folder for the moment: what an object store gets or gives",
    "ettlog.bulk": "a temporary file without a name, in a private folder",
    "ettlog.parse.chunks": "the same",
    "ettlog.parse.event_rows": "the same",
    "ettlog.parse.spool": "the same",
    "ettlog.scratch": "the private folder for temporary files",
    "ettlog.snapshot": "a snapshot: a temporary beside it, then renamed",
    "ettlog.simulate.results": "a simulated fleet, in the folder that was asked for",
    "ettlog.simulate.write": "the same",
    "ettlog.simulate.whole": "the same, which appears whole",
}
"""Modules that may make files or folders, and what."""
MAKES = {"write_text", "write_bytes", "mkdir", "touch", "symlink_to", "hardlink_to", "mkstemp", "mkdtemp",
         "TemporaryFile", "NamedTemporaryFile", "makedirs"}  # fmt: skip


def calls(tree: ast.AST) -> Iterator[ast.Call]:
    """Yield every call of a module."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def test_nothing_runs_data_starts_programs_or_opens_connections() -> None:
    """None of the modules that could is imported anywhere in the package."""
    strays = [
        f"{item.importer}:{item.line} imports {item.imported}"
        for item in imports(ROOT)
        if (item.importer, item.imported) not in EXCEPT
        and any(item.imported == name or item.imported.startswith(name + ".") for name in NEVER)
    ]
    assert not strays


def test_nothing_evaluates_text() -> None:
    """No call of eval, exec, compile and their like, as a name or as an attribute of os or builtins."""
    strays = []
    for name, path in modules(ROOT).items():
        for call in calls(ast.parse(path.read_text(encoding="utf-8"))):
            plain = isinstance(call.func, ast.Name) and call.func.id in CALLS
            told = ast.unparse(call.func).split(".")
            if name in FORKS and told == ["os", "fork"]:
                continue
            if plain or tuple(told[-2:]) in ATTRIBUTES or (told[0] == "builtins" and told[-1] in CALLS):
                strays.append(f"{name}:{call.lineno} {ast.unparse(call.func)}")
    assert not strays


@pytest.mark.parametrize("library", REASONS)
def test_what_reaches_far_has_few_places_with_a_reason(library: str) -> None:
    """It is imported there, and nowhere else."""
    homes, reason = REASONS[library]
    assert reason
    assert {item.importer for item in imports(ROOT) if item.imported.split(".")[0] == library} == homes


def test_files_are_made_in_few_places() -> None:
    """A call that makes a file or a folder stands only in a module that is listed with what it makes."""
    found = {name for name, path in modules(ROOT).items() for call in calls(ast.parse(path.read_text())) if makes(call)}
    assert found <= set(WRITERS), found - set(WRITERS)
    assert all(WRITERS.values())


def makes(call: ast.Call) -> bool:
    """Tell whether a call makes a file or a folder, or opens one for writing."""
    last = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if last in MAKES:
        return True
    modes = [*call.args[-1:], *(word.value for word in call.keywords if word.arg == "mode")]
    texts = [mode.value for mode in modes if isinstance(mode, ast.Constant) and isinstance(mode.value, str)]
    return last == "open" and any(re.fullmatch(r"[rwxabt+]*[wxa+][rwxabt+]*", text) for text in texts)


def test_open_for_writing_is_seen() -> None:
    """The search itself finds what it looks for, and leaves reading alone."""
    wanted = {"open(p, 'w')": True, "p.open('ab')": True, "open(p, mode='x')": True, "p.mkdir()": True}
    wanted |= {"open(p)": False, "p.open('rb')": False, "open(p, 'r')": False}
    for text, verdict in wanted.items():
        assert makes(next(calls(ast.parse(text)))) is verdict, text


MOST_LIBRARIES = 13
"""One more needs a better reason than a few lines saved."""


def required() -> set[str]:
    """Return every distribution that setup.cfg names, for ettlog and for its extras, as pip spells names."""
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg")
    texts = [parser["options"]["install_requires"], *dict(parser["options.extras_require"]).values()]
    names = re.findall(r"^\s*([A-Za-z0-9][\w.-]*)", "\n".join(texts), re.MULTILINE)
    return {plain(name) for name in names}


def test_every_library_that_is_needed_is_named_with_its_reason() -> None:
    """SECURITY.md has a row for each library that setup.cfg asks for, and says how many there are: at most thirteen."""
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg")
    lines = parser["options"]["install_requires"].strip().splitlines()
    wanted = {re.split(r"[>=;]", line)[0] for line in lines if "sys_platform" not in line}
    text = (ROOT / "SECURITY.md").read_text().split("## What ettlog stands on")[1].split("\n## ")[0]
    rows = dict(re.findall(r"^\| `(\S+)` \| (.+) \|$", text, re.MULTILINE))
    assert rows.keys() == wanted
    assert all(len(row.split(" | ")) == 4 for row in rows.values())
    assert len(wanted) <= MOST_LIBRARIES
    assert f"{MOST_LIBRARIES} libraries" in text


def test_what_the_libraries_bring_is_counted() -> None:
    """SECURITY.md says how many distributions come in all, and how many with the six that all else is built on."""
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg")
    text = " ".join((ROOT / "SECURITY.md").read_text().split("## What ettlog stands on")[1].split())
    built_on = re.findall(r"`(\w+)`", text.split("Six of them are what ettlog is built on")[1].split(")")[0])
    whole = brought(parser["options"]["install_requires"].strip().splitlines())
    assert len(built_on) == 6
    assert f"bring {len(brought(built_on))} distributions in all, numpy among them" in text
    rest = whole - brought(built_on)
    rich, jinja2 = (len(brought([name]) & rest) for name in ("rich", "jinja2"))
    assert f"bring {len(rest)} more (rich {rich}, jinja2 {jinja2}, the rest themselves)" in text
    assert f": {len(whole)} in all, {len(whole) + 1} on 3.11." in text


def brought(names: Iterable[str]) -> set[str]:
    """Return these libraries and all that they need on Linux, but for what Python 3.11 alone needs."""
    found, left = set[str](), [Requirement(name) for name in names]
    while left:
        one = left.pop()
        if plain(one.name) not in found and (one.marker is None or one.marker.evaluate(NEWER)):
            found.add(plain(one.name))
            left += map(Requirement, metadata.requires(one.name) or ())
    return found


def plain(name: str) -> str:
    """Return a name as indexes compare them."""
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_requirement_is_locked_with_hashes() -> None:
    """All that setup.cfg names stands in requirements/all.txt, each with a hash; `make lock` writes it anew."""
    pins = sbom.pins((ROOT / "requirements/all.txt").read_text())
    assert required() <= {plain(pin.name) for pin in pins}
    assert all(pin.hashes for pin in pins)


@pytest.mark.parametrize("lock", [sbom.LOCK, sbom.LOCK.with_name("test.txt")], ids=["users", "tests"])
def test_what_runs_is_a_part_of_what_is_locked(lock: Path) -> None:
    """The locks for users and for tests are the parts of the whole one that these need: same versions, same hashes."""
    whole = {(pin.name, pin.version): set(pin.hashes) for pin in sbom.pins((ROOT / "requirements/all.txt").read_text())}
    own = sbom.pins(lock.read_text())
    assert len(own) < len(whole)
    assert all(whole.get((pin.name, pin.version)) == set(pin.hashes) for pin in own)


def test_the_bill_of_materials_is_that_of_the_lock() -> None:
    """requirements/ettlog.cdx.json names every locked distribution once, with version, address and SHA-256."""
    bill = json.loads(sbom.BILL.read_text())
    assert bill == sbom.bill()
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    named = [(part["name"], part["version"]) for part in bill["components"]]
    assert named == [(pin.name, pin.version) for pin in sbom.pins(sbom.LOCK.read_text())]
    assert {"duckdb", "pyarrow", "polars"} <= {name for name, _ in named}
    assert len({part["bom-ref"] for part in bill["components"]}) == len(named)


def test_what_is_installed_for_tests_is_a_wheel_with_its_hash() -> None:
    """No code of a package runs while it is installed, but for the one package that has no wheel."""
    install = next(line for line in (ROOT / "Makefile").read_text().splitlines() if '-r "$(LOCK)"' in line)
    assert "--only-binary :all: --no-binary pyspark-client --require-hashes" in install
