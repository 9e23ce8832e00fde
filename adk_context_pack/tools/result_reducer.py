"""Runs result passes for a whole app: over fresh events, or behind wrapped tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from google.adk.agents.invocation_context import InvocationContext
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from adk_context_pack.conversation.model_call import RUNS, ToolRun
from adk_context_pack.conversation.token_estimate import Counter
from adk_context_pack.errors import logger
from adk_context_pack.reports.call_report import CapReport
from adk_context_pack.tools.result_pass import ResultPass, ToolSetting, printed, reduce_result, with_output
from adk_context_pack.tools.tool_call import ToolCall
from adk_context_pack.tools.wrap import wrap_runs


@dataclass(frozen=True, kw_only=True, slots=True)
class ResultReducer:
    """Runs `passes` over the results of a whole app.

    Args:
        passes: the passes, in the order in which they run.
        offered: names of tools that the agent will have beyond its own list, so that a stub may name them.
        on_report: called with each report, beside the `on_report` of the pass.
        counter: weighs results for reports, from text to tokens. None means that of each pass, or an estimate.
        tools: settings for single tools by name.
    """

    passes: tuple[ResultPass, ...]
    offered: frozenset[str] = frozenset()
    on_report: Callable[[CapReport], None] | None = None
    counter: Counter | None = None
    tools: Mapping[str, ToolSetting] = field(default_factory=dict)

    async def reduce(self, tool: BaseTool, args: dict[str, Any], tool_context: ToolContext, result: Any) -> Any:
        """Returns what a wrapped tool gives in place of its result. The same object if no pass changes it."""
        call = ToolCall.of_tool(tool, args, tool_context)
        return await self._reduced(result, call, RUNS.tools(tool_context.session))

    def wrap_tools(self, request: LlmRequest, *, unless: Callable[[], bool]) -> None:
        """Puts copies of a request's tools in their place that reduce each result as the tool returns it.

        A failure leaves the result as it is.

        Args:
            request: the request whose tools ADK will run.
            unless: asked after each run of a tool. If it returns True, the result stays as it is.
        """

        async def reduce(tool: BaseTool, args: dict[str, Any], context: ToolContext, result: Any) -> Any:
            if unless():
                return result
            try:
                return await self.reduce(tool, args, context, result)
            except Exception:
                logger.exception("a result of %s stays as it is", tool.name)
                return result

        wrap_runs(request, reduce)

    async def reduce_event(self, context: InvocationContext, event: Event) -> bool:
        """Gives an event that is not stored yet a new content with reduced responses.

        Nothing that the event shared with the session is written to.

        Returns:
            True if anything was changed, False for an event that ADK has stored already.
        """
        if event.partial or is_stored(context, event):
            return False
        content = await self.reduced_content(event, context, RUNS.tools(context.session))
        if content is None:
            return False
        event.content = content
        return True

    async def reduced_content(
        self, event: Event, context: InvocationContext | None, tools: Mapping[str, ToolRun] | None = None
    ) -> types.Content | None:
        """Returns the content of `event` with reduced responses. None if no response changes.

        Args:
            event: an event with function responses. It is not changed.
            context: ADK's context of the run. None for a recorded event, whose state nothing is written to.
            tools: the tools that made the responses, by the ids of their calls, as far as they are known.
        """
        parts, reduced = (event.content.parts if event.content else None) or [], dict[int, types.Part]()
        for place, part in enumerate(parts):
            if (response := part.function_response or printed(part)) is None:
                continue
            call = ToolCall.of_response(response, event, context)
            result = await self._reduced(response.response, call, tools or {})
            if result is response.response:
                continue
            if part.function_response is None:
                reduced[place] = with_output(part, result)
                continue
            body = result if isinstance(result, dict) else {"result": result}
            # Media that ADK has moved beside the response stays there.
            shown = response.model_copy(update={"response": body})
            reduced[place] = part.model_copy(update={"function_response": shown})
        if event.content is None or not reduced:
            return None
        return event.content.model_copy(update={"parts": [reduced.get(at, part) for at, part in enumerate(parts)]})

    async def _reduced(self, result: Any, call: ToolCall, tools: Mapping[str, ToolRun]) -> Any:
        ran = tools.get(call.call_id or "")
        call = replace(call, offered=self.offered, on_report=self.on_report, counter=self.counter)
        call = replace(call, **ran._asdict()) if ran else call
        return await reduce_result(self.passes, result, call, tools=self.tools)


def is_stored(context: InvocationContext, event: Event) -> bool:
    """Returns whether ADK has stored an event already, as releases up to 1.22 do before a plugin sees it."""
    # It is then the newest one, and parallel agents may have added a few.
    return any(stored.id == event.id for stored in context.session.events[-16:])
