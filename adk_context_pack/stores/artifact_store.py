"""Results as artifacts of the session that a context belongs to, whatever kind of context ADK hands out."""

from __future__ import annotations

from typing import Any

from google.genai import types

from adk_context_pack._adk.releases import invocation_of, outermost_invocation
from adk_context_pack.errors import StoreError
from adk_context_pack.stores.result_store import StoreScope

_MIME_TYPE = "application/json"


class ArtifactStore:
    """Keeps results with the app's artifact service, in the scope of their session.

    ADK's `LoadArtifactsTool` lists artifact names in the instruction. Do not give it to an agent whose results are
    kept here.

    Attributes:
        name: "artifact".
    """

    name = "artifact"

    async def put(self, scope: StoreScope, name: str, data: bytes) -> str | None:
        """Saves `data` as JSON."""
        part = types.Part(inline_data=types.Blob(mime_type=_MIME_TYPE, data=data))
        if hasattr(scope.context, "save_artifact"):
            await scope.context.save_artifact(name, part)
        else:
            await _service(scope).save_artifact(**_place(scope, name), artifact=part)
        return None

    async def open(self, scope: StoreScope, name: str, kept: str | None) -> bytes | None:  # noqa: ARG002 - protocol
        """Returns the bytes of an artifact, or None where there is none."""
        if hasattr(scope.context, "load_artifact"):
            part = await scope.context.load_artifact(name)
        else:
            part = await _service(scope).load_artifact(**_place(scope, name))
        blob = getattr(part, "inline_data", None)
        return blob.data if blob is not None else None

    async def delete(self, scope: StoreScope, name: str, kept: str | None) -> None:  # noqa: ARG002 - protocol
        """Removes an artifact, and what the event under way says of it."""
        getattr(getattr(scope.context, "actions", None), "artifact_delta", {}).pop(name, None)
        await _service(scope).delete_artifact(**_place(scope, name))


def has_artifacts(context: Any) -> bool:
    """Returns whether the app has an artifact service."""
    return getattr(outermost_invocation(context), "artifact_service", None) is not None


def _service(scope: StoreScope) -> Any:
    service = getattr(invocation_of(scope.context), "artifact_service", None)
    if service is None:
        raise StoreError("the app has no artifact service")
    return service


def _place(scope: StoreScope, name: str) -> dict[str, str]:
    # A child's service forwards to its parent by itself, and expects the child's own session.
    session = scope.context.session
    return {"app_name": session.app_name, "user_id": session.user_id, "session_id": session.id, "filename": name}
