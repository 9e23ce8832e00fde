"""Knows the shapes around rows: MCP's text blocks, and names of columns that are beside or above the rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from adk_context_pack._json import json_text
from adk_context_pack.tables.columns import unique_names
from adk_context_pack.tables.json_in_text import read_document

_MCP_TYPES = frozenset(("text", "image", "audio", "resource", "resource_link"))


def rows_of_blocks(texts: Sequence[str], structured: Any) -> Sequence[Any] | None:
    """Returns the rows that text blocks hold, one in each, or None if they do not."""
    # Python's MCP server writes a list as one text block for each of its entries.
    if len(texts) <= 1:
        return None
    if isinstance(structured, Mapping):
        rows = structured.get("result")
        return rows if isinstance(rows, list) and len(rows) == len(texts) else None
    read = [read_document(text) for text in texts]
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


_NAMED = frozenset("columns columnnames headers header fields names schema cols columnheaders rowtype".split())  # noqa: SIM905


def header_of(rows: Sequence[Any], above: Sequence[Mapping[Any, Any]]) -> Sequence[str] | None:
    """Returns the names of the columns of a list of lists, from the dicts that it is in, the nearest first.

    Snowflake, Databricks and Socrata describe the columns in a branch of their own.
    """
    if not rows or not isinstance(rows[0], (list, tuple)):
        return None
    return next((names for value in reversed(above) if (names := _names_within(value, rows, 0))), None)


def _names_within(value: Mapping[Any, Any], rows: Sequence[Any], depth: int) -> list[str] | None:
    for key, item in islice(value.items(), 50):
        is_named = str(key).lower().replace("_", "") in _NAMED
        told: Any = item.get("fields") if isinstance(item, Mapping) else item
        fits = isinstance(told, (list, tuple)) and 0 < len(told) == len(rows[0])
        if fits and (names := described(told, are_named=is_named)):
            return names
        if isinstance(item, Mapping) and depth < 3 and (names := _names_within(item, rows, depth + 1)):  # noqa: PLR2004 - levels
            return names
    return None


def described(entries: Sequence[Any], *, are_named: bool = True) -> list[str] | None:
    """Returns the names of the columns that a list of texts or dicts tells, or None if it does not.

    Args:
        entries: the list.
        are_named: whether texts are names. Those beside rows are, if their key says so.
    """
    if entries and all(isinstance(entry, str) for entry in entries):
        return unique_names(entries) if are_named else None
    first = entries[0] if entries and isinstance(entries[0], Mapping) else {}
    key = next((key for key in ("name", *first) if key in first and str(key).lower().endswith("name")), None)
    if key is None or not all(isinstance(entry, Mapping) and isinstance(entry.get(key), str) for entry in entries):
        return None
    return unique_names(entry[key] for entry in entries)
