"""Ways in and out of the stores: choose one, and open what a handle or a state value stands for."""

from __future__ import annotations

from typing import Any

from adk_context_pack.errors import HandleError, StoreError
from adk_context_pack.stores.artifact_access import ArtifactAccess
from adk_context_pack.stores.codec import decode
from adk_context_pack.stores.handles import find_result, is_intact, is_pointer, names_our_artifact
from adk_context_pack.stores.payload_store import DEFAULT_TIMEOUT_S, PayloadStore, Place

READ_BACK_TOOLS = frozenset({"query_rows", "read_payload", "search_history"})
"""Tools whose results are parts of stored ones already: they are never cut into a stub again."""


def choose_store(store: Place | PayloadStore = "auto") -> PayloadStore:
    """A store from a setting: a `PayloadStore` as it is, or one with defaults at the place that is named.

    Raises:
        SettingError: neither a store nor one of "auto", "state", "artifacts".
    """
    return store if isinstance(store, PayloadStore) else PayloadStore(place=store)


async def load_payload(context: Any, handle: object, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> Any:
    """The full result behind a handle of this session.

    Args:
        context: ADK's tool, callback or invocation context.
        handle: what a stub gave out; case and outer spaces do not matter.
        timeout_s: seconds after which an artifact service counts as away.

    Returns:
        The result; the session's own object where state is its place, so read it and never write into it.

    Raises:
        HandleError: unknown in this session, expired, replaced or damaged, in words for a model.
        StoreError: the store could not be read.
    """
    state = context.session.state
    result = find_result(state, handle)
    entry = state[result.key]
    if is_pointer(entry, "key") and entry["key"] not in state:
        raise HandleError(f"The stored result {result.handle} has expired: its state key is gone.")
    return await resolve(entry, context, timeout_s=timeout_s)


async def resolve(value: Any, context: Any, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> Any:
    """The full result that a state value stands for; a value that is no pointer comes back as the same object.

    Args:
        value: a value of the session's state, as found under `rows:<tool>:<handle>` or a key of one's own.
        context: ADK's tool, callback or invocation context.
        timeout_s: seconds after which an artifact service counts as away.

    Raises:
        HandleError: what it points to is gone or damaged.
        StoreError: the store could not be read.
    """
    if is_pointer(value, "key"):
        # One step only: a key that points to a key is nobody's doing but an attacker's.
        value = context.session.state.get(value["key"])
        if is_pointer(value, "key"):
            raise HandleError("The stored result is damaged: its key points to another key.")
    if is_pointer(value, "expired"):
        raise HandleError("The stored result has expired; call its tool again.")
    if is_pointer(value, "text"):
        return decode(value["text"])
    if is_pointer(value, "artifact"):
        return decode(await _artifact(value, context, timeout_s))
    return value


async def _artifact(pointer: dict[str, Any], context: Any, timeout_s: float) -> bytes:
    if not names_our_artifact(pointer):
        raise HandleError("The stored result is damaged: its pointer names no stored file.")
    data = await ArtifactAccess(context, timeout_s=timeout_s).load(pointer["artifact"])
    if data is None:
        raise HandleError("The stored result is gone from the artifact service; call its tool again.")
    if not is_intact(pointer, data):
        raise StoreError("the artifact is not what was stored")
    return data
