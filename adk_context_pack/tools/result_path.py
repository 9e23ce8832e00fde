"""Follows the path of a reference into a stored result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from adk_context_pack._json import opened
from adk_context_pack.errors import QueryError
from adk_context_pack.tables.find_tables import find_tables
from adk_context_pack.tools.references import EACH, Key, Step

_MAX_LISTED = 20
_MAX_NAME = 60


class OpenResult:
    """A stored result whose tables and JSON texts are read once, however many references name parts of it.

    Args:
        whole: the result. It is not changed.
    """

    def __init__(self, whole: Any) -> None:
        self._whole = whole
        self._read: dict[int, Any] = {}

    def value_at(self, steps: Sequence[Step]) -> Any:
        """Returns the value at a path within the result.

        A path is followed as the result is nested. If that fails, it may begin with the name of a table, as a capped
        result lists them under `_row_limits`: JSON in a text and the envelope of MCP add nothing to such a name.

        Args:
            steps: the path.

        Raises:
            QueryError: nothing is there. The message, for a model, lists what there is.
        """
        try:
            return self._walked(self._whole, steps)
        except QueryError:
            names = [_name(step) for step in steps]
            for length in range(len(steps), 0, -1):
                if (rows := self._tables.get(".".join(names[:length]))) is not None:
                    return self._walked(rows, steps, length)
            raise

    @cached_property
    def _tables(self) -> dict[str, Any]:
        return {table.key: table.rows for table in find_tables(self._whole)}

    def _walked(self, value: Any, steps: Sequence[Step], start: int = 0) -> Any:
        for position in range(start, len(steps)):
            if isinstance(value, str):
                # The texts are parts of the result, so that none is replaced by another one in the same place.
                value = (
                    self._read[id(value)]
                    if id(value) in self._read
                    else self._read.setdefault(id(value), opened(value))
                )
            if steps[position] == EACH:
                return [self._walked(item, steps, position + 1) for item in _items(value, steps[:position])]
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
