"""Recording and alert rules for Prometheus, as they ship with the package."""

from __future__ import annotations

from importlib.resources import files


def rules() -> bytes:
    """Return the rules as YAML; they need no lake, since owners come with the metrics."""
    return (files("ettlog.export") / "rules.yml").read_bytes()
