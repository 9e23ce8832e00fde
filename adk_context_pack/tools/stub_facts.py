"""Writes what a stub says about all rows of a table: its facts, from the fullest form to the shortest."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from math import log2
from typing import Any

from adk_context_pack.tables.find_tables import Table
from adk_context_pack.tables.outliers import Odd, odd_rows
from adk_context_pack.tables.table_facts import TableFacts, table_facts
from adk_context_pack.tables.trouble import alarming_rows
from adk_context_pack.tools.group_facts import level_counts, sums_by_value
from adk_context_pack.tools.table_text import facts_as_text, quoted

logger = logging.getLogger("adk_context_pack")

Facts = tuple[TableFacts, Mapping[int, Sequence[Odd]]]
"""The facts of a table, and its rows that are unlike the others, the oddest first."""


def facts_of(tables: Sequence[Table]) -> dict[str, Facts]:
    """Returns the facts of each table by its key, or nothing if they cannot be computed."""
    try:
        return {table.key: _facts(table) for table in tables}
    except Exception as exception:
        # The rows are capped all the same. The type only: a message may quote a cell.
        logger.warning("facts could not be computed: %s", type(exception).__name__)
        return {}


def _facts(table: Table) -> Facts:
    rows = table.rows
    facts = table_facts(rows, columns=table.columns)
    # If more than a tenth of the lines report trouble, trouble is not what is unusual.
    if 0 < 10 * len(alarms := alarming_rows(rows, most=len(rows) // 10 + 1)) <= len(rows):
        return facts, {row: [Odd(row, "alarm", log2(len(rows) / len(alarms)))] for row in alarms}
    odd = odd_rows(rows, table.columns, facts.outliers)
    apart = {*facts.total_rows, *facts.repeated_headers}
    return facts, {row: cells for row, cells in odd.items() if row not in apart}


def forms_of_facts(table: Table, facts: TableFacts, beside: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields the forms in which the facts of a table may join its rows, the fullest first and always as many.

    Args:
        table: the table.
        facts: what is known of all its rows.
        beside: what is said with each form.
    """
    levels = level_counts(table.rows)
    more = {"levels": levels, "unread_rows": table.unread, **beside}
    more = {name: value for name, value in more.items() if value}
    sums = [
        f"{name}: " + ", ".join(f"{quoted(value)} = {total}" for value, total in by.items())
        for name, by in sums_by_value(table.rows, facts).items()
    ]
    said = facts_as_text(facts) | more
    for count in (len(sums), 2, 1):
        yield said | ({"sums": "\n".join(sums[:count])} if sums else {})
    yield said
    for most in (None, 12, 6, 3, 1):
        yield facts_as_text(facts, others=False, most=most) | more
    yield {"names": ", ".join(column.name for column in facts.columns), **beside}
