"""H1: the hostile corpus of tests/hostile in one folder of logs; a full run adds files of gigabytes."""

from __future__ import annotations

from tests.hostile import compressed, corpus
from tests.hostile.run import asked, ettlog, opened_once, verdicts
from tests.torture.registry import Outcome, Scope


def run(scope: Scope) -> Outcome:
    """Ingest the corpus, hold every file against what its generator states, and ask the lake everything."""
    outcome, logs, lake = Outcome(), scope.folder / "logs", scope.folder / "lake"
    (scope.folder / "c.toml").write_bytes(compressed.CONFIG)
    cases = scope.some(corpus.files(big=scope.full), 60)
    for case in cases:
        case.write(logs)
    with opened_once():
        said = ettlog("ingest", logs, "--lake", lake, "--workers", "1", "-v", "--config", scope.folder / "c.toml")
        outcome.failures += said.faults() + verdicts(cases, lake, said)
        if scope.full:
            for _, faults in asked(lake, scope.folder):
                outcome.failures += faults
    outcome.counts["inputs"] = len(cases) + sum(len(texts) for texts in corpus.NAMES.values())
    return outcome
