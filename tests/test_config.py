"""The configuration: all errors at once, precedence, and the origin of every value."""

from __future__ import annotations

from pathlib import Path

import pytest

from ettlog import config
from ettlog.errors import UsageError
from ettlog.settings import KEYS

EVERYTHING = """\
[paths]
templates = ["{cluster}/{job}/rank{rank}.log"]
cluster = "west"
[clock]
zone = "Europe/Berlin"
year = 2024
[clock.zones]
"logs/east/*" = "Asia/Tokyo"
[sacct]
delimiter = "|#"
fields = ["JobID", "State"]
zone = "UTC"
[formats]
dirs = ["dialects", "/srv/dialects"]
[owners]
compilation = "inductor team"
restore = "storage team"
[jobs]
rules = [{ match = "^a-(\\\\d+)$", job = "a\\\\1" }]
models = { "a*" = "alpha" }
[attribute]
registry = "changes.toml"
basis = "wall"
[ett]
basis = "elapsed"
evaluation = "effective"
[limits]
depth = 5
"""


def read(tmp_path: Path, text: str | bytes) -> config.Config:
    """Load a project file of this text, with no environment."""
    path = tmp_path / "ettlog.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return config.load(path, environ={})


def errors(tmp_path: Path, text: str | bytes) -> str:
    """Return what is wrong with a file."""
    with pytest.raises(UsageError) as caught:
        read(tmp_path, text)
    return str(caught.value)


def test_every_key_is_read(tmp_path: Path) -> None:
    """A file that sets everything is taken whole."""
    found = read(tmp_path, EVERYTHING)
    assert found.text("paths.cluster") == "west"
    assert found.zone_of("logs/east/a.log") == "Asia/Tokyo"
    assert found.zone_of("logs/west/a.log") == "Europe/Berlin"
    assert found.number("clock.year") == 2024
    assert (found.text("sacct.delimiter"), found.sacct_fields) == ("|#", ("JobID", "State"))
    assert found.get("formats.dirs") == (str(tmp_path / "dialects"), "/srv/dialects")
    assert found.owner_of("compile") == "inductor team"
    assert found.owner_of("restore") == "storage team"
    assert found.owner_of("queue") == "scheduler"
    assert (found.get("ett.basis"), found.get("ett.evaluation"), found.get("attribute.basis")) == (
        "elapsed",
        "effective",
        "wall",
    )
    assert {setting.key: setting.origin for setting in found.effective()}["limits.depth"] == "project"


def test_without_a_file_all_is_default(tmp_path: Path) -> None:
    """Every key has a default, and says so."""
    found = config.load(folder=tmp_path, environ={})
    assert {setting.origin for setting in found.effective()} == {"default"}
    assert [setting.key for setting in found.effective()] == [key.name for key in KEYS]
    assert found.zone_of("x") is None


def test_all_errors_are_listed_with_path_and_line(tmp_path: Path) -> None:
    """One run shows everything there is to correct."""
    text = """\
[clock]
zone = "Mars/Olympus"
zoen = "UTC"

[clock.zones]
"a/*" = 5

[ett]
basis = "wall"

[jobs]
rules = [{ match = "(", job = "x" }, { job = "y" }]

[owners]
compilatoin = "me"
[colour]
x = 1
"""
    told = errors(tmp_path, text)
    assert told.count("ettlog.toml:") == 8
    for expected in (
        "ettlog.toml:2: clock.zone 'Mars/Olympus' is no time zone",
        "ettlog.toml:3: clock.zoen is not a setting; do you mean clock.zone?",
        "ettlog.toml:6: clock.zones.a/* 5 is no time zone",
        "ettlog.toml:9: ett.basis must be one of allocated, elapsed, submitted",
        "ettlog.toml:12: jobs.rules[0].match is no regex",
        "ettlog.toml:12: jobs.rules[1].match must be a regex",
        "ettlog.toml:15: owners.compilatoin is not known; do you mean compilation?",
        "ettlog.toml:16: colour is not a setting",
    ):
        assert expected in told


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("[clock\n", "not TOML"),
        ("a = 1\na = 2\n", "not TOML"),
        (b"[paths]\ncluster = '\xff'\n", "not UTF-8 at byte 19"),
        ("x = " + "[" * 5000, "not TOML"),
        ("clock = 5\n", "must be a table"),
        ("owners = 5\n", "must be a table"),
        ("[limits]\ndepth = 0\n", "from 1 to 256"),
        ("[limits]\ndepth = true\n", "from 1 to 256"),
        ("[sacct]\ndelimiter = 'ab'\n", "without letters"),
        ("[sacct]\nfields = 'JobID,State'\nzone = 5\n", "no time zone"),
        ("[paths]\ntemplates = ['{jbo}/x']\n", "unknown field {jbo}"),
        ("[paths]\ntemplates = ['/abs/{job}']\n", "relative"),
        ("[jobs]\nrules = [{ match = '(a+)+$', job = 'x' }]\n", "could run for ever"),
        ("[jobs]\nrules = [{ match = 'a', job = '\\2' }]\n", "does not fit `match`"),
        ("[jobs]\nrules = [{ match = 'a' }]\n", "needs `job` or `model`"),
        ("[jobs]\nrules = [{ match = 'a', jbo = 'x', model = 'm' }]\n", "keys are match, job, model"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str | bytes, part: str) -> None:
    """Each kind of mistake has its own words."""
    assert part in errors(tmp_path, text)


def test_a_file_others_may_write_is_refused(tmp_path: Path) -> None:
    """Settings that every user could have written are not trusted."""
    path = tmp_path / "ettlog.toml"
    path.write_text("")
    path.chmod(0o666)
    with pytest.raises(UsageError, match="cannot be used") as caught:
        config.load(path, environ={})
    assert "chmod o-w" in caught.value.todo


def test_a_file_that_is_too_long_or_missing_is_refused(tmp_path: Path) -> None:
    """The size is bounded, and a file that was named must be there."""
    assert "longer than" in errors(tmp_path, b"#" * (config.MAX_BYTES + 1))
    read(tmp_path, b"#" * config.MAX_BYTES)
    with pytest.raises(UsageError):
        config.load(tmp_path / "none.toml", environ={})


def test_flag_stands_above_environment_above_project_above_lake(tmp_path: Path) -> None:
    """Precedence is that of the documentation, key by key."""
    copy, project = tmp_path / "copy.toml", tmp_path / "ettlog.toml"
    copy.write_text('[clock]\nzone = "Asia/Tokyo"\n[paths]\ncluster = "lake"\n[ett]\nbasis = "submitted"\n')
    project.write_text('[clock]\nzone = "Europe/Berlin"\n[paths]\ncluster = "project"\n')
    found = config.load(
        folder=tmp_path,
        lake_copy=copy,
        environ={"ETTLOG_CLOCK_ZONE": "Asia/Kolkata", "ETTLOG_SACCT_FIELDS": "JobID, State"},
        flags={"clock.zone": "UTC", "sacct.delimiter": None},
    )
    origins = {setting.key: (setting.value, setting.origin) for setting in found.effective()}
    assert origins["clock.zone"] == ("UTC", "flag")
    assert origins["sacct.fields"] == (("JobID", "State"), "environment")
    assert origins["paths.cluster"] == ("project", "project")
    assert origins["ett.basis"] == ("submitted", "lake")
    assert origins["sacct.delimiter"] == (None, "default")


def test_the_environment_may_name_the_file_and_is_checked(tmp_path: Path) -> None:
    """ETTLOG_CONFIG names a file, ETTLOG_TZ a zone; a wrong value is an error that names the environment."""
    path = tmp_path / "mine.toml"
    path.write_text('[paths]\ncluster = "west"\n')
    found = config.load(environ={"ETTLOG_CONFIG": str(path), "ETTLOG_TZ": "UTC"})
    assert (found.text("paths.cluster"), found.text("clock.zone")) == ("west", "UTC")
    with pytest.raises(UsageError) as caught:
        config.load(environ={"ETTLOG_LIMITS_DEPTH": "many"}, folder=tmp_path)
    assert caught.value.where == "the environment"


def test_the_documentation_lists_every_key(root: Path) -> None:
    """docs/config.md has one row for each key, with its default."""
    rows = [line for line in (root / "docs/config.md").read_text().splitlines() if line.startswith("| `")]
    documented = [row.split("`")[1] for row in rows]
    assert documented == [key.name for key in KEYS]


def test_a_folder_of_formats_that_is_not_there_is_named(tmp_path: Path) -> None:
    """`formats.dirs` counts from the file that names it; a folder that is no folder is a UsageError with its path."""
    found = read(tmp_path, '[formats]\ndirs = ["dialects"]\n')
    with pytest.raises(UsageError, match="dialects"):
        _ = found.format_dirs
    (tmp_path / "dialects").mkdir()
    assert found.format_dirs == (tmp_path / "dialects",)
