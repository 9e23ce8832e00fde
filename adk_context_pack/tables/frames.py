"""Reads data frames and arrays by what they can do, so that their libraries are not imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from adk_context_pack.tables.columns import unique_names

_PLAIN = frozenset((str, int, float, bool, type(None)))


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
        # Several columns may have one name.
        names = unique_names(value.schema.names)
        cells = (plain_cell(column.to_pylist()) for column in value.columns)
        return _zipped(list(zip(names, cells, strict=True)))
    if hasattr(kind, "iloc") and hasattr(kind, "isna"):
        return _pandas_rows(value)
    if hasattr(kind, "dtype") and getattr(value, "ndim", None) and hasattr(kind, "tolist"):
        return plain_cell(value.tolist())
    if hasattr(kind, "to_list") and hasattr(kind, "dtype"):
        return plain_cell(value.to_list())
    return None


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
    index = getattr(value, "index", None)
    names = list(getattr(index, "names", None) or [None])
    is_counted = names == [None] and type(index).__name__ == "RangeIndex"
    if not hasattr(type(value), "columns"):
        cells = _pandas_cells(value)
        return cells if is_counted else _zipped([*_index_columns(index, names), (str(value.name or "value"), cells)])
    columns = [] if is_counted else _index_columns(index, names)
    columns += [(_label(label), _pandas_cells(value.iloc[:, place])) for place, label in enumerate(value.columns)]
    return _zipped(columns) if columns else []


def _index_columns(index: Any, names: Sequence[Any]) -> list[tuple[str, list[Any]]]:
    many = len(names) > 1
    return [
        (_label(name) if name is not None else f"index_{place}" if many else "index",
         plain_cell((index.get_level_values(place) if many else index).tolist()))
        for place, name in enumerate(names)
    ]  # fmt: skip


def _pandas_cells(series: Any) -> list[Any]:
    cells = zip(series.tolist(), series.isna().tolist(), strict=True)
    return [None if is_missing else plain_cell(cell) for cell, is_missing in cells]


def _zipped(columns: Sequence[tuple[str, list[Any]]]) -> list[dict[str, Any]]:
    names = [name for name, _ in columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*(cells for _, cells in columns), strict=True)]


def _label(label: Any) -> str:
    return ".".join(str(part) for part in label if part != "") if isinstance(label, tuple) else str(label)
