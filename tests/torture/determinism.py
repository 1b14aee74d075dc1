"""D1: the same logs under other circumstances: lake, relations, report and every export must be the same bytes."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.conftest import ROOT
from tests.torture import axes
from tests.torture.registry import Outcome, Scope, is_root

I18N = Path("/usr/share/i18n/locales")
FIXTURES = ("tiny", "messy")
ANSWERS = ("ett --by model --format csv", "jobs --format csv")
"""What does not tell how a log is stored."""
FAKETIME = "libfaketime.so.1"

PROGRAM = """
import dataclasses, hashlib, importlib, json, sys
from pathlib import Path
import ettlog
from ettlog import database
from ettlog.cli import main
asked = json.loads(sys.argv[1])
ingest = importlib.import_module("ettlog.ingest")
plain, options = database._config, ingest.scan_options
database._config = lambda: {**plain(), "threads": int(asked["duckdb threads"])}
def cut(*given):
    made = options(*given)
    return dataclasses.replace(made, limits=dataclasses.replace(made.limits, block=int(asked["block"])))
ingest.scan_options = cut
logs, lake, out = Path(asked["logs"]), Path(asked["path"]), Path(asked["out"])
ingest.ingest([logs], lake, options=ingest.IngestOptions(workers=int(asked["workers"])))
if asked["only"] == "ingest":
    sys.exit()
fleet = ettlog.open(lake)
for name in fleet.relations():
    (out / f"relation {name}").write_bytes(fleet.table(name).write_csv().encode())
for line in ("ett --by model --format csv", "ett --format json", "jobs --format csv", "check --format csv",
             "report", "export perfetto", "export chrome", "export otlp", "export prometheus", "export openmetrics"):
    try:
        main([*line.split(), "-q", "--lake", str(lake), "-o", str(out / line)])
    except SystemExit:
        pass
"""


def run(scope: Scope) -> Outcome:
    """Run the matrix: all of it in a full run, else the run that differs in every axis and one more."""
    found = Outcome()
    logs = _logs(scope.folder / "first" / "logs", "sorted")
    names = sorted(str(path.relative_to(logs)) for path in logs.rglob("*") if path.is_file())
    expected = _outputs(scope.folder / "first", logs, axes.baseline(), found)
    found.expect(len(expected) > 20, f"only {len(expected)} outputs were made of {len(names)} files")
    chosen = axes.runs(scope.seed) if scope.full else [axes.furthest(), axes.drawn(scope.seed)]
    for number, asked in enumerate(chosen):
        folder = scope.folder / f"run {number}"
        other = _logs(folder / "logs", asked["file order"])
        _hold(found, f"run {number} {asked}", expected, _outputs(folder, other, asked, found))
        shutil.rmtree(folder)
    found.counts["executions"] = len(chosen) + 1
    found.notes.append(f"{len(axes.AXES)} axes, every pair of values met, {len(expected)} outputs a run")
    made = _outputs(scope.folder / "packed", _packed(logs, scope.folder / "packed" / "logs"), axes.baseline(), found)
    packed, plain = ({name: outputs.get(name) for name in ANSWERS} for outputs in (made, expected))
    found.expect(packed == plain, "the same logs compressed give other answers")
    return found


def _hold(found: Outcome, name: str, expected: dict[str, str], made: dict[str, str]) -> None:
    other = sorted(key for key in expected.keys() | made.keys() if expected.get(key) != made.get(key))
    found.expect(not other, f"{name}: other bytes in {other}")


def _logs(folder: Path, order: str) -> Path:
    """Copy the fixtures' logs, file by file in an order of its own, so that the folder lists them in another order."""
    files = [(path, path.relative_to(ROOT / "fixtures")) for name in FIXTURES for path in _files(name)]
    files.sort(reverse=order == "reversed")
    if order.startswith("shuffled"):
        random.Random(order).shuffle(files)
    for path, name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, folder / name)
    return folder


def _files(name: str) -> list[Path]:
    return [path for path in (ROOT / "fixtures" / name / "logs").rglob("*") if path.is_file()]


def _packed(logs: Path, folder: Path) -> Path:
    """Compress every log of the small fleet, accounting included."""
    for path in (logs / "tiny" / "logs").iterdir():
        (folder / "tiny" / "logs").mkdir(parents=True, exist_ok=True)
        (folder / "tiny" / "logs" / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    shutil.copytree(logs / "messy", folder / "messy")
    return folder


def _outputs(folder: Path, logs: Path, asked: axes.Run, found: Outcome) -> dict[str, str]:
    """Make lake and outputs under these circumstances; return the digest of each by its name."""
    lake, out = folder / asked["lake"], folder / "out"
    out.mkdir(parents=True)
    told = {**asked, "logs": str(logs), "path": str(lake), "out": str(out)}
    command, env = _circumstances(folder, asked, found)
    cwd = folder if asked["folder"] == "here" else Path("/")
    mask = int(asked["umask"], 8)
    if asked["cache"] == "cold":
        _forget(logs)
    if asked["course"] == "killed":
        _killed([*command, json.dumps({**told, "only": "ingest"})], env, cwd, mask, lake)
    done = subprocess.run(
        [*command, json.dumps({**told, "only": ""})], env=env, cwd=cwd, umask=mask, capture_output=True, timeout=900,
        check=False,
    )  # fmt: skip
    found.expect(done.returncode == 0, f"{asked}: {done.stderr.decode(errors='replace')[-400:]}")
    kept = {f"lake/{path.relative_to(lake)}": _digest(path) for path in sorted(lake.rglob("*")) if path.is_file()}
    return kept | {path.name: _digest(path) for path in sorted(out.iterdir())}


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _circumstances(folder: Path, asked: axes.Run, found: Outcome) -> tuple[list[str], dict[str, str]]:
    """Return how Python is started, and its environment."""
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(folder), "USER": "ettlog",
           "PYTHONHASHSEED": asked["hash seed"], "POLARS_MAX_THREADS": asked["polars threads"], "TZ": asked["zone"],
           "LC_ALL": asked["locale"], "XDG_CACHE_HOME": str(folder / "cache")}  # fmt: skip
    command = [sys.executable, "-c", PROGRAM]
    if asked["home"] == "unset":
        del env["HOME"]
    if asked["user and host"] == "other":
        env |= {"USER": "o'hara", "LOGNAME": "o'hara", "HOSTNAME": "elsewhere"}
        if is_root() and shutil.which("unshare") and shutil.which("hostname"):
            command = ["unshare", "--uts", "sh", "-c", 'hostname elsewhere; exec "$@"', "sh", *command]
    if (tongue := _locale(folder, asked["locale"])) is not None:
        env["LOCPATH"] = tongue
    elif not asked["locale"].startswith("C"):
        _skip(found, "locales: the sources of locales are not installed (apt install locales)")
    if asked["clock"] != "now":
        if library := _faketime():
            env |= {"LD_PRELOAD": library, "FAKETIME": f"@{asked['clock']}-06-01 00:00:00"}
            env["FAKETIME_DONT_FAKE_MONOTONIC"] = "1"
        else:
            _skip(found, "clocks of 1999 and 2100: libfaketime is not installed (apt install faketime)")
    return command, env


def _skip(found: Outcome, sentence: str) -> None:
    if sentence not in found.skipped:
        found.skipped.append(sentence)


def _locale(folder: Path, name: str) -> str | None:
    """Compile a locale into a folder of this run and return the folder; None where its source is not there."""
    source = name.partition(".")[0]
    if not (I18N / source).is_file() or not shutil.which("localedef"):
        return None
    place = folder / "locales"
    place.mkdir(parents=True, exist_ok=True)
    subprocess.run(["localedef", "-i", source, "-f", "UTF-8", place / name], capture_output=True, check=False)
    return str(place)


def _faketime() -> str | None:
    places = (path for root in ("/usr/lib", "/usr/local/lib") for path in Path(root).glob(f"*/faketime/{FAKETIME}"))
    return next((str(path) for path in places), None)


def _forget(logs: Path) -> None:
    """Ask the kernel to drop the cached bytes of the logs."""
    for path in (path for path in logs.rglob("*") if path.is_file()):
        handle = os.open(path, os.O_RDONLY)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(handle)


def _killed(command: list[str], env: dict[str, str], cwd: Path, mask: int, lake: Path) -> None:
    """Begin an ingest and kill it as soon as its first data file is there."""
    begun = subprocess.Popen(command, env=env, cwd=cwd, umask=mask, stderr=subprocess.DEVNULL, start_new_session=True)
    ends = time.monotonic() + 120
    while begun.poll() is None and time.monotonic() < ends and not any(lake.glob("*/*")):
        time.sleep(0.002)
    if begun.poll() is None:
        os.killpg(begun.pid, signal.SIGKILL)
    begun.wait()
