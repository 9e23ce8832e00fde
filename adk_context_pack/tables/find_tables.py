"""Finds the tables in a tool's result, wherever they are, and puts fewer rows in their place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adk_context_pack.tables.columns import as_record, is_record
from adk_context_pack.tables.table_walk import SAME, Memo, TableWalk

__all__ = ["Memo", "Table", "find_tables", "replace_rows"]

_DESCRIBING = frozenset(
    (
        *("columns", "fields", "schema", "headers", "dimensionHeaders", "metricHeaders", "columnHeaders", "rowType"),
        *("cols", "ColumnInfo", "columnMetadata", "column_info"),
    )
)


@dataclass(frozen=True, slots=True)
class Table:
    """One table in a result.

    Attributes:
        key: the place of the table: its key in the result (`rows`), dotted for a nested one (`data.rows`,
            `accounts.0.rows`), `result` for a bare list. JSON text and MCP's envelope add nothing to it. `_2` tells
            equal keys apart.
        rows: all rows, the result's own list or what was read from its text or envelope. Read them, never write into
            them.
        columns: the names of the columns where rows are lists of values and the result names them, else None.
        unread: how many lines of a text could not be read as rows. They are not among the rows.
    """

    key: str
    rows: Sequence[Any]
    columns: Sequence[str] | None = None
    unread: int = 0


def find_tables(value: Any, *, min_rows: int = 1, memo: Memo | None = None) -> list[Table]:
    """Returns the tables in `value`, in their order there.

    Finds lists of dicts, models, lists of values and scalars, in dicts and lists of any depth up to 12, in pydantic
    models, in MCP results, and in texts: JSON, JSON lines, CSV, Markdown, HTML and drawn tables, alone, in a code
    fence or between words. Reads the envelopes of GA4, BigQuery, Athena, CloudWatch, DynamoDB, Elasticsearch and
    GraphQL, Google Sheets' values with their header, dicts of lists and of columns, and frames of pandas, polars and
    pyarrow. Pages of rows are one table, and so are rows that an MCP result has both in `structuredContent` and in a
    text.

    The time does not depend on the number of rows, except where a text, an envelope or a frame is read.

    Args:
        value: what a tool returned. It is only read.
        min_rows: a list with fewer entries is not a table. Its content is looked at instead.
        memo: a dict of the caller's, passed to `replace_rows` as well, so that a text is read once.
    """
    found: list[Table] = []

    def collect(*table: Any) -> Any:
        found.append(Table(*table))
        return SAME

    TableWalk(collect, min_rows, memo).start(value)
    rows = [table for table in found if not _describes(table)]
    # A list of columns with their types describes the rows beside it, and is a table only where it stands alone.
    return rows if any(table.rows and isinstance(table.rows[0], (Mapping, list)) for table in rows) else found


def replace_rows(value: Any, rows: Mapping[str, Any], *, min_rows: int = 1, memo: Memo | None = None) -> Any:
    """Returns `value` with other rows in place of some tables.

    New containers are built along the way to those tables. Everything else stays the very same object, and `value`
    and its rows are not written into. CSV, Markdown, JSON and JSON lines keep their form, other tables in texts become
    CSV, a service's envelopes become plain rows. A pydantic model on the way becomes a dict of its fields. Rows that
    an MCP result repeats in a text are put in `structuredContent` alone.

    Args:
        value: what `find_tables` was called with.
        rows: by the key of a table, the rows that take their place (a list), or any value, such as a text.
        min_rows: as for `find_tables`, since keys depend on which tables there are.
        memo: as for `find_tables`.
    """

    def replace(key: str, *_: Any) -> Any:
        shown = rows.get(key, SAME)
        return [_plain_row(row) for row in shown] if isinstance(shown, (list, tuple)) else shown

    return TableWalk(replace, min_rows, memo).start(value)


def _describes(table: Table) -> bool:
    names = ("name", "Name")
    return table.key.rpartition(".")[2] in _DESCRIBING and all(
        isinstance(row, Mapping) and any(name in row for name in names) for row in table.rows
    )


def _plain_row(row: Any) -> Any:
    if not is_record(type(row)):
        return row
    dump = getattr(row, "model_dump", None)
    return dump(mode="json") if dump else dict(as_record(row))
