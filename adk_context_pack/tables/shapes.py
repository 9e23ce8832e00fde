"""Knows the text blocks of MCP around rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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
