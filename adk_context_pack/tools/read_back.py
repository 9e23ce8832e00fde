"""Gives an agent the tools that read back what was kept out of its prompt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from google.adk.models.llm_request import LlmRequest
from google.adk.tools.base_tool import BaseTool
from google.genai import types

from adk_context_pack._adk.known_tools import kind_of, takes_tools
from adk_context_pack._json import json_text
from adk_context_pack.stores.handles import stored_results
from adk_context_pack.tools.result_pass import CHANGEABLE, NO_TOOLS, ResultPass, ToolSetting, passes_for

_NAMES = {"rows": "query_rows", "payload": "read_payload"}
READ_BACK = frozenset(_NAMES.values())
"""Names of the tools that an agent will have by the time it reads a shortened result."""


@cache
def _tool(kind: str) -> BaseTool:
    # SQL, search and the processes behind them load with the first agent that is given such a tool.
    if kind == "rows":
        from adk_context_pack.tools.query_rows import QueryRows  # noqa: PLC0415

        return QueryRows()
    if kind == "payload":
        from adk_context_pack.tools.read_payload import ReadPayload  # noqa: PLC0415

        return ReadPayload()
    from adk_context_pack.tools.search_history import SearchHistory  # noqa: PLC0415

    return SearchHistory()


def offer_read_back(  # noqa: PLR0913 - what an agent may need it for
    request: LlmRequest,
    state: Mapping[str, Any],
    *,
    history: bool,
    passes: Sequence[ResultPass] = (),
    early: bool = False,
    always: bool = False,
    tools: Mapping[str, ToolSetting] = NO_TOOLS,
    handed: Sequence[types.Content] = (),
) -> frozenset[str]:
    """Adds to `request` the read-back tools that its agent needs and does not have.

    An agent needs the tool for a stored result if the result is one of its own tools', or if the request shows the
    handle: in what another agent did or said, in an answer of a child agent, in the instruction. With the first result
    of its own it is given the tools for all that may follow, so that its declarations change once. A request that
    cannot take function tools stays as it is.

    Args:
        request: the request as ADK built it.
        state: the session's state, whose keys tell which tools' results are kept.
        history: whether history has left, or will leave, the request.
        passes: the passes over the results of the agent's tools.
        early: offers what these passes may make necessary before they have kept anything.
        tools: settings for single tools by name.
        handed: what will join the request's contents before it is sent.
        always: offers all of them whatever the request shows, so that an agent's declarations never change.

    Returns:
        The names of the tools that were added.
    """
    if not takes_tools(request):
        return frozenset()
    names = [name for name, tool in request.tools_dict.items() if kind_of(tool, name) in CHANGEABLE]
    changing = {each.kept_kind for name in names for each in passes_for(passes, tools, name)}
    kinds = set(_NAMES) if always else _for_results(request, state, handed, changing, early=early)
    wanted = [*(kind for kind in _NAMES if kind in kinds), *(["history"] * (always or history))]
    if missing := [tool for tool in map(_tool, wanted) if tool.name not in request.tools_dict]:
        request.append_tools(missing)
    return frozenset(tool.name for tool in missing)


def _for_results(
    request: LlmRequest,
    state: Mapping[str, Any],
    handed: Sequence[types.Content],
    changing: set[str | None],
    *,
    early: bool,
) -> set[str | None]:
    results = stored_results(state)
    offered = request.tools_dict
    kinds: set[str | None] = {result.kind for result in results if result.tool_name in offered}
    if kinds or early:
        kinds |= changing
    # Texts are searched for the kinds alone of which the agent made no result of its own.
    others = [result for result in results if result.kind not in kinds and _NAMES[result.kind] not in offered]
    if others:
        instruction = request.config.system_instruction if request.config else None
        for text in (instruction, *_texts_in(request.contents or ()), *_texts_in(handed)):
            shown = text if isinstance(text, str) else ""
            kinds |= {result.kind for result in others if result.kind not in kinds and result.handle in shown}
    return kinds


def _texts_in(contents: Sequence[types.Content]) -> Iterator[str]:
    for content in contents:
        for part in content.parts or ():
            if part.text:
                yield part.text
            elif part.function_response is not None:
                yield json_text(part.function_response.response)
