"""The request of each recorded model call, rebuilt by ADK's own code."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from importlib import import_module
from threading import Thread
from types import ModuleType
from typing import Any

from google.adk.agents import BaseAgent, InvocationContext, LlmAgent, RunConfig
from google.adk.agents.callback_context import CallbackContext
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.events.event import Event
from google.adk.flows.llm_flows import contents as adk_contents
from google.adk.memory.in_memory_memory_service import InMemoryMemoryService
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.sessions import InMemorySessionService, Session
from google.adk.tools.base_toolset import BaseToolset
from google.genai import types

from adk_context_pack._adk.instruction import agents_in
from adk_context_pack._adk.releases import invocation_of, isolation_scope_of, scope_of_event


def node_path_of(event: Event) -> str | None:
    """Returns the path of the node (2.x) that made an event, or None."""
    return getattr(getattr(event, "node_info", None), "path", None) or None


def is_workflow_node(event: Event, before: Sequence[Event]) -> bool:
    """Tells whether the agent behind `event` ran as a node of a workflow. ADK shows such an agent its input alone."""
    above = (node_path_of(event) or "").rpartition("/")[0]
    # An agent that calls another one makes events by itself. A workflow only passes on those of its nodes.
    return above != "" and not scope_of_event(event) and all(node_path_of(each) != above for each in before)


def node_run(event: Event, before: Sequence[Event]) -> int:
    """Returns the place of the first event of the node's run that `event` belongs to."""
    runs = [(each.invocation_id, node_path_of(each), each.branch) for each in (*before, event)]
    return runs.index(runs[-1])


def workflow_input(event: Event, before: Sequence[Event]) -> types.Content | None:
    """Returns the output of the node before, or None for the first node, whose input is the user's message."""
    workflow = (node_path_of(event) or "").rpartition("/")[0]
    for each in reversed(before[: node_run(event, before)]):
        outputs = getattr(getattr(each, "node_info", None), "output_for", None) or ()
        is_sibling = any(path.rpartition("/")[0] == workflow for path in outputs)
        # Nodes beside each other have branches of their own, and see nothing of one another.
        is_above = not each.branch or f"{event.branch or ''}.".startswith(f"{each.branch}.")
        if each.invocation_id == event.invocation_id and is_sibling and is_above:
            parts: Any = each.content.parts if each.content else None
            if (output := getattr(each, "output", None)) is not None:
                # As ADK's `to_user_content` writes it.
                text = json.dumps(output, ensure_ascii=False) if isinstance(output, dict | list) else str(output)
                parts = [types.Part(text=text)]
            return types.Content(role="user", parts=[part for part in parts if not part.thought]) if parts else None
    return None


# Private in every release, and the very function that each request goes through.
_build = adk_contents._get_contents  # noqa: SLF001


def is_model_call(event: Event) -> bool:
    """Tells whether an event is a model's answer."""
    content = event.content
    is_answer = content is not None and content.role == "model" and bool(content.parts) and not event.partial
    # ADK's 2.x summaries of compacted events are contents of the model's role as well.
    return is_answer and event.author != "user" and event.actions.compaction is None


def contents_for(event: Event, before: Sequence[Event], *, turn_only: bool = False) -> list[types.Content]:
    """Builds the contents that `event` answers from the events before it, with ADK's own code."""
    # An agent with `include_contents="none"` sees the current turn alone. Older releases of ADK raise a ValueError if a
    # result has no call.
    single = _call_answered_by(event, before) is not None or is_workflow_node(event, before)
    path = node_path_of(event) if single else None
    given = _taken(isolation_scope=scope_of_event(event), is_single_turn=single, node_path=path)
    build = adk_contents._get_current_turn_contents if turn_only or single else _build  # noqa: SLF001 - as above
    return build(event.branch, with_node_input(event, before), event.author, **given)


def _taken(**given: Any) -> dict[str, Any]:
    """Returns the settings that this release's content builder takes."""
    return {name: given[name] for name in given.keys() & inspect.signature(_build).parameters}


def _call_answered_by(event: Event, before: Sequence[Event]) -> types.FunctionCall | None:
    return None if scope_of_event(event) else call_on_branch(event.branch, event.author, before)


def call_on_branch(branch: str | None, agent_name: str, events: Sequence[Event]) -> types.FunctionCall | None:
    """Returns the call that a single-turn agent (2.x) answers, which its branch ends with, or None."""
    name, _, call_id = (branch or "").rpartition(".")[2].partition("@")
    if not call_id or name != agent_name:
        return None
    calls = [call for each in events for call in each.get_function_calls() if call.name == name]
    # Release 2.0.0 counts the runs of the agent there. The newest call is the one that it answers.
    return next((call for call in reversed(calls) if call.id == call_id), calls[-1] if calls else None)


def with_node_input(event: Event, before: Sequence[Event]) -> list[Event]:
    """Returns the events before an answer, with the input of a single-turn agent or node, which ADK never stores."""
    events, call = list(before), _call_answered_by(event, before)
    if call is not None:
        args = call.args or {}
        text = args["request"] if args.keys() == {"request"} else json.dumps(args)
        content: types.Content | None = types.Content(role="user", parts=[types.Part(text=str(text))])
        place = [*(each.branch for each in events), event.branch].index(event.branch)
    elif is_workflow_node(event, before):
        content, place = workflow_input(event, before), node_run(event, before)
    else:
        return events
    if content is not None:
        given = Event(author="user", content=content, branch=event.branch, invocation_id=event.invocation_id)
        if path := node_path_of(event):
            given.node_info.path = path
        events.insert(place, given)
    return events


def contents_of(
    events: Sequence[Event],
    agent_name: str,
    *,
    branch: str | None = None,
    keep_ids: bool = False,
    scope: str | None = None,
) -> list[types.Content]:
    """Builds the contents for an agent from a session's events, with ADK's own code."""
    # ADK's own call ids stay only if asked for, and releases without the setting take them out. Older ones raise a
    # ValueError if a result has no call.
    given = _taken(preserve_function_call_ids=keep_ids, isolation_scope=scope)
    return _build(branch, list(events), agent_name, **given)


def new_contents(request: LlmRequest) -> list[types.Content]:
    """Returns what goes to a model whose provider keeps the rest, as ADK's own client for such models picks it."""
    contents = request.contents or []
    pick = getattr(import_module("google.adk.models.interactions_utils"), "_get_latest_user_contents", None)
    return (pick(contents) if pick else None) or contents


def whole_contents(request: LlmRequest, context: Any, agent_name: str, events: Sequence[Event]) -> list[types.Content]:
    """Returns a request's contents, dynamic instructions included, behind the history that was left to the provider.

    It raises a ValueError if they do not end the history, since something has rewritten calls or results.
    """
    contents = request.contents or []
    invocation = invocation_of(context)
    if getattr(getattr(invocation, "agent", None), "include_contents", "default") == "none":
        return contents
    branch, scope = getattr(invocation, "branch", None), isolation_scope_of(invocation)
    whole = contents_of(events, agent_name, branch=branch, keep_ids=True, scope=scope)
    place = len(whole)
    for content in reversed(contents):
        if place and content == whole[place - 1]:
            place -= 1
        elif any(part.function_call or part.function_response for part in content.parts or ()):
            raise ValueError("the calls and results of the request are not those of the session")
    return [*whole[:place], *contents]


_BUILDING = {
    *("basic", "instructions", "identity", "contents", "agent_transfer"),
    *("nl_planning", "planning", "output_schema_processor", "schema"),
}
"""The processors of ADK's flow that only build a request. The others run tools, code or a summarizing model."""


class AppRequests:
    """Builds requests as the agents of an app would send them, instructions and tool declarations included.

    It asks the app's instruction functions for their texts and its toolsets for their tools, and runs no tool, no
    callback of the app's own and no model.
    """

    def __init__(self, app: Any) -> None:
        root = None if isinstance(app, BaseAgent) else getattr(app, "root_agent", None)
        self._agents = {agent.name: agent for agent in agents_in(root or app)}
        for toolset in (each for agent in self._agents.values() for each in getattr(agent, "tools", None) or ()):
            if isinstance(toolset, BaseToolset) and "get_tools_with_prefix" not in vars(toolset):
                vars(toolset)["get_tools_with_prefix"] = _failing_once(toolset.get_tools_with_prefix)
        self.app = app
        self.plugins: tuple[Any, ...] = tuple(getattr(app, "plugins", None) or ())
        # Toolsets may keep connections that belong to the event loop in which they were opened.
        self._loop = asyncio.new_event_loop()
        Thread(target=self._loop.run_forever, daemon=True).start()

    def calls_model(self, agent: str) -> bool:
        """Tells whether an agent calls a model. One that the app does not have is taken to call one."""
        return isinstance(self._agents.get(agent, self), LlmAgent | AppRequests)

    def has(self, agent: str) -> bool:
        """Tells whether the app has an agent of this name whose requests can be built."""
        return isinstance(self._agents.get(agent), LlmAgent)

    def context(self, event: Event, session: Session, user_content: types.Content | None) -> CallbackContext:
        """Returns the callback context of the model call that `event` answers."""
        agent = self._agents[event.author]
        # ADK shows a single-turn agent no history, unless the app says otherwise.
        if getattr(agent, "mode", None) == "single_turn" and "include_contents" not in agent.model_fields_set:
            agent = agent.model_copy(update={"include_contents": "none"})
        given = {"isolation_scope": scope_of_event(event), "node_path": node_path_of(event)}
        more: dict[str, Any] = {name: value for name, value in given.items() if name in InvocationContext.model_fields}
        more |= {"agent": agent, "session": session, "user_content": user_content, "run_config": RunConfig()}
        more |= {"session_service": InMemorySessionService(), "artifact_service": InMemoryArtifactService()}
        more |= {"memory_service": InMemoryMemoryService(), "branch": event.branch}
        return CallbackContext(InvocationContext(invocation_id=event.invocation_id, **more))

    def request(self, context: CallbackContext) -> LlmRequest:
        """Returns the request that ADK builds in a context, or raises a ValueError if ADK or the app refuses to."""
        request = LlmRequest()
        try:
            building = _with_processors(invocation_of(context), request)
            asyncio.run_coroutine_threadsafe(building, self._loop).result()
        except Exception as error:
            raise ValueError(f"{type(error).__name__}: {error}") from error
        return request


def _failing_once(ask: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Asks a toolset until it fails. Whoever asks again is told the same, since each try may start a server."""
    failed: list[Exception] = []

    async def tools(*given: Any, **named: Any) -> Any:
        if not failed:
            try:
                return await ask(*given, **named)
            except Exception as error:
                failed.append(error)
        raise failed[0]

    return tools


def is_app(found: Any) -> bool:
    """Tells whether an object is an app, an agent, or a node of a workflow."""
    return not isinstance(found, type | ModuleType) and (hasattr(found, "root_agent") or hasattr(found, "graph"))


async def _with_processors(context: InvocationContext, request: LlmRequest) -> None:
    flow = context.agent._llm_flow  # type: ignore[union-attr]  # noqa: SLF001 - ADK has no public name for it
    flow.request_processors = [
        each for each in flow.request_processors if type(each).__module__.rpartition(".")[2].lstrip("_") in _BUILDING
    ]
    async for _ in flow._preprocess_async(context, request):  # noqa: SLF001
        pass


class _Sessions(BasePlugin):
    """Keeps the sessions of all runs, those of agents that run as a tool included."""

    def __init__(self) -> None:
        super().__init__(name="adk_context_pack_sessions")
        self.found: dict[str, Session] = {}

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """ADK's hook. Some releases have none after a run."""
        self.found[invocation_context.session.id] = invocation_context.session


async def recorded(app: Any, prompts: Iterable[str]) -> tuple[str, Any]:
    """Runs an app or an agent, a turn for each prompt, and returns the exported sessions and the artifact service."""
    from google.adk.apps.app import App  # noqa: PLC0415
    from google.adk.runners import InMemoryRunner  # noqa: PLC0415 - no plugin needs it

    runner = InMemoryRunner(app=app if hasattr(app, "plugins") else App(name="try_it", root_agent=app))
    runner.plugin_manager.register_plugin(sessions := _Sessions())
    await runner.run_debug(list(prompts), quiet=True, user_id="user", session_id=(outer := "session"))
    await runner.close()
    told = [each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in sessions.found.values()]
    return json.dumps([each | {"within": outer} for each in told]), runner.artifact_service
