"""The documentation says what the tool does: every command, option, relation and column."""

from __future__ import annotations

import re
from importlib import import_module

import click
import pytest

from ettlog.cli import COMMANDS, app
from ettlog.conventions import GROUPINGS, WORDS
from tests.cli_reference import reference
from tests.conftest import ROOT


def command(name: str) -> click.Command:
    """Return one command."""
    found: click.Command = import_module(f"ettlog.cli.{name.replace('-', '_')}").command
    return found


def test_cli_reference_is_up_to_date() -> None:
    """docs/cli.md is what the commands' own help says; `make docs` writes it anew."""
    assert (ROOT / "docs/cli.md").read_text() == reference()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_has_a_sentence(name: str) -> None:
    """A command explains itself, and so does each of its options, in sentences."""
    found = command(name)
    assert found.name == name
    assert found.help
    assert found.help.splitlines()[0].rstrip().endswith((".", ",")) or len(found.help.splitlines()) > 1
    for parameter in found.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{name} {parameter.opts}"
            assert parameter.help.endswith("."), f"{name} {parameter.opts}"


@pytest.mark.parametrize("name", COMMANDS)
def test_list_of_commands_uses_their_own_sentence(name: str) -> None:
    """The sentence in the list of commands is the command's short help."""
    assert command(name).short_help == COMMANDS[name]


@pytest.mark.parametrize("name", COMMANDS)
def test_readme_or_reference_shows_every_command(name: str) -> None:
    """Every command has a section in the reference."""
    assert f"## ettlog {name}\n" in (ROOT / "docs/cli.md").read_text()


def test_group_has_help_and_version() -> None:
    """The program itself has help and a version option."""
    assert app.help
    assert any("--version" in parameter.opts for parameter in app.params)


def test_metric_page_names_every_convention_and_grouping() -> None:
    """docs/metric.md explains each value of each convention, and each grouping."""
    text = (ROOT / "docs/metric.md").read_text()
    for name, meanings in WORDS.items():
        assert f"`--{name}`" in text, name
        for value in meanings:
            assert f"`{value}`" in text, value
    for grouping in GROUPINGS:
        assert f"`{grouping}`" in text, grouping


@pytest.mark.parametrize(
    "page",
    ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", *[f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")]],
)
def test_links_and_named_files_exist(page: str) -> None:
    """Relative links and file names written as code lead to files that exist."""
    text = (ROOT / page).read_text()
    linked = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
    named = re.findall(r"`((?:ettlog|docs|tests|fixtures|bench)/[\w./-]+\.\w+)`", text)
    named = [name for name in named if "NAME" not in name]
    folder = (ROOT / page).parent
    missing = [name for name in linked if not (folder / name).exists()] + [
        name for name in named if not (ROOT / name).exists()
    ]
    assert not missing
