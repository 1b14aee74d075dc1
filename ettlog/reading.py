"""Reads one source: by its reader of records or by the formats, redacted and packed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ettlog import content, moved, together
from ettlog.manifest import GROWN, REPARSED, REPLACED
from ettlog.packing import packed
from ettlog.schema import PARSER_VERSION, TABLES
from ettlog.tasks import PARSED, SAME, Answer, Task

if TYPE_CHECKING:
    from ettlog.parse.blocks import Reader as Source
    from ettlog.parse.format import FormatSet
    from ettlog.parse.parsed import Parsed
    from ettlog.parse.pseudonyms import Pseudonyms
    from ettlog.parse.records import Reader


def once(task: Task, formats: FormatSet) -> Answer:
    """Read one source as it is now; what it holds, and what the system refuses, may raise."""
    from ettlog.parse import named_dates, records
    from ettlog.parse.blocks import open_source

    with open_source(task.path, budget=task.options.limits.output) as source:
        reader = records.reader_of(source, task.options)
        if reader is not None and task.record_zone:
            task = replace(task, options=replace(task.options, zone=task.record_zone))
        known = task.known
        if known is None:
            return _parse(task, source, reader, formats, "", False)
        digest, begins = content.digest_of(task.path, known.bytes, known.digest)
        # A compressed source that was listed before its text was known by itself is read once more.
        told = known.text if digest == known.digest and (known.text or not source.compressed) else None
        readings = named_dates.readings(task.name, task.options)
        keys = (content.key_of(told or digest, formats.fingerprint, one) for one in readings)
        if told is not None and known.sound and known.key in keys:
            return Answer(task.name, SAME, key=known.key)
        return _parse(task, source, reader, formats, known.digest, begins)


def _parse(task: Task, source: Source, reader: Reader | None, formats: FormatSet, old: str, begins: bool) -> Answer:
    from ettlog.parse import named_dates, records, redaction
    from ettlog.parse.pseudonyms import Pseudonyms

    parsed = reader.read(task.path, task.options) if reader else _text(task, source, formats)
    if named := named_dates.settled(task.name, task.options, parsed):
        task = replace(task, options=named)
        parsed = reader.read(task.path, task.options) if reader else _again(task, formats)
        parsed.inferences.append("that year stands in the name of the file or of its folder")
    if not parsed.formats and (hint := records.advice(task.path)):
        parsed.inferences.append(hint)
    relation = None
    if old:
        relation = REPARSED if parsed.digest == old else GROWN if begins else REPLACED
    tables = {"event": parsed.events, "step": parsed.steps, "alloc": parsed.allocs}
    names = Pseudonyms(task.pseudonyms) if task.pseudonyms else None
    tables = {
        table: redaction.cleaned(table, facts, names.changes(table) if names else ()) for table, facts in tables.items()
    }
    rows = {table: tables[table].num_rows for table in TABLES}
    return Answer(
        task.name,
        PARSED,
        key=content.key_of(parsed.text or parsed.digest, formats.fingerprint, task.options),
        relation=relation,
        was=moved.begun_with(task.path, task.gone, task.options.limits.output) if task.gone else (),
        facts=_facts(parsed, names) | {"rules": content.rules_of(formats.fingerprint, task.options)},
        rows=rows,
        tables={table: packed(table, tables[table]) for table in TABLES if rows[table]},
    )


def _text(task: Task, source: Source, formats: FormatSet) -> Parsed:
    return together.scan_open(source, task.path, formats, task.options, task.hands)


def _again(task: Task, formats: FormatSet) -> Parsed:
    from ettlog.parse.blocks import open_source

    with open_source(task.path, budget=task.options.limits.output) as source:
        return _text(task, source, formats)


def _facts(parsed: Parsed, names: Pseudonyms | None = None) -> dict[str, Any]:
    from ettlog.parse.redaction import redact_text, stored

    hints = {name: stored(str(value)) for name, value in parsed.hints.items()}
    sentences = [names.sentence(text, hints) if names else text for text in parsed.inferences]

    return {
        "digest": parsed.digest,
        "text": parsed.text,
        "bytes": parsed.n_bytes,
        "lines": {outcome: count for outcome, count in parsed.lines.items() if count},
        "n_lines": parsed.n_lines,
        "formats": {name: count for name, count in parsed.formats.items() if count},
        "state": parsed.state,
        "inferences": tuple(map(redact_text, sentences)),
        "unmatched": {} if names else dict(parsed.unmatched),  # a shape holds the words of its line
        "hints": names.hints(hints) if names else hints,
        "first_us": parsed.first_us,
        "last_us": parsed.last_us,
        "clock": parsed.clock,
        "parser": PARSER_VERSION,
    }
