"""Builds the requests of an app's agents from recorded events, with ADK's own flow."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from threading import Thread
from typing import Any

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.events.event import Event
from google.adk.memory.in_memory_memory_service import InMemoryMemoryService
from google.adk.models.llm_request import LlmRequest
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session
from google.genai import types

from adk_context_pack._adk.releases import scope_of_event
from adk_context_pack._adk.requests import node_path_of

_BUILDING = frozenset(
    (
        *("basic", "instructions", "identity", "contents", "agent_transfer"),
        *("nl_planning", "planning", "output_schema_processor", "schema"),
    )
)
"""The processors of ADK's flow that only build a request. The others run tools, code or a summarizing model."""


class AppRequests:
    """Builds requests as the agents of an app would send them, instructions and tool declarations included.

    It asks the app's instruction functions for their texts and its toolsets for their tools, and runs no tool, no
    callback of the app's own and no model.

    Args:
        app: an app, or its root agent or node.
    """

    def __init__(self, app: Any) -> None:
        root = getattr(app, "root_agent", None) if not isinstance(app, BaseAgent) else app
        self._agents = {agent.name: agent for agent in _agents_in(root or app, set())}
        self.plugins: tuple[Any, ...] = tuple(getattr(app, "plugins", None) or ())
        # Toolsets may keep connections that belong to the event loop in which they were opened.
        self._loop = asyncio.new_event_loop()
        Thread(target=self._loop.run_forever, daemon=True).start()

    @property
    def names(self) -> frozenset[str]:
        """The names of all agents that the app has."""
        return frozenset(self._agents)

    def calls_model(self, agent: str) -> bool:
        """Tells whether an agent calls a model. One that the app does not have is taken to call one."""
        return isinstance(self._agents.get(agent, self), LlmAgent | AppRequests)

    def has(self, agent: str) -> bool:
        """Tells whether the app has an agent of this name whose requests can be built."""
        return isinstance(self._agents.get(agent), LlmAgent)

    def context(self, event: Event, session: Session, user_content: types.Content | None) -> CallbackContext:
        """Returns the callback context of the model call that `event` answers."""
        given = {"isolation_scope": scope_of_event(event), "node_path": node_path_of(event)}
        more: dict[str, Any] = {name: value for name, value in given.items() if name in InvocationContext.model_fields}
        return CallbackContext(
            InvocationContext(
                invocation_id=event.invocation_id,
                agent=_as_node(self._agents[event.author]),
                session=session,
                branch=event.branch,
                user_content=user_content,
                run_config=RunConfig(),
                session_service=InMemorySessionService(),
                artifact_service=InMemoryArtifactService(),
                memory_service=InMemoryMemoryService(),
                **more,
            )
        )

    def request(self, context: CallbackContext) -> LlmRequest:
        """Returns the request that ADK builds in a context.

        Raises:
            ValueError: ADK or the app refuses to build it.
        """
        request = LlmRequest()
        try:
            building = _build(context._invocation_context, request)  # noqa: SLF001 - ADK's flow asks for it
            asyncio.run_coroutine_threadsafe(building, self._loop).result()
        except Exception as error:
            raise ValueError(f"{type(error).__name__}: {error}") from error
        return request


def is_app(found: Any) -> bool:
    """Tells whether an object is an app, an agent, or a node of a workflow."""
    return not isinstance(found, type) and (hasattr(found, "root_agent") or hasattr(found, "graph"))


def _as_node(agent: Any) -> Any:
    """Returns an agent as ADK runs it. ADK shows a single-turn agent no history, unless the app says otherwise."""
    if getattr(agent, "mode", None) == "single_turn" and "include_contents" not in agent.model_fields_set:
        return agent.model_copy(update={"include_contents": "none"})
    return agent


async def _build(context: InvocationContext, request: LlmRequest) -> None:
    flow = context.agent._llm_flow  # type: ignore[union-attr]  # noqa: SLF001 - ADK has no public name for it
    flow.request_processors = [
        each for each in flow.request_processors if type(each).__module__.rpartition(".")[2].lstrip("_") in _BUILDING
    ]
    async for _ in flow._preprocess_async(context, request):  # noqa: SLF001
        pass


def _agents_in(found: Any, seen: set[int]) -> Iterator[Any]:
    """Yields an agent or node, and all that it runs: sub-agents, nodes of a workflow, and agents behind tools."""
    if found is None or id(found) in seen:
        return
    seen.add(id(found))
    yield found
    graph = getattr(found, "graph", None)
    tools = [getattr(tool, "agent", None) for tool in getattr(found, "tools", None) or ()]
    for each in (*(getattr(found, "sub_agents", None) or ()), *(getattr(graph, "nodes", None) or ()), *tools):
        inner = getattr(each, "agent", None)
        yield from _agents_in(each if inner is None else inner, seen)
