"""Gives a model the tools that ask the rows and read the text of a stored result, and words their replies."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from sys import getsizeof
from typing import Any

from adk_context_pack._adk import ToolContext
from adk_context_pack._adk.known_tools import ReadBackTool
from adk_context_pack._adk.releases import outermost_invocation, session_service_kinds
from adk_context_pack._json import json_text, read_json
from adk_context_pack.conversation.token_estimate import estimate_tokens
from adk_context_pack.errors import Configured, HandleError, QueryError, StoreError, answering, integer, positive
from adk_context_pack.sql.database import QueryAnswer
from adk_context_pack.sql.guard import check_statement, hint_for, mentioned_handles, too_long
from adk_context_pack.sql.load_image import image_of
from adk_context_pack.sql.pattern_search import Places
from adk_context_pack.sql.sql_names import TableImage, TableNames
from adk_context_pack.sql.worker_pool import Job, WorkerProcess, query_images, search_text, shared_pool
from adk_context_pack.stores.byte_cache import CACHE, owner_of
from adk_context_pack.stores.codec import dumps
from adk_context_pack.stores.handles import StoredResult, find_result, stored_results
from adk_context_pack.stores.payload_store import DOCUMENTS, load_payload
from adk_context_pack.tables.columns import is_record, iter_columns
from adk_context_pack.tables.find_tables import find_tables, tables_within
from adk_context_pack.tools.result_limits import LAST_PAGE, page_room


def load_tables(value: Any) -> TableImage:
    """Loads every table in a result, each under its key. A result without one raises a `HandleError`."""
    # The one table whose rows are more than single values is `rows` as well, whatever lists of words are beside it.
    try:
        tables = find_tables(value) or find_tables(value, min_rows=0)
        known = {table.key for table in tables}
        within = (each for table in tables for each in tables_within(table) if each.key not in known)
        columns = {table.key: iter_columns(table.rows, table.columns) for table in (*tables, *within)}
        firsts = [(table.key, table.rows[0] if table.rows else None) for table in tables]
        wide = [key for key, row in firsts if isinstance(row, dict | list | tuple) or is_record(type(row))]
        wide = wide if len(tables) > 1 else [key for key, _ in firsts]
        image = image_of(columns, main=wide[0] if len(wide) == 1 else None) if tables else None
    except Exception as error:
        raise StoreError(f"the stored rows could not be loaded ({type(error).__name__})") from error
    if image is None:
        raise HandleError("This stored result holds no table: read it as text, without sql.")
    return image


_MAX_JOINED = 8


class QueryRows(Configured, ReadBackTool):
    """`query_rows` with chosen limits. The ready-made `query_rows` has the defaults.

    The rows are loaded once into SQLite and kept for the next queries, in the cache that all sessions share.
    Queries run in at most five child processes, which are started when they are first needed and keep tables within the
    plugin's `max_memory_bytes`. A query that exceeds its limits ends with its process. One user has one running query
    at a time, the others wait in a queue. A query that takes longer than a second begins again, in all processes but
    one. Answers add to the prompt and never change what is in it, so the provider's cached prefix stays.
    """

    def __init__(
        self, *, max_rows: int = 100, max_tokens: int = 4000, max_seconds: int = 5, max_megabytes: int = 256
    ) -> None:
        """Queries the rows of stored results with SQL.

        Args:
            max_rows: rows of an answer.
            max_tokens: tokens of an answer, as estimated.
            max_seconds: time for one query.
            max_megabytes: by how much its process may grow during one query (Linux only).
        """
        self._max_rows = positive("QueryRows", "max_rows", max_rows)
        self._max_tokens = positive("QueryRows", "max_tokens", max_tokens)
        self._max_seconds = positive("QueryRows", "max_seconds", max_seconds)
        self._max_megabytes = positive("QueryRows", "max_megabytes", max_megabytes)
        super().__init__(self.query_rows)

    # The model reads this docstring, on every call: only what it needs to write a query.
    @answering("The query could not be run.")
    async def query_rows(self, handle: str, sql: str, tool_context: ToolContext) -> dict[str, Any]:  # noqa: D417
        """Queries all rows behind a handle with read-only SQL (SQLite).

        Args:
            handle: The handle that a shortened result gives.
            sql: One SELECT. The table is `rows`. Several tables of a result have the names of their keys. Nested
                columns are dotted: "metrics.clicks". Booleans are 1 and 0. Integers divide to integers: write
                1.0 * a / b for a ratio. Another handle is a table too: FROM rows r JOIN HANDLE h ON r.id = h.id.

        Returns:
            columns, rows, total_rows, and `cut` where not all rows are shown.
        """
        if not isinstance(sql, str):
            raise QueryError("sql must be one SELECT as text.")
        # Models quote a statement, or put it into a block of code.
        sql = sql.strip().strip(mark).removeprefix("sql") if (mark := sql.strip()[:1]) in {"`", "'", '"'} else sql
        # The session's own state is asked first, whatever is in the cache: it alone says whose handle this is.
        wanted = _wanted(tool_context.session.state, handle, sql)
        makers = {each.handle: await _maker(tool_context, each) for each in wanted}
        images: dict[str, TableImage] = {}

        def job(process: WorkerProcess, seconds: int) -> QueryAnswer:
            # Starts while the rows are loaded here.
            process.start()
            images.update({each: make() for each, make in makers.items()})
            check_statement(sql, images)
            limits = {"max_rows": self._max_rows, "max_bytes": self._max_megabytes * 2**20}
            return query_images(process, images, sql, max_seconds=seconds, **limits)

        # Most queries take less than a second. What takes longer begins again where it holds nobody up.
        for seconds in (1, self._max_seconds):
            timed, given = partial(job, seconds=seconds), {"key": wanted[0].handle, "is_slow": seconds > 1}
            try:
                answer: QueryAnswer = await _in_pool(tool_context, timed, self._max_seconds, **given)
            except QueryError as error:
                if seconds == self._max_seconds or str(error) != too_long(seconds):
                    names = {each: image.names for each, image in images.items()}
                    return error_reply(str(error), names, sql, max_tokens=self._max_tokens)
            else:
                if answer.total is not None:
                    break
        reply = answer_reply(answer, max_tokens=self._max_tokens)
        if "rows" in reply and "FirestoreSessionService" in session_service_kinds(tool_context):
            # Firestore refuses an event with a list in a list, which would end the run.
            reply["rows"] = [json_text(row) for row in reply["rows"]]
        return reply


def _wanted(state: Mapping[str, Any], handle: str, sql: str) -> list[StoredResult]:
    """Returns the result that is asked, and the others of the session that a statement names as tables."""
    there = {result.handle: result for result in stored_results(state)}
    named = mentioned_handles(sql, there)
    tables = named or [result.handle for result in there.values() if result.kind == "rows"]
    # Without a handle, the statement may name one, or the session has only one.
    main = find_result(state, handle or (tables[0] if named or len(tables) == 1 else ""))
    wanted = [main, *(there[name] for name in named if name != main.handle)]
    if len(wanted) > _MAX_JOINED:
        raise QueryError(f"One query can join {_MAX_JOINED} stored results; this one names {len(wanted)}.")
    return wanted


async def _in_pool(context: ToolContext, job: Job, max_seconds: int, **given: Any) -> Any:
    owner = owner_of(context.session)[:2]
    return await asyncio.wrap_future(shared_pool().submit(owner, job, patience=10 * max_seconds, **given))


async def _maker(context: ToolContext, result: StoredResult) -> Callable[[], TableImage]:
    """Returns a function that makes the image if it is not in the cache. Making it takes a while."""
    key = (*owner_of(context.session), "tables", result.handle)
    if (known := CACHE.get(key)) is not None:
        return lambda: known
    value = await load_payload(context, result.handle)

    def make() -> TableImage:
        # A user's queries run one after the other, and an earlier one may have made it.
        if (image := CACHE.get(key)) is None:
            image = load_tables(value)
            # The names of tables and columns take memory as well.
            CACHE.put(key, image, len(image.data) + 2**12)
        return image

    return make


query_rows = QueryRows().query_rows


_MIN_CELL = 20


def answer_reply(answer: QueryAnswer, *, max_tokens: int) -> dict[str, Any]:
    """Returns the answer as a tool's result of at most about `max_tokens`, which says when it was cut."""
    left = max_tokens - estimate_tokens(json_text(answer.columns))
    if left < max_tokens // 2:
        return {"error": f"The result has {len(answer.columns)} columns; name the ones that you need."}
    rows = list[list[Any]]()
    for row in answer.rows:
        size = estimate_tokens(json_text(row))
        if size > left:
            # One row always comes, or a query for one long text would never be answered.
            rows = rows or [_shortened(row, left)]
            break
        rows.append(row)
        left -= size
    reply: dict[str, Any] = {"columns": answer.columns, "rows": rows, "total_rows": answer.total}
    if answer.total is None or len(rows) < answer.total:
        there = "more rows than can be counted in time" if answer.total is None else f"{answer.total} rows"
        reply["cut"] = f"{len(rows)} of {there}. Aggregate, filter, or go on with LIMIT and OFFSET."
    if answer.notes:
        reply["notes"] = [note[:300] for note in answer.notes[:5]]
    return reply


def error_reply(message: str, images: Mapping[str, TableNames], sql: str, *, max_tokens: int) -> dict[str, Any]:
    """Returns an error with advice, and with the tables and columns that the next query can use."""
    reply: dict[str, Any] = {"error": message}
    if hint := hint_for(message, images.values(), sql):
        reply["hint"] = hint
    if re.search("no such table|no such column|syntax error|ambiguous|unrecognized token|begin with", message):
        left, tables, reply["tables"] = max_tokens // 2, dict[str, Sequence[str]](), {}
        for handle, names in images.items():
            # The tables of the handle that was asked need no prefix.
            tables |= {f"{handle}.{table}" if tables else table: columns for table, columns in names.tables.items()}
        for table, columns in tables.items():
            shown = []
            for name in columns:
                left -= estimate_tokens(name) + 2
                shown += [name] if left > 0 else []
            reply["tables"] |= {table: shown} if shown or left > 0 else {}
        if left <= 0:
            reply["tables"]["…"] = "more tables and columns are not listed"
    return reply


def _shortened(row: list[Any], tokens: int) -> list[Any]:
    count = sum(isinstance(cell, str) and len(cell) > _MIN_CELL for cell in row)
    length = max(_MIN_CELL, 2 * tokens // max(1, count) - 4 * _MIN_CELL)
    said = "characters; read on with substr]"
    long = [isinstance(cell, str) and len(cell) > length for cell in row]
    return [f"{cell[:length]}… [{len(cell)} {said}" if cut else cell for cell, cut in zip(row, long, strict=True)]


class ReadPayload(Configured, ReadBackTool):
    """`read_payload` with chosen limits. The ready-made `read_payload` has the defaults.

    A text is read as it is, and anything else as compact JSON. All pages of a text together are exactly that text.
    JSON is given as what it says, under `json` in place of `text`: whole entries within what they stand in, with
    `first`, which says where the first of them stands. All pages together hold each value once. From a place within an
    entry, with an entry longer than a page, or where the session service would change a value, a page is of the text.
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
        text, is_json = await self._text(context, handle)
        asked, patience = str(search or ""), self._max_seconds
        if not asked.strip():
            most = max(self._max_tokens, min(4 * self._max_tokens, page_room(context, str(handle), start)))
            page = _storable(page_of(text, offset=start, length=count, max_tokens=most), context)
            # Within a string each quote of it would cost a backslash, which makes lists of lines a third longer.
            # In a document no list is within a list, and a key has no dots.
            if is_json and "escaped" not in page and DOCUMENTS.keys().isdisjoint(session_service_kinds(context)):
                page = json_page(text, page["offset"], page["offset"] + len(page["text"])) or page
            return page
        limits = {"start": place_of(text, start), "most": self._max_matches + 1, "max_seconds": patience}
        found = await _in_pool(context, lambda process: search_text(process, text, asked, **limits), patience)
        reply = matches_reply(text, Places(**found), max_matches=self._max_matches, max_tokens=self._max_tokens)
        return reply | {"matches": [_storable(match, context) for match in reply["matches"]]}

    async def _text(self, context: ToolContext, handle: str) -> tuple[str, bool]:
        """Returns a stored result as text, and whether that is JSON."""
        # The session's own state is asked first, whatever is in the cache: it alone says whose handle this is.
        result = find_result(context.session.state, handle)
        key = (*owner_of(context.session), "text", result.handle)
        known: tuple[str, bool] | None = CACHE.get(key)
        if known is not None:
            return known
        text = whole = await load_payload(context, result.handle)
        if is_json := not isinstance(whole, str):
            # Writing JSON of many megabytes takes seconds, in which the event loop would do nothing else.
            text = await _in_pool(context, lambda _: dumps(whole, json_text), self._max_seconds)
        CACHE.put(key, (text, is_json), getsizeof(text))
        return text, is_json


_STRING = r'"(?:[^"\\]|\\.)*+"'


def json_page(text: str, start: int, end: int) -> dict[str, Any] | None:
    """Returns as JSON the entries of compact JSON from a place on that end before another one, or None if it cannot.

    They keep the objects and lists that hold them, and `first` gives the path of the first one. Pages that each begin
    at the `next_offset` of the one before hold each value once.
    """
    # To look through more of it takes long.
    if end > 300_000 or (start > 0 and text[start - 1] != ","):  # noqa: PLR2004 - characters
        return None
    begins, cuts = list[list[Any]](), list[tuple[int, int, str]]()
    for place, path in _entries(text[:end]):
        if place == start:
            begins = [list(level) for level in path]
        elif place > start:
            cuts.append((len(path), place, "".join("}" if bracket == "{" else "]" for bracket, _ in path[::-1])))
    # At the end of a large entry rather than within it, if that does not leave much of the page empty.
    late = [cut for cut in cuts if cut[1] > (start + 3 * end) / 4]
    late = late or [cut for cut in cuts[-1:] if cut[1] > (start + end) / 2]
    if not late or bool(begins) != bool(start):
        return None
    _, stop, closing = min(late, key=lambda cut: (cut[0], -cut[1]))
    opening = "".join(f"{{{key}:" if bracket == "{" else "[" for bracket, key in begins[:-1])
    part = f"{opening}{begins[-1][0] if begins else ''}{text[start : stop - 1]}{closing}"
    # What some session services cannot write: NUL and lone surrogates, and beside texts long integers and NaN.
    is_odd = re.search(r"[\ud800-\udfff]|(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])", part)
    if is_odd or re.search("[0-9]{16}|NaN|Infinity", re.sub(_STRING, "", part)):
        return None
    there = {"offset": start, "next_offset": stop if stop < len(text) else None, "total_characters": len(text)}
    if begins and begins[-1][0] == "{":
        begins[-1][1] = (re.match(_STRING, text[start:stop]) or [""])[0]
    keys = (f"[{key}]" if isinstance(key, int) else f".{read_json(key)}" for _, key in begins)
    return {"json": read_json(part)} | ({"first": "".join(keys).removeprefix(".")} if begins else {}) | there


def _entries(text: str) -> Iterator[tuple[int, list[list[Any]]]]:
    """Yields where entries of compact JSON begin, and where it ends, with the brackets that are open there.

    With each bracket is the key or the number of its entry that is read.
    """
    path = list[list[Any]]()
    for sign in re.finditer(rf'({_STRING})(:)?|["\[\]{{}},]', text):
        # A quote alone begins a string in which the text ends.
        if sign[0] == '"' or len(path) > 30:  # noqa: PLR2004 - levels
            return
        if sign[2]:
            path[-1][1] = sign[1]
        elif sign[0] in "[{":
            path.append([sign[0], "" if sign[0] == "{" else 0])
        elif sign[0] in "]}":
            path.pop()
        elif sign[0] == ",":
            path[-1][1] = "" if path[-1][0] == "{" else path[-1][1] + 1
            yield sign.end(), path
    if not path:
        yield len(text) + 1, path


def _storable(reply: dict[str, Any], context: ToolContext) -> dict[str, Any]:
    service, text = getattr(outermost_invocation(context), "session_service", None), reply["text"]
    dialect = getattr(getattr(service, "db_engine", None), "dialect", None)
    # PostgreSQL's JSONB refuses NUL, and most services lone surrogates. An event with one would end the run.
    has_nul = "\0" in text and getattr(dialect, "name", "") == "postgresql"
    is_broken = text.encode(errors="ignore").decode() != text
    is_broken = is_broken and "InMemorySessionService" not in session_service_kinds(context)
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
