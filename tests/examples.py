"""How many examples a property is tried with: `ci`, the same ones each time, and `deep`, others by the thousand.

HYPOTHESIS_PROFILE chooses. A property of cheap examples takes what the profile says; one of dear ones says how many it
can pay for at every change, and takes as many times more in the deep profile.
"""

from __future__ import annotations

import os

from hypothesis import settings

CI, DEEP = 300, 20_000
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci")


def load() -> None:
    """Load the profile that the environment names; a build must give the same verdict twice, so its examples are
    fixed."""
    settings.register_profile("ci", max_examples=CI, derandomize=True, deadline=None)
    settings.register_profile("deep", max_examples=DEEP, derandomize=False, deadline=None, database=None)
    settings.load_profile(PROFILE)


def few(count: int) -> int:
    """Return how many dear examples to take, where `count` of them are tried at every change."""
    return count * DEEP // CI if PROFILE == "deep" else count
