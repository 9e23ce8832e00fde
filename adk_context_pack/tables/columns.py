"""Rows as columns: nested rows flattened to dotted names, and what kind of values a column holds."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from datetime import date
from decimal import Decimal
from itertools import chain, islice
from operator import itemgetter
from typing import Any, Literal

from adk_context_pack.tables.names import names_date, names_identifier
from adk_context_pack.tables.numbers import Number, number_of

Kind = Literal["number", "identifier", "date", "boolean", "text", "empty"]

_DATE = re.compile(
    r"[0-9]{4}([-/.])(0?[1-9]|1[0-2])\1(0?[1-9]|[12][0-9]|3[01])([T ].*)?"
    r"|[0-9]{4}-(0[1-9]|1[0-2])|[0-9]{4}-?[QW][0-9]{1,2}"
).fullmatch
_MISSING = frozenset((None, ""))
_NOTHING: Mapping[str, Any] = {}
_SAMPLE = 64
_MAX_DATE = 40
_MAX_DEPTH = 16
# Years, months of a year, YYYYMMDD, and epochs in seconds to microseconds, all as integers.
_DATE_RANGES = ((0, 60), (1000, 3000), (10_000_101, 30_001_231), (10**8, 10**17))


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Attributes:
        name: the key in the rows; keys of nested rows are joined by dots.
        values: one value for each row, None where the row has no such key.
        types: the exact types that occur in `values`.
    """

    name: str
    values: Sequence[Any]
    types: frozenset[type]


def iter_columns(rows: Sequence[Any], names: Sequence[str] | None = None) -> Iterator[Column]:
    """The columns of a table one after the other, so that only one of them is in memory at a time.

    Args:
        rows: dicts (nested ones too), pydantic models, dataclasses, named tuples, lists of values, or scalars, also
            mixed; a row that is nothing of the kind has no columns.
        names: the names of the columns where rows are lists of values.
    """
    records = as_records(rows, names)
    taken: dict[str, int] = {}
    for key in iter_keys(records):
        for column in expand(records, key):
            yield Column(free_name(column.name, taken), column.values, column.types)


def iter_keys(records: Sequence[Mapping[Any, Any]]) -> list[Any]:
    """The keys of all records, in order of appearance."""
    return list(dict.fromkeys(chain.from_iterable(records)))


def expand(records: Sequence[Mapping[Any, Any]], key: Any) -> Iterator[Column]:
    """The column of one key, or the columns that it holds where its values are nested rows."""
    return _expand(str(key), _cells(records, key), 0)


def free_name(name: str, taken: dict[str, int]) -> str:
    """`name`, or `name_2` where it is taken: `{"a.b": 1, "a": {"b": 2}}` flattens to one name twice."""
    taken[name] = count = taken.get(name, 0) + 1
    return name if count == 1 else free_name(f"{name}_{count}", taken)


def as_records(rows: Sequence[Any], names: Sequence[str] | None = None) -> Sequence[Any]:
    """`rows` as a list of mappings; the very same list where they are dicts already."""
    types = set(map(type, rows))
    if types <= {dict}:
        return rows
    labels = unique_names(names) if names is not None else None
    scalars = not any(issubclass(kind, (Mapping, list, tuple)) or is_record(kind) for kind in types)
    return [as_record(row, labels, scalars=scalars) for row in rows]


def as_record(row: Any, names: Sequence[str] | None = None, *, scalars: bool = False) -> Mapping[str, Any]:
    """One row as a mapping from column to value."""
    if type(row) is dict or isinstance(row, Mapping):
        return row
    if is_record(type(row)):
        return _fields(row)
    if isinstance(row, (list, tuple)):
        labels = names or getattr(row, "_fields", None) or ()
        extra = (f"column_{index + 1}" for index in range(len(labels), len(row)))
        return dict(zip(chain(labels, extra), row, strict=False))
    return {"value": row} if scalars else _NOTHING


def is_record(kind: type) -> bool:
    """Whether instances are objects with named fields: pydantic models and dataclasses."""
    return hasattr(kind, "model_fields") or is_dataclass(kind)


def unique_names(names: Iterable[Any]) -> list[str]:
    """Headers as keys: text, never empty, a repeated one with its number."""
    taken: dict[str, int] = {}
    labels = (item.get("name") if isinstance(item, Mapping) else item for item in names)
    texts = (f"column_{index}" if label in (None, "") else str(label) for index, label in enumerate(labels, 1))
    return [free_name(text, taken) for text in texts]


def is_date_text(text: str) -> bool:
    """Whether a text is a date, with or without a time of day, in a notation that starts with the year."""
    return len(text) <= _MAX_DATE and _DATE(text) is not None


def date_range(values: Iterable[Any]) -> tuple[Any, Any]:
    """The earliest and the latest of non-missing dates: texts that start with the year, date objects, integers."""
    distinct = list(values)
    if len(set(map(type, distinct))) == 1 and (not isinstance(distinct[0], str) or len(set(map(len, distinct))) == 1):
        try:
            return min(distinct), max(distinct)
        except TypeError:
            # Moments with a time zone and without one.
            return min(distinct, key=_digits), max(distinct, key=_digits)
    return min(distinct, key=_digits), max(distinct, key=_digits)


def is_missing(value: Any) -> bool:
    """Whether a cell is empty: no key, None, an empty text, or not a number."""
    if value is None or (isinstance(value, str) and not value):
        return True
    if isinstance(value, float):
        return math.isnan(value)
    return isinstance(value, Decimal) and value.is_nan()


def as_number(value: Any) -> Number | None:
    """A cell as a number, exactly; None where it is none."""
    if isinstance(value, str):
        return number_of(value)
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)) or is_missing(value):
        return None
    return value


def column_kind(column: Column) -> Kind:
    """What a column holds, from its name and its values.

    A column is a number if most of its values are numbers; numeric texts count unless one has a leading zero, as in
    a zip code. Names of identifiers (`id`, `campaignId`, `zip_code`) and of points in time with values to match
    (`year`, `created_at`) keep numbers from being added up.
    """
    types = column.types - {type(None)}
    if not types:
        return "empty"
    if names_identifier(column.name):
        return "identifier"
    if types == {bool}:
        return "boolean"
    if types <= {int, float}:
        return _numeric_kind(column)
    if types == {str}:
        return _text_kind(column)
    if all(issubclass(kind, date) for kind in types):
        return "date"
    return _mixed_kind(column)


def _numeric_kind(column: Column) -> Kind:
    if float in column.types and all(map(is_missing, column.values)):
        return "empty"
    if not names_date(column.name) or column.types - {int, type(None)}:
        return "number"
    low, high = min(present := [value for value in column.values if value is not None]), max(present)
    return "date" if any(start <= low and high <= end for start, end in _DATE_RANGES) else "number"


def _text_kind(column: Column) -> Kind:
    sample = list(islice((value for value in column.values if value not in _MISSING), _SAMPLE))
    if not sample:
        return "empty"
    # A text column shows itself in its first values, so that the rest need not be looked at.
    if all(map(is_date_text, sample)):
        return "date" if all(map(is_date_text, set(column.values) - _MISSING)) else _mixed_kind(column)
    if all(number_of(value) is None for value in sample):
        return "text"
    distinct = set(column.values) - _MISSING
    numbers = {value: number for value in distinct if (number := number_of(value)) is not None}
    return _numbers_kind(column.name, numbers) if len(numbers) == len(distinct) else _mixed_kind(column)


def _mixed_kind(column: Column) -> Kind:
    present = [value for value in column.values if not is_missing(value)]
    if not present:
        return "empty"
    found = [(value, number) for value in present if (number := as_number(value)) is not None]
    if 2 * len(found) <= len(present):
        return "text"
    return _numbers_kind(column.name, dict(found))


def _numbers_kind(name: str, numbers: Mapping[Any, Number]) -> Kind:
    """The kind of a column most of whose values are numbers, by how they are written."""
    if any(map(_has_leading_zero, numbers)):
        return "identifier"
    if names_date(name) and all(isinstance(number, int) for number in numbers.values()):
        low, high = min(numbers.values()), max(numbers.values())
        if any(start <= low and high <= end for start, end in _DATE_RANGES):
            return "date"
    return "number"


def _has_leading_zero(value: Any) -> bool:
    return isinstance(value, str) and len(value) > 1 and value[0] == "0" and value.isdigit()


def _digits(moment: Any) -> tuple[int, ...]:
    # "2022-02-01 2:20:51" sorts after "2022-02-01 10:00:00" as text, though not as a moment.
    return tuple(map(int, re.findall(r"[0-9]+", str(moment))))


def _fields(row: Any) -> Mapping[str, Any]:
    fields = dict(vars(row))
    fields.update(getattr(row, "__pydantic_extra__", None) or {})
    return fields


def _cells(records: Sequence[Mapping[Any, Any]], key: Any) -> list[Any]:
    try:
        return list(map(itemgetter(key), records))
    except KeyError:
        return [record.get(key) for record in records]


def _expand(name: str, values: list[Any], depth: int) -> Iterator[Column]:
    types = frozenset(map(type, values))
    nested = {kind for kind in types if issubclass(kind, Mapping) or is_record(kind)}
    if not nested or depth == _MAX_DEPTH:
        yield Column(name, values, types)
        return
    inner = [as_record(value) if type(value) in nested else _NOTHING for value in values]
    for key in iter_keys(inner):
        yield from _expand(f"{name}.{key}", _cells(inner, key), depth + 1)
    if types - nested - {type(None)}:
        rest = [None if type(value) in nested else value for value in values]
        yield Column(name, rest, frozenset(map(type, rest)))
