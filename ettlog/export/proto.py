"""Just enough of the protobuf wire format to write messages: varints, and fields that are numbers, bytes or messages.

Written after "Encoding" of the Protocol Buffers documentation (wire types 0 and 2).
"""

from __future__ import annotations

VARINT, LENGTH = 0, 2
_MASK = (1 << 64) - 1


def varint(value: int) -> bytes:
    """Return a number as a varint; a negative one as its 64-bit two's complement, ten bytes long."""
    value &= _MASK
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    """Return a field that holds an integer, a boolean or an enumeration."""
    return varint(field << 3 | VARINT) + varint(value)


def message(field: int, body: bytes) -> bytes:
    """Return a field that holds a message or bytes."""
    return varint(field << 3 | LENGTH) + varint(len(body)) + body


def text(field: int, value: str) -> bytes:
    """Return a field that holds a string; what is not UTF-8 in it becomes a question mark."""
    return message(field, value.encode("utf-8", "replace"))
