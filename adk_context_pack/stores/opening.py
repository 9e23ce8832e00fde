"""Opens what the stores keep, by the handle that a model was given or by a state value, and removes it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.sessions.session import Session

from adk_context_pack._adk.instruction import plugins_of
from adk_context_pack._adk.releases import outermost_invocation
from adk_context_pack.errors import HandleError, SettingError, StoreError, logger
from adk_context_pack.stores.byte_cache import CACHE, Theirs, drop_everywhere
from adk_context_pack.stores.codec import decode, decompress, off_loop, sized, unpack_rows
from adk_context_pack.stores.handles import (
    expired_entry,
    find_result,
    fingerprint,
    is_entry,
    is_intact,
    is_our_name,
    is_result_key,
    is_scoped,
    unknown_handle,
)
from adk_context_pack.stores.payload_store import (
    KNOWN_STORES,
    ArtifactStore,
    PayloadStore,
    StoreAccess,
    StoreScope,
    StoreSetting,
    store_behind,
)

_IN_STORES = ("artifact", "store")


class _ForgedError(HandleError):
    """An entry that opens nothing, since the pack has not stored what it names."""


def choose_store(store: StoreSetting = "auto") -> PayloadStore:
    """Returns the store that a setting means: a `PayloadStore` as it is, or one with defaults at the named place.

    Raises:
        SettingError: neither a store nor one of "auto", "state", "artifacts".
    """
    return store if isinstance(store, PayloadStore) else PayloadStore(place=store)


async def load_payload(context: Any, handle: object, *, timeout_s: float | None = None) -> Any:
    """Returns the full result behind a handle of this session.

    Args:
        context: ADK's tool, callback or invocation context.
        handle: the handle that a stub shows. Case and outer spaces do not matter.
        timeout_s: seconds after which a store counts as away. None means those of its `PayloadStore`.

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
    except StoreError as error:
        for plugin in plugins_of(context):
            getattr(plugin, "note_loss", lambda *_: None)(context, result, str(error))
        raise


async def resolve(value: Any, context: Any, *, timeout_s: float | None = None) -> Any:
    """Returns the full result that a state value is an entry for. A value that is not an entry comes back as it is.

    Args:
        value: a value of the session's state, as found under `rows:<tool>:<handle>` or a key of the user's own.
        context: ADK's tool, callback or invocation context.
        timeout_s: seconds after which a store counts as away. None means those of its `PayloadStore`.

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
        return await off_loop(sized(value["packed"])[0], unpack_rows, value["packed"])
    if is_entry(value, *_IN_STORES):
        try:
            return await _stored(value, context, timeout_s)
        except StoreError as error:
            # The model is told, and whoever runs the store has to know as well.
            logger.warning("a stored result could not be read: %s", error)
            raise
    return value


def _under_key(entry: dict[str, Any], context: Any) -> Any:
    """Returns what an entry finds under another state key, if the pack has stored it there."""
    key, state = entry["key"], context.session.state
    if not isinstance(key, str) or is_scoped(key) or key not in state:
        raise _ForgedError("The entry names no stored result.")
    value = state[key]
    # Whoever wrote the entry must have seen the value, or (in 0.1.0) have written it together with the entry. The
    # session of an `AgentTool`'s child begins with the parent's state and without its events.
    sessions = context.session, getattr(outermost_invocation(context), "session", None) or context.session
    deltas = (event.actions.state_delta for session in sessions for event in session.events)
    is_seen = "print" in entry and fingerprint(value) == entry["print"]
    is_proven = is_seen or ("print" not in entry and any(key in one and entry in one.values() for one in deltas))
    # One step only: the pack never stores an entry that names a key under a key.
    if not is_proven or is_entry(value, "key"):
        raise _ForgedError("The entry names no stored result.")
    return value


async def _stored(entry: dict[str, Any], context: Any, timeout_s: float | None) -> Any:
    store, name = store_behind(entry)
    if not isinstance(name, str) or not is_our_name(name):
        raise _ForgedError("The entry names no stored result.")
    data = await StoreAccess(store, context, timeout_s=timeout_s).open(name, entry.get("kept"))
    if data is None:
        raise HandleError(f"The stored result is gone from the {store.name} service; call its tool again.")
    if not await off_loop(len(data), is_intact, entry, data):
        raise StoreError(f"the {store.name} service gave back something else than was stored; call the tool again")
    return await off_loop(len(data), decode, data)


async def forget_stored(session: Any, artifact_service: Any = None) -> list[str]:
    """Removes from all stores what they keep of a session, and leaves its state as it is.

    Args:
        session: ADK's session. Without its state, stores of a user's own are left that cannot `forget`.
        artifact_service: the app's artifact service, or None.

    Returns:
        A sentence for each store from which something could not be removed. Nothing is raised.
    """
    context = SimpleNamespace(session=session, artifact_service=artifact_service)

    async def remove(entry: Mapping[str, Any]) -> None:
        store, name = store_behind(entry)
        if is_our_name(name):
            await StoreAccess(store, context).delete(name, entry.get("kept"))

    entries = [entry for entry in session.state.values() if is_entry(entry, *_IN_STORES)]
    removals = [(str(entry.get("store", ArtifactStore.name)), partial(remove, entry)) for entry in entries]
    able = [store for store in KNOWN_STORES.values() if hasattr(store, "forget")]
    removals += [(store.name, partial(store.forget, StoreScope.of(context))) for store in able]
    left: dict[str, None] = {}
    for name, action in removals:
        try:
            await action()
        except Exception as error:
            left[f"{name} failed ({type(error).__name__})"] = None
    return list(left)


def _marks(state: Mapping[str, Any], *, removed: bool) -> dict[str, Any]:
    """Returns the mark for each state value that the pack has written for a stored result.

    An entry for what a store still keeps stays, since only it names the result there.
    """
    own = {key: value for key, value in state.items() if is_result_key(key) and not is_entry(value, "expired")}
    keys = {value["key"] for value in own.values() if is_entry(value, "key")}
    # A key of the app's own holds the same entry where other sessions can read it.
    keys |= {key for key, value in state.items() if is_entry(value) and value in own.values()}
    found = {key: state[key] for key in (*own, *keys) if key in state}
    return {key: expired_entry(value) for key, value in found.items() if removed or not is_entry(value, *_IN_STORES)}


async def forget_sessions(theirs: Theirs, services: Any) -> None:
    """Removes what state, the stores and this process keep of some sessions.

    Raises:
        SettingError: the services are missing.
        StoreError: something is still kept, after all else is removed.
    """
    if services is None:
        raise SettingError.of("forget", "runner", None, "the app's, as the plugin has seen no run")
    user = {"app_name": theirs.app_name, "user_id": theirs.user_id}
    ids = set(theirs.sessions)
    if theirs.is_all:
        ids |= CACHE.sessions(*theirs[:2])
        ids |= {session.id for session in (await services.session_service.list_sessions(**user)).sessions}
    left: dict[str, None] = {}
    try:
        for session_id in sorted(ids):
            session = await services.session_service.get_session(**user, session_id=session_id)
            still = await forget_stored(session or Session(**user, id=session_id), services.artifact_service)
            left |= dict.fromkeys(still)
            if session is not None and (marks := _marks(session.state, removed=not still)):
                event = Event(author="user", invocation_id="forget", actions=EventActions(state_delta=marks))
                await services.session_service.append_event(session, event)
    finally:
        drop_everywhere(theirs._replace(sessions=frozenset(ids)))
    if left:
        raise StoreError(f"some results are still kept: {'; '.join(left)}. Call forget again later")
