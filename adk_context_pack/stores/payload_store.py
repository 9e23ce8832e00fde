"""Decides where a full result is kept and for how long, and reaches the stores of the pack and of the user."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any, Literal, Protocol, get_args, runtime_checkable
from urllib.parse import quote

from adk_context_pack._adk import Event, EventActions, Session, types
from adk_context_pack._adk.instruction import plugins_of
from adk_context_pack._adk.releases import outermost_invocation, session_service_kinds
from adk_context_pack._json import json_text
from adk_context_pack.errors import Configured, HandleError, SettingError, StoreError, a_number, at_least, logger, must
from adk_context_pack.stores import codec, handles
from adk_context_pack.stores.byte_cache import CACHE, Theirs, drop_everywhere


@dataclass(frozen=True, kw_only=True, slots=True)
class StoreScope:
    """The session whose results a store keeps.

    Attributes:
        app_name: the app.
        user_id: the user.
        session_id: the session. Within an `AgentTool` it is that of the calling agent.
        context: ADK's tool, callback or invocation context of the call. In `forget` it has no more than the session.
    """

    app_name: str
    user_id: str
    session_id: str
    context: Any

    @classmethod
    def of(cls, context: Any) -> StoreScope:
        """Returns the scope of the run that ADK's context of any kind belongs to."""
        session = getattr(outermost_invocation(context), "session", None) or context.session
        app_name, user_id, session_id = (str(getattr(session, name, "")) for name in ("app_name", "user_id", "id"))
        return cls(app_name=app_name, user_id=user_id, session_id=session_id, context=context)


@runtime_checkable
class ResultStore(Protocol):
    """Keeps full results: in a bucket, a database, a cache. `PayloadStore(place=…)` takes one.

    A store keeps bytes under a name within a scope. Two scopes share nothing: what one has put, another cannot open,
    even under the same name. Names are short (letters, digits, `._-`) and never used twice. Any failure may be raised
    as it is: the pack reports its type, and the result counts as not kept. `adk_context_pack.testing.check_store` tries
    these rules on a store. A store may also have `async def forget(scope)`, which removes all that it keeps in a scope.

    Attributes:
        name: a short name of the store, the same in every process that shares it. State names the store by it.
    """

    name: str

    async def put(self, scope: StoreScope, name: str, data: bytes) -> str | None:
        """Keeps `data`, and returns a text for the session's state to keep beside the name, or None."""

    async def open(self, scope: StoreScope, name: str, kept: str | None) -> bytes | None:
        """Returns the bytes under `name`, or None if there are none. `kept` is what `put` returned."""

    async def delete(self, scope: StoreScope, name: str, kept: str | None) -> None:
        """Removes the bytes under `name`. An unknown name is not an error."""


KNOWN_STORES: dict[str, ResultStore] = {}
"""The stores of this process by name, so that tools open what they keep. The newest of a name counts."""
DEFAULT_TIMEOUT_S = 10.0
TIMEOUTS: dict[str, float] = {}
"""The seconds that stores have to answer in this process, by name, if they are not the default."""


class StoreAccess:
    """Reaches a store with a time limit, and words its failures as `StoreError`, without a payload."""

    def __init__(self, store: ResultStore, context: Any, *, timeout_s: float | None = None) -> None:
        self._store = store
        self._scope = StoreScope.of(context)
        self._timeout_s = timeout_s or TIMEOUTS.get(store.name, DEFAULT_TIMEOUT_S)
        self._until = asyncio.get_running_loop().time() + self._timeout_s

    async def put(self, name: str, data: bytes) -> str | None:
        """Keeps `data` and opens it once, since a store may write half of it."""
        kept: str | None = await self._within(lambda: self._store.put(self._scope, name, data))
        try:
            # State would take whatever it is, and the session service might not.
            if not isinstance(kept, str | None):
                raise self._failure(f"failed (put returned {type(kept).__name__})")
            if await self.open(name, kept) == data:
                return kept
            raise self._failure("did not give back what it was given")
        except StoreError:
            # The event must not speak of a result that nobody can read.
            with suppress(StoreError):
                await self.delete(name, kept)
            raise

    async def open(self, name: str, kept: str | None) -> bytes | None:
        """Returns the bytes under `name`, None if there are none."""
        data = await self._within(lambda: self._store.open(self._scope, name, kept))
        return data if isinstance(data, bytes) else None

    async def delete(self, name: str, kept: str | None) -> None:
        """Removes the bytes under `name`."""
        await self._within(lambda: self._store.delete(self._scope, name, kept))

    def _failure(self, said: str) -> StoreError:
        return StoreError(f"the {self._store.name} service {said}")

    async def _within(self, action: Callable[[], Awaitable[Any]]) -> Any:
        async def answer() -> Any:
            # A store of the user's own may fail before there is anything to wait for. A SystemExit would end the loop.
            try:
                return await action()
            except SystemExit as error:
                raise self._failure("failed (SystemExit)") from error

        task = asyncio.ensure_future(answer())
        left_s = max(0.0, self._until - asyncio.get_running_loop().time())
        try:
            # `wait_for` would wait for a service that takes no notice of being cancelled.
            done, _ = await asyncio.wait({task}, timeout=left_s)
        finally:
            task.cancel()
        if not done:
            # Nobody waits for it any longer, and asyncio would complain about an exception that nobody asked for.
            task.add_done_callback(lambda late: late.cancelled() or late.exception())
            raise self._failure(f"did not answer within {self._timeout_s:g} s")
        try:
            return task.result()
        except StoreError:
            raise
        # A cancellation within the service is its failure. The run's own is raised above.
        except (Exception, asyncio.CancelledError) as error:
            # Only the type: a service's message may quote what it was given.
            raise self._failure(f"failed ({type(error).__name__})") from error


class ArtifactStore(Configured):
    """Keeps results with the app's artifact service, under a session id that is derived from that of their session.

    Nothing that lists the artifacts of the session shows them: not ADK's `LoadArtifactsTool`, whose list is part of the
    instruction, not a tool of the user's, and not `adk web`. They are not in an event's `artifact_delta` either, since
    the service itself is called and not the tool's context.

    Args:
        is_apart: False for what version 0.2.0 kept among the artifacts of the session itself.
    """

    name = "ADK artifact"

    def __init__(self, *, is_apart: bool = True) -> None:
        self._is_apart = is_apart

    async def put(self, scope: StoreScope, name: str, data: bytes) -> str | None:
        """Saves `data` as JSON."""
        part = types.Part(inline_data=types.Blob(mime_type="application/json", data=data))
        await _service(scope).save_artifact(**self.folder(scope), filename=name, artifact=part)
        return None

    async def open(self, scope: StoreScope, name: str, kept: str | None) -> bytes | None:  # noqa: ARG002 - protocol
        """Returns the bytes of an artifact, or None if there is none."""
        part = await _service(scope).load_artifact(**self.folder(scope), filename=name)
        return getattr(getattr(part, "inline_data", None), "data", None)

    async def delete(self, scope: StoreScope, name: str, kept: str | None) -> None:  # noqa: ARG002 - protocol
        """Removes an artifact."""
        await _service(scope).delete_artifact(**self.folder(scope), filename=name)

    async def forget(self, scope: StoreScope) -> None:
        """Removes all that is kept for a session, by this version and by 0.2.0. Without a service there is nothing."""
        for store in (self, ArtifactStore(is_apart=False)) if artifact_service(scope.context) is not None else ():
            for name in await _service(scope).list_artifact_keys(**store.folder(scope)):
                if handles.is_our_name(name):
                    await store.delete(scope, name, None)

    def folder(self, scope: StoreScope) -> dict[str, str]:
        """Returns the app, the user and the session id under which the service keeps the results of a scope."""
        # Some services list by what an id begins with, and in some a slash in an id makes a folder within another's.
        session_id = f"adk_context_pack.{quote(scope.session_id, safe='')}" if self._is_apart else scope.session_id
        return {"app_name": scope.app_name, "user_id": scope.user_id, "session_id": session_id}


KNOWN_STORES[ArtifactStore.name] = ArtifactStore()


def artifact_service(context: Any) -> Any:
    """Returns the app's artifact service, or None. Within an `AgentTool` it is that of the calling agent."""
    return getattr(outermost_invocation(context), "artifact_service", None)


def _store_behind(entry: Mapping[str, Any]) -> tuple[ResultStore, Any]:
    """Returns the store that an entry of the form "store" or "artifact" names, and the name of the result there."""
    if handles.is_entry(entry, "artifact"):
        return ArtifactStore(is_apart=False), entry["artifact"]
    name = entry["store"]
    if not isinstance(name, str) or name not in KNOWN_STORES:
        raise StoreError("this process has no store of that name; call the tool again")
    return KNOWN_STORES[name], entry["name"]


async def _delete(entry: Mapping[str, Any], context: Any, timeout_s: float | None = None) -> None:
    store, name = _store_behind(entry)
    if handles.is_our_name(name):
        await StoreAccess(store, context, timeout_s=timeout_s).delete(name, entry.get("kept"))


def _service(scope: StoreScope) -> Any:
    if (service := artifact_service(scope.context)) is None:
        raise StoreError("the app has no artifact service")
    return service


StorePlace = Literal["auto", "state", "artifacts"]

# What one document holds, 1 MiB and 16 MiB, less room for what an event or a session has beside.
DOCUMENTS = {"FirestoreSessionService": 1_000_000, "MongoDbSessionService": 16_000_000}


@dataclass(frozen=True, kw_only=True)
class PayloadStore(Configured):
    """Keeps full results for the session in which they were made.

    State holds one key for each result, `rows:<tool>:<handle>` (or `payload:…`), so that parallel calls lose nothing.
    Its value is an entry that `load_payload` opens: the result as compressed text in base64 (rows as columns by LZMA,
    anything else as JSON by zlib) where state is the place, and else some 150 bytes that name an artifact or an object
    of the user's own store, with size and SHA-256. Results that 0.1.0 stored in plain form stay readable.

    The pack keeps nothing in the process, so that a handle is valid after a restart and in every process that shares
    the services. Storing costs the prompt cache nothing, since neither state nor artifacts are part of a prompt.

    Args:
        place: "artifacts", "state", a `ResultStore` of the user's own, or "auto": artifacts for all but small results
            if the app has an artifact service that takes them, else state.
        max_state_bytes: for "auto", the largest JSON that goes to state while there is an artifact service, in bytes.
        max_session_bytes: what all results together may take in a session's state, in bytes as stored, with their
            keys and the marks of expired ones. The oldest expire first. A result that is larger by itself is not kept.
            None sets no limit. Values under state keys of the user's own (`state_key=`) are the
            user's, and are not counted. Where one document holds all of a state (Firestore: 1 MiB, MongoDB: 16 MiB),
            results have what the app leaves there, if that is less.
        max_results: how many results a session keeps. The oldest expire first. None keeps all.
        max_age_s: seconds after which a result expires, as seen when the next one is stored or this one is opened.
        timeout_s: seconds that a store has for keeping a result, again for removing those that expire with it, and for
            each read-back. After them it counts as away. For read-back, the newest limit of a store's name counts.
    """

    place: StorePlace | ResultStore = "auto"
    max_state_bytes: int = 2_048
    max_session_bytes: int | None = 4_194_304
    max_results: int | None = None
    max_age_s: int | None = None
    timeout_s: float = DEFAULT_TIMEOUT_S

    def __post_init__(self) -> None:
        if isinstance(self.place, ResultStore) and not isinstance(self.place, type):
            KNOWN_STORES[self.place.name] = self.place
        elif self.place not in (places := get_args(StorePlace)):
            raise SettingError.of(self, "place", self.place, f"a ResultStore or one of {str(places)[1:-1]}")
        at_least(self, "max_state_bytes", self.max_state_bytes, 0)
        for name in ("max_session_bytes", "max_results", "max_age_s"):
            at_least(self, name, getattr(self, name), 1, optional=True)
        a_number(self, "timeout_s", self.timeout_s, lambda seconds: seconds > 0, "a number of seconds above 0")
        if self.timeout_s != DEFAULT_TIMEOUT_S and self.place != "state":
            TIMEOUTS[getattr(self.place, "name", ArtifactStore.name)] = self.timeout_s

    async def put(  # noqa: PLR0913 - one call, its value, and where it goes
        self,
        context: Any,
        value: Any,
        *,
        tool_name: str,
        kind: handles.ResultKind = "rows",
        key: str | None = None,
        delta: MutableMapping[str, Any] | None = None,
        note: Callable[[str], None] | None = None,
    ) -> str:
        """Keeps `value` and returns the handle that opens it again.

        Args:
            context: ADK's context of the call (tool, callback or invocation context).
            value: the full result. Nobody may change it afterwards.
            tool_name: the tool that returned it.
            kind: "rows" for results with tables, "payload" for others.
            key: a state key of the caller's own, which then holds the value itself for other code to read, where
                every session service keeps it as it is, and else an entry. What a former call kept under it expires.
            delta: the state delta to write to, where `context` has no state of its own to write to (an
                `InvocationContext` in a plugin's `on_event_callback`: the event's own `actions.state_delta`).
            note: called with one short sentence for the report, where older results expire, and at a session's first
                result if the session service holds less than `max_session_bytes`.

        Raises:
            StoreError: it is not kept. The text says why, in words that a model can be shown.
        """
        try:
            state = context.session.state
            taken = {result.handle for result in handles.stored_results(state)}
            now = time.time()
            while (handle := handles.new_handle(now)) in taken:
                pass
            own_key = handles.state_key(kind, tool_name, handle)
            name = f"{kind}-{re.sub(r'[^A-Za-z0-9._-]', '_', tool_name)[:40]}-{handle}.json"
            entries = await self._entries(context, name, value, key=key, own_key=own_key)
            if self.max_age_s is not None:
                entries[handles.expiry_key(handle)] = int(now) + self.max_age_s
            with_it = {**state, **entries}
            limits = {"max_bytes": self._room(context, with_it, own_key, note), "max_results": self.max_results}
            gone = _expired_entries(with_it, newest=own_key, replaced_key=key, **limits)
            former = [state.get(key), *map(state.get, gone)]
            for written in (context.state,) if delta is None else (delta, state):
                written.update({**gone, **entries})
            if gone:
                _say(f"older results of the session that expired: {len(gone)}", note, logger.info)
            await self._forget(context, former)
            return handle
        except StoreError:
            raise
        except Exception as error:
            raise StoreError(f"keeping it failed ({type(error).__name__})") from error

    def _room(self, context: Any, state: Mapping[str, Any], newest: str, note: Any) -> int | None:
        """Returns how many bytes of state results may take, None for any number, if the newest fits."""
        most = self.max_session_bytes
        for service in DOCUMENTS.keys() & session_service_kinds(context):
            others = [key for key in state if not (handles.stored_result(key) or handles.is_scoped(key))]
            left = max(0, DOCUMENTS[service] - len(json_text({key: state[key] for key in others})))
            if most is not None and most <= left:
                break
            most = left
            if len(handles.stored_results(state)) == 1 and not handles.is_entry(state[newest], "store"):
                held = f"{service} holds about {DOCUMENTS[service]:,} bytes of state, beyond which results expire"
                _say(f"{held}. An artifact service keeps more, and so does PayloadStore(place=…)", note, logger.warning)
        marks = sum(_bytes_under(state, key) for key in _keys(state, expired=True))
        if most is not None and _bytes_under(state, newest) + marks > most:
            limit = f"{most // 2**20} MiB" if most and not most % 2**20 else f"{most:,} bytes"
            taken = f", of which marks of expired results take {marks:,} bytes" if marks else ""
            raise StoreError(f"larger than what the session may hold ({limit}{taken})")
        return most

    async def _entry(self, context: Any, name: str, encoded: codec.Encoded) -> dict[str, Any]:
        data = encoded.data
        if (store := self._store_for(context, len(data))) is not None:
            try:
                kept = await StoreAccess(store, context, timeout_s=self.timeout_s).put(name, data)
                # `json_patch` removes what is null.
                text = {} if kept is None else {"kept": kept}
                sealed = await codec.off_loop(len(data), handles.seal, data)
                return {"stored": "store", "store": store.name, "name": name, **text, **sealed}
            except StoreError as error:
                if self.place != "auto":
                    raise
                logger.warning("a result is kept in state: %s", error)
        # What zlib and base64 add outweighs what they save.
        if len(data) < 256:  # noqa: PLR2004 - bytes
            return {"stored": "text", "text": data.decode()}
        if (packed := await codec.off_loop(len(data), codec.pack_rows, data)) is not None:
            return {"stored": "rows1", "packed": packed}
        return {"stored": "zlib1", "zlib": f"{len(data)}:{await codec.off_loop(len(data), codec.compress, data)}"}

    def _store_for(self, context: Any, size: int) -> ResultStore | None:
        if isinstance(self.place, ResultStore):
            return self.place
        is_for_state = self.place == "state" or size <= self.max_state_bytes or artifact_service(context) is None
        return None if self.place != "artifacts" and is_for_state else ArtifactStore()

    async def _entries(self, context: Any, name: str, value: Any, *, key: str | None, own_key: str) -> dict[str, Any]:
        """Returns the entries for a result, under its own state key and that of the caller's own, if there is one."""
        if key is None:
            return {own_key: await self._entry(context, name, await _encoded(value))}
        # ADK's service in memory serialises nothing, so that a value needs no check there. A subclass may do anything.
        kinds = session_service_kinds(context)
        is_unchecked = kinds[0] == "InMemorySessionService" and not handles.is_entry(value)
        encoded = None if is_unchecked else await _encoded(value)
        size = codec.rough_size(value) if encoded is None else len(encoded.data)
        is_plain = encoded is None or (not handles.is_entry(value) and codec.survives_as_state(value, encoded))
        is_shown = is_plain and self._store_for(context, size) is None
        shown = value if is_shown else await self._entry(context, name, encoded or await _encoded(value))
        if not handles.is_scoped(key) and "VertexAiSessionService" not in kinds:
            return {key: shown, own_key: {"stored": "key", "key": key, "print": handles.fingerprint(shown)}}
        # A handle opens nothing that other sessions can write to, and Vertex makes every number a double, so that the
        # session has a copy of its own.
        return {key: shown, own_key: await self._entry(context, name, encoded or await _encoded(value))}

    async def _forget(self, context: Any, entries: list[Any]) -> None:
        there = (entry for entry in entries if handles.is_entry(entry, *_IN_STORES))
        removals = [_delete(entry, context, self.timeout_s) for entry in there]
        for error in filter(None, await asyncio.gather(*removals, return_exceptions=True)):
            # The handle is gone either way, and what is left behind costs only room.
            logger.warning("an expired result could not be removed: %s", StoreError.reason(error))


async def _encoded(value: Any) -> codec.Encoded:
    return await codec.off_loop(codec.rough_size(value), codec.encode, value)


StoreSetting = StorePlace | ResultStore | PayloadStore
"""The name of a place for full results, a store of the user's own, or a `PayloadStore`."""


def _say(said: str, note: Callable[[str], None] | None, log: Callable[..., None]) -> None:
    log("%s", said)
    if note is not None:
        note(said)


def _expired_entries(
    state: Mapping[str, Any], *, newest: str, replaced_key: str | None, max_bytes: int | None, max_results: int | None
) -> dict[str, Any]:
    """Returns the mark that goes in the place of each result that expires, by its state key, oldest first."""
    # The newest never does. Marks count for `max_bytes` as well, since ADK removes no state key.
    keys = [result.key for result in handles.stored_results(state) if result.key != newest]
    gone = [key for key in _keys(state, expired=False) if handles.is_expired(state, key)]
    gone += [key for key in keys if handles.is_entry(state[key], "key") and state[key]["key"] == replaced_key]
    left = [key for key in keys if key not in gone]
    surplus = max(0, len(left) + 1 - max_results) if max_results is not None else 0
    gone, left = gone + left[:surplus], left[surplus:]
    if max_bytes is not None:
        after = {**state, **{key: handles.expired_entry(state[key]) for key in gone}}
        total = sum(_bytes_under(after, key) for key in after if handles.stored_result(key))
        while total > max_bytes and left:
            gone.append(key := left.pop(0))
            total += handles.state_bytes(handles.expired_entry(state[key])) - handles.state_bytes(state[key])
    return {key: handles.expired_entry(state[key]) for key in gone}


def _keys(state: Mapping[str, Any], *, expired: bool) -> list[str]:
    found = filter(handles.stored_result, state)
    return [key for key in found if handles.is_entry(state[key], "expired") == expired]


def _bytes_under(state: Mapping[str, Any], key: str) -> int:
    """Returns about how many bytes of JSON a stored result, or its mark, takes in state, with its key and its limit."""
    # Beside a key are quotes, colon, comma and two spaces. A limit is a number of ten digits.
    expiry = len(limit) + 16 if (limit := handles.expiry_key(key)) in state else 0
    return len(key) + 6 + handles.state_bytes(state[key]) + expiry


_IN_STORES = ("artifact", "store")


class _ForgedError(HandleError):
    """An entry that opens nothing, since the pack has not stored what it names."""


def choose_store(store: StoreSetting) -> PayloadStore:
    """Returns the store that a setting means: a `PayloadStore` as it is, or one with defaults at the named place."""
    return store if isinstance(store, PayloadStore) else PayloadStore(place=store)


async def load_payload(context: Any, handle: object, *, timeout_s: float | None = None) -> Any:
    """Returns the full result behind a handle of this session.

    Under a state key of the user's own it is the session's own object: read it and never change it.

    Args:
        context: ADK's tool, callback or invocation context.
        handle: the handle that a stub shows. Case and outer spaces do not matter.
        timeout_s: seconds after which a store counts as away. None means those of its `PayloadStore`.

    Raises:
        HandleError: unknown in this session, expired, replaced or damaged, in words for a model.
        StoreError: the store could not be read.
    """
    state = context.session.state
    result = handles.find_result(state, handle)
    entry = state[result.key]
    key = entry["key"] if handles.is_entry(entry, "key") else None
    if isinstance(key, str) and key not in state and not handles.is_scoped(key):
        raise HandleError(f"The stored result {result.handle} has expired: its state key is gone.")
    try:
        return await resolve(entry, context, timeout_s=timeout_s)
    except _ForgedError:
        raise handles.unknown_handle(state, result.handle) from None
    except StoreError as error:
        for plugin in plugins_of(context):
            getattr(plugin, "note_loss", lambda *_: None)(context, result, str(error))
        raise


async def resolve(value: Any, context: Any, *, timeout_s: float | None = None) -> Any:
    """Returns the full result that a value of the session's state is an entry for, and any other value as it is.

    It raises a `HandleError` if what the entry names is gone, damaged, or was never stored by the pack.
    """
    if handles.is_entry(value, "key"):
        value = _under_key(value, context)
    if handles.is_entry(value, "expired"):
        raise HandleError("The stored result has expired; call its tool again.")
    if handles.is_entry(value, "text"):
        return codec.decode(value["text"])
    if handles.is_entry(value, "zlib1"):
        size, text = codec.sized(value["zlib"])
        return await codec.off_loop(size, lambda: codec.decode(codec.decompress(text, size)))
    if handles.is_entry(value, "rows1"):
        return await codec.off_loop(codec.sized(value["packed"])[0], codec.unpack_rows, value["packed"])
    if not handles.is_entry(value, *_IN_STORES):
        return value
    try:
        return await _stored(value, context, timeout_s)
    except StoreError as error:
        # The model is told, and whoever runs the store has to know as well.
        logger.warning("a stored result could not be read: %s", error)
        raise


def _under_key(entry: dict[str, Any], context: Any) -> Any:
    """Returns what an entry finds under another state key, if the pack has stored it there."""
    key, state = entry["key"], context.session.state
    if not isinstance(key, str) or handles.is_scoped(key) or key not in state:
        raise _ForgedError("The entry names no stored result.")
    value = state[key]
    # Whoever wrote the entry must have seen the value, or (in 0.1.0) have written it together with the entry. The
    # session of an `AgentTool`'s child begins with the parent's state and without its events.
    sessions = context.session, getattr(outermost_invocation(context), "session", None) or context.session
    deltas = (event.actions.state_delta for session in sessions for event in session.events)
    is_seen = "print" in entry and handles.fingerprint(value) == entry["print"]
    is_proven = is_seen or ("print" not in entry and any(key in one and entry in one.values() for one in deltas))
    # One step only: the pack never stores an entry that names a key under a key.
    if not is_proven or handles.is_entry(value, "key"):
        raise _ForgedError("The entry names no stored result.")
    return value


async def _stored(entry: dict[str, Any], context: Any, timeout_s: float | None) -> Any:
    store, name = _store_behind(entry)
    if not handles.is_our_name(name):
        raise _ForgedError("The entry names no stored result.")
    data = await StoreAccess(store, context, timeout_s=timeout_s).open(name, entry.get("kept"))
    if data is None:
        raise HandleError(f"The stored result is gone from the {store.name} service; call its tool again.")
    if not (await codec.off_loop(len(data), handles.seal, data)).items() <= entry.items():
        raise StoreError(f"the {store.name} service gave back something else than was stored; call the tool again")
    return await codec.off_loop(len(data), codec.decode, data)


async def forget_stored(session: Any, artifact_service: Any = None) -> list[str]:
    """Removes from all stores what they keep of a session, and leaves its state as it is.

    It raises nothing, and returns a sentence for each store from which something could not be removed. Without the
    state of the session, stores of a user's own are left that cannot `forget`.
    """
    context = SimpleNamespace(session=session, artifact_service=artifact_service)
    entries = [entry for entry in session.state.values() if handles.is_entry(entry, *_IN_STORES)]
    removals = [(str(entry.get("store", ArtifactStore.name)), partial(_delete, entry, context)) for entry in entries]
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
    """Returns the mark for each state value that the pack has written for a stored result."""
    # An entry for what a store still keeps stays, since only it names the result there.
    own = _keys(state, expired=False)
    held = [state[key] for key in own]
    keys = {value["key"] for value in held if handles.is_entry(value, "key")}
    # A key of the app's own holds the same entry where other sessions can read it.
    keys |= {key for key, value in state.items() if handles.is_entry(value) and value in held}
    gone = [key for key in (*own, *keys) if key in state and (removed or not handles.is_entry(state[key], *_IN_STORES))]
    return {key: handles.expired_entry(state[key]) for key in gone}


async def forget_sessions(theirs: Theirs, services: Any) -> None:
    """Removes what state, stores and this process keep of sessions. If some is left, it raises a `StoreError`."""
    must(services is not None, "forget", "runner", None, "the app's, as the plugin has seen no run")
    user = {"app_name": theirs.app_name, "user_id": theirs.user_id}
    ids = set(theirs.sessions)
    if theirs.is_all:
        listed = (await services.session_service.list_sessions(**user)).sessions
        ids |= {*CACHE.sessions(*theirs[:2]), *(session.id for session in listed)}
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
