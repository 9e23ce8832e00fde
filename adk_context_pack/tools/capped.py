"""The first rows of each long list in a result, and how many there were."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.genai import types

LIMITS = "_row_limits"
"""Where a capped result says of each of its lists how many rows are shown and how many there are."""
_MAX_DEPTH = 6


def capped(result: Any, max_rows: int) -> dict[str, Any] | None:
    """`result` with the first `max_rows` rows of each longer list, or None where no list is longer.

    Builds new containers on the way to such a list only; rows and everything else are the same objects, so the time
    does not depend on the number of rows.

    Args:
        result: what a tool returned; a bare list becomes `{"result": …}`, which is what ADK makes of it.
        max_rows: how many rows stay.
    """
    body = result if isinstance(result, Mapping) else {"result": result}
    limits: dict[str, dict[str, int]] = {}
    smaller = _shortened(body, max_rows, "", limits, 0)
    return {**smaller, LIMITS: limits} if limits else None


def _shortened(value: Any, max_rows: int, path: str, limits: dict[str, dict[str, int]], depth: int) -> Any:
    if isinstance(value, Mapping):
        items = {k: _shortened(v, max_rows, _join(path, k), limits, depth + 1) for k, v in _open(value, depth)}
        return {**value, **items} if any(items[k] is not value[k] for k in items) else value
    if not isinstance(value, list | tuple) or _holds_media(value):
        return value
    if len(value) > max_rows:
        limits[path] = {"shown": max_rows, "total": len(value)}
        return list(value[:max_rows])
    if depth > _MAX_DEPTH:
        return value
    inner = [_shortened(v, max_rows, _join(path, i), limits, depth + 1) for i, v in enumerate(value)]
    return inner if any(new is not old for new, old in zip(inner, value, strict=True)) else value


def _open(value: Mapping[Any, Any], depth: int) -> list[tuple[Any, Any]]:
    return [(k, v) for k, v in value.items() if isinstance(v, list | tuple | Mapping)] if depth <= _MAX_DEPTH else []


def _holds_media(rows: list[Any] | tuple[Any, ...]) -> bool:
    # ADK moves parts out of a result by itself. The ends tell such a list from rows; looking at all would cost by row.
    return bool(rows) and any(isinstance(rows[i], types.Part) for i in (0, -1))


def _join(path: str, key: object) -> str:
    return f"{path}.{key}" if path else str(key)
