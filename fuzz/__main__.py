"""Fuzz targets for some seconds each with Atheris: `python -m fuzz [TARGET ...] --seconds N`; inputs that break a
promise are kept in fuzz/corpus/TARGET and fail the ordinary tests until they are mended."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

TARGETS = ("lines", "reader", "stamps", "toml", "lake", "names", "shown", "whole")
CORPUS = Path(__file__).parent / "corpus"
INSTRUMENTED = ("ettlog.parse", "ettlog.manifest", "ettlog.sink", "ettlog.ingest", "ettlog.lake", "ettlog.settings")


def main() -> int:
    """Run each target in a process of its own, as libFuzzer ends the one it runs in; return 1 where one was broken."""
    told = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    told.add_argument("targets", nargs="*", choices=[*TARGETS, []], help="targets; all of them without any")
    told.add_argument("--seconds", type=int, default=45)
    told.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    asked = told.parse_args()
    names = asked.targets or list(TARGETS)
    if asked.inside:
        _fuzz(names[0], asked.seconds)
        return 0
    command = [sys.executable, "-m", "fuzz", "--inside", "--seconds", str(asked.seconds)]
    codes = {name: subprocess.run([*command, name], check=False).returncode for name in names}
    broken = [name for name, code in codes.items() if code]
    print(f"{len(names)} targets, {asked.seconds} s each; broken: {', '.join(broken) or 'none'}")
    return int(bool(broken))


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
