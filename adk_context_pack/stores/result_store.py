"""The contract of a store of a user's own, and careful access to any store."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable
from urllib.parse import quote

from google.genai import types

from adk_context_pack._adk.releases import outermost_invocation
from adk_context_pack.errors import Configured, StoreError
from adk_context_pack.stores.handles import is_entry, is_our_name


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
"""The stores of this process by name."""
DEFAULT_TIMEOUT_S = 10.0
TIMEOUTS: dict[str, float] = {}
"""The seconds that stores have to answer in this process, by name, if they are not the default."""


def register(store: ResultStore) -> None:
    """Makes a store known in this process, so that tools open by name what it keeps. The newest of a name counts."""
    KNOWN_STORES[store.name] = store


class StoreAccess:
    """Reaches a store with a time limit, checks what it has kept, and words its failures without a payload."""

    def __init__(self, store: ResultStore, context: Any, *, timeout_s: float | None = None) -> None:
        self._store = store
        self._scope = StoreScope.of(context)
        self._timeout_s = timeout_s or TIMEOUTS.get(store.name, DEFAULT_TIMEOUT_S)
        self._until = asyncio.get_running_loop().time() + self._timeout_s

    async def put(self, name: str, data: bytes) -> str | None:
        """Keeps `data` and opens it once, since a store may write half of it.

        Raises:
            StoreError: a failure, a timeout, or other bytes came back.
        """
        kept: str | None = await self._within(lambda: self._store.put(self._scope, name, data))
        try:
            # State would take whatever it is, and the session service might not.
            if not isinstance(kept, str | None):
                raise StoreError.of("failed", self._store.name, f"put returned {type(kept).__name__}")
            if await self.open(name, kept) != data:
                raise StoreError.of("other", self._store.name)
        except StoreError:
            # The event must not speak of a result that nobody can read.
            with suppress(StoreError):
                await self.delete(name, kept)
            raise
        return kept

    async def open(self, name: str, kept: str | None) -> bytes | None:
        """Returns the bytes under `name`, None if there are none.

        Raises:
            StoreError: a failure or a timeout.
        """
        data = await self._within(lambda: self._store.open(self._scope, name, kept))
        return data if isinstance(data, bytes) else None

    async def delete(self, name: str, kept: str | None) -> None:
        """Removes the bytes under `name`.

        Raises:
            StoreError: a failure or a timeout.
        """
        await self._within(lambda: self._store.delete(self._scope, name, kept))

    async def _within(self, action: Callable[[], Awaitable[Any]]) -> Any:
        async def answer() -> Any:
            # A store of the user's own may fail before there is anything to wait for. asyncio would end the event loop
            # for one that leaves the program.
            try:
                return await action()
            except SystemExit as error:
                raise StoreError.of("failed", self._store.name, "SystemExit") from error

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
            raise StoreError.of("away", self._store.name, f"{self._timeout_s:g}")
        try:
            return task.result()
        except StoreError:
            raise
        # A cancellation within the service is its failure. The run's own is raised above.
        except (Exception, asyncio.CancelledError) as error:
            # Only the type: a service's message may quote what it was given.
            raise StoreError.of("failed", self._store.name, type(error).__name__) from error


class ArtifactStore(Configured):
    """Keeps results with the app's artifact service, under a session id that is derived from that of their session.

    Nothing that lists the artifacts of the session shows them: not ADK's `LoadArtifactsTool`, whose list is part of the
    instruction, not a tool of the user's, and not `adk web`. They are not in an event's `artifact_delta` either, since
    the service itself is called and not the tool's context.

    Args:
        is_apart: False for what version 0.2.0 kept among the artifacts of the session itself.

    Attributes:
        name: "ADK artifact".
    """

    name = "ADK artifact"

    def __init__(self, *, is_apart: bool = True) -> None:
        self._is_apart = is_apart

    async def put(self, scope: StoreScope, name: str, data: bytes) -> str | None:
        """Saves `data` as JSON."""
        part = types.Part(inline_data=types.Blob(mime_type="application/json", data=data))
        await _service(scope).save_artifact(**self._place(scope, name), artifact=part)
        return None

    async def open(self, scope: StoreScope, name: str, kept: str | None) -> bytes | None:  # noqa: ARG002 - protocol
        """Returns the bytes of an artifact, or None if there is none."""
        part = await _service(scope).load_artifact(**self._place(scope, name))
        return getattr(getattr(part, "inline_data", None), "data", None)

    async def delete(self, scope: StoreScope, name: str, kept: str | None) -> None:  # noqa: ARG002 - protocol
        """Removes an artifact."""
        await _service(scope).delete_artifact(**self._place(scope, name))

    async def forget(self, scope: StoreScope) -> None:
        """Removes all that is kept for a session, by this version and by 0.2.0. Without a service there is nothing."""
        for store in (self, ArtifactStore(is_apart=False)) if artifact_service(scope.context) is not None else ():
            for name in await _service(scope).list_artifact_keys(**store.folder(scope)):
                if is_our_name(name):
                    await store.delete(scope, name, None)

    def _place(self, scope: StoreScope, name: str) -> dict[str, str]:
        return {**self.folder(scope), "filename": name}

    def folder(self, scope: StoreScope) -> dict[str, str]:
        """Returns the app, the user and the session id under which the service keeps the results of a scope."""
        # Some services list by what an id begins with, and in some a slash in an id makes a folder within another's.
        session_id = f"adk_context_pack.{quote(scope.session_id, safe='')}" if self._is_apart else scope.session_id
        return {"app_name": scope.app_name, "user_id": scope.user_id, "session_id": session_id}


register(ArtifactStore())


def artifact_service(context: Any) -> Any:
    """Returns the app's artifact service, or None. Within an `AgentTool` it is that of the calling agent."""
    return getattr(outermost_invocation(context), "artifact_service", None)


def store_behind(entry: Mapping[str, Any]) -> tuple[ResultStore, Any]:
    """Returns the store that an entry of the form "store" or "artifact" names, and the name of the result there.

    Raises:
        StoreError: no `PayloadStore` of this process has such a store.
    """
    if is_entry(entry, "artifact"):
        return ArtifactStore(is_apart=False), entry["artifact"]
    name = entry["store"]
    if not isinstance(name, str) or name not in KNOWN_STORES:
        raise StoreError("this process has no store of that name; call the tool again")
    return KNOWN_STORES[name], entry["name"]


def _service(scope: StoreScope) -> Any:
    if (service := artifact_service(scope.context)) is None:
        raise StoreError.of("none")
    return service
