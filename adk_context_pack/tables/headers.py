"""Names of columns that stand beside the rows: `{"columns": ["a", "b"], "rows": [[1, 2], [3, 4]]}`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from adk_context_pack.tables.columns import unique_names

_HEADERS = ("columns", "column_names", "columnNames", "headers", "header", "fields", "names", "schema")


def header_of(value: Mapping[Any, Any]) -> tuple[str | None, Sequence[str] | None]:
    """The key under which a dict names the columns of a list of lists in it, and these names."""
    for key in _HEADERS:
        names = _names(value[key]) if key in value else None
        if names and any(fits(item, names) for other, item in value.items() if other != key):
            return key, names
    return None, None


def fits(rows: Any, names: Sequence[str]) -> bool:
    """Whether `rows` are lists of as many values as there are names."""
    if not isinstance(rows, (list, tuple)) or not rows:
        return False
    return isinstance(rows[0], (list, tuple)) and len(rows[0]) == len(names)


def _names(header: Any) -> Sequence[str] | None:
    if isinstance(header, Mapping):
        header = header.get("fields")
    if not isinstance(header, (list, tuple)) or not header:
        return None
    known = all(isinstance(name, str) or (isinstance(name, Mapping) and "name" in name) for name in header)
    return unique_names(header) if known else None
