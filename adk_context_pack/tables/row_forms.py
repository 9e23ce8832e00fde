"""Reads rows that services wrap in envelopes of their own, as plain rows with names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from functools import partial
from itertools import chain, islice, repeat
from operator import add
from typing import Any

from adk_context_pack.tables.columns import as_record, unique_names
from adk_context_pack.tables.headers import is_header, is_typed, typed_places
from adk_context_pack.tables.number_signs import clock_of

_PROBED, _MIN_ROWS, _MIN_KEYED_ROWS = 20, 2, 3
_NOTHING: Mapping[str, Any] = {}
# The keys of the lists of cells in a row, and where the columns are described beside the rows: of Analytics 4,
# BigQuery, Google Charts, and AWS's Timestream and Athena, whose first row has the names.
_CELLS = (
    (("dimensionValues", "metricValues"), ("dimensionHeaders", "metricHeaders")),
    (("f",), ("schema.fields",)), (("c",), ("cols",)), (("Data",), ("ColumnInfo",)),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PlainRows:
    """Holds plain rows, the names of their columns if they are lists, and what puts rows in the form that was read."""

    rows: Sequence[Any]
    columns: Sequence[str] | None = None
    write: Callable[[Sequence[Any]], Any] = field(default=lambda shown: shown, compare=False)


def read_rows(rows: Sequence[Any], around: Mapping[Any, Any], above: Sequence[Any] = ()) -> PlainRows | None:
    """Reads a list of rows that a service has wrapped, or None if the rows are plain.

    Knows GA4 reports, BigQuery's REST answers, Athena, CloudWatch Logs Insights, DynamoDB items, Elasticsearch hits,
    GraphQL edges, series of points in time, and lists of lists with the names of columns in the first or elsewhere.
    Looks at two rows or some twenty to know a form. If it is one of a service's own, all rows are rewritten. `around`
    is the dict that holds them. In those `above` it, the nearest last, may be the names of the columns.
    """
    ends = (rows[0], rows[-1])
    if all(isinstance(end, Mapping) for end in ends):
        return _read_objects(rows, ends, around)
    # Snowflake, Databricks and Socrata describe the columns of lists in a branch of their own.
    near = reversed(above if isinstance(rows[0], (list, tuple)) else ())
    if names := next((names for value in near if (names := _names_within(value, rows, 0))), None):
        is_plain = not all(isinstance(cell, Mapping) and len(cell) == 1 for cell in rows[0])
        return PlainRows(rows if is_plain else [list(map(_value, row)) for row in rows], names)
    return _read_lists(rows, ends) if all(isinstance(end, (list, tuple)) for end in ends) else None


def _read_objects(rows: Sequence[Any], ends: tuple[Any, Any], around: Mapping[Any, Any]) -> PlainRows | None:
    for parts, paths in _CELLS:
        if all(end.keys() <= {*parts, "p"} and _cells_of(end, parts)[:1] for end in ends):
            fields = [told for path in paths for told in _at(around, path)]
            has_head = not fields and "Data" in parts
            names = unique_names(map(_value, rows[0]["Data"])) if has_head else described(fields) or ()
            read = [_read_cells(row, parts, fields, names) for row in rows[has_head:]]
            return PlainRows(read, None, partial(add, list(rows[:has_head])))
    for key in ("_source", "node"):
        if all(isinstance(end.get(key), Mapping) for end in ends):
            return PlainRows([_unwrapped(row, key) for row in rows])
    if all(_is_dynamo(end) for end in ends):
        return PlainRows([_value({"M": row}) if _is_dynamo(row) else row for row in rows])
    for key in ("values", "value", "pointlist", "datapoints", "points"):
        if key in ends[0] and all(_points_of(end, key) for end in ends):
            return PlainRows([point for row in rows for point in _points_of(row, key) or (row,)])
    return None


def _points_of(row: Any, key: str) -> Sequence[Any]:
    """Returns a row for each point of a series, which names what is in a point, or has moments and readings there."""
    if not (points := _at(row, key)):
        return ()
    points = points if isinstance(points[0], list) else [points]
    cells = [int(cell) if isinstance(cell, str) and cell.isdecimal() else cell for cell in points[0]]
    are_moments = [isinstance(cell, (int, float)) and clock_of([cell]) > 0 for cell in cells]
    names = row.get("columns") or ["time" if is_moment else "reading" for is_moment in are_moments]
    is_told = isinstance(names, list) and ("columns" in row or sorted(are_moments) == [False, True])
    if not is_told or not all(isinstance(end, list) and len(end) == len(names) for end in (points[0], points[-1])):
        return ()
    about = {name: cell for name, cell in row.items() if name not in {key, "columns"}}
    return [{**about, **as_record(point, unique_names(names))} for point in points]


def _cells_of(row: Any, parts: Sequence[str]) -> Sequence[Any]:
    """Returns the cells in lists of a row, or nothing if it has none."""
    return [cell for part in parts for cell in _at(row, part)]


def _read_cells(row: Any, parts: Sequence[str], fields: Sequence[Any], names: Sequence[str]) -> Any:
    cells = list(map(_value, _cells_of(row, parts), chain(fields, repeat(_NOTHING))))
    return as_record(cells, names) if cells else row


def _value(cell: Any, about: Mapping[str, Any] = _NOTHING) -> Any:
    """Returns what a cell holds that names its kind, which the description of its column may tell."""
    if type(cell) is not dict:
        return cell
    item: Any
    kind, item = next(iter(cell.items()), ("", None))
    if type(item) is str:
        told = about.get("type")
        is_truth = told in {"BOOLEAN", "BOOL"} and item in {"true", "false"}
        return item == "true" if is_truth else _moment(item) if told == "TIMESTAMP" else item
    if kind == "M":
        return {key: _value(inner) for key, inner in item.items()}
    if isinstance(item, list):
        return [_value(inner, about) for inner in item]
    if isinstance(item, Mapping):
        # https://cloud.google.com/bigquery/docs/reference/rest/v2/jobs/getQueryResults
        fields = about.get("fields") or ()
        return _read_cells(item, ("f",), fields, described(fields) or ())
    return None if kind in {"NULL", "isNull", "NullValue"} else item


def _read_lists(rows: Sequence[Any], ends: tuple[Any, Any]) -> PlainRows | None:
    cells = chain(*ends)
    if all(ends) and all(isinstance(cell, Mapping) and cell.keys() == {"field", "value"} for cell in cells):
        return PlainRows([{cell["field"]: cell.get("value") for cell in row} for row in rows])
    head, body = rows[0], rows[1 : _PROBED + 1]
    are_lists = len(rows) > _MIN_ROWS and all(isinstance(row, (list, tuple)) for row in body)
    if not are_lists or not all(isinstance(cell, str) for cell in head) or not is_header(head):
        return None
    # Sheets leaves empty cells at the end of a row out.
    differing = [place for place in typed_places(head, body) if head[place] and not is_typed(head[place])]
    has_numbers = any(type(cell) in {int, float} for row in body for cell in row)
    if any(len(row) > len(head) for row in body) or not (has_numbers or differing):
        return None
    return PlainRows(rows[1:], unique_names(head), partial(add, list(rows[:1])))


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
    kinds = {"S", "N", "BOOL", "NULL", "B", "SS", "NS", "BS", "L", "M"}
    cells = row.values() if isinstance(row, Mapping) else ()
    return bool(cells) and all(isinstance(cell, Mapping) and len(cell) == 1 and kinds >= cell.keys() for cell in cells)


_SCALARS = (str, int, float, bool, type(None))


def read_dict(value: Mapping[Any, Any], *, min_rows: int) -> PlainRows | None:
    """Reads a dict that is a table as a whole, or None if it is not."""
    # Knows lists of equal length by the names of columns, and what pandas writes with `to_dict` (`split`, `dict` and
    # `index`). Costs the number of keys if the dict is not a table.
    if len(value) < _MIN_ROWS:
        return None
    if (form := _read_named_elsewhere(value, max(min_rows, 1))) is not None:
        return form
    if isinstance(next(iter(value.values())), Mapping):
        return _read_dicts(value, max(min_rows, 1))
    return _read_dict(value, max(min_rows, _MIN_ROWS))


# Where charts have the values of the first column, and their series with the keys of their names and values.
_CHARTS = (
    ("labels", "datasets", "label"), ("xAxis.categories", "series", "name"), ("xaxis.categories", "series", "name"),
    ("xAxis.data", "series", "name"),
)  # fmt: skip


def _read_named_elsewhere(value: Mapping[Any, Any], min_rows: int) -> PlainRows | None:
    """Reads the columns of a frame of Grafana or pandas (`split`), and the series of a chart."""
    if value.keys().isdisjoint(("schema", "labels", "xAxis", "xaxis", "index")):
        return None
    names, columns, used = described(_at(value, "schema.fields")), _at(value, "data.values"), {"schema", "data"}
    for path, key, name in _CHARTS:
        if (labels := _at(value, path)) and all(isinstance(each, Mapping) for each in _at(value, key)):
            names = unique_names(["label", *(each.get(name) for each in _at(value, key))])
            columns, used = [labels, *(each.get("data") for each in _at(value, key))], {path.partition(".")[0], key}
    is_told, index, labels, data = False, *(_at(value, key) for key in ("index", "columns", "data"))
    if labels and len(index) == len(data) and all(isinstance(row, list) and len(row) == len(labels) for row in data):
        columns = list(map(list, zip(*data, strict=True)))
        is_told = list(index) != list(range(len(index)))
        label = "index" if "index" not in labels else "index_2"
        names, columns = [label] * is_told + unique_names(labels), [list(index)] * is_told + columns
        used = {"index", "columns", "data"}
    if not names or len(names) != len(columns) or not all(isinstance(cells, list) for cells in columns):
        return None
    form = _read_dict(dict(zip(names, columns, strict=True)), min_rows)
    others = {key: item for key, item in value.items() if key not in used}

    def write(shown: Sequence[Any]) -> Any:
        if "index" not in used:
            return {**others, **{name: [row[name] for row in shown] for name in names}}
        lines = [list(row.values()) for row in shown]
        return {**value, "index": [line.pop(0) if is_told else at for at, line in enumerate(lines)], "data": lines}

    return form and PlainRows(form.rows, None, write)


def _at(value: Any, path: str) -> Sequence[Any]:
    """Returns the list to which a dotted path leads, or an empty one."""
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, list) else ()


def _read_dict(value: Mapping[Any, Any], min_rows: int) -> PlainRows | None:
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
    rows = [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]
    return PlainRows(rows, None, lambda shown: {**value, **{name: [row[name] for row in shown] for name in lists}})


def _are_alike(dicts: Sequence[Mapping[Any, Any]]) -> bool:
    # Rows may lack some cells, but two settings of a kind have more in common than not.
    shared = set(dicts[0]).intersection(*dicts) if dicts else ()
    return 2 * len(shared) * len(dicts) > sum(map(len, dicts)) or not dicts


def _read_dicts(value: Mapping[Any, Any], min_rows: int) -> PlainRows | None:
    inner = list(value.values())
    keys, probed = inner[0].keys(), [*inner[:_PROBED], inner[-1]]
    if not all(isinstance(item, Mapping) for item in inner) or not _are_alike(inner):
        return None
    cells = [cell for item in probed for cell in item.values()]
    # What has more dicts and lists than cells of its own is a tree.
    is_tree = 2 * sum(isinstance(cell, (Mapping, list)) for cell in cells) > len(cells)
    if is_tree or not all(isinstance(cell, (*_SCALARS, Mapping, list)) for cell in cells):
        return None
    lists = [[item[name][0] for item in probed if isinstance(item.get(name), list) and item[name]] for name in keys]
    if not all(_are_alike(firsts) for firsts in lists if all(isinstance(first, Mapping) for first in firsts)):
        return None
    if len(keys) >= min_rows and list(map(str, keys)) == list(map(str, range(len(keys)))):
        rows = [{str(name): column[place] for name, column in value.items()} for place in keys]
        return PlainRows(rows, None, lambda shown: {
            name: {at: row[str(name)] for at, row in zip(keys, shown, strict=False)} for name in value
        })  # fmt: skip
    if len(value) < max(min_rows, _MIN_KEYED_ROWS):
        return None
    label = "key" if "key" not in keys else "key_2"
    return PlainRows([{label: key, **row} for key, row in value.items()], None, lambda shown: {
        row[label]: {key: row[key] for key in row if key != label} for row in shown
    })  # fmt: skip


_NAMED = {"columns", "columnnames", "columnheaders", "columnmetadata", "cols", "headers", "header", "fields", "names",
          "schema", "rowtype"}  # fmt: skip


def _names_within(value: Mapping[Any, Any], rows: Sequence[Any], depth: int) -> list[str] | None:
    for key, item in islice(value.items(), 50):
        told: Any = item.get("fields") if isinstance(item, Mapping) else item
        fits = isinstance(told, (list, tuple)) and 0 < len(told) == len(rows[0])
        names = described(told, are_named=str(key).lower().replace("_", "") in _NAMED) if fits else None
        if not names and isinstance(item, Mapping) and depth < 3:  # noqa: PLR2004 - levels
            names = _names_within(item, rows, depth + 1)
        if names:
            return names
    return None


def described(entries: Sequence[Any], *, are_named: bool = True) -> list[str] | None:
    """Returns the names of the columns that a list of dicts tells, or of texts if `are_named`, or None."""
    if entries and all(isinstance(entry, str) for entry in entries):
        return unique_names(entries) if are_named else None
    first = entries[0] if entries and isinstance(entries[0], Mapping) else {}
    key = next((key for key in ("name", *first) if key in first and str(key).lower().endswith(("name", "label"))), None)
    if key is None or not all(isinstance(entry, Mapping) and isinstance(entry.get(key), str) for entry in entries):
        return None
    return unique_names(entry[key] for entry in entries)
