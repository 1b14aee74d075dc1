"""Eight doors for untrusted bytes, each a function that raises when ettlog breaks a promise; needs no fuzzer."""

from __future__ import annotations

import csv
import functools
import io
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

from ettlog import manifest, sink
from ettlog.config import Config
from ettlog.errors import EttlogError, LakeError, UsageError
from ettlog.parse import clock, identity, records, scan
from ettlog.parse import format as formats
from ettlog.parse.envelope import peel
from ettlog.parse.parsed import Limits, Parsed, ScanOptions
from ettlog.settings import KEY_BY_NAME

_OPTIONS = ScanOptions(year_hint=2031, limits=Limits(output=1 << 22, block=1 << 16))
_RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_RECORDS = records.READERS


class BrokenPromiseError(AssertionError):
    """What ettlog promises about any input does not hold for this one."""


def hold(holds: bool, promise: str) -> None:
    """Raise unless a promise holds."""
    if not holds:
        raise BrokenPromiseError(promise)


@functools.cache
def _formats() -> formats.FormatSet:
    return formats.load_all()


@functools.cache
def _file() -> Path:
    return Path(tempfile.mkdtemp(prefix="ettlog-fuzz-")) / "input"


def _adds_up(parsed: Parsed) -> None:
    hold(sum(parsed.lines.values()) == parsed.n_lines, "outcomes add up to the lines")
    hold(all(count >= 0 for count in parsed.lines.values()), "no outcome is negative")
    for table in (parsed.events, parsed.steps, parsed.allocs):
        lines = [] if not table.num_rows else table.column("line").to_pylist() if hasattr(table, "column") else []
        hold(all(1 <= line <= parsed.n_lines for line in lines), "every fact has a line of the source")


def lines(data: bytes) -> None:
    """Scan text with its envelopes: plain, and as each prefix is peeled."""
    _file().write_bytes(data)
    parsed = scan.scan(_file(), _formats(), _OPTIONS)
    _adds_up(parsed)
    if (
        data[:4] not in (b"\x28\xb5\x2f\xfd",)
        and data[:2] not in (b"\x1f\x8b", b"BZ", b"\xfd7")
        and data[1:4] != b"*M\x18"
    ):
        hold(parsed.n_lines == data.count(b"\n") + (not data.endswith(b"\n") and bool(data)), "every line is counted")
    for line in data.split(b"\n")[:50]:
        hold(peel(line).body in line or b"\x1b" in line, "a body is a piece of its line")


def reader(data: bytes) -> None:
    """Read self-describing input by the reader that the first byte chooses, whether it knows it or not."""
    chosen = _RECORDS[data[0] % len(_RECORDS)] if data else _RECORDS[0]
    _file().write_bytes(data[1:])
    chosen.sniff(data[1 : records.HEAD], _OPTIONS)
    _adds_up(chosen.read(_file(), _OPTIONS))


def stamps(data: bytes) -> None:
    """Read any text as a stamp, and look for one in it."""
    for found in (clock.parse(data), clock.find(data)):
        if found is not None:
            hold(found.zone in ("utc", "offset", "local"), "a zone is one of three")
            hold(-(10**15) < found.us < 5 * 10**15, "an instant lies in the calendar")


def toml(data: bytes) -> None:
    """Load a format file: it proves itself or is refused in four parts."""
    _file().write_bytes(data[: 1 << 14])
    try:
        found = formats.load(_file())
    except UsageError as error:
        hold(all((error.what, error.where, error.why, error.todo)), "an error has four parts")
        return
    hold(bool(found.patterns), "a format has patterns")


def lake(data: bytes) -> None:
    """Read a manifest: lines are taken or named, and what was taken is written again as it was."""
    _file().write_bytes(data)
    try:
        state = manifest.read(_file())
    except LakeError:
        return
    for entry in state.current.values():
        hold(manifest.safe_path(entry.path), "no path leads out of the logs")
        hold(manifest.decode(manifest.encode(entry)) == entry, "an entry survives being written")


def names(data: bytes) -> None:
    """Match a template, the first line, against a path, the second one."""
    text = data.decode("utf-8", "replace")
    shape, _, path = text.partition("\n")
    value, wrong = KEY_BY_NAME["paths.templates"].check([shape])
    if wrong or not value:
        return
    hold(not identity.template_problem(shape), "a template is refused in one place")
    found = identity.resolve(path or "a", {}, Config({"paths.templates": value}))
    hold(found.job_name is None or isinstance(found.job_name, str), "what a template gives is text")


def shown(data: bytes) -> None:
    """Show a text on a terminal, in a CSV cell, in Markdown, in HTML."""
    from jinja2 import Environment

    text = data.decode("utf-8", "surrogateescape")
    line, block = sink.display(text), sink.paragraph(text)
    hold(not _RAW.search(line) and "\n" not in line, "a displayed text is one safe line")
    hold(not _RAW.search(block), "a paragraph has no control but newline and tab")
    cell = sink.cell(text)
    hold(cell[:1] not in ("=", "+", "-", "@", "\t", "\r", "\n"), "no cell is a formula")
    into = io.StringIO(newline="")
    csv.writer(into).writerow([cell, "x"])
    hold(next(csv.reader(io.StringIO(into.getvalue(), newline=""))) == [cell, "x"], "a cell comes back from CSV")
    page = Environment(autoescape=True).from_string("<p>{{ text }}</p>").render(text=line)
    hold(page.count("<") == 2, "no text opens a tag")


def whole(data: bytes) -> None:
    """Ingest one small file into a new lake: every line has one fate, a second ingest changes nothing."""
    from ettlog.ingest import IngestOptions, ingest
    from ettlog.lake import Lake

    with tempfile.TemporaryDirectory(prefix="ettlog-fuzz-") as name:
        folder = Path(name)
        (folder / "logs").mkdir()
        (folder / "logs" / "a.log").write_bytes(data)
        try:
            report = ingest([folder / "logs"], folder / "lake", options=IngestOptions(workers=1))
        except EttlogError as error:
            raise BrokenPromiseError(f"an ingest is refused: {error}") from error
        hold(not report.rejected, f"no file is rejected: {report.rejected[:1]}")
        hold(sum(report.lines.values()) == report.n_lines, "outcomes add up to the lines")
        before = (folder / "lake" / manifest.NAME).read_bytes()
        again = ingest([folder / "logs"], folder / "lake", options=IngestOptions(workers=1))
        hold(again.states == {"skipped": 1}, "what is known is not read again")
        hold((folder / "lake" / manifest.NAME).read_bytes() == before, "a second ingest changes nothing")
        hold(not Lake.open(folder / "lake", verify=True).problems(), "the lake is whole")


TARGETS: dict[str, Callable[[bytes], None]] = {
    "lines": lines, "reader": reader, "stamps": stamps, "toml": toml, "lake": lake, "names": names, "shown": shown,
    "whole": whole,
}  # fmt: skip
