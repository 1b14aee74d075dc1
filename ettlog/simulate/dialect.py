"""What a log in each simulated dialect can tell: the finest instant it prints, and the parts of a start it marks."""

from __future__ import annotations

from typing import NamedTuple

from ettlog.simulate.words import SECOND, P


class Dialect(NamedTuple):
    """A dialect as far as the fleet model needs it."""

    name: str
    resolution_us: int
    """Instants are drawn as multiples of this, so that the log can tell them exactly."""
    path: tuple[P, ...]
    """Parts of a start in their order, from the first line to the first step's own line."""
    loop: frozenset[P]
    """Parts inside the loop and after it that its lines tell apart."""


_LOOP = frozenset({P.save_stall, P.final_save})

DIALECTS: dict[str, Dialect] = {
    one.name: one
    for one in (
        Dialect(
            "megatron", 1_000, (P.rendezvous, P.process_group, P.model_build, P.restore, P.data_warmup),
            _LOOP | {P.evaluation},
        ),
        Dialect("neox", 1_000, (P.rendezvous, P.process_group, P.model_build, P.restore, P.data_warmup), _LOOP),
        Dialect("titan", 1_000, (P.process_group, P.model_build, P.restore, P.compile), _LOOP),
        Dialect("hf", SECOND, (P.rendezvous, P.model_build, P.restore), _LOOP),
    )
}  # fmt: skip
"""Every dialect by its name in a scenario."""
