"""Query results as agents leave them, one or several by id, each as rows or as a failure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from adk_context_pack._json import json_text, shorten
from adk_context_pack.tables.columns import as_record, is_record
from adk_context_pack.tables.failure import ERROR_KEYS, error_of
from adk_context_pack.tables.find_tables import Table, find_tables
from adk_context_pack.tables.stub_form import LIMITS
from adk_context_pack.tables.tables_in_text import KEYS, read_text

# A dict with one of these says something about one result; any other dict of results has their ids as keys.
_OWN_KEYS = KEYS["own"].union(ERROR_KEYS, [LIMITS])


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """Holds one query's result: all of its rows, or None if there are none to be had, and its title, if it says one.

    `columns` are the names where rows are lists of values. `error` says why all or some rows are missing, and `failed`
    that the query itself did, as opposed to a result that cannot be read.
    """

    id: str
    rows: Sequence[Any] | None = None
    columns: Sequence[str] | None = None
    error: str | None = None
    failed: bool = False
    title: str | None = None


def read_results(value: Any, *, name: str) -> list[Result]:
    """Returns the results in a state value.

    Args:
        value: a dict of results by query id, a list of results that name their ids, or a single result: rows, a dict
            with rows, a failure, a Google Ads search response or stream, an MCP result, a pydantic model, or JSON of
            any of these. Any other value becomes a result with an `error`.
        name: the id of a single result that names none.
    """
    value = _opened(value)
    items = list(value.values()) if isinstance(value, Mapping) and not _OWN_KEYS & value.keys() else []
    are_results = (
        item.lstrip()[:1] in {"{", "["} if isinstance(item, str) else isinstance(item, Mapping) or is_record(type(item))
        for item in items
    )
    if any(are_results) or (items and all(item is None or isinstance(item, (list, tuple)) for item in items)):
        return [result for key, item in value.items() for result in read_result(item, name=str(key), own_id=False)]
    if isinstance(value, (list, tuple)) and _are_results(value):
        return [one for at, item in enumerate(value, 1) for one in read_result(item, name=f"{name}_{at}")]
    return read_result(value, name=name)


def read_result(value: Any, *, name: str, own_id: bool = True) -> list[Result]:
    """Returns a single result, or several if it holds several tables, whose keys are added to its id.

    With `own_id`, an id that the result itself names goes before `name`.
    """
    value = _opened(value)
    own = value if isinstance(value, Mapping) else {}
    error = _text(error_of(own))
    name = (own_id and _id_of(own)) or name
    result = Result(id=name, title=_text(own.get("title")), error=error, failed=error is not None)
    if tables := _tables(value):
        ids = [f"{name}.{table.key}" if len(tables) > 1 else name for table in tables]
        both = zip(ids, tables, strict=True)
        return [replace(result, id=each, rows=table.rows, columns=table.columns) for each, table in both]
    if error is None and (value is None or isinstance(value, (list, tuple)) or _says_empty(value)):
        return [replace(result, rows=[])]
    return [replace(result, error=error or f"no rows found in a value of type {type(value).__name__}")]


def _opened(value: Any) -> Any:
    if isinstance(value, str) and (read := read_text(value)):
        return read.value
    return dict(as_record(value)) if is_record(type(value)) else value


def _tables(value: Any) -> list[Table]:
    found = [table for table in find_tables(value, min_rows=0) if table.key.rpartition(".")[2] not in KEYS["beside"]]
    filled = [table for table in found if table.rows]
    # Beside rows, a list of plain values is a remark, such as a field mask; alone it is the result.
    rows = (Mapping, list, tuple)
    records = [each for each in filled if isinstance(each.rows[0], rows) or is_record(type(each.rows[0]))]
    return records or (filled[:1] if not isinstance(value, Mapping) or _OWN_KEYS & value.keys() else []) or found[:1]


def _are_results(value: Sequence[Any]) -> bool:
    # Rows may have an `id` and a `status` as well, but neither a query's id nor rows of their own.
    if not value or not all(isinstance(item, Mapping) and _id_of(item) for item in value):
        return False
    if all("query_id" in item or "queryId" in item for item in value):
        return True
    keys = ("rows", "results", "result", "data")
    hold = [any(isinstance(item.get(key), (list, tuple)) for key in keys) for item in value]
    return any(hold) and all(holds or error_of(item) for item, holds in zip(value, hold, strict=True))


def _id_of(own: Mapping[Any, Any]) -> str | None:
    keys = (key for key in ("query_id", "queryId", "id", "name") if isinstance(own.get(key), (str, int)))
    return next((str(own[key]) for key in keys if own[key] != ""), None)


def _says_empty(own: Any) -> bool:
    if not isinstance(own, Mapping):
        return False
    # The Google Ads API leaves `results` out of a response that has none.
    none = "fieldMask" in own or any(own.get(key) in (0, "0") for key in ("row_count", "rowCount", "totalResultsCount"))
    return not own or none or any(own.get(key, ...) is None for key in ("rows", "results", "result"))


def _text(value: Any) -> str | None:
    return None if value in (None, "") else shorten(value if isinstance(value, str) else json_text(value), 500)
