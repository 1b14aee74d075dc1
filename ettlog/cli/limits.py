"""The table of `ettlog status --limits`: what keeps any input cheap, in force and by whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ettlog.config import Config
    from ettlog.tables import View


class Limit(NamedTuple):
    """One limit that no configuration changes: what facts mean would hang on it."""

    name: str
    value: int
    meaning: str


def fixed() -> tuple[Limit, ...]:
    """Return the limits that are built in, each from the place that holds it."""
    from ettlog import config, confine, registry, schema, stalls
    from ettlog.parse import decode, format_time, shapes, stamp, zstd

    return (
        Limit("pattern_us", round(format_time.MAX_SECONDS * 1e6), "microseconds of one pattern for a line of 64 KiB"),
        Limit("text_characters", decode.MAX_TEXT, "printable characters of one field"),
        Limit("number_digits", decode.MAX_DIGITS, "digits of one whole number"),
        Limit("first_year", stamp.FIRST_YEAR, "earliest year of a stamp"),
        Limit("year_after", stamp.LAST_YEAR, "first year that is too late for a stamp"),
        Limit("gpus", schema.MOST_GPUS, "GPUs of one job or allocation"),
        Limit("step_us", schema.MOST_STEP_US, "microseconds of one step"),
        Limit("zstd_window_bytes", zstd.WINDOW, "window that a zstd frame may ask for"),
        Limit("worker_bytes", confine.MEMORY, "memory that a worker may map beside its libraries"),
        Limit("worker_seconds", round(stalls.STALLED_S), "seconds without a byte read after which a worker is ended"),
        Limit("samples", shapes.MAX_SAMPLES, "samples of lines that no format knows, for each source"),
        Limit("sample_bytes", shapes.SAMPLE_BYTES, "bytes of one sample"),
        Limit("config_bytes", config.MAX_BYTES, "bytes of a configuration"),
        Limit("registry_bytes", registry.MAX_BYTES, "bytes of a registry of optimizations"),
        Limit("registry_rows", registry.MAX_ROWS, "rows of a registry of optimizations"),
    )


def limits_in_force(config: Config | None) -> View:
    """Return every limit with its value and origin: `built in`, or what set the key of ettlog.toml."""
    import polars as pl

    from ettlog.config import Config
    from ettlog.settings import KEY_BY_NAME
    from ettlog.tables import Shown, View

    mine = [one for one in (config or Config()).effective() if one.key.startswith("limits.")]
    texts = {one.key: str(one.value or "-") for one in mine if not isinstance(one.value, int)}
    rows: list[tuple[str, int | None, str, str]] = [
        (one.key, None if one.key in texts else int(one.value), one.origin, KEY_BY_NAME[one.key].meaning)
        for one in mine
    ]
    rows += [(limit.name, limit.value, "built in", limit.meaning) for limit in fixed()]
    frame = pl.DataFrame(rows, schema=["limit", "value", "origin", "meaning"], orient="row")
    shown = (
        Shown("limit", "limit"),
        Shown("told", "value"),
        Shown("origin", "set by"),
        Shown("meaning", "meaning"),
    )
    notes = ["set a key that begins with limits. in ettlog.toml, or for one call with --set KEY=VALUE"]
    told = pl.Series("told", [texts.get(name) or _told(name, value) for name, value, *_ in rows])
    return View(
        frame, ["limits: beyond them input is counted and not read, or refused"], notes, shown, frame.with_columns(told)
    )


def _told(name: str, value: int | None) -> str:
    return f"{value:,}" if "year" not in name else str(value)
