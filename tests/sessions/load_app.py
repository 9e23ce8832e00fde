"""An app for many sessions at once: each has facts and handles of its own, and its model sees whose it is told."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps.app import App
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.models.base_llm import BaseLlm
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from pydantic import Field

from tests.support.scripted_model import call, response_of, text_of

APP = "load"
MARK = "fact-of-"
ROWS = 150
_MARKED = re.compile(rf"{MARK}([\w-]+)")


def orders_tool(rows: int) -> Any:
    """A tool with results of so many rows."""

    def list_orders(tool_context: ToolContext) -> dict:
        """Lists the session's orders."""
        owner, turn = MARK + tool_context.session.id, tool_context.user_content.parts[0].text.rpartition(" ")[2]
        return {"status": "ok", "turn": turn, "rows": [{"id": n, "owner": owner, "amount": n / 4} for n in range(rows)]}

    return list_orders


def count_turn(tool_context: ToolContext) -> dict:
    """Counts the turn."""
    turns = tool_context.state.get("turns", 0) + 1
    tool_context.state["turns"] = turns
    return {"status": "ok", "turns": turns, "note": MARK + tool_context.session.id}


class LoadModel(BaseLlm):
    """Calls two tools, reads what is behind a handle, and answers with whose rows it was told of.

    Attributes:
        seconds: the time that a provider takes; other sessions go on meanwhile.
        reads: whether it asks for the rows behind a handle.
        crossed: what belonged to another session in a request.
    """

    model: str = "load-model"
    seconds: float = 0.0
    reads: bool = True
    crossed: list[set[str]] = Field(default_factory=list)
    calls: int = 0

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:  # noqa: FBT001, FBT002
        await asyncio.sleep(self.seconds)
        self.calls += 1
        if len(owners := set(_MARKED.findall(text_of(llm_request)))) != 1:
            self.crossed.append(owners)
        yield response_of(self._answer(llm_request))

    def _answer(self, request: Any) -> Any:
        last = [part.function_response for part in request.contents[-1].parts or () if part.function_response]
        if not last:
            return [call("list_orders"), call("count_turn")]
        if last[0].name == "read_back":
            return str(last[0].response["rows"])
        listed = last[0].response
        if self.reads and (handle := listed.get("_handle")):
            return call("read_back", handle=handle, sql="SELECT COUNT(*), MIN(owner), MAX(owner) FROM rows")
        return str([[len(listed["rows"]), listed["rows"][0]["owner"], listed["rows"][-1]["owner"]]])


@dataclass(kw_only=True)
class Load:
    """One app with one set of plugins, and the sessions that run in it.

    Attributes:
        plugins: of the app.
        rows: in each result of its tool.
        settings: of its `LoadModel`.
    """

    plugins: Sequence[Any] = ()
    rows: int = ROWS
    settings: dict[str, Any] = field(default_factory=dict)
    model: LoadModel = field(init=False)
    runner: Runner = field(init=False)

    def __post_init__(self) -> None:
        """Makes the app."""
        self.model = LoadModel(**self.settings)
        agent = LlmAgent(
            name="clerk", model=self.model, instruction="Serve.", tools=[orders_tool(self.rows), count_turn]
        )
        self.runner = Runner(
            app=App(name=APP, root_agent=agent, plugins=list(self.plugins)),
            session_service=InMemorySessionService(),
            artifact_service=InMemoryArtifactService(),
        )

    async def run(self, ids: Sequence[str], turns: int) -> list[list[str]]:
        """New sessions, all at once; gives what each was answered, turn by turn."""
        await self.open(ids)
        return await self.go_on(ids, range(turns))

    async def open(self, ids: Sequence[str]) -> None:
        """New sessions."""
        for session_id in ids:
            await self.runner.session_service.create_session(app_name=APP, user_id="user", session_id=session_id)

    async def go_on(self, ids: Sequence[str], turns: Sequence[int]) -> list[list[str]]:
        """These turns of the sessions, all sessions at once; gives what each was answered, turn by turn."""
        return await asyncio.gather(*(self._session(session_id, turns) for session_id in ids))

    async def stored(self, session_id: str) -> Any:
        """A session as it is stored."""
        return await self.runner.session_service.get_session(app_name=APP, user_id="user", session_id=session_id)

    async def _session(self, session_id: str, turns: Sequence[int]) -> list[str]:
        answers = []
        for turn in turns:
            message = types.Content(role="user", parts=[types.Part(text=f"{MARK}{session_id}: turn {turn}")])
            stream = self.runner.run_async(user_id="user", session_id=session_id, new_message=message)
            texts = [part.text async for event in stream for part in event.content.parts or () if part.text]
            answers.append(texts[-1])
        return answers
