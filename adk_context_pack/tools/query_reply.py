"""What a model is told about a query: the rows within a budget, or what was wrong and what there is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from adk_context_pack._json import json_text
from adk_context_pack.conversation.token_estimate import estimate_tokens
from adk_context_pack.sql.database import QueryAnswer

_CHARACTERS_A_TOKEN = 2
_MIN_CELL = 20
_MAX_NOTES = 5
_HINT = 'Texts go in single quotes; names with dots, spaces or odd letters in double quotes: "metrics.clicks".'


def answer_reply(answer: QueryAnswer, *, notes: Sequence[str], max_tokens: int) -> dict[str, Any]:
    """The answer as a tool's result of at most about `max_tokens`, which says when it was cut.

    Args:
        answer: what the query gave.
        notes: what the model should know about the stored rows.
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
    if notes:
        reply["notes"] = [note[:200] for note in notes[:_MAX_NOTES]]
    return reply


def error_reply(message: str, tables: Mapping[str, Sequence[str]], *, max_tokens: int) -> dict[str, Any]:
    """An error with the tables and columns that there are, so that the next query can be right."""
    reply: dict[str, Any] = {"error": message}
    if message.startswith("no such") or "syntax error" in message or "ambiguous" in message:
        left = max_tokens // 2
        reply["hint"] = _HINT
        reply["tables"] = {}
        for table, columns in tables.items():
            shown, left = _names_within(columns, left)
            if left <= 0:
                reply["tables"]["…"] = "more tables and columns are not listed"
                reply["tables"] |= {table: shown} if shown else {}
                break
            reply["tables"][table] = shown
    return reply


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
