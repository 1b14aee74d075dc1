"""Lakes from a stranger: files missing, added or swapped, paths that lead out, newer versions, other schemas, links."""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

MANIFEST = "manifest.jsonl"
Change = Callable[[Path], object]


def signed(record: dict[str, Any]) -> bytes:
    """Return a manifest line with the right checksum: a stranger can count too."""
    body = json.dumps(record, separators=(",", ":")).encode()[:-1]
    return body + b',"crc":"' + b"%08x" % zlib.crc32(body) + b'"}\n'


def records(lake: Path) -> list[dict[str, Any]]:
    """Return the lines of a manifest."""
    return [json.loads(line) for line in (lake / MANIFEST).read_bytes().splitlines()]


def rewrite(lake: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change every line of a manifest and sign it anew."""
    lines = []
    for record in records(lake):
        record.pop("crc")
        change(record)
        lines.append(signed(record))
    (lake / MANIFEST).write_bytes(b"".join(lines))


def _data(lake: Path) -> list[Path]:
    return sorted(lake.glob("*/*.parquet"))


def _put(key: str, value: Any) -> Change:
    return lambda lake: rewrite(lake, lambda record: record.update({key: value}))


def _each_file(**values: Any) -> Change:
    def change(record: dict[str, Any]) -> None:
        for file in record.get("files", {}).values():
            file.update(values)

    return lambda lake: rewrite(lake, change)


def _swap(lake: Path) -> None:
    one, other = [path for path in _data(lake) if path.parent.name == "event"][:2]
    data = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(data)


def _linked(lake: Path) -> None:
    file = _data(lake)[0]
    shutil.move(file, lake / "elsewhere")
    file.symlink_to(lake / "elsewhere")


def _listed(lake: Path, path: Path) -> None:
    """Sign the manifest for what a data file holds now."""
    import hashlib

    data = path.read_bytes()
    told = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}

    def change(record: dict[str, Any]) -> None:
        if record["key"] == path.stem:
            record["files"][path.parent.name].update(told)

    rewrite(lake, change)


def _other_schema(lake: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = _data(lake)[0]
    pq.write_table(pa.table({"line": ["one"], "kind": [b"\xff"], "more": [1.5]}), path)
    _listed(lake, path)


def _extension(lake: Path) -> None:
    """Put a type into a schema that a careless reader would make by running what it names."""
    import pyarrow.parquet as pq

    path = _data(lake)[0]
    table = pq.read_table(path)
    told = {b"ARROW:extension:name": b"ray.data.arrow_tensor", b"ARROW:extension:metadata": b"cos\nsystem\n(S'id'\ntR."}
    field = table.schema.field("line").with_metadata(told)
    pq.write_table(table.cast(table.schema.set(table.schema.get_field_index("line"), field)), path)
    _listed(lake, path)


def _no_parquet(lake: Path) -> None:
    path = _data(lake)[0]
    path.write_bytes(b"PAR1" + os.urandom(0) + b"\0" * 400 + b"PAR1")
    _listed(lake, path)


def _hive(lake: Path) -> None:
    folder = lake / "event" / "kind=first_step"
    folder.mkdir()
    shutil.copy(_data(lake)[0], folder)


def _append(data: bytes) -> Change:
    return lambda lake: (lake / MANIFEST).write_bytes((lake / MANIFEST).read_bytes() + data)


def _many(lake: Path) -> None:
    line = (lake / MANIFEST).read_bytes().splitlines(keepends=True)[0]
    (lake / MANIFEST).write_bytes(line * 20_000)


def _folder(lake: Path) -> None:
    (lake / MANIFEST).unlink()
    (lake / MANIFEST).mkdir()


def _link(lake: Path) -> None:
    shutil.move(lake / MANIFEST, lake / "m")
    (lake / MANIFEST).symlink_to("m")


DAMAGED = "manifest are damaged"
LAKES: dict[str, tuple[Change, tuple[int, ...], str]] = {
    "file-missing": (lambda lake: _data(lake)[0].unlink(), (1,), "missing"),
    "file-added": (lambda lake: shutil.copy(_data(lake)[0], lake / "event" / ("0" * 32 + ".parquet")), (0,), ""),
    "files-swapped": (_swap, (1,), "bytes where the manifest says"),
    "file-cut": (lambda lake: os.truncate(_data(lake)[0], 100), (1,), "bytes where the manifest says"),
    "file-linked": (_linked, (1,), "bytes where the manifest says"),
    "file-no-parquet": (_no_parquet, (1,), "as Parquet"),
    "other-schema": (_other_schema, (0, 1, 2), ""),
    "extension-type": (_extension, (0, 1, 2), ""),
    "hive-folder": (_hive, (0,), ""),
    "path-up": (_put("path", "../../etc/passwd"), (1,), DAMAGED),
    "path-absolute": (_put("path", "/etc/passwd"), (1,), DAMAGED),
    "path-nul": (_put("path", "a\0b"), (1,), DAMAGED),
    "path-escape": (_put("path", "logs/\x1b]0;x\x07.log"), (0,), ""),
    "key-up": (_put("key", "../" * 10 + "aa"), (1,), DAMAGED),
    "table-unknown": (lambda lake: rewrite(lake, lambda record: record.update(files={"../x": {}})), (1,), DAMAGED),
    "newer-version": (_put("v", 99), (1,), "newer ettlog"),
    "version-text": (_put("v", "x"), (0, 1), ""),
    "counts-minus": (_put("n_lines", -5), (1,), DAMAGED),
    "counts-text": (_put("lines", {"matched": "x"}), (1,), DAMAGED),
    "counts-huge": (_put("n_lines", 10**30), (1,), DAMAGED),
    "instants-text": (_put("first_us", "x"), (1,), DAMAGED),
    "hints-list": (_put("hints", [1]), (1,), DAMAGED),
    "rows-wrong": (_each_file(rows=10**12), (0, 1), ""),
    "sha-wrong": (_each_file(sha256="0" * 64), (0, 1), ""),
    "line-nul": (_append(b"\0" * 4096), (0,), ""),
    "line-deep": (_append(b"[" * 100_000 + b"\n"), (1,), DAMAGED),
    "line-repeated": (_many, (0, 1), ""),
    "manifest-empty": (lambda lake: (lake / MANIFEST).write_bytes(b""), (0,), ""),
    "manifest-folder": (_folder, (1,), "not a lake"),
    "manifest-link": (_link, (0, 1), ""),
    "config-bomb": (lambda lake: (lake / "ettlog.toml").write_bytes(b"x = " + b"[" * 5_000), (2,), "not TOML"),
    "registry-bomb": (lambda lake: (lake / "optimizations.toml").write_bytes(b"x = " + b"[" * 5_000), (0, 2), ""),
}
"""What a stranger did, the exit codes of `ettlog sql` that are right then, and words of the refusal."""
