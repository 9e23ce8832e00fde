"""Decides where a full result is kept while the model sees a part of it, and for how long."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from google.adk.sessions.in_memory_session_service import InMemorySessionService

from adk_context_pack._adk.releases import outermost_invocation
from adk_context_pack.errors import Configured, SettingError, StoreError, a_number, at_least, logger, positive
from adk_context_pack.stores.codec import Encoded, compress, encode, off_loop, rough_size, survives_as_state
from adk_context_pack.stores.entries import expired_entry, is_entry, is_scoped, key_entry, state_bytes, store_entry
from adk_context_pack.stores.handles import (
    HANDLE_LENGTH,
    Kind,
    expiry_key,
    is_expired,
    is_result_key,
    made_at,
    new_handle,
    state_key,
    stored_results,
)
from adk_context_pack.stores.packed_rows import pack_rows
from adk_context_pack.stores.result_store import (
    ArtifactStore,
    ResultStore,
    StoreAccess,
    artifact_service,
    register,
    store_behind,
)

Place = Literal["auto", "state", "artifacts"]

DEFAULT_TIMEOUT_S = 10.0
_PLACES = ("auto", "state", "artifacts")
# Below this, what zlib and base64 add outweighs what they save.
_MIN_COMPRESSED: Final = 256
# Quotes, colon, comma and two spaces.
_KEY_MARKS = 6
_LIMIT_BYTES = 16


@dataclass(frozen=True, kw_only=True)
class PayloadStore(Configured):
    """Keeps full results for the session in which they were made.

    State holds one key for each result, `rows:<tool>:<handle>` (or `payload:…`), so that parallel calls lose nothing.
    Its value is an entry that `load_payload` opens: the result as compressed text in base64 (rows as columns by LZMA,
    anything else as JSON by zlib) where state is the place, and else some 150 bytes that name an artifact or an object
    of the user's own store, with size and SHA-256. Results that 0.1.0 stored in state as they are, or as plain text,
    stay readable.

    The pack keeps nothing in the process, so that a handle is valid after a restart and in every process that shares
    the services. Storing costs the prompt cache nothing, since neither state nor artifacts are part of a prompt.

    Args:
        place: "artifacts", "state", a `ResultStore` of the user's own, or "auto": artifacts for all but small results
            where the app has an artifact service that takes them, else state.
        max_state_bytes: for "auto", the largest JSON that goes to state while there is an artifact service, in bytes.
        max_session_bytes: what all results together may take in a session's state, in bytes as stored, with their
            keys and the marks of expired ones. The oldest expire first. A result that is larger by itself is not kept.
            None sets no limit. Values under state keys of the user's own (`state_key=`) are the
            user's, and are not counted. Where one document holds all of a state (Firestore: 1 MiB), set it to that
            size less what the app itself keeps there.
        max_results: how many results a session keeps. The oldest expire first. None keeps all.
        max_age_s: seconds after which a result expires, as seen when the next one is stored or this one is opened.
        timeout_s: seconds that a store has for keeping a result, and again for removing those that expire with it.
            After them it counts as away.

    Raises:
        SettingError: a setting that cannot work.
    """

    place: Place | ResultStore = "auto"
    max_state_bytes: int = 2_048
    max_session_bytes: int | None = 4_194_304
    max_results: int | None = None
    max_age_s: int | None = None
    timeout_s: float = DEFAULT_TIMEOUT_S

    def __post_init__(self) -> None:
        """Checks the settings."""
        if isinstance(self.place, ResultStore):
            register(self.place)
        elif self.place not in _PLACES:
            raise SettingError.of(self, "place", self.place, f"a ResultStore or one of {str(_PLACES)[1:-1]}")
        at_least(self, "max_state_bytes", self.max_state_bytes, 0)
        for name in ("max_session_bytes", "max_results", "max_age_s"):
            positive(self, name, getattr(self, name), optional=True)
        a_number(self, "timeout_s", self.timeout_s, lambda seconds: seconds > 0, "a number of seconds above 0")

    async def put(  # noqa: PLR0913 - one call, its value, and where it goes
        self,
        context: Any,
        value: Any,
        *,
        tool_name: str,
        kind: Kind = "rows",
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
                every session service keeps it as it is, and else an entry. The result that a former call kept under
                the key expires.
            delta: the state delta to write to, where `context` has no state of its own to write to (an
                `InvocationContext` in a plugin's `on_event_callback`: the event's own `actions.state_delta`).
            note: called with one short sentence for the report, where older results expire.

        Raises:
            StoreError: it is not kept. The text says why, in words that a model can be shown.
        """
        try:
            state = context.session.state
            taken = {result.handle for result in stored_results(state)}
            while (handle := new_handle(time.time())) in taken:
                pass
            own_key = state_key(kind, tool_name, handle)
            name = f"{kind}-{re.sub(r'[^A-Za-z0-9._-]', '_', tool_name)[:40]}-{handle}.json"
            if key is None:
                entries: dict[str, Any] = {own_key: await self._entry(context, name, await _encoded(value))}
            else:
                entries = await self._under_key(context, name, value, key=key, own_key=own_key)
            if self.max_age_s is not None:
                entries[expiry_key(handle)] = made_at(handle) + self.max_age_s
            self._check_size(state, entries, own_key)
            gone = _expired_entries(
                {**state, **entries},
                newest=own_key,
                replaced_key=key,
                max_bytes=self.max_session_bytes,
                max_results=self.max_results,
            )
            former = [state.get(key), *map(state.get, gone)]
            written = {**gone, **entries}
            if delta is None:
                context.state.update(written)
            else:
                delta.update(written)
                context.session.state.update(written)
            if gone:
                said = f"older results of the session that expired: {len(gone)}"
                logger.info("%s", said)
                if note is not None:
                    note(said)
            await self._forget(context, former)
            return handle
        except StoreError:
            raise
        except Exception as error:
            raise StoreError.of("trouble", type(error).__name__) from error

    def _check_size(self, state: Mapping[str, Any], entries: Mapping[str, Any], key: str) -> None:
        most = self.max_session_bytes
        if most is not None and _bytes_under(entries, key) + (marks := _bytes_of_marks(state)) > most:
            limit = f"{most:,} bytes" if most % 2**20 else f"{most // 2**20} MiB"
            beside = f", of which marks of expired results take {marks:,} bytes" if marks else ""
            raise StoreError.of("size", limit + beside)

    async def _entry(self, context: Any, name: str, encoded: Encoded) -> dict[str, Any]:
        data = encoded.data
        if (store := self._store_for(context, len(data))) is not None:
            try:
                kept = await StoreAccess(store, context, timeout_s=self.timeout_s).put(name, data)
                return await off_loop(len(data), store_entry, store.name, name, kept, data)
            except StoreError as error:
                if self.place != "auto":
                    raise
                logger.warning("a result is kept in state: %s", error)
        if len(data) < _MIN_COMPRESSED:
            return {"stored": "text", "text": data.decode()}
        if (packed := await off_loop(len(data), pack_rows, data)) is not None:
            return {"stored": "rows1", "packed": packed}
        return {"stored": "zlib1", "zlib": f"{len(data)}:{await off_loop(len(data), compress, data)}"}

    def _store_for(self, context: Any, size: int) -> ResultStore | None:
        if isinstance(self.place, ResultStore):
            return self.place
        is_for_state = self.place == "state" or size <= self.max_state_bytes or artifact_service(context) is None
        return None if self.place != "artifacts" and is_for_state else ArtifactStore()

    async def _under_key(self, context: Any, name: str, value: Any, *, key: str, own_key: str) -> dict[str, Any]:
        """Returns the entries for a result under a state key of the caller's own."""
        # ADK's service in memory serialises nothing, so that a value needs no check there. A subclass may do anything.
        kind = type(getattr(outermost_invocation(context), "session_service", None))
        encoded = None if kind is InMemorySessionService and not is_entry(value) else await _encoded(value)
        size = rough_size(value) if encoded is None else len(encoded.data)
        is_plain = encoded is None or (not is_entry(value) and survives_as_state(value, encoded))
        is_shown = is_plain and self._store_for(context, size) is None
        shown = value if is_shown else await self._entry(context, name, encoded or await _encoded(value))
        if not is_scoped(key):
            return {key: shown, own_key: key_entry(key, shown)}
        # A handle opens nothing that other sessions can write to, so that the session has a copy of its own.
        return {key: shown, own_key: await self._entry(context, name, encoded or await _encoded(value))}

    async def _forget(self, context: Any, entries: list[Any]) -> None:
        async def forget(entry: Mapping[str, Any]) -> None:
            try:
                store, name = store_behind(entry)
                await StoreAccess(store, context, timeout_s=self.timeout_s).delete(name, entry.get("kept"))
            except StoreError as error:
                # The handle is gone either way, and what is left behind costs only room.
                logger.warning("an expired result could not be removed: %s", error)

        await asyncio.gather(*(forget(entry) for entry in entries if is_entry(entry, "artifact", "store")))


async def _encoded(value: Any) -> Encoded:
    return await off_loop(rough_size(value), encode, value)


def _expired_entries(
    state: Mapping[str, Any], *, newest: str, replaced_key: str | None, max_bytes: int | None, max_results: int | None
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
    own = [key for key in state if is_result_key(key) and not is_entry(state[key], "expired")]
    gone = [key for key in own if is_expired(state, key)]
    if replaced_key is not None:
        gone += [key for key in keys if is_entry(state[key], "key") and state[key]["key"] == replaced_key]
    left = [key for key in keys if key not in gone]
    if max_results is not None:
        surplus = max(0, len(left) + 1 - max_results)
        gone, left = gone + left[:surplus], left[surplus:]
    if max_bytes is not None:
        sizes = [_bytes_under(state, key) for key in left]
        marks = _bytes_of_marks(state) + sum(_bytes_of_mark(state, key) for key in gone)
        total = sum(sizes) + _bytes_under(state, newest) + marks
        while total > max_bytes and left:
            gone.append(left.pop(0))
            total += _bytes_of_mark(state, gone[-1]) - sizes.pop(0)
    return {key: expired_entry(state[key]) for key in gone}


def _bytes_under(state: Mapping[str, Any], key: str, mark: Mapping[str, Any] | None = None) -> int:
    """Returns about how many bytes of JSON a stored result, or its mark, takes in state, with its key and its limit."""
    limit = expiry_key(key[-HANDLE_LENGTH:])
    expiry = len(limit) + _LIMIT_BYTES if limit in state else 0
    return len(key) + _KEY_MARKS + state_bytes(mark or state[key]) + expiry


def _bytes_of_marks(state: Mapping[str, Any]) -> int:
    """Returns about how many bytes of JSON the marks of all expired results take in state."""
    return sum(_bytes_under(state, key) for key in state if is_result_key(key) and is_entry(state[key], "expired"))


def _bytes_of_mark(state: Mapping[str, Any], key: str) -> int:
    return _bytes_under(state, key, expired_entry(state[key]))
