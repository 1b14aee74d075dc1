"""F2: every call with which an answer is written with -o is the last one, fails, or is done by half.

A file is the old one or the new one, a simulated fleet whole or marked as unfinished; the same command again gives the
bytes of an undisturbed run.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import ettlog
from ettlog.ingest import IngestOptions
from tests.conftest import ROOT
from tests.ingesting import tree
from tests.torture import shim
from tests.torture.nursery import Nursery, lent
from tests.torture.registry import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.torture.nursery import Ended
    from tests.torture.registry import Scope

TINY = ROOT / "fixtures/tiny/logs"
OLD = b"what was there before\n"
FLEET = ["--seed", "3", "-M", "1", "-J", "1", "-D", "5"]
LAKE = ["--lake", "{lake}"]
TARGETS = {
    "report": ["report", *LAKE, "-o", "{out}/page.html", "-q"],
    "export perfetto": ["export", "perfetto", *LAKE, "-o", "{out}/trace.pftrace", "-q"],
    "export chrome": ["export", "chrome", *LAKE, "-o", "{out}/trace.json", "-q"],
    "export otlp": ["export", "otlp", *LAKE, "-o", "{out}/spans.jsonl", "-q"],
    "export prometheus": ["export", "prometheus", *LAKE, "-o", "{out}/ettlog.prom", "-q"],
    "export openmetrics": ["export", "openmetrics", *LAKE, "-o", "{out}/ettlog.om", "-q"],
    "export rules": ["export", "rules", "-o", "{out}/rules.yml", "-q"],
    "export grafana": ["export", "grafana", "-o", "{out}/board.json", "-q"],
    "export grafana-duckdb": ["export", "grafana-duckdb", "-o", "{out}/board.json", "-q"],
    "ett": ["ett", *LAKE, "-o", "{out}/ett.parquet", "-q"],
    "plot": ["plot", "components", *LAKE, "-o", "{out}/components.svg", "-q"],
    "simulate": ["simulate", "-o", "{out}/fleet", *FLEET],
}
"""Commands that write with -o: what is asked, of `{lake}`, into the folder `{out}`."""
LOADED = (
    "polars", "duckdb", "matplotlib.figure", "jinja2", "ettlog.fleet", "ettlog.report.build", "ettlog.export",
    "ettlog.plot.named", "ettlog.simulate.results", "ettlog.cli.report", "ettlog.cli.export", "ettlog.cli.plot",
)  # fmt: skip


class Case(NamedTuple):
    """One fault: at which call of which command, of which kind, and what is done to it."""

    target: str
    at: int
    kind: int
    action: str

    def __str__(self) -> str:
        """Return the case as a phrase."""
        return f"{self.target}, call {self.at} ({shim.KINDS[self.kind]}) {self.action}"


class Ground(NamedTuple):
    """A command, the folder it writes into before it ran, and the files there after an undisturbed run."""

    words: list[str]
    out: Path
    before: dict[str, bytes]
    expected: dict[str, bytes]


def run(scope: Scope) -> Outcome:
    """Spoil each call of each command in each way."""
    found = Outcome()
    if shim.library() is None:
        found.skipped.append("no C compiler, so calls cannot be spoilt; tests/test_cli.py lets fsync fail without")
        return found
    lake = _snapshot(scope.folder)
    untouched = lake.read_bytes()
    with lent(scope.folder / "nursery", LOADED) as nursery:
        targets = scope.some(list(TARGETS), 4)
        planned = [plan(nursery, name, lake, scope.folder / name.replace(" ", "-")) for name in targets]
        for ground, cases in planned:
            for case in scope.some(cases, 5):
                found.counts["faults"] += 1
                found.failures.extend(f"{case}: {text}" for text in broken(nursery, case, ground))
    found.expect(lake.read_bytes() == untouched, "I5: what was asked has changed")
    return found


def _snapshot(folder: Path) -> Path:
    """Ingest a tiny fleet and keep its relations in one file, which answers without computing them at each case."""
    ettlog.ingest([TINY], folder / "lake", options=IngestOptions(workers=1))
    ettlog.snapshot(ettlog.open(folder / "lake"), folder / "fleet.duckdb")
    return folder / "fleet.duckdb"


def plan(nursery: Nursery, target: str, lake: Path, folder: Path) -> tuple[Ground, list[Case]]:
    """Run a command undisturbed, count its calls, and return every fault that can be made of them."""
    out = folder / "out"
    words = [word.format(lake=lake, out=out) for word in TARGETS[target]]
    before = {} if target == "simulate" else {Path(words[words.index("-o") + 1]).name: OLD}
    _put(out, before)
    seen = folder / "seen.json"
    ended = nursery.run(words, shim.Trap(str(out), seen=str(seen)))
    assert ended.code == 0, ended.err
    ground = Ground(words, out, before, tree(out))
    calls = enumerate(json.loads(seen.read_text()), 1)
    cases = [
        Case(target, at, kind, action)
        for at, kind in calls
        for action in shim.ACTIONS
        if kind == shim.WRITE or action not in shim.OF_WRITES
    ]
    return ground, cases


def _put(out: Path, files: dict[str, bytes]) -> None:
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    for name, data in files.items():
        (out / name).write_bytes(data)


def broken(nursery: Nursery, case: Case, ground: Ground) -> Iterator[str]:
    """Do what the case says, and yield what does not hold of the process, of the output, and of the next run."""
    _put(ground.out, ground.before)
    action, error = shim.ACTIONS[case.action]
    ended = nursery.run(ground.words, shim.Trap(str(ground.out), case.at, action, error))
    yield from _of_process(ended, killed=action in shim.KILLS)
    left = tree(ground.out)
    if _torn(case, left, ground):
        yield "I8: the output is neither the old one nor the new one"
    if ended.code == 0 and left != ground.expected:
        yield "I2: it ended well, and its output is not that of an undisturbed run"
    if ended.code > 0 and left not in (ground.before, ground.expected):
        yield f"I6: it failed, and left {sorted(left.keys() - ground.before.keys())}"
    if left not in (ground.before, ground.expected):  # from these two it is known how it goes on
        again = nursery.run(ground.words)
        done = {name: data for name, data in tree(ground.out).items() if case.target == "simulate" or not _hidden(name)}
        if again.code or done != ground.expected:
            yield f"I3: the same command again ends with {again.code} and other bytes: {again.err[-200:]!r}"


def _torn(case: Case, left: dict[str, bytes], ground: Ground) -> bool:
    """Tell whether an output is neither the old nor the new one; a fleet's logs appear all at once, after the truth."""
    seen = {name: data for name, data in left.items() if not _hidden(name)}
    if case.target != "simulate":
        return seen not in (ground.before, ground.expected)
    logs = [name for name in seen if name.startswith("fleet/logs/")]
    return seen != ground.expected if logs else not seen.items() <= ground.expected.items()


def _hidden(name: str) -> bool:
    return any(part.startswith(".") for part in Path(name).parts)


def _of_process(ended: Ended, *, killed: bool) -> Iterator[str]:
    if ended.hung:
        yield f"I9: it hung for {ended.seconds:.0f} s"
    if killed and ended.code != -9:
        yield f"the kill did not come: exit code {ended.code}: {ended.err[-200:]!r}"
    if not killed and not ended.polite:
        yield f"I7: exit code {ended.code}, and it said: {ended.err[-300:]!r}"
