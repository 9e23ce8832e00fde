"""Opens what the stores keep: by the handle that a model was given, or by a state value."""

from __future__ import annotations

from typing import Any

from adk_context_pack._adk.releases import outermost_invocation
from adk_context_pack.errors import HandleError, StoreError
from adk_context_pack.stores.artifact_store import store_behind
from adk_context_pack.stores.codec import decode, decompress, sized
from adk_context_pack.stores.entries import fingerprint, is_entry, is_intact, is_our_name, is_scoped
from adk_context_pack.stores.handles import find_result, unknown_handle
from adk_context_pack.stores.packed_rows import packed_bytes, unpack_rows
from adk_context_pack.stores.payload_store import DEFAULT_TIMEOUT_S, PayloadStore, Place
from adk_context_pack.stores.result_store import ResultStore, StoreAccess
from adk_context_pack.stores.worker import off_loop


class _ForgedError(HandleError):
    """An entry that opens nothing, since the pack has not stored what it names."""


def choose_store(store: Place | ResultStore | PayloadStore = "auto") -> PayloadStore:
    """Returns the store that a setting means: a `PayloadStore` as it is, or one with defaults at the named place.

    Raises:
        SettingError: neither a store nor one of "auto", "state", "artifacts".
    """
    return store if isinstance(store, PayloadStore) else PayloadStore(place=store)


async def load_payload(context: Any, handle: object, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> Any:
    """Returns the full result behind a handle of this session.

    Args:
        context: ADK's tool, callback or invocation context.
        handle: the handle that a stub shows. Case and outer spaces do not matter.
        timeout_s: seconds after which a store counts as away.

    Returns:
        The result. Under a state key of the user's own it is the session's own object: read it and never change it.

    Raises:
        HandleError: unknown in this session, expired, replaced or damaged, in words for a model.
        StoreError: the store could not be read.
    """
    state = context.session.state
    result = find_result(state, handle)
    entry = state[result.key]
    key = entry["key"] if is_entry(entry, "key") else None
    if isinstance(key, str) and key not in state and not is_scoped(key):
        raise HandleError(f"The stored result {result.handle} has expired: its state key is gone.")
    try:
        return await resolve(entry, context, timeout_s=timeout_s)
    except _ForgedError:
        raise unknown_handle(state, result.handle) from None


async def resolve(value: Any, context: Any, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> Any:
    """Returns the full result that a state value is an entry for. A value that is not an entry comes back as it is.

    Args:
        value: a value of the session's state, as found under `rows:<tool>:<handle>` or a key of the user's own.
        context: ADK's tool, callback or invocation context.
        timeout_s: seconds after which a store counts as away.

    Raises:
        HandleError: what the entry names is gone, damaged, or was never stored by the pack.
        StoreError: the store could not be read.
    """
    if is_entry(value, "key"):
        value = _under_key(value, context)
    if is_entry(value, "expired"):
        raise HandleError("The stored result has expired; call its tool again.")
    if is_entry(value, "text"):
        return decode(value["text"])
    if is_entry(value, "zlib1"):
        size, text = sized(value["zlib"])
        return await off_loop(size, lambda: decode(decompress(text, size)))
    if is_entry(value, "rows1"):
        return await off_loop(packed_bytes(value["packed"]), unpack_rows, value["packed"])
    if is_entry(value, "artifact", "store"):
        return await _stored(value, context, timeout_s)
    return value


def _under_key(entry: dict[str, Any], context: Any) -> Any:
    """Returns what an entry finds under another state key, where the pack has stored it there."""
    key, state = entry["key"], context.session.state
    if not isinstance(key, str) or is_scoped(key) or key not in state:
        raise _ForgedError("The entry names no stored result.")
    value = state[key]
    # Whoever wrote the entry must have seen the value, or (in 0.1.0) have written it together with the entry.
    is_proven = fingerprint(value) == entry["print"] if "print" in entry else _was_written_with(entry, key, context)
    # One step only: the pack never stores an entry that names a key under a key.
    if not is_proven or is_entry(value, "key"):
        raise _ForgedError("The entry names no stored result.")
    return value


def _was_written_with(entry: dict[str, Any], key: str, context: Any) -> bool:
    # The session of an `AgentTool`'s child begins with the parent's state and without its events.
    sessions = context.session, getattr(outermost_invocation(context), "session", None) or context.session
    deltas = (event.actions.state_delta for session in sessions for event in session.events)
    return any(key in delta and entry in delta.values() for delta in deltas)


async def _stored(entry: dict[str, Any], context: Any, timeout_s: float) -> Any:
    store, name = store_behind(entry)
    if not isinstance(name, str) or not is_our_name(name):
        raise _ForgedError("The entry names no stored result.")
    data = await StoreAccess(store, context, timeout_s=timeout_s).open(name, entry.get("kept"))
    if data is None:
        raise HandleError(f"The stored result is gone from the {store.name} service; call its tool again.")
    if not await off_loop(len(data), is_intact, entry, data):
        raise StoreError(f"the {store.name} service gave back something else than was stored")
    return await off_loop(len(data), decode, data)
