"""Decides which stored results of a session expire, by number, age and bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adk_context_pack.stores.entries import EXPIRED, is_entry, state_bytes
from adk_context_pack.stores.handles import is_expired, is_result_key, stored_results


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
        max_bytes: what all results together may take in state. None sets no limit.
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
        sizes = [len(key) + state_bytes(state[key]) for key in left]
        total = sum(sizes) + len(newest) + state_bytes(state[newest])
        while total > max_bytes and left:
            gone.append(left.pop(0))
            total -= sizes.pop(0)
    return {key: dict(EXPIRED) for key in gone}


def _names(entry: Any, key: str) -> bool:
    return is_entry(entry, "key") and bool(entry["key"] == key)
