"""Handles and the state keys behind them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack import HandleError
from adk_context_pack.stores.handles import (
    expiry_key,
    find_result,
    is_handle,
    made_at,
    new_handle,
    state_key,
    stored_results,
)

NOW = 1_800_000_000


@given(st.integers(1_704_067_200, 1_704_067_200 + 2**30 - 1))
def test_a_handle_holds_its_second(now):
    """The time in a handle reads back, and later handles sort after earlier ones."""
    handle = new_handle(now)
    assert is_handle(handle)
    assert made_at(handle) == now
    assert handle[:6] <= new_handle(now + 1)[:6] or now == 1_704_067_200 + 2**30 - 1


@given(st.text(), st.sampled_from(("rows", "payload")))
def test_a_result_is_found_by_its_handle_whatever_its_tool_is_called(tool_name, kind):
    """Colons, control characters and anything else in a tool's name do not hide or fake a result."""
    handle = new_handle(NOW)
    state = {state_key(kind, tool_name, handle): [1], "other": 2, f"rows:x:{handle}y": 3, f"user:rows:t:{handle}": 4}
    found = find_result(state, handle)
    assert (found.tool_name, found.kind, state[found.key]) == (tool_name, kind, [1])
    assert stored_results(state, tool_name=tool_name) == [found]
    assert stored_results(state, tool_name=tool_name + "x") == []


def test_an_expired_handle_says_so():
    """A tombstone and a passed time limit are told apart from an unknown handle."""
    gone, late, live = (new_handle(NOW) for _ in range(3))
    state = {
        state_key("rows", "t", gone): {"stored": "expired"},
        state_key("rows", "t", late): [1],
        expiry_key(late): 1,
        state_key("rows", "t", live): [1],
    }
    for handle in (gone, late):
        with pytest.raises(HandleError, match=f"{handle} has expired.*{live}"):
            find_result(state, handle)
    assert [result.handle for result in stored_results(state)] == [live]
