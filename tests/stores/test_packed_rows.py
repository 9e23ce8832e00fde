"""Rows as packed text."""

import base64
import json
import lzma
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack import StoreError
from adk_context_pack.stores import packed_rows
from adk_context_pack.stores.codec import decode, encode
from adk_context_pack.stores.packed_rows import pack_rows, unpack_rows
from tests.support.kept import kept_in_state

ROWS = [{"campaign": f"Ä {n}", "clicks": n * 7919 % 1009, "cost": n / 7, "on": None} for n in range(200)]
CELLS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters())
NAMES = st.sampled_from(["a", "b", "", "é", "\ud800", "order"])
NESTED = st.recursive(CELLS, lambda inner: st.lists(inner, max_size=9) | st.dictionaries(NAMES, inner, max_size=4))


def entry_of(value):
    """Returns the JSON of a value and the state entry of its packed text."""
    data = encode(value).data
    return data, {"stored": "rows1", "packed": pack_rows(data)}


@pytest.mark.parametrize(
    "value",
    [
        ROWS,
        {"status": "ok", "data": {"rows": ROWS, "cursor": None}},
        [{"campaign": {"id": n, "name": "x" * 20}, "metrics": {"clicks": n}, "labels": [n]} for n in range(200)],
        [row if n % 3 else {**row, "note": "n"} for n, row in enumerate(ROWS)],
        [{"b": 1, "a": n, "text": "x" * 40} if n % 2 else {"a": n, "b": 1, "text": ""} for n in range(200)],
        {"tables": [{"name": f"t{n}", "rows": ROWS[n:]} for n in range(9)]},
        [{"x": [10**400, -0.0, 1e300, float("nan")], "text": "a\ud800\0\u2028" * 9} for _ in range(99)],
    ],
    ids=["rows", "beside", "nested", "missing keys", "other order", "in rows", "odd"],
)
def test_rows_come_back_as_their_json_says(value):
    """Packed rows are what JSON makes of them: values, types, and the order of keys and rows."""
    data, entry = entry_of(value)
    assert repr(unpack_rows(entry["packed"])) == repr(decode(data))
    assert repr(kept_in_state(entry)) == repr(decode(data))


@pytest.mark.slow
@given(st.lists(st.dictionaries(NAMES, NESTED, max_size=4), min_size=6, max_size=14), st.booleans())
def test_any_rows_come_back(rows, wrapped):
    """Whatever the cells are, and whichever keys are missing, nothing changes."""
    value = {"rows": rows, "pad": ROWS} if wrapped else [*rows, *ROWS]
    data, entry = entry_of(value)
    if entry["packed"] is not None:
        assert repr(unpack_rows(entry["packed"])) == repr(decode(data))
        assert repr(kept_in_state(entry)) == repr(decode(data))


def test_without_lzma_rows_stay_with_zlib(monkeypatch):
    """A Python without LZMA packs nothing, and says why it cannot read what another has packed."""
    data, entry = entry_of(ROWS)
    monkeypatch.setattr(packed_rows, "lzma", None)
    assert pack_rows(data) is None
    with pytest.raises(StoreError, match="no lzma module"):
        unpack_rows(entry["packed"])


def packed(node):
    """Returns the packed text of a node."""
    data = json.dumps(node).encode()
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 1}]
    return f"{len(data)}:{base64.b64encode(lzma.compress(data, lzma.FORMAT_RAW, filters=filters)).decode()}"


@pytest.mark.parametrize(
    "text",
    [
        *(7, None, "", ":", "5:!!!!", "9999999999:AA==", "3000000:AA==", "5:AA=="),
        *map(packed, [7, [], "x", [None, [["a", "b"], [[[1]]]]], [[0, 0], [["a"], [[[1]]]]], [[3], [["a"], [[[1]]]]]]),
        packed([None, [["a"], [[[1]]]]]).replace(":", "0:"),
    ],
)
def test_a_damaged_text_is_refused(text):
    """What `pack_rows` did not make raises a clear error."""
    with pytest.raises(StoreError):
        unpack_rows(text)


@pytest.mark.slow
@given(st.integers(0, 10**6), st.sampled_from(string.ascii_letters))
def test_a_flipped_letter_never_raises_anything_else(place, letter):
    """A text with one wrong letter gives a value or the store's own error."""
    text = packed([None, [["a", "b"], [[list(range(50))], [["x"] * 50]]]])
    at = place % len(text)
    try:
        unpack_rows(text[:at] + letter + text[at + 1 :])
    except StoreError:
        return
