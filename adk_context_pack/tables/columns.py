"""Turns rows into columns, with nested rows flattened to dotted names."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from decimal import Decimal
from itertools import chain
from operator import countOf, itemgetter
from typing import Any, Literal

ColumnKind = Literal["number", "rate", "identifier", "date", "boolean", "text", "empty"]

_NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Attributes:
        name: the key in the rows. Keys of nested rows are joined by dots.
        values: one value for each row, None if the row has no such key.
        types: the exact types that occur in `values`.
    """

    name: str
    values: Sequence[Any]
    types: frozenset[type]


def iter_columns(rows: Sequence[Any], names: Sequence[str] | None = None) -> Iterator[Column]:
    """Yields the columns of a table one after the other, so that only one of them is in memory at a time.

    Args:
        rows: dicts (nested ones too), pydantic models, dataclasses, named tuples, lists of values, or scalars, also
            mixed. A row that is nothing of the kind has no columns.
        names: the names of the columns where rows are lists of values.
    """
    records = as_records(rows, names)
    taken: dict[str, int] = {}
    for key in iter_keys(records):
        for column in expand(records, key):
            yield Column(free_name(column.name, taken), column.values, column.types)


def iter_keys(records: Sequence[Mapping[Any, Any]]) -> list[Any]:
    """Returns the keys of all records, in order of appearance."""
    return list(dict.fromkeys(chain.from_iterable(records)))


def expand(records: Sequence[Mapping[Any, Any]], key: Any) -> Iterator[Column]:
    """Yields the column of one key, or the columns that it holds if its values are nested rows."""
    return _expand(str(key), _cells(records, key), 0)


def free_name(name: str, taken: dict[str, int]) -> str:
    """Returns `name`, or `name_2` if it is taken: `{"a.b": 1, "a": {"b": 2}}` flattens to one name twice."""
    taken[name] = count = taken.get(name, 0) + 1
    return name if count == 1 else free_name(f"{name}_{count}", taken)


def as_records(rows: Sequence[Any], names: Sequence[str] | None = None) -> Sequence[Any]:
    """Returns `rows` as a list of mappings, which is the very same list if they are dicts already."""
    # Counting one type takes two thirds of the time of a set of them.
    if countOf(map(type, rows), dict) == len(rows):
        return rows
    types = set(map(type, rows))
    labels = unique_names(names) if names is not None else None
    scalars = not any(issubclass(kind, (Mapping, list, tuple)) or is_record(kind) for kind in types)
    return [as_record(row, labels, scalars=scalars) for row in rows]


def as_record(row: Any, names: Sequence[str] | None = None, *, scalars: bool = False) -> Mapping[str, Any]:
    """Returns one row as a mapping from column to value."""
    if type(row) is dict or isinstance(row, Mapping):
        return row
    if is_record(type(row)):
        return {**vars(row), **(getattr(row, "__pydantic_extra__", None) or {})}
    if isinstance(row, (list, tuple)):
        labels = names or getattr(row, "_fields", None) or ()
        extra = (f"column_{index + 1}" for index in range(len(labels), len(row)))
        return dict(zip(chain(labels, extra), row, strict=False))
    return {"value": row} if scalars else _NOTHING


def is_record(kind: type) -> bool:
    """Returns whether instances are objects with named fields: pydantic models and dataclasses."""
    return hasattr(kind, "model_fields") or is_dataclass(kind)


def unique_names(names: Iterable[Any]) -> list[str]:
    """Headers as keys: text, never empty, a repeated one with its number."""
    taken: dict[str, int] = {}
    labels = (item.get("name") if isinstance(item, Mapping) else item for item in names)
    texts = (f"column_{index}" if label in (None, "") else str(label) for index, label in enumerate(labels, 1))
    return [free_name(text, taken) for text in texts]


def is_missing(value: Any) -> bool:
    """Returns whether a cell is empty: no key, None, an empty text, or not a number."""
    if value is None or (isinstance(value, str) and not value):
        return True
    if isinstance(value, float):
        return math.isnan(value)
    return isinstance(value, Decimal) and value.is_nan()


def _cells(records: Sequence[Mapping[Any, Any]], key: Any) -> list[Any]:
    try:
        return list(map(itemgetter(key), records))
    except KeyError:
        return [record.get(key) for record in records]


def _expand(name: str, values: list[Any], depth: int) -> Iterator[Column]:
    types = frozenset(map(type, values))
    nested = {kind for kind in types if issubclass(kind, Mapping) or is_record(kind)}
    if not nested or depth == 16:  # noqa: PLR2004 - levels
        yield Column(name, values, types)
        return
    inner = [as_record(value) if type(value) in nested else _NOTHING for value in values]
    for key in iter_keys(inner):
        yield from _expand(f"{name}.{key}", _cells(inner, key), depth + 1)
    if types - nested - {type(None)}:
        rest = [None if type(value) in nested else value for value in values]
        yield Column(name, rest, frozenset(map(type, rest)))
