"""Reads tables that are written as a dict: of columns, of lists, of rows by key."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_SCALARS = (str, int, float, bool, type(None))
_MIN_COLUMNS = 2
_MIN_ROWS = 2
_MIN_MIXED_ROWS = 3
_MIN_KEYED_ROWS = 3
_PROBED = 20
_SPLIT = frozenset(("index", "columns", "data", "index_names", "column_names"))


@dataclass(frozen=True, slots=True)
class DictForm:
    """A dict that is a table.

    Attributes:
        rows: one dict for each row.
        write: puts a list of such rows in the form of the dict.
    """

    rows: list[dict[str, Any]]
    write: Callable[[Sequence[Any]], Any]


def read_dict(value: Mapping[Any, Any], *, min_rows: int) -> DictForm | None:
    """Reads a dict that is a table as a whole; None where it is not.

    Knows lists of equal length by the names of columns, and what pandas writes with `to_dict` (`split`, `dict` and
    `index`). Costs the number of keys where the dict is not a table.

    Args:
        value: a dict in a result.
        min_rows: how many rows a table has to have to be read.
    """
    if len(value) < _MIN_COLUMNS:
        return None
    first = next(iter(value.values()))
    if isinstance(first, Mapping):
        return _read_dicts(value, max(min_rows, 1))
    return _read_split(value, max(min_rows, 1)) or _read_lists(value, max(min_rows, _MIN_ROWS))


def _read_split(value: Mapping[Any, Any], min_rows: int) -> DictForm | None:
    if not {"index", "columns", "data"} <= value.keys() <= _SPLIT:
        return None
    index, columns, data = (value[key] for key in ("index", "columns", "data"))
    if not all(isinstance(item, list) for item in (index, columns, data)) or len(index) != len(data):
        return None
    if len(data) < min_rows or not all(isinstance(row, list) and len(row) == len(columns) for row in data):
        return None
    names = list(map(str, columns))
    label = None if index == list(range(len(data))) else "index" if "index" not in names else "index_2"

    def write(rows: Sequence[Any]) -> Any:
        shown = [row[label] for row in rows] if label else list(range(len(rows)))
        return {**value, "index": shown, "data": [[row[name] for name in names] for row in rows]}

    keys = [*([label] if label else []), *names]
    lines = zip(index, data, strict=True)
    return DictForm([dict(zip(keys, [*([at] if label else []), *row], strict=True)) for at, row in lines], write)


def _read_lists(value: Mapping[Any, Any], min_rows: int) -> DictForm | None:
    lists = {key: item for key, item in value.items() if isinstance(item, (list, tuple))}
    if len(lists) < _MIN_COLUMNS or not all(isinstance(key, str) for key in lists):
        return None
    lengths = set(map(len, lists.values()))
    needed = min_rows if len(lists) == len(value) else max(min_rows, _MIN_MIXED_ROWS)
    if len(lengths) != 1 or min(lengths) < needed:
        return None
    others = [item for key, item in value.items() if key not in lists]
    if not all(isinstance(item, _SCALARS) for item in others) or not all(map(_is_column, lists.values())):
        return None
    names = list(lists)
    rows = [dict(zip(names, row, strict=True)) for row in zip(*lists.values(), strict=True)]
    return DictForm(rows, lambda shown: {**value, **{name: [row[name] for row in shown] for name in names}})


def _is_column(cells: Sequence[Any]) -> bool:
    return all(isinstance(cell, _SCALARS) for cell in (*cells[:_PROBED], cells[-1]))


def _read_dicts(value: Mapping[Any, Any], min_rows: int) -> DictForm | None:
    inner = list(value.values())
    if not all(isinstance(item, Mapping) for item in inner):
        return None
    keys = inner[0].keys()
    if not keys or any(item.keys() != keys for item in inner):
        return None
    if not all(isinstance(cell, _SCALARS) for item in (*inner[:_PROBED], inner[-1]) for cell in item.values()):
        return None
    if len(keys) >= min_rows and [str(key) for key in keys] == [str(place) for place in range(len(keys))]:
        return _read_columns(value, list(keys))
    return _read_keyed(value, keys) if len(value) >= max(min_rows, _MIN_KEYED_ROWS) else None


def _read_columns(value: Mapping[Any, Any], places: Sequence[Any]) -> DictForm:
    rows = [{str(name): column[place] for name, column in value.items()} for place in places]
    names = list(value)

    def write(shown: Sequence[Any]) -> Any:
        return {name: {places[at]: row[str(name)] for at, row in enumerate(shown)} for name in names}

    return DictForm(rows, write)


def _read_keyed(value: Mapping[Any, Any], keys: Any) -> DictForm:
    label = "key" if "key" not in keys else "key_2"
    return DictForm(
        [{label: key, **row} for key, row in value.items()],
        lambda shown: {row[label]: {key: cell for key, cell in row.items() if key != label} for row in shown},
    )
