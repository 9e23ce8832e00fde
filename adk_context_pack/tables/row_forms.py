"""Reads rows that services wrap in envelopes of their own, as plain rows with names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from adk_context_pack.tables.columns import as_record, unique_names
from adk_context_pack.tables.headers import is_header, is_typed, typed_places

_PROBED = 20
_DYNAMO: Mapping[str, Callable[[Any], Any]] = {
    "S": str, "N": str, "BOOL": bool, "NULL": lambda _: None, "B": str, "SS": list, "NS": list, "BS": list,
    "L": lambda items: [_dynamo_cell(item) for item in items],
    "M": lambda items: {key: _dynamo_cell(item) for key, item in items.items()},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class PlainRows:
    """Rows behind an envelope.

    Attributes:
        rows: plain rows.
        columns: the names of the columns where rows are lists of values.
        head: lines that stay in front of the rows that are shown, such as one with the names.
    """

    rows: Sequence[Any]
    columns: Sequence[str] | None = None
    head: Sequence[Any] = ()


def read_rows(rows: Sequence[Any], around: Mapping[Any, Any]) -> PlainRows | None:
    """Reads a list of rows that a service has wrapped, or None if the rows are plain.

    Knows GA4 reports, BigQuery's REST answers, Athena, CloudWatch Logs Insights, DynamoDB items, Elasticsearch hits,
    GraphQL edges, and lists of lists of which the first has the names of the columns. Looks at two rows or some twenty
    to know a form. If it is one of a service's own, all rows are rewritten.

    Args:
        rows: a list that stands in a result.
        around: the dict in which it stands.
    """
    ends = (rows[0], rows[-1])
    if all(isinstance(end, Mapping) for end in ends):
        return _read_objects(rows, ends, around)
    if all(isinstance(end, (list, tuple)) for end in ends):
        return _read_lists(rows, ends)
    return None


def _read_objects(rows: Sequence[Any], ends: tuple[Any, Any], around: Mapping[Any, Any]) -> PlainRows | None:
    if all("metricValues" in end or "dimensionValues" in end for end in ends):
        # https://developers.google.com/analytics/devguides/reporting/data/v1/rest/v1beta/RunReportResponse
        headers = (around.get(key) for key in ("dimensionHeaders", "metricHeaders"))
        names = unique_names(name for names in headers if isinstance(names, list) for name in names)
        lists = ([*(row.get("dimensionValues") or ()), *(row.get("metricValues") or ())] for row in rows)
        return PlainRows([as_record([cell.get("value") for cell in cells], names) for cells in lists])
    if all(end.keys() == {"f"} for end in ends):
        fields = around["schema"].get("fields") if isinstance(around.get("schema"), Mapping) else None
        return PlainRows([_bigquery_row(row, fields) for row in rows]) if isinstance(fields, list) else None
    if all(end.keys() == {"Data"} and isinstance(end["Data"], list) for end in ends):
        # https://docs.aws.amazon.com/athena/latest/APIReference/API_GetQueryResults.html: the first row has the names.
        head, *body = [[cell.get("VarCharValue") for cell in row["Data"]] for row in rows]
        names = unique_names(head)
        return PlainRows([as_record(cells, names) for cells in body], None, (rows[0],))
    for key in ("_source", "node"):
        if all(isinstance(end.get(key), Mapping) for end in ends):
            return PlainRows([_unwrapped(row, key) for row in rows])
    if all(_is_dynamo(end) for end in ends):
        return PlainRows([_DYNAMO["M"](row) if _is_dynamo(row) else row for row in rows])
    return None


def _read_lists(rows: Sequence[Any], ends: tuple[Any, Any]) -> PlainRows | None:
    cells = [cell for end in ends for cell in end]
    if all(ends) and all(isinstance(cell, Mapping) and cell.keys() == {"field", "value"} for cell in cells):
        return PlainRows([{cell["field"]: cell.get("value") for cell in row} for row in rows])
    head = rows[0]
    body = rows[1 : _PROBED + 1]
    if len(rows) <= _MIN_ROWS or not all(isinstance(row, (list, tuple)) for row in body):
        return None
    if not all(isinstance(cell, str) for cell in head) or not is_header(head):
        return None
    # Sheets leaves empty cells at the end of a row out.
    differing = [place for place in typed_places(head, body) if head[place] and not is_typed(head[place])]
    has_numbers = any(type(cell) in {int, float} for row in body for cell in row)
    if any(len(row) > len(head) for row in body) or not (has_numbers or differing):
        return None
    return PlainRows(rows[1:], unique_names(head), (head,))


def _bigquery_row(row: Any, fields: Sequence[Any]) -> Any:
    # https://cloud.google.com/bigquery/docs/reference/rest/v2/jobs/getQueryResults
    cells = row.get("f") if isinstance(row, Mapping) else None
    if not isinstance(cells, list):
        return row
    return {
        str(field.get("name")): _bigquery_cell(cell.get("v"), field) for field, cell in zip(fields, cells, strict=False)
    }


def _bigquery_cell(value: Any, field: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_bigquery_cell(item.get("v"), field) for item in value]
    if isinstance(value, Mapping):
        return _bigquery_row(value, field.get("fields") or ())
    if field.get("type") == "TIMESTAMP" and isinstance(value, str):
        return _moment(value)
    if field.get("type") in {"BOOLEAN", "BOOL"} and value in {"true", "false"}:
        return value == "true"
    return value


def _moment(value: str) -> str:
    # BigQuery writes moments as seconds, or as microseconds on request.
    try:
        seconds = Decimal(value)
        micros = int(seconds) if seconds.adjusted() > 12 else int(seconds * 1_000_000)  # noqa: PLR2004 - digits
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)).isoformat()
    except (InvalidOperation, OverflowError, ValueError):
        return value


def _unwrapped(row: Any, key: str) -> Any:
    inner = row.get(key) if isinstance(row, Mapping) else None
    if not isinstance(inner, Mapping):
        return row
    outer = {name: item for name, item in row.items() if name != key}
    return row if outer.keys() & inner.keys() else {**outer, **inner}


def _is_dynamo(row: Any) -> bool:
    # https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_AttributeValue.html
    return isinstance(row, Mapping) and bool(row) and all(_dynamo_kind(cell) in _DYNAMO for cell in row.values())


def _dynamo_kind(cell: Any) -> Any:
    return next(iter(cell)) if isinstance(cell, Mapping) and len(cell) == 1 else ""


def _dynamo_cell(cell: Any) -> Any:
    kind = _dynamo_kind(cell)
    return _DYNAMO[kind](cell[kind]) if kind in _DYNAMO else cell


_SCALARS = (str, int, float, bool, type(None))
_MIN_ROWS = 2
_MIN_KEYED_ROWS = 3
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
    """Reads a dict that is a table as a whole, or None if it is not.

    Knows lists of equal length by the names of columns, and what pandas writes with `to_dict` (`split`, `dict` and
    `index`). Costs the number of keys if the dict is not a table.

    Args:
        value: a dict in a result.
        min_rows: how many rows a table has to have to be read.
    """
    if len(value) < _MIN_ROWS:
        return None
    first = next(iter(value.values()))
    if isinstance(first, Mapping):
        return _read_dicts(value, max(min_rows, 1))
    return _read_split(value, max(min_rows, 1)) or _read_dict(value, max(min_rows, _MIN_ROWS))


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


def _read_dict(value: Mapping[Any, Any], min_rows: int) -> DictForm | None:
    lists = {key: item for key, item in value.items() if isinstance(item, (list, tuple))}
    if len(lists) < _MIN_ROWS or not all(isinstance(key, str) for key in lists):
        return None
    lengths = set(map(len, lists.values()))
    needed = min_rows if len(lists) == len(value) else max(min_rows, _MIN_KEYED_ROWS)
    if len(lengths) != 1 or min(lengths) < needed:
        return None
    others = [item for key, item in value.items() if key not in lists]
    probed = [cell for cells in lists.values() for cell in (*cells[:_PROBED], cells[-1])]
    if not all(isinstance(item, _SCALARS) for item in (*others, *probed)):
        return None
    names = list(lists)
    rows = [dict(zip(names, row, strict=True)) for row in zip(*lists.values(), strict=True)]
    return DictForm(rows, lambda shown: {**value, **{name: [row[name] for row in shown] for name in names}})


def _read_dicts(value: Mapping[Any, Any], min_rows: int) -> DictForm | None:
    inner = list(value.values())
    if not all(isinstance(item, Mapping) for item in inner):
        return None
    keys = inner[0].keys()
    shared = set(keys).intersection(*inner)
    # Rows may lack some cells, but two settings of a kind have more in common than not.
    if not shared or 2 * len(shared) < len(set().union(*inner)):
        return None
    cells = [cell for item in (*inner[:_PROBED], inner[-1]) for cell in item.values()]
    parts = [part for cell in cells for part in (cell.values() if isinstance(cell, Mapping) else (cell,))]
    # What has more dicts than cells of its own is a tree.
    is_tree = 2 * sum(isinstance(cell, Mapping) for cell in cells) > len(cells)
    if is_tree or not all(isinstance(part, _SCALARS) for part in parts):
        return None
    if len(keys) >= min_rows and list(map(str, keys)) == list(map(str, range(len(keys)))):
        places = list(keys)
        rows = [{str(name): column[place] for name, column in value.items()} for place in places]
        return DictForm(
            rows,
            lambda shown: {name: {places[at]: row[str(name)] for at, row in enumerate(shown)} for name in value},
        )
    if len(value) < max(min_rows, _MIN_KEYED_ROWS):
        return None
    label = "key" if "key" not in keys else "key_2"
    return DictForm(
        [{label: key, **row} for key, row in value.items()],
        lambda shown: {row[label]: {key: cell for key, cell in row.items() if key != label} for row in shown},
    )
