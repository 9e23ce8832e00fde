"""Answers a query of a model: with the rows within a budget, or with what was wrong and what there is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from adk_context_pack._json import json_text
from adk_context_pack.conversation.token_estimate import estimate_tokens
from adk_context_pack.sql.database import QueryAnswer
from adk_context_pack.sql.hints import hint_for
from adk_context_pack.sql.table_image import TableNames

_CHARACTERS_A_TOKEN = 2
_MIN_CELL = 20
_MAX_NOTES = 5
_NEEDS_NAMES = ("no such table", "no such column", "syntax error", "ambiguous", "unrecognized token", "begin with")


def answer_reply(answer: QueryAnswer, *, max_tokens: int) -> dict[str, Any]:
    """Returns the answer as a tool's result of at most about `max_tokens`, which says when it was cut.

    Args:
        answer: what the query gave.
        max_tokens: the budget, as estimated.
    """
    left = max_tokens - estimate_tokens(json_text(answer.columns))
    if left < max_tokens // 2:
        return {"error": f"The result has {len(answer.columns)} columns; name the ones that you need."}
    rows = _within(answer.rows, left)
    reply: dict[str, Any] = {"columns": answer.columns, "rows": rows, "total_rows": answer.total}
    if answer.total is None or len(rows) < answer.total:
        there = "more than can be counted in time" if answer.total is None else str(answer.total)
        reply["cut"] = f"{len(rows)} of {there} rows. Aggregate, filter, or go on with LIMIT and OFFSET."
    if answer.notes:
        reply["notes"] = [note[:200] for note in answer.notes[:_MAX_NOTES]]
    return reply


def error_reply(message: str, images: Mapping[str, TableNames], *, max_tokens: int) -> dict[str, Any]:
    """Returns an error with advice and with the tables and columns that there are, so that the next query can be right.

    Args:
        message: what was wrong.
        images: the tables that the query could read, under their handles.
        max_tokens: the budget, as estimated.
    """
    reply: dict[str, Any] = {"error": message}
    if hint := hint_for(message, images.values()):
        reply["hint"] = hint
    if any(words in message for words in _NEEDS_NAMES):
        left = max_tokens // 2
        reply["tables"] = {}
        for table, columns in _tables(images).items():
            shown, left = _names_within(columns, left)
            if left <= 0:
                reply["tables"]["…"] = "more tables and columns are not listed"
                reply["tables"] |= {table: shown} if shown else {}
                break
            reply["tables"][table] = shown
    return reply


def _tables(images: Mapping[str, TableNames]) -> dict[str, Sequence[str]]:
    found: dict[str, Sequence[str]] = {}
    for handle, names in images.items():
        # The tables of the handle that was asked need no prefix.
        found |= {f"{handle}.{table}" if found else table: columns for table, columns in names.tables.items()}
    return found


def _names_within(names: Sequence[str], left: int) -> tuple[list[str], int]:
    shown = []
    for name in names:
        left -= estimate_tokens(name) + 2
        if left <= 0:
            break
        shown.append(name)
    return shown, left


def _within(rows: Sequence[list[Any]], left: int) -> list[list[Any]]:
    kept: list[list[Any]] = []
    for row in rows:
        size = estimate_tokens(json_text(row))
        if size > left:
            # One row always comes, or a query for one long text would never be answered.
            return kept or [_shortened(row, left)]
        kept.append(row)
        left -= size
    return kept


def _shortened(row: list[Any], tokens: int) -> list[Any]:
    long = sum(isinstance(cell, str) and len(cell) > _MIN_CELL for cell in row)
    length = max(_MIN_CELL, _CHARACTERS_A_TOKEN * tokens // max(1, long) - 4 * _MIN_CELL)
    return [_clipped(cell, length) for cell in row]


def _clipped(cell: Any, length: int) -> Any:
    if not isinstance(cell, str) or len(cell) <= length:
        return cell
    return f"{cell[:length]}… [{len(cell)} characters; read on with substr]"
