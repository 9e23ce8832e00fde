"""Writes what a stub says about all rows of a table: its facts, from the fullest form to the shortest."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from adk_context_pack.tables.find_tables import Table
from adk_context_pack.tables.table_facts import TableFacts, table_facts
from adk_context_pack.tables.trouble import alarming_rows
from adk_context_pack.tools.group_facts import level_counts, sums_by_value, without_noise
from adk_context_pack.tools.shown_rows import CellLimits, shortened, values_of
from adk_context_pack.tools.table_text import facts_as_text, quoted

logger = logging.getLogger("adk_context_pack")

_MAX_NOTABLE = 6
_FEW_COLUMNS = 12
_NOTABLE_CELLS = CellLimits(300, 8)


def facts_of(tables: Sequence[Table]) -> list[tuple[Table, TableFacts]]:
    """Returns each table with its facts; none where they cannot be computed."""
    try:
        return [(table, table_facts(table.rows, columns=table.columns)) for table in tables]
    except Exception as exception:
        # The rows are capped all the same. The type only: a message may quote a cell.
        logger.warning("facts could not be computed: %s", type(exception).__name__)
        return []


def _full(table: Table, facts: TableFacts) -> dict[str, Any]:
    said = facts.as_dict()
    said.pop("rows")
    for column in said["columns"].values():
        column |= {name: without_noise(column[name]) for name in ("sum", "mean") if name in column}
    rows = (*facts.notable_rows, *alarming_rows(table.rows, most=_MAX_NOTABLE))
    return said | _levels(table) | _notable(table, facts, rows)


def _full_with_sums(table: Table, facts: TableFacts) -> dict[str, Any]:
    sums = sums_by_value(table.rows, facts)
    return _full(table, facts) | ({"sums": sums} if sums else {})


def _short_with_sums(table: Table, facts: TableFacts) -> dict[str, Any]:
    return _with_sums(table, facts, measures=2, categories=3)


def _short_with_few_sums(table: Table, facts: TableFacts) -> dict[str, Any]:
    return _with_sums(table, facts, measures=1, categories=2)


def _short_with_one_sum(table: Table, facts: TableFacts) -> dict[str, Any]:
    said = _with_sums(table, facts, measures=1, categories=1)
    said.pop("notable_rows", None)
    return said | _outlier_rows(table, facts, 1)


def _with_sums(table: Table, facts: TableFacts, *, measures: int, categories: int) -> dict[str, Any]:
    sums = sums_by_value(table.rows, facts, measures=measures, categories=categories)
    lines = (
        f"{name}: " + ", ".join(f"{quoted(value)} = {total}" for value, total in by.items())
        for name, by in sums.items()
    )
    return _short(table, facts) | ({"sums": "\n".join(lines)} if sums else {})


def _short(table: Table, facts: TableFacts) -> dict[str, Any]:
    return facts_as_text(facts) | _levels(table) | _outlier_rows(table, facts, 2)


def _shortest(table: Table, facts: TableFacts) -> dict[str, Any]:
    return facts_as_text(facts, others=False) | _levels(table) | _outlier_rows(table, facts, 1)


def _numbers(_: Table, facts: TableFacts) -> dict[str, Any]:
    return facts_as_text(facts, others=False)


def _few(_: Table, facts: TableFacts) -> dict[str, Any]:
    return facts_as_text(facts, others=False, most=_FEW_COLUMNS)


def _names(_: Table, facts: TableFacts) -> dict[str, Any]:
    return {"names": ", ".join(column.name for column in facts.columns)}


def _levels(table: Table) -> dict[str, Any]:
    levels = level_counts(table.rows)
    return ({"levels": levels} if levels else {}) | ({"unread_rows": table.unread} if table.unread else {})


def _outlier_rows(table: Table, facts: TableFacts, most: int) -> dict[str, Any]:
    return _notable(
        table, facts, (*(cell.row for cell in facts.outliers[:most]), *alarming_rows(table.rows, most=most))
    )


def _notable(table: Table, facts: TableFacts, indexes: Sequence[int]) -> dict[str, Any]:
    stands_out = {cell.row: {"stands_out": cell.column} for cell in facts.outliers}
    rows = [
        {"row": index, **stands_out.get(index, {}), "values": shortened(values_of(table.rows[index]), _NOTABLE_CELLS)}
        for index in indexes[:_MAX_NOTABLE]
    ]
    return {"notable_rows": rows} if rows else {}


FORMS: Sequence[Callable[[Table, TableFacts], dict[str, Any]]] = (
    _full_with_sums,
    _full,
    _short_with_sums,
    _short_with_few_sums,
    _short_with_one_sum,
    _short,
    _shortest,
    _numbers,
    _few,
    _names,
)
"""The forms in which the facts of a table may join its rows, the fullest first."""

SMALL_FORMS = tuple(form for form in FORMS if form not in (_full_with_sums, _full))
"""Those that say the same in lines of text."""
