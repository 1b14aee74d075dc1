"""Text that is no UTF-8: every single byte inside a line, other encodings, overlong forms, surrogates, zeros."""

from __future__ import annotations

import codecs
from collections.abc import Iterator

from tests.hostile.case import Case, step

A, B = step(1), step(2)
TEXT = "job größe наука データ done"
READS_ON = {"matched": 2, "unmatched": 1}
LOOSE = {
    "overlong-slash": b"\xc0\xaf",
    "overlong-nul": b"\xc0\x80",
    "overlong-3": b"\xe0\x80\xaf",
    "surrogate": b"\xed\xa0\x80",
    "surrogate-pair": b"\xed\xa0\xbd\xed\xb8\x80",
    "beyond-unicode": b"\xf4\x90\x80\x80",
    "lone-continuation": b"\x80\xbf",
    "cut-sequence": b"\xe2\x82",
    "five-bytes": b"\xf8\x88\x80\x80\x80",
    "nul-run": b"\0" * 300,
    "nonchar": b"\xef\xbf\xbe",
    "mixed": "ü".encode() + "ü".encode("latin-1") + "ü".encode("cp437"),
    "all-bytes": bytes(byte for byte in range(256) if byte not in b"\r\n"),
}
CHARSETS = ("latin-1", "cp1251", "shift_jis", "gb18030", "koi8-r", "iso2022_jp", "cp037")


def cases() -> Iterator[Case]:
    """Yield 256 single bytes, loose byte sequences and whole encodings: two step lines are read whatever stands
    between."""
    for byte in range(256):
        lines = {**READS_ON, "unmatched": 2} if byte == 10 else READS_ON
        yield Case(f"byte-{byte:02x}.log", A + b"soup " + bytes([byte]) + b" soup\n" + B, lines, None)
    for name, data in LOOSE.items():
        yield Case(f"{name}.log", A + b"soup " + data + b" soup\n" + B, READS_ON, None)
    for charset in CHARSETS:
        said = TEXT.encode(charset, "replace").replace(b"\n", b"").replace(b"\r", b"")
        yield Case(f"{charset}.log", A + said + b"\n" + B, READS_ON, None)
    yield Case("bom.log", codecs.BOM_UTF8 + A + B, {"matched": 2})
    text = (A + B).decode()
    # Zeros part the letters, so nothing is understood; each newline still ends a line, and half of one is left over.
    yield Case("utf-16-le.log", text.encode("utf-16-le"), {"unmatched": 2, "torn": 1}, None)
    yield Case("utf-16-be.log", text.encode("utf-16-be"), {"unmatched": 2}, None)
    yield Case("utf-16-bom.log", codecs.BOM_UTF16_LE + text.encode("utf-16-le"), {"unmatched": 2, "torn": 1}, None)
    yield Case("utf-32-be.log", text.encode("utf-32-be"), {"unmatched": 2}, None)
