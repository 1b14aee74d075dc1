"""Write a large simulated fleet straight into a lake, to measure what comes after reading.

    python -m bench.simulated /tmp/large --models 500 --jobs 5000
    time ettlog --lake /tmp/large attribute --window 6mo

Half a year, about four thousand steps a job: 500 models with 5,000 jobs are about 20 million step rows.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from ettlog import simulate


def main() -> None:
    """Write the lake and print its rows and the seconds it took."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("folder", type=Path)
    asked.add_argument("--models", type=int, default=500)
    asked.add_argument("--jobs", type=int, default=5_000)
    asked.add_argument("--seed", type=int, default=0)
    args = asked.parse_args()
    began = time.perf_counter()
    spec = simulate.default().having(models=args.models, jobs=args.jobs, dialects=["titan"], step_s=[8, 20])
    rows = simulate.write_lake(simulate.fleet(spec, args.seed), args.folder)
    print(
        ", ".join(f"{count:,} {table} rows" for table, count in rows.items()), f"in {time.perf_counter() - began:.0f} s"
    )


if __name__ == "__main__":
    main()
