"""F5 on Btrfs: the same cuts as on ext4."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.torture import power_cuts

if TYPE_CHECKING:
    from tests.torture.registry import Outcome, Scope


def run(scope: Scope) -> Outcome:
    """Cut the power on Btrfs."""
    return power_cuts.on("btrfs", scope)
