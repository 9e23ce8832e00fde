"""Decides which stored results of a session expire, by number, age and bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adk_context_pack.stores.entries import expired_entry, is_entry, state_bytes
from adk_context_pack.stores.handles import HANDLE_LENGTH, expiry_key, is_expired, is_result_key, stored_results

# Quotes, colon, comma and two spaces.
_KEY_MARKS = 6
_LIMIT_BYTES = 16


def expired_entries(
    state: Mapping[str, Any],
    *,
    newest: str,
    replaced_key: str | None,
    max_bytes: int | None,
    max_results: int | None,
) -> dict[str, Any]:
    """Returns the mark that goes in the place of each result that expires, by its state key, oldest first.

    Args:
        state: the session's state with the newest result in it.
        newest: the state key of the newest result, which never expires.
        replaced_key: the state key of the caller's own that the newest result has taken over.
        max_bytes: what all results together may take in state, the marks of expired ones included, since ADK removes
            no state key. None sets no limit.
        max_results: how many results there may be. None sets no limit.
    """
    keys = [result.key for result in stored_results(state) if result.key != newest]
    gone = [
        key for key in state if is_result_key(key) and is_expired(state, key) and not is_entry(state[key], "expired")
    ]
    gone += [key for key in keys if replaced_key is not None and _names(state[key], replaced_key)]
    left = [key for key in keys if key not in gone]
    if max_results is not None:
        surplus = max(0, len(left) + 1 - max_results)
        gone, left = gone + left[:surplus], left[surplus:]
    if max_bytes is not None:
        sizes = [bytes_under(state, key) for key in left]
        marks = bytes_of_marks(state) + sum(_bytes_of_mark(state, key) for key in gone)
        total = sum(sizes) + bytes_under(state, newest) + marks
        while total > max_bytes and left:
            gone.append(left.pop(0))
            total += _bytes_of_mark(state, gone[-1]) - sizes.pop(0)
    return {key: expired_entry(state[key]) for key in gone}


def bytes_under(state: Mapping[str, Any], key: str) -> int:
    """Returns about how many bytes of JSON a stored result takes in state, with its key and its time limit."""
    return _bytes_with_key(state, key, state[key])


def bytes_of_marks(state: Mapping[str, Any]) -> int:
    """Returns about how many bytes of JSON the marks of all expired results take in state."""
    return sum(bytes_under(state, key) for key in state if is_result_key(key) and is_entry(state[key], "expired"))


def _bytes_of_mark(state: Mapping[str, Any], key: str) -> int:
    return _bytes_with_key(state, key, expired_entry(state[key]))


def _bytes_with_key(state: Mapping[str, Any], key: str, entry: Any) -> int:
    limit = expiry_key(key[-HANDLE_LENGTH:])
    return len(key) + _KEY_MARKS + state_bytes(entry) + (len(limit) + _LIMIT_BYTES if limit in state else 0)


def _names(entry: Any, key: str) -> bool:
    return is_entry(entry, "key") and bool(entry["key"] == key)
