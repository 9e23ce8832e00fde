"""Turns frames into rows, and rows into columns, with nested rows flattened to dotted names.

Frames and arrays are read by what they can do, so that their libraries are not imported.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from decimal import Decimal
from functools import cached_property
from itertools import chain, groupby, islice
from operator import countOf, itemgetter, ne
from typing import TYPE_CHECKING, Any, Literal

ColumnKind = Literal["number", "rate", "identifier", "date", "boolean", "text", "empty"]

_BLOCK = 512
_NOTHING: Mapping[str, Any] = {}
_PLAIN = frozenset((str, int, float, bool, type(None)))

if TYPE_CHECKING:
    lazy = cached_property
else:

    class lazy(cached_property):  # noqa: N801 - it is used as that one is
        """Computes a property once, without the lock of Python 3.11: a process forked meanwhile would wait for ever."""

        def __get__(self, instance: object, owner: type | None = None) -> Any:
            return self if instance is None else vars(instance).setdefault(self.attrname, self.func(instance))


@dataclass(frozen=True)
class Column:
    """Holds one column: its key, joined by dots in nested rows, a value or None for each row, and their exact types."""

    name: str
    values: Sequence[Any]
    types: frozenset[type]

    @lazy
    def counts(self) -> Counter[Any]:
        """How often each value occurs. Lists, and what else cannot be counted, count by how they look."""
        try:
            return Counter(self.values)
        except TypeError:
            return Counter(map(hashable, self.values))

    def of_rows(self, rows: Iterable[int]) -> Column:
        """Returns the column of some of the rows."""
        return column_of(self.name, list(map(self.values.__getitem__, rows)))

    @lazy
    def missing(self) -> int:
        """How many cells are empty."""
        if self.types <= {str, type(None)}:
            return self.counts[None] + self.counts[""]
        if self.types <= {int, float, bool, type(None)}:
            # To ask each cell takes ten times as long. Only NaN differs from itself, and so does a sum with one in it.
            if self.types == {float} and (total := sum(self.values)) == total:
                return 0
            unequal = sum(map(ne, self.values, self.values)) if float in self.types else 0
            return unequal + (countOf(self.values, None) if type(None) in self.types else 0)
        return sum(map(is_missing, self.values))


def iter_columns(rows: Sequence[Any], names: Sequence[str] | None = None) -> Iterator[Column]:
    """Yields the columns of a table.

    Rows are dicts (nested ones too), pydantic models, dataclasses, named tuples, lists of values, or scalars, also
    mixed. A row that is nothing of the kind has no columns. `names` are those of the columns of lists of values.
    """
    taken: dict[str, int] = {}
    for key, cells in _cells_by_key(as_records(rows, names)).items():
        for column in _expanded(str(key), cells):
            yield Column(free_name(column.name, taken), column.values, column.types)


def _cells_by_key(records: Sequence[Mapping[Any, Any]]) -> Mapping[Any, Sequence[Any]]:
    """Returns the keys of all records in order of appearance, each with a cell or None for each record."""
    keys = records[0] if records else {}
    # Records of one length all of which have the first one's keys have no others.
    if len(keys) > 1 and countOf(map(len, records), len(keys)) == len(records):
        found: dict[Any, list[Any]] = {key: [] for key in keys}
        try:
            # Records lie all over memory. Each is read while it is in the processor's cache.
            rest = map(itemgetter(*keys), records)
            while block := list(islice(rest, _BLOCK)):
                for cells, part in zip(found.values(), zip(*block, strict=True), strict=True):
                    cells.extend(part)
        except KeyError:
            pass
        else:
            return found
    return {key: [record.get(key) for record in records] for key in dict.fromkeys(chain.from_iterable(records))}


def _expanded(name: str, values: Sequence[Any], depth: int = 0) -> Iterator[Column]:
    """Yields the column of some cells, or the columns that they hold if they are nested rows."""
    column = column_of(name, values)
    nested = {kind for kind in column.types if issubclass(kind, Mapping) or is_record(kind)}
    if not nested or depth == 16:  # noqa: PLR2004 - levels
        yield column
        return
    inner = [as_record(value) if type(value) in nested else _NOTHING for value in values]
    for key, cells in _cells_by_key(inner).items():
        yield from _expanded(f"{name}.{key}", cells, depth + 1)
    if column.types - nested - {type(None)}:
        yield column_of(name, [None if type(value) in nested else value for value in values])


def column_of(name: str, values: Sequence[Any]) -> Column:
    """Returns a column of cells with their types."""
    # Mostly all cells are of one type, and runs of one take two thirds of the time of a set.
    runs = [kind for kind, _ in islice(groupby(values, type), 8)]
    return Column(name, values, frozenset(map(type, values) if runs[7:] else runs))


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
    return math.isnan(value) if isinstance(value, float) else isinstance(value, Decimal) and value.is_nan()


def hashable(value: Any) -> Any:
    """Returns a value that can be counted in the place of one that cannot."""
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return value


def frame_rows(value: Any) -> Any:
    """Returns the rows of a frame, series or array of pandas, polars, pyarrow or numpy, or None for anything else.

    Cells become what JSON can hold: missing ones None, dates ISO texts, numpy's numbers Python's own. An index of
    pandas with a name, or other than 0, 1, 2, …, becomes a column.
    """
    kind = type(value)
    if hasattr(kind, "to_dicts") and hasattr(kind, "columns"):
        return plain_cell(value.to_dicts())
    if hasattr(kind, "to_pylist"):
        if not hasattr(kind, "schema"):
            return plain_cell(value.to_pylist())
        return _zipped(value.schema.names, (plain_cell(column.to_pylist()) for column in value.columns))
    if hasattr(kind, "iloc") and hasattr(kind, "isna"):
        return _pandas_rows(value)
    if hasattr(kind, "dtype") and getattr(value, "ndim", None) and hasattr(kind, "tolist"):
        return plain_cell(value.tolist())
    return plain_cell(value.to_list()) if hasattr(kind, "to_list") and hasattr(kind, "dtype") else None


def plain_cell(value: Any) -> Any:
    """Returns a cell as JSON can hold it, and a numpy scalar as Python's own number."""
    if type(value) in _PLAIN:
        return None if value != value else value  # noqa: PLR0124 - only NaN differs from itself
    if hasattr(type(value), "dtype") and hasattr(value, "item") and not getattr(value, "ndim", None):
        return plain_cell(value.item())
    if hasattr(type(value), "as_py"):
        return plain_cell(value.as_py())
    if hasattr(value, "isoformat"):
        return None if (text := value.isoformat()) == "NaT" else text
    if isinstance(value, Mapping):
        return {str(key): plain_cell(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_cell(item) for item in value]
    rows = frame_rows(value)
    return value if rows is None else rows


def without_frames(value: Any, depth: int = 0) -> Any:
    """Returns a result with rows in the place of frames, and Python's numbers in that of numpy's.

    The very same object if it holds neither. Dates stay, and long lists of rows are not searched. A frame that is not
    capped would otherwise reach ADK, which has no JSON for it.
    """
    if type(value) in _PLAIN or depth > 12:  # noqa: PLR2004 - levels
        return value
    if isinstance(value, Mapping):
        changed = {key: new for key, item in value.items() if (new := without_frames(item, depth + 1)) is not item}
        return {**value, **changed} if changed else value
    if isinstance(value, (list, tuple)):
        # The entries of a long list are alike. Its ends show whether they have to be looked at.
        ends = value if len(value) <= 100 else (value[0], value[-1])  # noqa: PLR2004 - rows
        is_plain = all(without_frames(end, depth + 1) is end for end in ends)
        return value if is_plain else [without_frames(item, depth + 1) for item in value]
    return value if hasattr(value, "isoformat") else plain_cell(value)


def _pandas_rows(value: Any) -> list[Any]:
    is_counted = type(value.index).__name__ == "RangeIndex" and value.index.name is None
    if not hasattr(type(value), "columns"):
        if is_counted:
            return _pandas_cells(value)
        value = value.to_frame("value" if value.name is None else value.name)
    value = value if is_counted else value.reset_index(allow_duplicates=True)
    labels = (".".join(str(part) for part in each if part != "") if isinstance(each, tuple) else each for each in value)
    return _zipped(labels, (_pandas_cells(value.iloc[:, place]) for place in range(value.shape[1])))


def _pandas_cells(series: Any) -> list[Any]:
    cells = zip(series.tolist(), series.isna().tolist(), strict=True)
    return [None if is_missing else plain_cell(cell) for cell, is_missing in cells]


def _zipped(labels: Iterable[Any], columns: Iterable[list[Any]]) -> list[dict[str, Any]]:
    # Several columns may have one name.
    names = unique_names(labels)
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
