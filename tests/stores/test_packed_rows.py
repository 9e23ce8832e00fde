"""Rows as packed text."""

from __future__ import annotations

import asyncio
import base64
import json
import lzma
import math
import string
import threading
from functools import partial, reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack import StoreError
from adk_context_pack._json import exact_json, read_json, without_surrogates
from adk_context_pack.stores import codec
from adk_context_pack.stores.byte_cache import ByteCache
from adk_context_pack.stores.codec import OFF_LOOP_BYTES, decode, encode, off_loop, pack_rows, unpack_rows
from tests.support.kept import kept_in_state

ROWS = [{"campaign": f"Ä {n}", "clicks": n * 7919 % 1009, "cost": n / 7, "on": None} for n in range(200)]
CELLS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters())
NAMES = st.sampled_from(["a", "b", "", "é", "\ud800", "order"])
DEEP = reduce(lambda inner, _: [inner], range(10_000))
NESTED = st.recursive(CELLS, lambda x: st.lists(x, max_size=9) | st.dictionaries(NAMES, x, max_size=4), max_leaves=30)


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
    value = {"rows": rows, "pad": ROWS[:80]} if wrapped else [*rows, *ROWS[:80]]
    data, entry = entry_of(value)
    if entry["packed"] is not None:
        assert repr(unpack_rows(entry["packed"])) == repr(decode(data))
        assert repr(kept_in_state(entry)) == repr(decode(data))


def test_without_lzma_rows_stay_with_zlib(monkeypatch):
    """A Python without LZMA packs nothing, and says why it cannot read what another has packed."""
    data, entry = entry_of(ROWS)
    monkeypatch.setattr(codec, "lzma", None)
    assert pack_rows(data) is None
    with pytest.raises(StoreError, match="no lzma module"):
        unpack_rows(entry["packed"])


def packed(node):
    """Returns the packed text of a node."""
    data = json.dumps(node).encode()
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 1}]
    return f"{len(data)}:{base64.b64encode(lzma.compress(data, lzma.FORMAT_RAW, filters=filters)).decode()}"


@pytest.mark.parametrize("text", [
    *(7, None, "", ":", "5:!!!!", "9999999999:AA==", "3000000:AA==", "5:AA=="),
    *map(packed, [7, [], "x", [None, [["a", "b"], [[[1]]]]], [[0, 0], [["a"], [[[1]]]]], [[3], [["a"], [[[1]]]]]]),
    packed([None, [["a"], [[[1]]]]]).replace(":", "0:"),
])  # fmt: skip
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


@pytest.mark.slow
@given(NESTED)
def test_json_values_come_back_exactly(value):
    """NaN, infinities, big integers and lone surrogates included."""
    encoded = encode(value)
    assert encoded.plain
    assert repr(decode(encoded.data)) == repr(value)


@pytest.mark.parametrize(("value", "survives"), [
    ([1, "x", None, 1.5, True], True), ("NaN Infinity", True), (math.nan, False), (-math.inf, False), ("\0", False),
    ("\ud800", False), ([2**70], True), ([1e15, -0.01, 5e-324, -1e-07], True), ([1e16], False),
    ([0.5, -0.0, 1], False), ("e+ and -0.0, in words", True),
])  # fmt: skip
def test_what_services_would_change_or_refuse_is_known(value, survives):
    """NaN, NUL, lone surrogates, and floats that JSONB makes integers do not survive; the words of them do."""
    assert codec.survives_as_state(value, encode(value)) is survives


@pytest.mark.parametrize(
    "value", [object(), lambda: 1, {"a": iter([1])}, [10**5000], {1: 2, "1": 3, (1,): 4}, {object(): 1}, DEEP]
)
def test_what_cannot_be_encoded_is_one_error(value):
    """An object, a function, an endless integer, an odd key, 10,000 levels: StoreError without payload."""
    with pytest.raises(StoreError, match="no JSON form"):
        encode(value)


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[" * 100_000, None])
def test_what_is_no_json_is_one_error(data):
    """Broken, empty or endlessly deep data is a StoreError."""
    with pytest.raises(StoreError, match="is damaged"):
        decode(data)


def outcome(read, text):
    try:
        return read(text)
    except ValueError:
        return "refused"


@given(
    NESTED | st.lists(st.fixed_dictionaries({"id": NESTED, "t": NESTED})),
    st.integers(0, 400),
    st.sampled_from(["", "}", "]", '"', ",", '},{"id":', "\\", "x", " "]),
)
def test_broken_text_is_refused_alike(value, place, noise):
    """A text with something put in or cut off is read or refused as `json.loads` would."""
    text = json.dumps(value, separators=(",", ":"))
    place %= len(text) + 1
    for broken in (text[:place], text[:place] + noise + text[place:], text + noise):
        assert repr(outcome(partial(read_json, in_steps=0), broken)) == repr(outcome(json.loads, broken))


def test_what_was_used_last_stays():
    """Above the limit the value not used for longest goes, and one above it by itself is not kept."""
    cache = ByteCache(max_bytes=100)
    for key in "abc":
        cache.put(key, key.upper(), 33)
    assert cache.get("a") == "A"
    cache.put("d", "D", 33)
    cache.put("big", "BIG", 101)
    assert [cache.get(key) for key in [*"abcd", "big"]] == ["A", None, "C", "D", None]
    assert cache.kept_bytes == 99


async def test_long_work_leaves_the_loop_and_never_enters_asyncios_pool():
    """Little work runs at once, more in a thread of the pack's own and before what is large, while the loop goes on."""
    assert await off_loop(10, threading.get_ident) == threading.get_ident()
    name = await off_loop(OFF_LOOP_BYTES, lambda: threading.current_thread().name)
    assert name.startswith("adk_context_pack")
    go = threading.Event()
    waiting = [asyncio.ensure_future(off_loop(2**24, go.wait, 30)) for _ in range(8)]
    await asyncio.sleep(0.05)
    ours = [thread for thread in threading.enumerate() if thread.name.startswith("adk_context_pack")]
    assert len(ours) <= 2
    assert await off_loop(OFF_LOOP_BYTES, go.is_set) is False
    assert await asyncio.to_thread(lambda: "asyncio's pool is free") == "asyncio's pool is free"
    go.set()
    assert await asyncio.gather(*waiting) == [True] * 8


MANY_ROWS = st.lists(
    st.dictionaries(st.text(max_size=3), st.none() | st.integers() | st.floats() | st.text(max_size=3))
)


@pytest.mark.slow
@given(
    st.dictionaries(st.text(max_size=3), MANY_ROWS | st.text())
    | MANY_ROWS
    | st.text()
    | st.text('a\ud83d\ude00"é', max_size=9)
)
def test_pieces_make_the_same_text_as_the_whole(value):
    """A result that is written in pieces is the same JSON as one that is written at once, as text and as UTF-8."""
    former = dict(codec._AT_ONCE)
    whole = encode(value)
    try:
        codec._AT_ONCE.update({str: 3, list: 2, dict: 2})
        in_pieces = codec.dumps(value, exact_json)
        assert encode(value) == whole
    finally:
        codec._AT_ONCE.update(former)
    assert in_pieces == exact_json(value)
    assert whole.data.decode() == without_surrogates(in_pieces)


def test_no_piece_is_long():
    """The text, the rows and the members of a large result are written in pieces of a bounded length."""
    rows, members = [{"id": 1}] * 9_500, {f"key {number}": number for number in range(9_500)}
    pieces = list(codec.parts({"log": "x" * 2_500_000, "rows": rows, "members": members}, exact_json))
    assert max(map(len, pieces)) == codec._AT_ONCE[str]
    assert sum(len(piece) > 1_000 for piece in pieces) == 3 + 10 + 10
