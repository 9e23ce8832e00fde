"""Where the whole of a result lives while the model sees a part of it."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any, Literal

from google.adk.sessions.in_memory_session_service import InMemorySessionService

from adk_context_pack._adk.releases import outermost_invocation
from adk_context_pack.errors import SettingError, StoreError, at_least, one_of, positive
from adk_context_pack.stores.artifact_access import ArtifactAccess
from adk_context_pack.stores.codec import Encoded, encode, survives_as_state
from adk_context_pack.stores.handles import (
    EXPIRED,
    Kind,
    artifact_pointer,
    expiry_key,
    is_expired,
    is_pointer,
    is_result_key,
    key_pointer,
    made_at,
    new_handle,
    state_key,
    stored_results,
    text_pointer,
)

Place = Literal["auto", "state", "artifacts"]
logger = logging.getLogger("adk_context_pack")

DEFAULT_TIMEOUT_S = 10.0
_MAX_NAME_LENGTH = 40


@dataclass(frozen=True, kw_only=True)
class PayloadStore:
    """Keeps full results for the session they were made in.

    State holds one key for each result, `rows:<tool>:<handle>` (or `payload:…`), so that parallel calls lose nothing.
    Its value is the result itself where state is the place, and a pointer of some 120 bytes where artifacts are:
    `{"stored": "artifact", "artifact": name, "bytes": n, "sha256": hex}`. What a session service would refuse or change
    (NaN, NUL, lone surrogates, `Decimal`, dates) stands there as JSON text: `{"stored": "text", "text": …}`.

    Nothing is kept in the process, so a handle is valid after a restart and in every process that shares the services.
    Storing costs the prompt cache nothing: state and artifacts are no part of a prompt (ADK's `LoadArtifactsTool`
    does list artifact names in the instruction; do not give it to an agent whose results are stored as artifacts).

    Args:
        place: "artifacts", "state", or "auto": artifacts for a large result where the app has a service, else state.
        max_state_bytes: for "auto", the largest JSON that goes to state while there is an artifact service.
        max_results: how many results a session keeps; the oldest expire first. None keeps all.
        max_age_s: seconds after which a result expires, as seen when the next one is stored or this one is opened.
        timeout_s: seconds after which an artifact service counts as away.

    Raises:
        SettingError: a setting that cannot work.
    """

    place: Place = "auto"
    max_state_bytes: int = 65_536
    max_results: int | None = None
    max_age_s: int | None = None
    timeout_s: float = DEFAULT_TIMEOUT_S

    def __post_init__(self) -> None:
        """Checks the settings."""
        one_of(self, "place", self.place, ("auto", "state", "artifacts"))
        at_least(self, "max_state_bytes", self.max_state_bytes, 0)
        for name in ("max_results", "max_age_s"):
            if getattr(self, name) is not None:
                positive(self, name, getattr(self, name))
        if isinstance(self.timeout_s, bool) or not isinstance(self.timeout_s, int | float) or not self.timeout_s > 0:
            raise SettingError.of(self, "timeout_s", self.timeout_s, "a number of seconds above 0")

    async def put(  # noqa: PLR0913 - one call, its value, and where it goes
        self,
        context: Any,
        value: Any,
        *,
        tool_name: str,
        kind: Kind = "rows",
        key: str | None = None,
        delta: MutableMapping[str, Any] | None = None,
    ) -> str:
        """Keeps `value` and gives the handle that opens it again.

        Args:
            context: ADK's context of the call (tool, callback or invocation context).
            value: the full result; kept as the same object where it goes to state, so nobody may write into it later.
            tool_name: the tool that returned it.
            kind: "rows" for results with tables, "payload" for others.
            key: a state key of the caller's own for the value; the result that a former call kept under it is replaced.
            delta: the state delta to write to, where `context` has no state of its own to write to (an
                `InvocationContext` in a plugin's `on_event_callback`: the event's own `actions.state_delta`).

        Raises:
            StoreError: the value has no JSON form, or the place failed, hung or wrote half of it.
        """
        state = context.session.state
        handle = _fresh_handle(state)
        own_key = state_key(kind, tool_name, handle)
        entry = await self._entry(context, value, kind=kind, tool_name=tool_name, handle=handle)
        entries = {own_key: entry} if key is None else {key: entry, own_key: key_pointer(key)}
        if self.max_age_s is not None:
            entries[expiry_key(handle)] = made_at(handle) + self.max_age_s
        replaced = []
        if key is not None:
            replaced.append(state.get(key))
            entries |= {former: dict(EXPIRED) for former in _former_of(state, key)}
        _write(context, entries, delta)
        await self._forget(context, [*replaced, *self._expire(context, handle, delta)])
        return handle

    async def _entry(self, context: Any, value: Any, *, kind: Kind, tool_name: str, handle: str) -> Any:
        artifacts = ArtifactAccess(context, timeout_s=self.timeout_s)
        stays_here = self.place == "state" or (self.place == "auto" and not artifacts.available)
        if stays_here and _keeps_objects(context) and not is_pointer(value):
            return value
        encoded = encode(value)
        if not self._to_artifacts(encoded, available=artifacts.available):
            return _state_entry(value, encoded)
        name = f"{kind}-{re.sub(r'[^A-Za-z0-9._-]', '_', tool_name)[:_MAX_NAME_LENGTH]}-{handle}.json"
        await artifacts.save(name, encoded.data)
        return artifact_pointer(name, encoded.data)

    def _to_artifacts(self, encoded: Encoded, *, available: bool) -> bool:
        if self.place == "artifacts":
            if not available:
                raise StoreError("the app has no artifact service")
            return True
        return self.place == "auto" and available and len(encoded.data) > self.max_state_bytes

    def _expire(self, context: Any, newest: str, delta: MutableMapping[str, Any] | None) -> list[Any]:
        if self.max_results is None and self.max_age_s is None:
            return []
        state = context.session.state
        old = [key for key in state if is_result_key(key) and is_expired(state, key) and state[key] != EXPIRED]
        others = [result.key for result in stored_results(state) if result.handle != newest]
        surplus = len(others) + 1 - self.max_results if self.max_results is not None else 0
        gone = {key: dict(EXPIRED) for key in [*old, *others[: max(0, surplus)]]}
        entries = [state[key] for key in gone]
        _write(context, gone, delta)
        return entries

    async def _forget(self, context: Any, entries: list[Any]) -> None:
        for entry in entries:
            if is_pointer(entry, "artifact"):
                try:
                    await ArtifactAccess(context, timeout_s=self.timeout_s).delete(entry["artifact"])
                except StoreError as error:
                    # The handle is gone either way; what is left behind costs only room.
                    logger.warning("an expired artifact could not be removed: %s", error)


def _keeps_objects(context: Any) -> bool:
    # ADK's service in memory serialises nothing, so that nothing needs to be checked there and storing takes the same
    # time for any number of rows. A subclass may do anything.
    return type(getattr(outermost_invocation(context), "session_service", None)) is InMemorySessionService


def _state_entry(value: Any, encoded: Encoded) -> Any:
    # A tool's own result may look like a pointer; as text it cannot pose as one.
    if is_pointer(value) or not survives_as_state(value, encoded):
        return text_pointer(encoded.data)
    return value


def _fresh_handle(state: Any) -> str:
    taken = {result.handle for result in stored_results(state)}
    while (handle := new_handle(time.time())) in taken:
        pass
    return handle


def _former_of(state: Any, key: str) -> list[str]:
    return [result.key for result in stored_results(state) if state[result.key] == key_pointer(key)]


def _write(context: Any, entries: dict[str, Any], delta: MutableMapping[str, Any] | None) -> None:
    try:
        if delta is not None:
            delta.update(entries)
            context.session.state.update(entries)
        else:
            context.state.update(entries)
    except Exception as error:
        raise StoreError(f"the session's state refused the result ({type(error).__name__})") from error
