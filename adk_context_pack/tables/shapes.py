"""Knows the shapes around rows: MCP's text blocks, and names of columns that are beside or above the rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from adk_context_pack._json import json_text
from adk_context_pack.tables.columns import unique_names
from adk_context_pack.tables.names import words

_MCP_TYPES = frozenset(("text", "image", "audio", "resource", "resource_link"))


def rows_of_blocks(texts: Sequence[str], structured: Any) -> Sequence[Any] | None:
    """Returns the rows that text blocks hold, one in each; None where they do not."""
    # Python's MCP server writes a list as one text block for each of its entries.
    if len(texts) <= 1:
        return None
    if isinstance(structured, Mapping):
        rows = structured.get("result")
        return rows if isinstance(rows, list) and len(rows) == len(texts) else None
    if not all(text[:1] == "{" for text in texts):
        return None
    from adk_context_pack.tables.text_tables import read_text  # noqa: PLC0415 - reads all forms of text, for few results

    read = [found.value if (found := read_text(text)) and found.form == "json" else None for text in texts]
    return read if all(isinstance(row, dict) for row in read) else None


def with_rows(blocks: Iterable[Any], shown: Any) -> Iterator[Any]:
    """Yields `blocks` with a text block for each shown row in place of all text blocks. The others stay."""
    written = False
    rows = shown if isinstance(shown, (list, tuple)) else [shown]
    for block in blocks:
        if not is_text(block):
            yield block
        elif not written:
            written = True
            yield from ({**block, "text": row if isinstance(row, str) else json_text(row)} for row in rows)


def is_mcp(value: Mapping[Any, Any]) -> bool:
    """Returns whether a dict is the result of an MCP tool."""
    blocks = value.get("content")
    if not isinstance(blocks, (list, tuple)) or not all(isinstance(block, Mapping) for block in blocks):
        return False
    marked = "structuredContent" in value or "isError" in value
    return (marked or bool(blocks)) and all(block.get("type") in _MCP_TYPES for block in blocks)


def is_text(block: Any) -> bool:
    """Returns whether a content block is text."""
    return block.get("type") == "text" and isinstance(block.get("text"), str)


# Words in the names of what a service says of a page: where it starts and ends, how to get the next one, how it went.
_OF_PAGES = frozenset(
    """page pages pagination paging next prev previous cursor cursors token offset limit total count more start first
    last has marker continuation scroll link links self kind etag meta metadata mask request took done
    summary consumption schema""".split()  # noqa: SIM905 - one word a line would take a page
)
_MAX_PAGES = 10_000
_HEADERS = (
    *("columns", "column_names", "columnNames", "headers", "header", "fields", "names", "schema"),
    *("cols", "columnHeaders", "rowType"),
)
_MAX_DEPTH = 3
_MAX_KEYS = 50
# A dict of a name and a value is a cell, and a list of cells a row.
_CELL = 2


def rows_path(pages: Sequence[Any]) -> tuple[Any, ...] | None:
    """Returns the keys that lead to the rows in each page of a list of pages, or None for any other list.

    A page has one list of rows and else only what is the same on all pages, or what its name says of a page: cursors,
    totals, masks. Google Ads' searchStream answers with such a list,
    https://developers.google.com/google-ads/api/rest/common/search. Pages that are lists have an empty path.
    """
    if not 0 < len(pages) <= _MAX_PAGES or not (_is_paged(pages[0], 0) or _is_paged(pages[-1], 0)):
        return None
    return _path(pages, 0)


def joined(pages: Sequence[Any], path: Sequence[Any], rows: Any) -> Any:
    """Returns one page in place of many, with `rows` in the place to which `path` leads."""
    if not path:
        return rows
    inner = [page[path[0]] for page in pages if path[0] in page]
    return {**pages[0], **pages[-1], path[0]: joined(inner, path[1:], rows)}


def _path(pages: Sequence[Any], depth: int) -> tuple[Any, ...] | None:
    if all(map(_is_list_of_rows, pages)):
        return (
            ()
            if depth or all(isinstance(row, Mapping) and len(row) > _CELL for page in pages for row in page)
            else None
        )
    if depth > _MAX_DEPTH or not all(isinstance(page, Mapping) for page in pages):
        return None
    found: list[tuple[Any, ...]] = []
    for key in dict.fromkeys(key for page in pages for key in page):
        values = [page[key] for page in pages if key in page]
        inner = _path(values, depth + 1) if any(_is_paged(value, depth) for value in values) else None
        if inner is not None:
            found.append((key, *inner))
        elif _OF_PAGES.isdisjoint(words(str(key))) and (len(pages) == 1 or values.count(values[0]) < len(pages)):
            return None
    # One page alone cannot be told from a record with a list in it, unless it says something else of pages.
    return found[0] if len(found) == 1 and (depth or len(pages) > 1 or len(pages[0]) > 1) else None


def _is_paged(value: Any, depth: int) -> bool:
    """Returns whether a list of dicts or lists is in a value, or is the value itself."""
    if isinstance(value, Mapping):
        return depth <= _MAX_DEPTH and any(_is_paged(item, depth + 1) for item in value.values())
    return isinstance(value, list) and bool(value) and isinstance(value[0], (Mapping, list))


def _is_list_of_rows(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(row, (Mapping, list)) for row in value[:1])


def header_of(value: Mapping[Any, Any]) -> tuple[str | None, Sequence[str] | None]:
    """Returns the key under which a dict names the columns of a list of lists in it, and these names."""
    for key in _HEADERS:
        names = _names(value[key]) if key in value else None
        if names and any(fits(item, names) for other, item in value.items() if other != key):
            return key, names
    return None, None


def far_header(rows: Sequence[Any], above: Sequence[Mapping[Any, Any]]) -> Sequence[str] | None:
    """Returns the names of the columns of a list of lists, from the dicts that it is in, the nearest first.

    Snowflake, Databricks and Socrata describe the columns in a branch of their own.
    """
    if not rows or not isinstance(rows[0], (list, tuple)):
        return None
    return next((names for value in reversed(above) if (names := _names_within(value, rows, 0))), None)


def _names_within(value: Mapping[Any, Any], rows: Sequence[Any], depth: int) -> Sequence[str] | None:
    for key, item in islice(value.items(), _MAX_KEYS):
        names = _names(item) if key in _HEADERS else None
        if names is None and isinstance(item, Mapping) and depth < _MAX_DEPTH:
            names = _names_within(item, rows, depth + 1)
        if names and fits(rows, names):
            return names
    return None


def fits(rows: Any, names: Sequence[str]) -> bool:
    """Returns whether `rows` are lists of as many values as there are names."""
    if not isinstance(rows, (list, tuple)) or not rows:
        return False
    return isinstance(rows[0], (list, tuple)) and len(rows[0]) == len(names)


def _names(header: Any) -> Sequence[str] | None:
    if isinstance(header, Mapping):
        header = header.get("fields")
    if not isinstance(header, (list, tuple)) or not header:
        return None
    known = all(isinstance(name, str) or (isinstance(name, Mapping) and "name" in name) for name in header)
    return unique_names(header) if known else None
