"""Simulated fleets with a known truth: plans, frames, counterfactuals, and real logs of them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ettlog.simulate.counterfactual import savings, worlds
    from ettlog.simulate.facts import write_lake
    from ettlog.simulate.run import Simulated, fleet
    from ettlog.simulate.spec import Spec, default, parse, read

__all__ = ["Simulated", "Spec", "default", "fleet", "parse", "read", "savings", "worlds", "write_lake"]

_HOME = {
    "Simulated": "run", "fleet": "run", "Spec": "spec", "default": "spec", "parse": "spec", "read": "spec",
    "savings": "counterfactual", "worlds": "counterfactual", "write_lake": "facts",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name in _HOME:
        return getattr(import_module(f"ettlog.simulate.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
