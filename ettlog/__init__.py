"""ettlog: where a training fleet's GPU time went, and whose work won it back."""

from __future__ import annotations

__version__ = "0.1.0"
