"""Keeps results with the app's artifact service, apart from the artifacts of the user's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from google.genai import types

from adk_context_pack._adk.releases import outermost_invocation
from adk_context_pack.errors import StoreError
from adk_context_pack.stores.entries import is_entry, is_our_name
from adk_context_pack.stores.result_store import ResultStore, StoreScope, register, registered


class ArtifactStore:
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
        blob = getattr(part, "inline_data", None)
        return blob.data if blob is not None else None

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
    return registered(entry["store"]), entry["name"]


def _service(scope: StoreScope) -> Any:
    if (service := artifact_service(scope.context)) is None:
        raise StoreError.of("none")
    return service
