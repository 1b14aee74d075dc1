"""Run every area at its full floors and print the table: `python -m tests.torture [--only F1,F2] [--write PAGE]`.

With `--keep FOLDER` a run that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from tests.torture import page, results
from tests.torture.registry import AREAS, Area, Run, Scope, memory, run


def main() -> int:
    """Run the areas that were asked for; return 1 when any of them failed."""
    told = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    told.add_argument("--only", default="", help="names of areas, separated by commas")
    told.add_argument("--sample", action="store_true", help="run the small slice that the tests run")
    told.add_argument("--seed", type=int, default=1)
    told.add_argument("--write", type=Path, help="write the page here; areas that are not asked for keep their rows")
    told.add_argument("--keep", type=Path, help="keep each area's result in this folder, and run only what is missing")
    asked = told.parse_args()
    names = {name for name in asked.only.split(",") if name}
    unknown = names - {area.name for area in AREAS}
    if unknown:
        told.error(f"no such area: {', '.join(sorted(unknown))}")
    chosen = [area.name for area in AREAS if not names or area.name in names]
    with tempfile.TemporaryDirectory(prefix="ettlog-torture-", dir=memory()) as folder:
        runs = [
            _once(name, asked.keep, Scope(Path(folder), not asked.sample, asked.seed, asked.keep)) for name in chosen
        ]
    text = page.table(runs)
    print(text)
    if asked.write:
        asked.write.write_text(page.whole(_with_others(runs, asked.write), asked.seed))
        for name in chosen if asked.keep else ():  # these are whole: the next run begins anew
            shutil.rmtree(asked.keep / f"{name}.parts", ignore_errors=True)
            (asked.keep / f"{name}.json").unlink(missing_ok=True)
    return int(any(one.outcome.failures for one in runs))


def _with_others(runs: list[Run], written: Path) -> list[Run]:
    """Return runs and those of other areas of a page that is there, in the order of the table."""
    every = {one.area.name: one for one in [*(page.read(written.read_text()) if written.exists() else []), *runs]}
    return [every[area.name] for area in AREAS if area.name in every]


def _once(name: str, folder: Path | None, scope: Scope) -> Run:
    """Run one area, or take what it found before this run was interrupted."""
    area = next(area for area in AREAS if area.name == name)
    before = results.kept(area, folder) if folder else None
    if before is not None:
        return before
    done = _watched(area, scope)
    if folder:
        results.keep(done, folder)
    return done


def _watched(area: Area, scope: Scope) -> Run:
    """Run one area and say on stderr how it went, failure by failure."""
    kept = scope.kept and scope.kept / f"{area.name}.parts"
    done = run(area, Scope(scope.folder / area.module / area.name, scope.full, scope.seed, kept))
    shutil.rmtree(scope.folder / area.module, ignore_errors=True)
    skipped = (f"skipped: {text}" for text in done.outcome.skipped)
    head = f"{area.name:10} {done.seconds:7.1f} CPU s  {len(done.outcome.failures)} failures"
    for sentence in (head, *(f"    {text}" for text in (*done.outcome.failures, *skipped))):
        print(sentence, file=sys.stderr, flush=True)
    return done


if __name__ == "__main__":
    sys.exit(main())
