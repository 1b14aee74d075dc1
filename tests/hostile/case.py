"""What one hostile input is, and what must become of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

READ, SKIPPED, REJECTED = "read", "skipped", "rejected"
WHOLE, TORN, BINARY, EMPTY, REFUSED = "whole", "torn", "binary", "empty", "refused"


class Case(NamedTuple):
    """One file among the logs: how it is made, and its fate, state and lines by hand."""

    name: str
    """Its name below the folder of logs; also the name of the case."""
    make: bytes | Callable[[Path], object]
    """The bytes, or what makes the file at the path given."""
    lines: Mapping[str, int] | None = None
    """Outcome -> lines, all others none; None where only their sum is known (`total`)."""
    state: str | None = WHOLE
    fate: str = READ
    total: int | None = None
    why: str = ""
    """Words of the reason for what is skipped or rejected, or of an inference."""
    big: bool = False
    """Left to the long run: it takes seconds, or gigabytes of sparse file."""

    def write(self, folder: Path) -> None:
        """Make the file below a folder."""
        path = folder / self.name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(self.make, bytes):
            path.write_bytes(self.make)
        else:
            self.make(path)


STEP = (
    " [2031-05-06 {clock}] iteration {step:8d}/     500 | consumed samples:         2560 | elapsed time per iteration "
    "(ms): 12000.0 | learning rate: 1.000E-05 | global batch size:   512 | lm loss: 9.100000E+00 | loss scale: 1.0 | "
    "grad norm: 2.100 | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
)
"""A step line of Megatron."""


def step(number: int) -> bytes:
    """Return one step line, a minute after the one before."""
    return STEP.format(clock=f"{8 + number // 60:02d}:{number % 60:02d}:00", step=number).encode()


HEAD = "JobID|JobIDRaw|JobName|Cluster|State|Submit|Start|End|NNodes|AllocTRES|NodeList"


def account(number: int, name: str, cluster: str = "maple", node: str = "n1") -> str:
    """Return one row of accounting: an hour on one node of eight GPUs."""
    day = f"2031-05-{1 + number % 28:02d}"
    times = f"{day}T08:00:00|{day}T08:05:00|{day}T09:05:00"
    return f"{7000 + number}|{7000 + number}|{name}|{cluster}|COMPLETED|{times}|1|cpu=8,gres/gpu=8,node=1|{node}"
