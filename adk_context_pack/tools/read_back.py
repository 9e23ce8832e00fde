"""Gives an agent the tool that reads back what was kept out of its prompt."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from copy import copy
from functools import cache, partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from adk_context_pack._adk import LlmRequest, ToolContext, known_tools, types
from adk_context_pack._json import json_text
from adk_context_pack.errors import Configured, SettingError, answering, warn_once
from adk_context_pack.stores.handles import find_result, handle_from, is_handle, stored_results, unknown_handle
from adk_context_pack.tools.result_pass import CHANGEABLE, NO_TOOLS, ResultPass, ToolSetting, passes_for

if TYPE_CHECKING:
    from adk_context_pack.tools.open_results import QueryRows, ReadPayload
    from adk_context_pack.tools.search_history import SearchHistory

OFFERED_NAMES = frozenset({known_tools.READ_BACK})
"""Names of the tools that an agent will have by the time it reads a shortened result."""
_FILTER = re.compile(r'(?<!\S)(agent|tool|turn|since|until|before):(?:"([^"]*)"|(\S+))')


class ReadBack(Configured, known_tools.ReadBackTool):
    """`read_back` with chosen limits. The ready-made `read_back` has the defaults.

    One tool opens whatever the pack has kept out of a prompt. With the handle of a stored result it reads or searches
    its text, or asks its rows with SQL. With an event's id it reads the event, and without either it searches what was
    said, called and returned earlier in the session, or lists it. The plugin gives it to an agent with the first
    request that needs it. The declaration has about 120 tokens. Replies add to the prompt and never change what is in
    it, so the provider's cached prefix stays.
    """

    def __init__(
        self, *, rows: QueryRows | None = None, payload: ReadPayload | None = None, history: SearchHistory | None = None
    ) -> None:
        """Opens whatever the pack has kept out of a prompt.

        Args:
            rows: the limits of queries. None for those of `query_rows`.
            payload: the limits of pages and of searches in a result. None for those of `read_payload`.
            history: the limits of searches in the session's past. None for those of `search_history`.
        """
        self._own = (rows, payload, history)
        for place, name in enumerate(("rows", "payload", "history")):
            if self._own[place] is not None and not isinstance(self._own[place], kind := type(_tools()[place])):
                raise SettingError.of(self, name, self._own[place], f"{kind.__name__}(…) or None")
        super().__init__(self.read_back)

    # The model reads this docstring, on every call.
    @answering("Nothing could be read back.")
    async def read_back(
        self, tool_context: ToolContext, handle: str = "", sql: str = "", search: str = "", offset: int = 0
    ) -> dict[str, Any]:
        """Opens what is left_out: a result by handle, an event by id, else the past by search.

        sql: SQLite SELECT from rows, nested "a.b", other handles are tables. search: words or regexes, past also
        agent:NAME tool:NAME turn:-1 since:2026-11-23. offset: next_offset.
        """
        state, wanted = tool_context.session.state, handle_from(handle)
        asked = "\n".join(map(str, search)) if isinstance(search, list) else str(search or "")
        is_query = asked[:7].upper() == "SELECT " and " FROM " in asked.upper()
        if is_query and is_handle(wanted) and find_result(state, wanted).kind == "rows":
            sql = asked
        tools: Any = (own or tool for own, tool in zip(self._own, _tools(), strict=True))
        rows, payload, history = tools
        past = partial(history.search_history, tool_context, offset=offset)
        if sql:
            reply: dict[str, Any] = await rows.query_rows(wanted, sql, tool_context)
        elif is_handle(wanted):
            reply = await payload.read_payload(wanted, tool_context, offset, search=asked)
        elif not wanted:
            filters = {name: quoted or word for name, quoted, word in _FILTER.findall(asked)}
            before = filters.pop("before", "")
            reply = await past(_FILTER.sub("", asked), before_event=before, **filters)
        else:
            reply = await past(read_event=wanted)
            if "error" in reply and stored_results(state):
                raise unknown_handle(state, wanted)
        return reply


read_back = ReadBack().read_back


@cache
def _tools() -> tuple[QueryRows, ReadPayload, SearchHistory]:
    # SQL, search and the processes behind them load with the first agent that is given such a tool.
    from adk_context_pack.tools.open_results import QueryRows, ReadPayload  # noqa: PLC0415
    from adk_context_pack.tools.search_history import SearchHistory  # noqa: PLC0415

    return QueryRows(), ReadPayload(), SearchHistory()


@cache
def _offered() -> tuple[known_tools.ReadBackTool, ...]:
    tools = (ReadBack(), *map(copy, _tools()))
    for tool in tools[1:]:
        tool.is_alias = True
    return tools


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
    """Adds `read_back` to `request` if its agent needs it and has no tool in its place, and returns the added names.

    An agent needs a tool for a stored result if the request, or what is `handed` over before it is sent, shows the
    handle, and if `history` has left the request or will leave it. What `passes` may make necessary is offered `early`,
    before they have kept anything, or `always`, so that declarations never change. The tools of earlier releases answer
    as well, undeclared, since a session may show calls of them. A request that takes no function tools stays as it is.
    """
    if not known_tools.takes_tools(request):
        return frozenset()
    names = [name for name, tool in request.tools_dict.items() if known_tools.kind_of(tool, name) in CHANGEABLE]
    changing = {each.kept_kind for name in names for each in passes_for(passes, tools, name)}
    own = known_tools.openers_in(request)
    kinds = set(own._fields) if always else (early and changing) or _shown(request, own, state, handed)
    kinds = kinds and kinds | changing
    kinds |= {"history"} if history else set()
    if all(getattr(own, kind) for kind in kinds if kind):
        return frozenset()
    tool, *former = _offered()
    if known_tools.READ_BACK in request.tools_dict:
        given = ", ".join(known_tools.OPENERS)
        warn_once(f"a tool of the app has the name 'read_back', so its agent is given {given} in its place")
        request.append_tools([each for each in _tools() if each.name not in request.tools_dict])
        return frozenset(known_tools.OPENERS)
    request.append_tools([tool])
    request.tools_dict.update({each.name: each for each in former if each.name not in request.tools_dict})
    return OFFERED_NAMES


def _shown(
    request: LlmRequest, own: known_tools.Openers, state: Mapping[str, Any], handed: Sequence[types.Content]
) -> set[str | None]:
    """Returns the kinds of stored results whose handles a request shows to an agent that cannot open them."""
    left, kinds = [each for each in stored_results(state) if not getattr(own, each.kind)], set[str | None]()
    said = request.config.system_instruction if request.config else None
    instruction = [types.Part(text=said)] if isinstance(said, str) else []
    # The newest results first, since as a rule these are shown.
    for part in chain(*(content.parts or () for content in (*reversed(request.contents), *handed)), instruction):
        if not left:
            break
        text = part.text or (json_text(part.function_response.response) if part.function_response else "")
        kinds |= {each.kind for each in left if each.handle in text}
        left = [each for each in left if each.kind not in kinds]
    return kinds
