"""Gives an agent the tools that read back what was kept out of its prompt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.adk.models.llm_request import LlmRequest
from google.adk.tools.base_tool import BaseTool

from adk_context_pack.stores.handles import stored_results
from adk_context_pack.tools.query_rows import QueryRows
from adk_context_pack.tools.read_payload import ReadPayload
from adk_context_pack.tools.search_history import SearchHistory

_TOOLS: dict[str, BaseTool] = {"rows": QueryRows(), "payload": ReadPayload()}
_HISTORY = SearchHistory()

READ_BACK = frozenset(tool.name for tool in _TOOLS.values())
"""Names of the tools that an agent will have by the time it reads a shortened result."""


def offer_read_back(request: LlmRequest, state: Mapping[str, Any], *, history: bool) -> None:
    """Adds to `request` the tools that its agent needs and has not.

    Args:
        request: the request; an agent without tools never got a shortened result of its own, and is given none.
        state: the session's state, whose keys tell which tools' results are kept.
        history: whether history has left, or will leave, the request.
    """
    offered = request.tools_dict
    if not offered:
        return
    kinds = {result.kind for result in stored_results(state) if result.tool_name in offered}
    wanted = [tool for kind, tool in _TOOLS.items() if kind in kinds] + ([_HISTORY] if history else [])
    if missing := [tool for tool in wanted if tool.name not in offered]:
        request.append_tools(missing)
