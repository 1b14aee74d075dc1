"""Fuzz targets for some seconds each with Atheris: `python -m fuzz [TARGET ...] --seconds N`; inputs that break a
promise are kept in fuzz/corpus/TARGET and fail the ordinary tests until they are mended."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

TARGETS = ("lines", "reader", "stamps", "toml", "lake", "names", "shown", "whole")
MISSING = (
    "Atheris is not installed; it has wheels for Linux and CPython before 3.14. The ordinary tests replay what fuzzing "
    "has found so far."
)
CORPUS = Path(__file__).parent / "corpus"
INSTRUMENTED = ("ettlog.parse", "ettlog.manifest", "ettlog.sink", "ettlog.ingest", "ettlog.lake", "ettlog.settings")


def main() -> int:
    """Run each target in a process of its own, as libFuzzer ends the one it runs in; return 1 where one was broken.

    Without Atheris return 2 and say so; with `--if-there` that is said, and is no failure.
    """
    told = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    told.add_argument("targets", nargs="*", choices=[*TARGETS, []], help="targets; all of them without any")
    told.add_argument("--seconds", type=int, default=45)
    told.add_argument("--if-there", action="store_true", help="end well where this Python has no Atheris")
    told.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    asked = told.parse_args()
    names = asked.targets or list(TARGETS)
    if asked.inside:
        _fuzz(names[0], asked.seconds)
        return 0
    if find_spec("atheris") is None:
        print(f"NOT FUZZED: {MISSING}", file=sys.stderr)
        return 0 if asked.if_there else 2
    command = [sys.executable, "-m", "fuzz", "--inside", "--seconds", str(asked.seconds)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        ends = list(pool.map(lambda name: ended([*command, name]), names))
    broken = {name: said for name, (code, _, said) in zip(names, ends, strict=True) if code}
    for name, said in broken.items():
        print(f"{name}:\n{said}", file=sys.stderr)
    runs = sum(count for _, count, _ in ends)
    print(f"{len(names)} targets, {asked.seconds} s each, {runs:,} inputs; broken: {', '.join(broken) or 'none'}")
    return int(bool(broken))


def ended(command: list[str]) -> tuple[int, int, str]:
    """Return exit code, inputs tried, and what a process said."""
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    found = re.search(r"^Done (\d+) runs", done.stdout, re.MULTILINE)
    return done.returncode, int(found[1]) if found else 0, done.stdout


def _fuzz(name: str, seconds: int) -> None:
    import atheris

    with atheris.instrument_imports(include=list(INSTRUMENTED)):  # what is imported before is not watched
        from fuzz import targets

        target = targets.TARGETS[name]
        target(b"")
    kept = CORPUS / name
    kept.mkdir(parents=True, exist_ok=True)
    found = Path(f"build/fuzz/{name}")
    found.mkdir(parents=True, exist_ok=True)
    options = [
        f"-max_total_time={seconds}",
        "-max_len=4096",
        "-timeout=20",
        f"-artifact_prefix={kept}/found-",
        "-verbosity=1",
    ]
    atheris.Setup([sys.argv[0], *options, str(found), str(kept)], target)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
