"""Where the lines of a block lie: what is counted, and what is listed, agrees with a split."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ettlog.parse import lines

BLOCKS = st.lists(st.binary(max_size=12).filter(lambda one: b"\n" not in one), min_size=1, max_size=40)


def block(parts: list[bytes]) -> tuple[bytearray, lines.Lines]:
    """Return a block of these lines, with other bytes behind it, and what knows its lines."""
    text = b"".join(one + b"\n" for one in parts)
    data = bytearray(text + b"\n\nold")
    return data, lines.Lines(data, len(text), lambda size: np.empty(size, bool))


@given(parts=BLOCKS, piece=st.sampled_from([1, 2, 7, 1 << 16]), listed=st.booleans())
def test_lines_are_numbered_as_a_split_numbers_them(parts: list[bytes], piece: int, listed: bool) -> None:
    """Whatever the size of the pieces, and whether all ends were listed before or not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "PIECE", piece)
        _, known = block(parts)
        begins = [sum(len(one) + 1 for one in parts[:number]) for number in range(len(parts))]
        if listed:
            assert known.ends.tolist() == [begin + len(one) for begin, one in zip(begins, parts, strict=True)]
        assert list(known.numbers(begins[::3])) == list(range(0, len(parts), 3))
        assert known.count == len(parts)


@given(parts=BLOCKS, data=st.data())
def test_each_line_with_a_place_on_it_comes_once(parts: list[bytes], data: st.DataObject) -> None:
    """Begin, end and first place of the lines, in order; no line twice however many places are on it."""
    text, known = block(parts)
    places = [at for at in range(len(text)) if at < sum(len(one) + 1 for one in parts) and text[at : at + 1] != b"\n"]
    chosen = sorted(data.draw(st.lists(st.sampled_from(places), unique=True))) if places else []
    found = list(known.at(np.array(chosen, np.int64)))
    assert [hit for _, _, hit in found] == [
        at for number, at in enumerate(chosen) if not number or b"\n" in text[chosen[number - 1] : at]
    ]
    for begin, end, hit in found:
        assert begin <= hit < end
        assert text[end : end + 1] == b"\n" and b"\n" not in text[begin:end]
        assert begin == 0 or text[begin - 1 : begin] == b"\n"


def test_many_lines_are_listed_rather_than_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the bound all ends are listed, with the same numbers."""
    monkeypatch.setattr(lines, "MANY", 2)
    _, known = block([b"a", b"", b"b", b"c"])
    assert known.numbers([0, 2, 3, 5]) == [0, 1, 2, 3]
    assert "ends" in known.__dict__
