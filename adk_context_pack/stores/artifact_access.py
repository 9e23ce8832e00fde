"""Artifacts of the session that a context belongs to, whatever kind of context ADK hands out."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from google.genai import types

from adk_context_pack._adk.releases import outermost_invocation
from adk_context_pack.errors import StoreError

_MIME_TYPE = "application/json"


class ArtifactAccess:
    """Saves and loads this session's artifacts, with a time limit, in words of this package.

    Args:
        context: a `ToolContext`, `CallbackContext`, 2.x `Context` or `InvocationContext`.
        timeout_s: seconds after which the service counts as away.
    """

    def __init__(self, context: Any, *, timeout_s: float) -> None:
        self._context = context
        self._invocation = getattr(context, "_invocation_context", context)
        self._timeout_s = timeout_s

    @property
    def available(self) -> bool:
        """Whether the app has an artifact service."""
        return getattr(outermost_invocation(self._context), "artifact_service", None) is not None

    async def save(self, filename: str, data: bytes) -> None:
        """Saves `data` in the session's scope and reads it back, since a service may write half of it.

        Raises:
            StoreError: no service, a failure, a timeout, or other bytes came back.
        """
        part = types.Part(inline_data=types.Blob(mime_type=_MIME_TYPE, data=data))
        if hasattr(self._context, "save_artifact"):
            await self._within(self._context.save_artifact(filename, part))
        else:
            await self._within(self._service().save_artifact(**self._scope(filename), artifact=part))
        try:
            await self._check(filename, data)
        except StoreError:
            await self._take_back(filename)
            raise

    async def load(self, filename: str) -> bytes | None:
        """The bytes of an artifact of this session; None where there is none.

        Raises:
            StoreError: no service, a failure or a timeout.
        """
        if hasattr(self._context, "load_artifact"):
            part = await self._within(self._context.load_artifact(filename))
        else:
            part = await self._within(self._service().load_artifact(**self._scope(filename)))
        blob = getattr(part, "inline_data", None)
        return blob.data if blob is not None else None

    async def delete(self, filename: str) -> None:
        """Removes an artifact of this session.

        Raises:
            StoreError: no service, a failure or a timeout.
        """
        await self._within(self._service().delete_artifact(**self._scope(filename)))

    async def _check(self, filename: str, data: bytes) -> None:
        if await self.load(filename) != data:
            raise StoreError("the artifact service did not give back what it was given")

    async def _take_back(self, filename: str) -> None:
        # The event must not speak of an artifact that nobody can read.
        getattr(getattr(self._context, "actions", None), "artifact_delta", {}).pop(filename, None)
        with suppress(StoreError):
            await self.delete(filename)

    async def _within(self, action: Coroutine[Any, Any, Any]) -> Any:
        task = asyncio.ensure_future(action)
        try:
            # Not `wait_for`, which waits for a service that takes no notice of being cancelled.
            done, _ = await asyncio.wait({task}, timeout=self._timeout_s)
        finally:
            task.cancel()
        if not done:
            task.add_done_callback(_unheard)
            raise StoreError(f"the artifact service did not answer within {self._timeout_s:g} s")
        try:
            return task.result()
        except StoreError:
            raise
        # A cancellation within the service is its failure; that of the run is raised above.
        except (Exception, asyncio.CancelledError) as error:
            # Only the type: a service's message may quote what it was given.
            raise StoreError(f"the artifact service failed ({type(error).__name__})") from error

    def _service(self) -> Any:
        service = getattr(self._invocation, "artifact_service", None)
        if service is None:
            raise StoreError("the app has no artifact service")
        return service

    def _scope(self, filename: str) -> dict[str, str]:
        session = self._context.session
        return {
            "app_name": session.app_name,
            "user_id": session.user_id,
            "session_id": session.id,
            "filename": filename,
        }


def _unheard(task: asyncio.Future[Any]) -> None:
    # Nobody waits for it any longer, and asyncio would complain that nobody heard its exception.
    if not task.cancelled():
        task.exception()
