"""Results as JSON."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack import StoreError
from adk_context_pack.stores.codec import decode, encode, survives_as_state


@pytest.mark.slow
@given(
    st.recursive(
        st.none() | st.integers() | st.floats() | st.text(st.characters()),
        lambda x: st.lists(x) | st.dictionaries(st.text(), x),
    )
)
def test_json_values_come_back_exactly(value):
    """NaN, infinities, big integers and lone surrogates included."""
    encoded = encode(value)
    assert encoded.plain
    assert repr(decode(encoded.data)) == repr(value)


@pytest.mark.parametrize(
    ("value", "survives"),
    [
        ([1, "x", None, 1.5, True], True),
        ("NaN Infinity", True),
        (math.nan, False),
        (-math.inf, False),
        ("\0", False),
        ("\ud800", False),
        ([2**70], True),
        ([1e15, -0.01, 5e-324, -1e-07], True),
        ([1e16], False),
        ([0.5, -0.0, 1], False),
        ("e+ and -0.0, in words", True),
    ],
)
def test_what_services_would_change_or_refuse_is_known(value, survives):
    """NaN, NUL, lone surrogates, and floats that JSONB makes integers do not survive; the words of them do."""
    assert survives_as_state(value, encode(value)) is survives


@pytest.mark.parametrize(
    "value", [object(), lambda: 1, {"a": iter([1])}, [10**5000], {1: 2, "1": 3, (1,): 4}, {object(): 1}]
)
def test_what_cannot_be_encoded_is_one_error(value):
    """An object, a function, an iterator, an endless integer, an odd key: StoreError with no payload in it."""
    with pytest.raises(StoreError, match="no JSON form"):
        encode(value)


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[" * 100_000])
def test_what_is_no_json_is_one_error(data):
    """Broken, empty or endlessly deep data is a StoreError."""
    with pytest.raises(StoreError, match="cannot be read"):
        decode(data)
