"""One page that shows what the lake knows: self-contained HTML, the same bytes for the same lake and question."""

from __future__ import annotations

from ettlog.report.build import build

__all__ = ["build"]
