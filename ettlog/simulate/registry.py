"""The registry of a simulated fleet's optimizations, as a user would write it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ettlog.windows import moment

if TYPE_CHECKING:
    from ettlog.simulate.run import Simulated


def text(fleet: Simulated) -> str:
    """Return optimizations.toml: one table an optimization, one rollout a model that got it."""
    return "\n".join(filter(None, (_table(fleet, at) for at in range(len(fleet.spec.optimizations)))))


def _table(fleet: Simulated, at: int) -> str:
    one = fleet.spec.optimizations[at]
    rollouts = [
        f'  {{ model = "{model.name}", since = {moment(model.rollout_us[one.name]):%Y-%m-%d} }},\n'
        for model in fleet.models
        if one.name in model.rollout_us
    ]
    if not rollouts:
        return ""
    parts = ", ".join(f'"{part}"' for part in one.parts)
    head = f'[[optimization]]\nname = "{one.name}"\nowner = "{one.owner}"\nparts = [{parts}]\n'
    return f"{head}rollouts = [\n{''.join(rollouts)}]\n"
