"""Full results are kept in a store of one's own, here a folder: `python -m samples own_store`."""

import re
import tempfile
from pathlib import Path
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps.app import App
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack import ContextPackPlugin, PayloadStore, StoreScope
from adk_context_pack.testing import ScriptedModel, call, results_in, text_in


class FolderStore:
    """A `ResultStore` with a file for each result, in a folder for each session."""

    name = "folder"

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, scope: StoreScope, name: str) -> Path:
        """Returns the file of a result. Ids come from users, so none of them is a path here."""
        parts = (scope.app_name, scope.user_id, scope.session_id)
        return self.root.joinpath(*(part.encode().hex() or "-" for part in parts), name)

    async def put(self, scope: StoreScope, name: str, data: bytes) -> None:
        """Keeps a result."""
        path = self.path(scope, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    async def open(self, scope: StoreScope, name: str, kept: str | None) -> bytes | None:  # noqa: ARG002
        """Returns a result, or None if there is none."""
        path = self.path(scope, name)
        return path.read_bytes() if path.exists() else None

    async def delete(self, scope: StoreScope, name: str, kept: str | None) -> None:  # noqa: ARG002
        """Removes a result."""
        self.path(scope, name).unlink(missing_ok=True)


def list_trips() -> dict[str, Any]:
    """Lists the trips of a year."""
    return {"trips": [{"id": n * 7919, "line": n % 12, "riders": n * 31 % 97} for n in range(5_000)]}


def answer(request: LlmRequest) -> str | types.Part:
    """Lists the trips, and asks for the riders of one line."""
    if found := results_in(request, "read_back"):
        return f"Line 7 had {found[-1]['rows'][0][0]} riders."
    if not (listed := results_in(request, "list_trips")):
        return call("list_trips")
    handle = re.search(r"[0-9a-z]{11}", listed[-1].get("_handle") or text_in(request))
    return call("read_back", handle=handle[0] if handle else "", sql="SELECT sum(riders) FROM rows WHERE line = 7")


store = FolderStore(Path(tempfile.mkdtemp()))
plugin = ContextPackPlugin(store=PayloadStore(place=store))
app = App(
    name="own_store",
    root_agent=LlmAgent(name="planner", model=ScriptedModel(answer=answer), tools=[list_trips]),
    plugins=[plugin],
)
