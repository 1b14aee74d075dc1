"""The order of the modules, and what only one of them may do."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ettlog import lifecycle
from tests.conftest import ROOT
from tests.imports import imports, modules

LAYERS = (
    {"errors", "lifecycle", "schema", "scratch", "sink", "summing", "markup", "windows", "conventions", "stalls"},
    {"parse"},
    {"config", "settings"},
    {
        "lake",
        "packing",
        "ingest",
        "manifest",
        "durable",
        "guard",
        "discover",
        "workers",
        "tasks",
        "reading",
        "content",
        "identity",
    }
    | {
        "confine",
        "aliases",
        "commit",
        "listed",
        "merge",
        "moved",
        "objects",
        "shards",
        "kept",
        "kept_write",
        "ready",
        "nursery",
    }
    | {"held", "beginnings", "together", "kept_write", "bulk"},
    {"fleet", "relations", "facts", "clocks", "shifts", "database", "snapshot_read", "redact", "engine", "keeping"}
    | {"fact_files", "seams", "strays", "portions", "renewal", "touched", "splice"},
    {"cascade", "registry", "simulate"},
    {"ett", "ett_sums", "ett_lost", "ett_bounds", "attribute", "tables", "views_terms"}
    | {"check", "jobs", "joins", "timeline", "status", "support", "explain", "lacks"}
    | {"terms", "recovery", "unsaid", "explain_rows"}
    | {"alerts", "nodes", "scale", "warm"}
    | {"compare", "compare_means", "pairs", "reliability", "advise", "what_if", "plan"}
    | {"rollouts", "rollouts_find", "rollouts_text"},
    {"snapshot"},
    {"plot"},
    {"report", "export"},
    {"cli"},
    {"__main__"},
)
"""Top-level modules and packages, lowest first; a module imports from its own layer and from those below."""

ONLY = {
    "duckdb": {"ettlog.fleet", "ettlog.database", "ettlog.fact_files"},
    "click": {"ettlog.cli"},
    "rich": {"ettlog.cli"},
    "matplotlib": {"ettlog.plot"},
    "pyspark": {"ettlog.engine"},
    "pysail": {"ettlog.engine"},
    "sqlglot": {"ettlog.engine"},
    "yaml": set(),
    "pickle": set(),
    "xml": set(),
    "marshal": set(),
}
"""Libraries and the only modules or packages that may import them."""

HEAVY = {"duckdb", "polars", "pyarrow", "scipy", "matplotlib", "rich", "numpy", "pyspark", "pysail", "sqlglot"}

LITERALS_ALLOWED: dict[str, set[str]] = {
    "ettlog.schema": {"exit_code"},  # a column of scheduler records has the same name
    "ettlog.rollouts_find": {"compilation"},  # a relation has the same name
    "ettlog.export.grafana": {"placement"},  # a key of Grafana's legends
}
"""Names of the vocabulary that a module may write out, each with its reason beside it."""

COMMON = {
    "step", "other", "launch", "compile", "signal", "world", "timer", "failure", "restart", "kill", "queue", "gap",
    "unknown", "preempted", "shutdown", "evaluation", "cancelled", "interrupt", "resume", "recovery", "steady",
    "publish",
}  # fmt: skip
"""Names that are also plain words, columns, tables or values: `step` is a fact table, `unknown` a state."""

STALE = (
    (r"\b(TODO|FIXME|XXX|TBD)\b", "unfinished work"),
    (r"(?i)\bplaceholder\b|\bstubs?\b", "unfinished work"),
    (r"/work/(wt_|shared|main)|/tmp/w\b", "a path of one machine"),
    (r"(?i)\bissue (\d+|#\d+)", "a tracker"),
    (r"(?i)\bAI[- ](generated|written|assisted)\b|\blanguage model assistant\b", "a workplace"),
)


def top(name: str) -> str:
    """Return the top-level module of a dotted name: `ettlog.parse.scan` is of `parse`."""
    return name.split(".")[1] if "." in name else name


def layer(name: str) -> int:
    """Return the layer of a module."""
    found = [number for number, members in enumerate(LAYERS) if top(name) in members]
    assert found, f"{name} stands in no layer: add it to LAYERS and to docs/architecture.md"
    return found[0]


def test_every_module_stands_in_a_layer() -> None:
    """No module is outside the order."""
    for name in modules(ROOT):
        if name != "ettlog":
            layer(name)


def test_imports_go_one_way() -> None:
    """A module imports only from its own layer or one below; the package root resolves names lazily."""
    upward = [
        f"{item.importer}:{item.line} imports {item.imported}"
        for item in imports(ROOT)
        if item.importer != "ettlog"
        and item.imported.startswith("ettlog.")
        and layer(item.imported) > layer(item.importer)
    ]
    assert not upward


@pytest.mark.parametrize("library", ONLY)
def test_library_has_one_home(library: str) -> None:
    """A library that decides much is imported in its home only; those that run code from data nowhere."""
    homes = ONLY[library]
    strays = [
        f"{item.importer}:{item.line}"
        for item in imports(ROOT)
        if item.imported.split(".")[0] == library
        and not any(item.importer == home or item.importer.startswith(home + ".") for home in homes)
    ]
    assert not strays


def test_importing_ettlog_and_its_command_line_loads_no_heavy_library() -> None:
    """`import ettlog` and the command line's own module load none of the heavy libraries."""
    code = "import sys, ettlog, ettlog.cli; print([name for name in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert not HEAVY & set(ast.literal_eval(loaded))


def test_a_question_does_without_pyarrow(tmp_path: Path) -> None:
    """What a kept lake is asked goes to Polars without pyarrow, a twentieth of the time of `ettlog ett`."""
    lake = str(tmp_path / "lake")
    run = "import sys; from ettlog.cli import app; app(sys.argv[1:], standalone_mode=False)"
    ask = run + "; print('pyarrow' in sys.modules)"
    for command, loaded in ((["ingest", "fixtures/tiny/logs", "--quiet"], "True"), (["ett"], "False")):
        told = [sys.executable, "-c", ask, *command, "--lake", lake]
        out = subprocess.run(told, capture_output=True, text=True, check=True, cwd=ROOT).stdout
        assert out.splitlines()[-1] == loaded, command


def test_command_modules_import_heavy_libraries_inside_functions() -> None:
    """No command imports a heavy library when it is itself imported."""
    strays = [
        f"{item.importer}:{item.line}"
        for item in imports(ROOT)
        if item.importer.startswith("ettlog.cli") and item.at_once and item.imported.split(".")[0] in HEAVY
    ]
    assert not strays


def test_sql_is_never_built_from_values() -> None:
    """No f-string, no `%` and no `.format` makes SQL; values are parameters and names go through `sink.ident`."""
    verbs = re.compile(
        r"\b(select|insert|create|drop|copy|attach|from)\b.*\b(from|into|table|view|where|select)\b", re.I | re.S
    )
    strays = []
    for name, path in modules(ROOT).items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr) and _names_other_than_ident(node):
                text = "".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
                if verbs.search(text) and re.match(r"\s*(select|insert|create|drop|copy|attach|with)\b", text, re.I):
                    strays.append(f"{name}:{node.lineno}")
    assert not strays


def _names_other_than_ident(node: ast.JoinedStr) -> bool:
    fields = [part.value for part in node.values if isinstance(part, ast.FormattedValue)]
    return any(not (isinstance(field, ast.Call) and ast.unparse(field.func).endswith("ident")) for field in fields)


def test_vocabulary_is_written_once() -> None:
    """Names of parts, components, stages and kinds are literals in lifecycle.py only, save those with a reason.

    The modules of `parse` are left out: there other tools' words, which may be the same, become kinds.
    """
    words = {kind.kind for kind in lifecycle.KINDS} | {part.part for part in lifecycle.PARTS}
    words = (words | {stage.stage for stage in lifecycle.STAGES} | set(lifecycle.COMPONENTS)) - COMMON
    strays = [
        f"{name}:{node.lineno} {node.value!r}"
        for name, path in modules(ROOT).items()
        if name != "ettlog.lifecycle" and not name.startswith("ettlog.parse.")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in words - LITERALS_ALLOWED.get(name, set())
    ]
    assert not strays


def test_allowed_literals_are_still_used() -> None:
    """The list of exceptions holds nothing that no longer exists."""
    for name, words in LITERALS_ALLOWED.items():
        text = modules(ROOT)[name].read_text(encoding="utf-8")
        assert all(f'"{word}"' in text for word in words), name


@pytest.mark.parametrize(("pattern", "meaning"), STALE)
def test_project_text_speaks_of_ettlog_only(pattern: str, meaning: str) -> None:
    """No file of the project holds unfinished work, a path of one machine, or talk of where it was written."""
    strays = [
        f"{path.relative_to(ROOT)}: {meaning}"
        for path in _texts()
        if re.search(pattern, path.read_text(encoding="utf-8", errors="replace"))
    ]
    assert not strays


def _texts() -> list[Path]:
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, cwd=ROOT, check=False)
    names = listed.stdout.splitlines() or [str(path.relative_to(ROOT)) for path in ROOT.rglob("*.py")]
    kinds = {".py", ".md", ".toml", ".sql", ".cfg", ".yml", ""}
    return [
        ROOT / name
        for name in names
        if Path(name).suffix in kinds and name != "tests/test_layering.py" and (ROOT / name).is_file()
    ]
