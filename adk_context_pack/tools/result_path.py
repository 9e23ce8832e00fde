"""Follows the path of a reference into a stored result."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from adk_context_pack.errors import QueryError
from adk_context_pack.tables.find_tables import find_tables
from adk_context_pack.tools.references import EACH, Key, Step

_MAX_LISTED = 20
_MAX_NAME = 60


def value_at(result: Any, steps: Sequence[Step]) -> Any:
    """Returns the value at a path within a stored result.

    A path is followed as the result is nested. Where that fails, it may begin with the name of a table, as a capped
    result lists them under `_row_limits`: JSON in a text and the envelope of MCP add nothing to such a name.

    Args:
        result: the stored result. It is not changed.
        steps: the path.

    Raises:
        QueryError: nothing is there. The message, for a model, lists what there is.
    """
    try:
        return _walked(result, steps)
    except QueryError:
        found = _in_table(result, steps)
        if found is None:
            raise
        rows, start = found
        return _walked(rows, steps, start)


def opened(value: Any) -> Any:
    """Returns what a JSON text holds, and any other value as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in {"{", "["}:
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _in_table(result: Any, steps: Sequence[Step]) -> tuple[Any, int] | None:
    """Returns the rows of the table that a path begins with, and how many steps name the table."""
    tables = {table.key: table.rows for table in find_tables(result)}
    names = [_name(step) for step in steps]
    for length in range(len(steps), 0, -1):
        rows = tables.get(".".join(names[:length]))
        if rows is not None:
            return rows, length
    return None


def _walked(value: Any, steps: Sequence[Step], start: int = 0) -> Any:
    for position in range(start, len(steps)):
        value = opened(value)
        if steps[position] == EACH:
            return [_walked(item, steps, position + 1) for item in _items(value, steps[:position])]
        value = _step(value, steps[position], steps[:position])
    return value


def _step(value: Any, step: Step, before: Sequence[Step]) -> Any:
    if isinstance(step, Key) and isinstance(value, Mapping):
        if step.name not in value:
            raise QueryError(f"There is no {step.name[:_MAX_NAME]!r} in {_where(before)}. {_listed(value)}")
        return value[step.name]
    index = step.name if isinstance(step, Key) else step
    if isinstance(index, str) and not index.isdecimal():
        raise QueryError(f"There is no {index[:_MAX_NAME]!r} in {_where(before)}. {_listed(value)}")
    items = _items(value, before)
    try:
        return items[int(index)]
    except IndexError:
        raise QueryError(f"There is no item {index} in {_where(before)}. {_listed(items)}") from None


def _items(value: Any, before: Sequence[Step]) -> Sequence[Any]:
    if isinstance(value, list | tuple):
        return value
    raise QueryError(f"There is no list in {_where(before)}. {_listed(value)}")


def _listed(value: Any) -> str:
    if isinstance(value, Mapping):
        names = [str(key)[:_MAX_NAME] for key in value]
        more = f", and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
        return f"There are: {', '.join(names[:_MAX_LISTED])}{more}." if names else "It is empty."
    if isinstance(value, list | tuple):
        first = f" {_listed(value[0]).replace('There are', 'In the first')}" if _is_record(value) else ""
        return f"It is a list of {len(value)} items, from [0].{first}"
    return f"It is a single value ({type(value).__name__})."


def _is_record(items: Sequence[Any]) -> bool:
    return bool(items) and isinstance(items[0], Mapping)


def _where(steps: Sequence[Step]) -> str:
    return "".join(f".{step.name}" if isinstance(step, Key) else _name(step) for step in steps).lstrip(".") or "it"


def _name(step: Step) -> str:
    return step.name if isinstance(step, Key) else f"[{step}]" if isinstance(step, int) else step
