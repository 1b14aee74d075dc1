"""ettlog: where a training fleet's GPU time went, and whose work won it back.

    fleet = ettlog.open("ettlog.lake")
    ettlog.ett(fleet, by="model")
    ettlog.attribute(fleet, window="6mo")

Public names are resolved when they are first used, so that `import ettlog` costs nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ettlog.advise import advise as advise
    from ettlog.alerts import alerts as alerts
    from ettlog.attribute import attribute as attribute
    from ettlog.check import check as check
    from ettlog.compare import compare as compare
    from ettlog.errors import EttlogError as EttlogError
    from ettlog.ett import ett as ett
    from ettlog.explain import explain as explain
    from ettlog.fleet import Fleet as Fleet
    from ettlog.fleet import open as open  # noqa: A004 -- `ettlog.open` reads as a user expects
    from ettlog.ingest import ingest as ingest
    from ettlog.jobs import jobs as jobs
    from ettlog.merge import merge as merge
    from ettlog.plan import plan as plan
    from ettlog.reliability import reliability as reliability
    from ettlog.rollouts import rollouts as rollouts
    from ettlog.scale import at_scale as at_scale
    from ettlog.snapshot import snapshot as snapshot
    from ettlog.status import status as status
    from ettlog.support import support_bundle as support_bundle
    from ettlog.terms import terms as terms
    from ettlog.timeline import timeline as timeline
    from ettlog.what_if import what_if as what_if

__version__ = "0.1.0"

_HOMES = {
    "EttlogError": "errors",
    "Fleet": "fleet",
    "advise": "advise",
    "alerts": "alerts",
    "at_scale": "scale",
    "attribute": "attribute",
    "check": "check",
    "compare": "compare",
    "ett": "ett",
    "explain": "explain",
    "ingest": "ingest",
    "jobs": "jobs",
    "merge": "merge",
    "open": "fleet",
    "plan": "plan",
    "reliability": "reliability",
    "snapshot": "snapshot",
    "rollouts": "rollouts",
    "status": "status",
    "support_bundle": "support",
    "terms": "terms",
    "timeline": "timeline",
    "what_if": "what_if",
}
"""Public name -> the module that holds it."""

__all__ = [
    "EttlogError", "Fleet", "advise", "alerts", "at_scale", "attribute", "check", "compare", "ett", "explain",
    "ingest", "jobs", "merge", "open", "plan", "reliability", "rollouts", "snapshot", "status", "support_bundle",
    "terms", "timeline", "what_if",
]  # fmt: skip


def __getattr__(name: str) -> object:
    """Import the home of a public name on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'ettlog' has no attribute {name!r}")
    value: object = getattr(import_module(f"ettlog.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names too, for completion in shells and notebooks."""
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """A package whose function `ett` stays the function when the module `ettlog.ett` is imported; and so the others."""

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, ModuleType) and _HOMES.get(name) == name:
            value = getattr(value, name)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
