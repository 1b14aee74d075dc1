"""The package as a stranger installs it: the wheel holds everything, and its metadata names what it imports."""

from __future__ import annotations

import configparser
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import ettlog
from tests.conftest import ROOT
from tests.imports import imports

MODULE_OF = {"tzdata": ""}
"""Distributions whose module has another name, or none."""


BROUGHT = {"grpc", "py4j"}
"""Modules that pyspark itself brings: its clients' errors are theirs."""


def metadata() -> configparser.ConfigParser:
    """Return setup.cfg."""
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg")
    return parser


def required() -> set[str]:
    """Return the modules of the distributions that ettlog requires."""
    lines = metadata()["options"]["install_requires"].split("\n")
    names = [match.group() for line in lines if (match := re.match(r"[\w.-]+", line.strip()))]
    return {MODULE_OF.get(name, name) for name in names} - {""}


def optional() -> set[str]:
    """Return the modules of the distributions that the extras for users bring."""
    extras = metadata()["options.extras_require"]
    lines = "\n".join(text for name, text in extras.items() if name not in ("test", "docs"))
    return set(re.findall(r"^[\w.-]+", lines, re.MULTILINE))


def test_requirements_are_what_is_imported() -> None:
    """Every required library is imported, and every library that is imported comes with ettlog or with an extra."""
    used = {item.imported.split(".")[0] for item in imports(ROOT)} - set(sys.stdlib_module_names) - {"ettlog"}
    assert required() <= used <= required() | optional() | BROUGHT


def test_pyproject_holds_only_build_system_and_tools() -> None:
    """Metadata lives in setup.cfg: a [project] table would hide it."""
    assert set(tomllib.loads((ROOT / "pyproject.toml").read_text())) == {"build-system", "tool"}


def test_version_is_in_the_changelog() -> None:
    """The changelog has a section for this version."""
    assert f"## [{ettlog.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from a copy of the package and the files that describe it."""
    return built(tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel"))


def built(source: Path, out: Path) -> Path:
    """Copy the package and the files that describe it, build the wheel of them, and return it."""
    shutil.copytree(
        ROOT / "ettlog", source / "ettlog", ignore=shutil.ignore_patterns("__pycache__"), copy_function=shutil.copyfile
    )
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copyfile(ROOT / name, source / name)
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(out), str(source)]
    subprocess.run(pip, check=True, capture_output=True, env={**os.environ, "SOURCE_DATE_EPOCH": "1735689600"})
    return next(out.glob("*.whl"))


@pytest.mark.slow
def test_wheel_built_twice_is_the_same(wheel: Path, tmp_path: Path) -> None:
    """Built from another folder at another time, with the same SOURCE_DATE_EPOCH, the wheel is the same to the byte."""
    (tmp_path / "other").mkdir()
    (tmp_path / "out").mkdir()
    assert built(tmp_path / "other", tmp_path / "out").read_bytes() == wheel.read_bytes()


@pytest.mark.slow
def test_wheel_holds_code_and_data(wheel: Path) -> None:
    """Every module, format, relation and check of the checkout is in the wheel, with the marker of typed packages."""
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("ettlog/")}
    kinds = (".py", ".toml", ".sql", ".typed", ".html", ".css", ".js", ".yml")
    here = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "ettlog").rglob("*")
        if path.suffix in kinds or path.name == "py.typed"
    }
    assert inside == here
    assert "ettlog/py.typed" in inside


@pytest.mark.slow
def test_wheel_answers_in_a_clean_environment(wheel: Path, tmp_path: Path) -> None:
    """The installed `ettlog` reads logs and answers, in a folder that is no checkout."""
    home = tmp_path / "env"
    venv.create(home, with_pip=False)
    site = next((home / "lib").glob("python*")) / "site-packages"
    # Without --ignore-installed pip would take ettlog out of the environment of the tests.
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--ignore-installed"]
    subprocess.run([*pip, "--prefix", str(home), str(wheel)], check=True)
    # Its requirements come from the environment of the tests; ettlog itself is first found in the wheel.
    (site / "requirements.pth").write_text(sysconfig.get_path("purelib"))
    logs = ROOT / "fixtures" / "messy" / "logs"
    program = [str(home / "bin" / "python"), str(home / "bin" / "ettlog")]
    shown = subprocess.run([*program, "--version"], capture_output=True, text=True, cwd=tmp_path, check=True).stdout
    assert shown == f"ettlog, version {ettlog.__version__}\n"
    subprocess.run([*program, "ingest", str(logs)], check=True, capture_output=True, cwd=tmp_path)
    assert (
        "glued" in subprocess.run([*program, "status"], capture_output=True, text=True, cwd=tmp_path, check=True).stdout
    )
