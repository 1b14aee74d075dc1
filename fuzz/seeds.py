"""Writes the seeds of the corpus: small inputs in the true shapes, made here and by the generators of hostile inputs.

`python -m fuzz.seeds` writes them anew; what a fuzzer has found stands beside them as `found-*`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from ettlog import manifest
from ettlog.parse import format as formats
from ettlog.parse import records
from fuzz.__main__ import CORPUS

MOST = 4096


def seeds() -> Iterator[tuple[str, bytes]]:
    """Yield (target, input)."""
    from tests.hostile import corpus

    for one in formats.load_all().formats[::4]:
        yield "lines", "\n".join(pattern.samples[0].line for pattern in one.patterns).encode()
    for number, _ in enumerate(records.READERS):
        yield "reader", bytes([number]) + b'{"kind": "Pod", "step": 1}\n'
    for text in (
        "2031-05-06T08:00:00.123456Z",
        "[2031-05-06 08:00:00,000]",
        "I0506 08:00:00.000000 1 a.go:1]",
        "1933139999.5",
    ):
        yield "stamps", text.encode()
    yield "toml", (formats.FOLDER / "slurm_srun.toml").read_bytes()[:MOST]
    entry = manifest.SourceEntry("add", "logs/a.log", "0" * 32, n_lines=2, lines={"matched": 2})
    yield "lake", manifest.encode(entry) * 2
    yield "names", b"{cluster}/{job}-{allocation}/rank{rank}.log\nmaple/owl-17/rank3.log"
    for texts in corpus.NAMES.values():
        for text in texts[::8]:
            yield "shown", text.encode("utf-8", "surrogatepass")[:MOST]
    for case in corpus.files():
        if (
            isinstance(case.make, bytes)
            and len(case.make) <= MOST
            and case.name.startswith(("records/", "numbers/", "lines/"))
        ):
            yield "lines" if case.name.startswith("numbers/") else "whole", case.make


def write(folder: Path = CORPUS) -> int:
    """Write the seeds below a folder, each under the digest of its bytes; return how many."""
    count = 0
    for target, data in seeds():
        place = folder / target
        place.mkdir(parents=True, exist_ok=True)
        (place / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
        count += 1
    return count


if __name__ == "__main__":
    print(f"{write()} seeds in {CORPUS}")
