"""Boils a table down for a reader: totals, key figures, the best and the worst rows, groups."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from adk_context_pack.tables.kpis import GOOGLE_ADS_KPIS, Kpi
from adk_context_pack.tables.measures import Measures
from adk_context_pack.tables.results import Result
from adk_context_pack.tables.schema import said_of_rows_apart
from adk_context_pack.tables.stub_form import LIMITS

_RANKED_BY = ("cost", "spend", "clicks", "impressions", "conversions", "revenue")


@dataclass(frozen=True, kw_only=True, slots=True)
class SummaryPlan:
    """Says what a summary holds beside totals.

    Attributes:
        kpis: the key figures.
        rank_by: the column or key figure for top and bottom; None takes cost, clicks or the like, whatever is there.
        max_ranked: how many rows top and bottom have.
        group_by: dimensions, each a column or several together.
        max_groups: how many groups of a dimension are listed, the largest first.
        max_rows: how many enriched rows are listed.
    """

    kpis: tuple[Kpi, ...] = GOOGLE_ADS_KPIS
    rank_by: str | None = None
    max_ranked: int = 5
    group_by: tuple[tuple[str, ...], ...] = ()
    max_groups: int = 50
    max_rows: int = 1000


def summarize(result: Result, plan: SummaryPlan) -> dict[str, Any]:
    """Returns one result as small JSON, with `row_count`, `totals`, `kpis`, `top`, `bottom`, `groups`, `enriched_rows`.

    `left_out` says for each column which cells no total holds. Where rows name several currencies, totals of money are
    None, and `by_currency` has the totals and key figures of each.

    `status` is "ok", "failed" (the query did, see `error`) or "unreadable" (no rows were found). Where rows or groups
    were left out, `_row_limits` says how many are shown of how many; totals and key figures are of all rows.
    """
    head: dict[str, Any] = {"status": "ok" if result.error is None else "failed" if result.failed else "unreadable"}
    if result.title:
        head["title"] = result.title
    if result.error is not None:
        head["error"] = result.error
    table = Measures(result.rows or (), result.columns)
    ranked_by, values = _ranking(table, plan)
    top, bottom = _ranked(values, plan.max_ranked)
    limits: dict[str, Any] = {}
    shown = range(min(table.row_count, plan.max_rows))
    if table.row_count > len(shown):
        limits["enriched_rows"] = {"shown": len(shown), "total": table.row_count}
    body = head | {
        # What cannot be read is not nothing.
        "row_count": None if result.rows is None and result.error else table.row_count,
        "totals": table.totals(),
        "kpis": table.kpis(plan.kpis),
        **_reservations(table, plan),
        "ranked_by": ranked_by,
        "top": [table.row(row, plan.kpis) for row in top],
        "bottom": [table.row(row, plan.kpis) for row in bottom],
        # Ratios of rows do not add up to a group's, so that groups are then ordered by their size.
        "groups": _all_groups(table, plan, values if ranked_by in table.names else None, limits),
        "enriched_rows": [table.row(row, plan.kpis) for row in shown],
    }
    return body | ({LIMITS: limits} if limits else {})


def _reservations(table: Measures, plan: SummaryPlan) -> dict[str, Any]:
    """The notes that a reader of the totals needs."""
    found: dict[str, Any] = {"left_out": table.left_out} if table.left_out else {}
    notes = [said_of_rows_apart(table.schema.total_rows, table.schema.repeated_headers)]
    if currencies := table.currencies():
        found["by_currency"] = {
            str(currency): {"row_count": len(rows), "totals": table.totals(rows), "kpis": table.kpis(plan.kpis, rows)}
            for currency, rows in sorted(currencies.items(), key=lambda item: -len(item[1]))[: plan.max_groups]
        }
        notes.append("Amounts in several currencies or units are not added up: their totals are by_currency only.")
    note = " ".join(filter(None, notes))
    return found | ({"note": note} if note else {})


def without_rows(summary: dict[str, Any]) -> dict[str, Any]:
    """Returns a summary as a writer may see it: no raw rows, and no micros but currency units."""
    return {key: _without_micros(value) for key, value in summary.items() if key not in {"enriched_rows", LIMITS}}


def _without_micros(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_micros(item) for key, item in value.items() if not str(key).endswith("_micros")}
    return [_without_micros(item) for item in value] if isinstance(value, list) else value


def _ranking(table: Measures, plan: SummaryPlan) -> tuple[str | None, list[Any] | None]:
    wanted = (plan.rank_by,) if plan.rank_by else (*_RANKED_BY, *table.summed)
    for name in wanted:
        values = table.values(name, plan.kpis)
        if values is not None:
            return table.find(name) or name, values
    return None, None


def _ranked(values: Sequence[Any] | None, most: int) -> tuple[list[int], list[int]]:
    if values is None:
        return [], []
    rows = [row for row, value in enumerate(values) if value is not None]
    return heapq.nlargest(most, rows, key=values.__getitem__), heapq.nsmallest(most, rows, key=values.__getitem__)


def _all_groups(
    table: Measures, plan: SummaryPlan, values: Sequence[Any] | None, limits: dict[str, Any]
) -> dict[str, list[dict[str, Any]]]:
    found = {}
    for names in plan.group_by:
        columns = [table.cells(name) for name in names]
        known = [column for column in columns if column is not None]
        if len(known) < len(names):
            continue
        label = ", ".join(names)
        rows_of: dict[str, list[int]] = {}
        for row, cells in enumerate(zip(*known, strict=True)):
            rows_of.setdefault(repr(cells), []).append(row)
        groups = sorted(rows_of.values(), key=lambda rows: -_weight(rows, values))
        if len(groups) > plan.max_groups:
            limits[f"groups.{label}"] = {"shown": plan.max_groups, "total": len(groups)}
        found[label] = [
            {name: column[rows[0]] for name, column in zip(names, known, strict=True)}
            | {"row_count": len(rows), "totals": table.totals(rows), "kpis": table.kpis(plan.kpis, rows)}
            for rows in groups[: plan.max_groups]
        ]
    return found


def _weight(rows: Sequence[int], values: Sequence[Any] | None) -> float:
    if values is None:
        return len(rows)
    try:
        weight = math.fsum(values[row] for row in rows if values[row] is not None)
    except (OverflowError, ValueError):
        return math.inf
    return weight if weight == weight else -math.inf  # noqa: PLR0124  NaN has no place in an order
