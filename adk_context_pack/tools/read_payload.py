"""Gives a model the tool that reads the whole of a payload that it was shown in part."""

from __future__ import annotations

import asyncio
import json
from sys import getsizeof
from typing import Any

from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.tools.tool_context import ToolContext

from adk_context_pack._adk.known_tools import ReadBackTool
from adk_context_pack._adk.releases import outermost_invocation
from adk_context_pack._json import json_text
from adk_context_pack.conversation.token_estimate import estimate_tokens
from adk_context_pack.errors import Configured, answering, integer, positive
from adk_context_pack.sql.pattern_search import Places
from adk_context_pack.sql.worker_pool import Job, search_text, shared_pool
from adk_context_pack.stores.byte_cache import CACHE, owner_of
from adk_context_pack.stores.codec import dumps
from adk_context_pack.stores.handles import find_result
from adk_context_pack.stores.payload_store import load_payload
from adk_context_pack.tools.result_limits import LAST_PAGE, page_room


class ReadPayload(Configured, ReadBackTool):
    """`read_payload` with chosen limits. The ready-made `read_payload` has the defaults.

    A text is read as it is, anything else as compact JSON. All pages together are exactly that text, whatever is in it.
    If the session service cannot write a page (lone surrogates, NUL on PostgreSQL), it is escaped as between the quotes
    of a JSON string, with `escaped: true`.
    A search runs in the child processes of `query_rows` and ends with its process when it exceeds its limits.
    Pages add to the prompt and never change what is in it, so the provider's cached prefix stays.
    """

    def __init__(self, *, max_tokens: int = 4000, max_matches: int = 20, max_seconds: int = 2) -> None:
        """Reads and searches the text of stored results.

        Args:
            max_tokens: tokens of a page, as estimated. A page that goes on where an earlier one ended may have four
                times as many, and three times that if it is the last one.
            max_matches: places that a search shows at once.
            max_seconds: time for one search.
        """
        self._max_tokens = positive("ReadPayload", "max_tokens", max_tokens)
        self._max_matches = positive("ReadPayload", "max_matches", max_matches)
        self._max_seconds = positive("ReadPayload", "max_seconds", max_seconds)
        super().__init__(self.read_payload)

    # The model reads this docstring, on every call: only what it needs to read on.
    @answering("The stored result could not be read.")
    async def read_payload(  # noqa: D417
        self, handle: str, tool_context: ToolContext, offset: int = 0, length: int = 0, search: str = ""
    ) -> dict[str, Any]:
        """Reads the whole text or JSON behind a handle, in pages or by search.

        Args:
            handle: The handle that a shortened result gives.
            offset: The character to begin with. -1000 for the last 1000. Go on with next_offset.
            length: How many characters. 0 for as many as fit.
            search: Words or regular expressions, one a line, or a heading or file of the text: counts and shows where
                they occur, from offset on, in place of a page.
        """
        context, start, count = tool_context, integer("offset", offset or 0), max(0, integer("length", length or 0))
        text = await self._text(context, handle)
        if not str(search or "").strip():
            most = max(self._max_tokens, min(4 * self._max_tokens, page_room(context, str(handle), start)))
            return _storable(page_of(text, offset=start, length=count, max_tokens=most), context)
        limits = {"start": place_of(text, start), "most": self._max_matches + 1, "max_seconds": self._max_seconds}
        found = await self._in_pool(context, lambda process: search_text(process, text, str(search), **limits))
        reply = matches_reply(text, Places(**found), max_matches=self._max_matches, max_tokens=self._max_tokens)
        return reply | {"matches": [_storable(match, context) for match in reply["matches"]]}

    async def _text(self, context: ToolContext, handle: str) -> str:
        # The session's own state is asked first, whatever is in the cache: it alone says whose handle this is.
        result = find_result(context.session.state, handle)
        key = (*owner_of(context.session), "text", result.handle)
        known: str | None = CACHE.get(key)
        if known is not None:
            return known
        value = await load_payload(context, result.handle)
        # Writing JSON of many megabytes takes seconds, in which the event loop would do nothing else.
        text = value if isinstance(value, str) else await self._in_pool(context, lambda _: dumps(value, json_text))
        CACHE.put(key, text, getsizeof(text))
        return text

    async def _in_pool(self, context: ToolContext, job: Job) -> Any:
        owner, patience = owner_of(context.session)[:2], 10 * self._max_seconds
        return await asyncio.wrap_future(shared_pool().submit(owner, job, patience=patience))


def _storable(reply: dict[str, Any], context: ToolContext) -> dict[str, Any]:
    service, text = getattr(outermost_invocation(context), "session_service", None), reply["text"]
    dialect = getattr(getattr(service, "db_engine", None), "dialect", None)
    # PostgreSQL's JSONB refuses NUL, and most services lone surrogates. An event with one would end the run.
    has_nul = "\0" in text and getattr(dialect, "name", "") == "postgresql"
    is_broken = text.encode(errors="ignore").decode() != text and not isinstance(service, InMemorySessionService)
    return reply | {"text": json.dumps(text)[1:-1], "escaped": True} if has_nul or is_broken else reply


read_payload = ReadPayload().read_payload


_BEFORE, _AFTER = 80, 160


def page_of(text: str, *, offset: int, length: int, max_tokens: int) -> dict[str, Any]:
    """Returns one page of a text, of `length` characters, or with 0 as many as fit.

    All pages from 0 on, each beginning at the `next_offset` of the one before, are together the text. A page has at
    least one character, and up to three times the budget if that is all that is left.
    """
    start = place_of(text, offset)
    left = len(text) - start
    if left <= 16 * LAST_PAGE * max_tokens and estimate_tokens(text[start:]) <= LAST_PAGE * max_tokens:
        max_tokens *= LAST_PAGE
    # A token has at least one character here, and no estimate needs to look at more.
    page = text[start : start + min(length or len(text), 16 * max_tokens)]
    while (tokens := estimate_tokens(page)) > max_tokens and len(page) > 1:
        page = page[: max(1, min(len(page) - 1, len(page) * max_tokens // tokens))]
    end = start + len(page)
    place = {"offset": start, "next_offset": end if end < len(text) else None}
    return {"text": page, **place, "total_characters": len(text)}


def matches_reply(text: str, places: Places, *, max_matches: int, max_tokens: int) -> dict[str, Any]:
    """Returns the places that a search found, each with its line and the text around it, within a budget.

    There is one place more than `max_matches` among them if there are more.
    """
    found: list[dict[str, Any]] = []
    next_offset = None
    is_ranked, few = not any(places.totals.values()), max_matches // 4
    for (start, end), line in zip(places.spans, places.lines, strict=True):
        # The best of the ranked places, and few places, are read with what is around them.
        is_alone = len(found) < few and (is_ranked or len(places.spans) <= few)
        shown = _around(text, start, end, 3 * _BEFORE if is_alone else 0)
        max_tokens -= estimate_tokens(shown) + 32
        if len(found) == max_matches or (found and max_tokens < 0):
            # The next of the ranked places may be anywhere.
            next_offset = None if is_ranked else start
            break
        found.append({"offset": start, "line": line, "text": shown})
    total = places.totals if len(places.totals) > 1 else next(iter(places.totals.values()), 0)
    reply = {"matches": found, "total": total, "next_offset": next_offset, "total_characters": len(text)}
    return reply | ({"note": places.note} if places.note else {})


def place_of(text: str, offset: int) -> int:
    """Returns the position that an offset means. A negative one counts from the end."""
    return min(len(text), offset) if offset >= 0 else max(0, len(text) + offset)


def _around(text: str, start: int, end: int, more: int) -> str:
    """Returns a match with its line, and with up to `more` characters of the lines before and after it."""
    end = min(end, start + 2 * _AFTER)
    first, last = max(0, start - _BEFORE - more), min(len(text), end + _AFTER + more)
    line_start = (text.find("\n", first, start) if first else -1) if more else text.rfind("\n", first, start)
    line_end = text.rfind("\n", end, last) if more else text.find("\n", end, last)
    return text[line_start + 1 if line_start >= 0 else first : line_end if line_end >= 0 else last]
