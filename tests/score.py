"""Facts of the real logs that ettlog agrees with, by dialect: `python -m tests.score FOLDER` prints the table.

FOLDER holds `facts.json` and the sets; without it the one beside the checkout is taken.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ettlog import fleet
from ettlog.ingest import ingest
from tests import facts as known
from tests.conftest import ROOT

DIALECTS = (
    ("bs_hf_ds", "Hugging Face Trainer"), ("bs_", "Megatron-DeepSpeed, BigScience"), ("megds_", "Megatron-DeepSpeed"),
    ("mlm_", "Megatron-LM"), ("neox_", "GPT-NeoX"), ("dse_", "DeepSpeed, DeepSpeed-Chat"), ("titan_", "torchtitan"),
    ("nanogpt_", "nanoGPT family"), ("fairseq_", "fairseq"), ("nemo_neuron", "NeMo on Neuron"), ("nemo_", "NeMo"),
    ("maxtext_", "MaxText"), ("olmocore_", "OLMo-core"), ("mlperf_", "MLPerf"), ("dlrover_", "DLRover"),
    ("issue_snippets", "snippets of bug reports"), ("trace_", "TORCH_TRACE"),
)  # fmt: skip
"""Beginning of a set's name -> dialect; the first that fits."""
FLEET = "titan_fleet/"


def dialect(name: str) -> str:
    """Return the dialect of a set."""
    return next(title for head, title in DIALECTS if name.startswith(head))


Told = Iterable[tuple[dict[str, Any], fleet.Fleet]]
"""Facts of sets, each with a fleet that its logs lie in."""


def score(told: Told) -> tuple[Counter[str], Counter[str], list[tuple[str, str]]]:
    """Return facts that agree and all facts by dialect, and (set, key) of those that do not agree."""
    agree: Counter[str] = Counter()
    total: Counter[str] = Counter()
    misses = []
    for fact, lake in told:
        for key, same in known.compared(lake, fact):
            total[dialect(fact["set"])] += 1
            agree[dialect(fact["set"])] += same
            misses += [] if same else [(fact["set"], key)]
    return agree, total, misses


def read(trainer: Path, sets: Iterable[str], lake: Path) -> fleet.Fleet:
    """Return a fleet over the sets of these names."""
    ingest([trainer / name for name in sorted({name.split("/")[0] for name in sets})], lake)
    return fleet.open(lake)


def everything(shared: Path, folder: Path) -> Told:
    """Yield each set's facts with its fleet; one run is there twice, so the 205 runs have a fleet of their own."""
    sets = known.load(shared)
    runs = [name for name in sets if name.startswith(FLEET)]
    for names in (runs, [name for name in sets if name not in runs]):
        opened = read(shared / "data" / "trainer", names, folder / names[0].replace("/", "_"))
        yield from ((sets[name], opened) for name in names)


def table(agree: Counter[str], total: Counter[str]) -> str:
    """Return the score as a table in Markdown, with the sum below."""
    rows = [
        f"| {name} | {agree[name]:,} | {total[name]:,} | {_share(agree[name], total[name])} |" for name in sorted(total)
    ]
    whole = f"| all | {agree.total():,} | {total.total():,} | {_share(agree.total(), total.total())} |"
    return "\n".join(["| dialect | agree | facts | |", "|---|---|---|---|", *rows, whole])


def _share(part: int, whole: int) -> str:
    return f"{int(1000 * part / whole) / 10:.1f} %" if whole else ""


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        there = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT.parent / "shared"
        found = score(everything(there, Path(home)))
    print(table(*found[:2]))
    print("\n".join(f"{name}: {key}" for name, key in found[2]), file=sys.stderr)
