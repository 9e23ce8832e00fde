"""Boils a table down for a reader: totals, key figures, the best and the worst rows, groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, partial
from heapq import nlargest, nsmallest
from typing import Any

from adk_context_pack.errors import Configured, a_number, must
from adk_context_pack.tables.column_names import snake_case
from adk_context_pack.tables.columns import free_name, is_missing
from adk_context_pack.tables.numbers import Number, as_float, exact_sum, float_sum, is_finite, plain, short_text
from adk_context_pack.tables.query_results import Result
from adk_context_pack.tables.schema import ADDED, NO_UNIT
from adk_context_pack.tables.stub_form import LIMITS
from adk_context_pack.tables.table_facts import table_facts

MICROS = 1_000_000
"""Micros in one unit of the account's currency: 1.23 USD are 1,230,000 micros.

Source: https://developers.google.com/google-ads/api/docs/concepts/api-structure, "micros" as in `metrics.cost_micros`.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Kpi(Configured):
    """A ratio of two columns, computed from their totals and never averaged over rows.

    Args:
        name: its name in the results.
        numerator: the column above the line, such as `cost` (currency units, also where rows hold `cost_micros`).
        denominator: the column below the line.
        scale: what the ratio is multiplied by, 1000 for a price per thousand.

    Raises:
        SettingError: an empty name, or a scale that is zero or not a number.
    """

    name: str
    numerator: str
    denominator: str
    scale: float = 1

    def __post_init__(self) -> None:
        """Checks the settings."""
        for setting in ("name", "numerator", "denominator"):
            value = getattr(self, setting)
            must(isinstance(value, str) and value, self, setting, value, "a non-empty name")
        expected = "a finite number other than 0"
        a_number(self, "scale", self.scale, lambda scale: 0 < abs(scale) < math.inf, expected)

    def value(self, column: Callable[[str], Any]) -> float | None:
        """Returns the figure as the float nearest to the exact ratio.

        Args:
            column: from the name of a column to its total (int, float, Decimal or Fraction), or None.

        Returns:
            None if a column is missing or not a number, the denominator is zero, or the ratio is not finite.
        """
        above, below = _fraction(column(self.numerator)), _fraction(column(self.denominator))
        if above is None or not below:
            return None
        # A scale such as 0.001 is meant as one thousandth, which no float is.
        return as_float(above * _exact_scale(repr(self.scale)) / below)


GOOGLE_ADS_KPIS = (
    Kpi(name="CTR", numerator="clicks", denominator="impressions"),
    Kpi(name="CPC", numerator="cost", denominator="clicks"),
    Kpi(name="CPM", numerator="cost", denominator="impressions", scale=1000),
    Kpi(name="CVR", numerator="conversions", denominator="clicks"),
    Kpi(name="CPA", numerator="cost", denominator="conversions"),
    Kpi(name="ROAS", numerator="conversions_value", denominator="cost"),
)
"""The key figures of an Ads account. Shares are fractions (0.05 is 5 %), prices are in its currency.

CTR: clicks / impressions (`metrics.ctr`). CPC: cost / clicks (`metrics.average_cpc`). CPM: cost per thousand
impressions (`metrics.average_cpm`). CVR: conversions / clicks. CPA: cost / conversions (`metrics.cost_per_conversion`).
ROAS: conversions value / cost.

Source: https://developers.google.com/google-ads/api/fields/latest/metrics. For CVR and ROAS the glossary of Google Ads,
https://support.google.com/google-ads/topic/3121777.
"""


_exact_scale = lru_cache(maxsize=64)(Fraction)


def _fraction(value: Any) -> Fraction | None:
    is_number = isinstance(value, (int, float, Decimal)) and not isinstance(value, bool) and is_finite(value)
    return Fraction(value) if is_number or isinstance(value, Fraction) else None


_SUFFIX = "_micros"
# Prices that the Google Ads API gives in micros though their names do not say so.
# https://developers.google.com/google-ads/api/fields/latest/metrics
_PRICES = {"average_cost", "average_cpc", "average_cpe", "average_cpm", "average_cpv", "cost_per_conversion",
           "cost_per_all_conversions", "cost_per_current_model_attributed_conversion"}  # fmt: skip


class Measures:
    """Holds the columns of one table under one spelling, ready to be added up.

    Amounts of several currencies are never added up. They differ if a column names the currency of each row
    (`customer.currency_code`) and the rows in question name more than one, or where cells have different signs.

    Attributes:
        row_count: how many rows there are.
        names: the columns as a reader sees them: snake case, without `metrics.`, micros as currency (`cost`).
        rows_apart: a sentence on the rows that sum up others, or repeat the header, which no figure is of, or nothing.
        summed: the columns that may be added up: measures, no ratios and no averages.
        left_out: for each number column with cells that no total holds: how many are `missing`, how many are
            `not_numbers`, one of those as `such_as`, and the `currencies` of a column that holds several.
        units: the one unit or currency of each number column that has one.
        find: returns the column that is meant by a name in any spelling: `metrics.costMicros`, `cost_micros`, `cost`.
    """

    def __init__(self, rows: Sequence[Any], columns: Sequence[str] | None = None) -> None:
        facts = table_facts(rows, columns=columns)
        self.rows_apart = facts.rows_apart
        self.row_count = facts.rows - len(facts.total_rows) - len(facts.repeated_headers)
        self._cells: dict[str, Sequence[Any]] = {}
        self._numbers: dict[str, Sequence[Number | None]] = {}
        self._currency_of: dict[str, Sequence[Any]] = {}
        self.find = lru_cache(maxsize=None)(self._find)
        self.left_out: dict[str, dict[str, Any]] = {}
        self._micros, self.summed, taken = dict[str, str](), list[str](), dict[str, int]()
        for column, cells in zip(facts.columns, facts.cells.values(), strict=True):
            name, schema = free_name(snake_case(column.name), taken), column.schema
            self._cells[name] = cells
            if schema.role in ADDED:
                self._numbers[name] = schema.numbers(cells)
                self.summed += [name] if schema.role == "measure" else []
                if schema.currency_column or schema.texts.units:
                    # An amount without a currency is added to none.
                    by = facts.cells.get(schema.currency_column) or map(schema.texts.unit_of.get, cells)
                    told = zip(by, self._numbers[name], strict=True)
                    self._currency_of[name] = [NO_UNIT if is_missing(it) and n is not None else it for it, n in told]
                left_out: dict[str, Any] = {"missing": schema.missing, "currencies": list(schema.texts.units)}
                left_out |= {"not_numbers": schema.unread, "such_as": schema.unread and short_text(schema.example)}
                if any(left_out.values()):
                    self.left_out[name] = {key: said for key, said in left_out.items() if said}
            is_price = column.name.startswith("metrics.") and snake_case(column.name) in _PRICES
            if name != _SUFFIX and (name.endswith(_SUFFIX) or is_price):
                self._micros[name] = name.removesuffix(_SUFFIX)
        # Rows with both `cost` and `cost_micros` have the value in currency already.
        self._currency = {base: name for name, base in self._micros.items() if base == name or base not in self._cells}
        shown = list(map(self._shown, self._cells))
        self.names = tuple(filter(None, shown))
        both = zip(shown, facts.columns, strict=True)
        self.units = {name: each.schema.unit for name, each in both if name and each.schema.unit}

    def _find(self, name: str) -> str | None:
        wanted, known = snake_case(name), (*self.names, *self._numbers)
        for test in (wanted.__eq__, lambda one: one.lower() == wanted.lower(), lambda one: one.endswith(f".{wanted}")):
            found = list(dict.fromkeys(filter(test, known)))
            if len(found) == 1:
                return self._shown(found[0]) or self._micros.get(found[0], found[0])
        return None

    def currencies(self) -> dict[Any, list[int]]:
        """Returns the rows of each currency, or nothing if the rows do not name more than one."""
        found: dict[Any, list[int]] = {}
        for row, cell in enumerate(next(iter(self._currency_of.values()), ())):
            if not is_missing(cell):
                found.setdefault(cell, []).append(row)
        return found if len(found) > 1 else {}

    def currency(self, rows: Iterable[int]) -> dict[str, Any]:
        """Returns the one currency or unit of all amounts of some rows, or nothing if the table has only one."""
        found = {cells[row] for cells in self._currency_of.values() for row in rows}
        return {"currency": found.pop()} if len(found) == 1 and not any(map(is_missing, found)) else {}

    def totals(self, rows: Sequence[int] | None = None) -> dict[str, Any]:
        """Returns exact totals of the number columns, over all rows or some, micros and currency units side by side.

        A total is None if no cell holds a number, and if it would add up several currencies.
        """
        result: dict[str, Any] = {}
        for name in self.summed:
            result[name] = plain(total := self._sum(name, rows))
            if (base := self._micros.get(name)) in self._currency:
                result[base] = as_float(_fraction_units(total))
        return result

    def kpis(self, kpis: Iterable[Kpi], rows: Sequence[int] | None = None) -> dict[str, float | None]:
        """Returns key figures from the totals of all rows or some."""
        return {kpi.name: kpi.value(lambda name: self._total(name, rows)) for kpi in kpis}

    def row(self, index: int, kpis: Iterable[Kpi]) -> dict[str, Any]:
        """Returns one row with its key figures, micros as currency units."""
        cells = {name: self._cell(name, index) for name in self.names}
        figures = {kpi.name: kpi.value(lambda name: self._exact(name, index)) for kpi in kpis}
        # A row may have a figure of its own under such a name.
        return cells | {name: value for name, value in figures.items() if value is not None or name not in cells}

    def values(self, name: str, kpis: Iterable[Kpi] = ()) -> list[Any] | None:
        """Returns for each row the number in a column, or the key figure of that name.

        Returns None for an unknown column, and for amounts of several currencies, which cannot be ordered.
        """
        kpi = next((kpi for kpi in kpis if kpi.name.lower() == name.lower()), None)
        if any(map(self._is_mixed, (kpi.numerator, kpi.denominator) if kpi else (name,))):
            return None
        if kpi is not None:
            return [kpi.value(partial(self._exact, index=row)) for row in range(self.row_count)]
        numbers = self._numbers.get(self._source(name))
        return list(numbers) if numbers is not None else None

    def cells(self, name: str) -> list[Any] | None:
        """Returns a column as `row` shows it, or None."""
        found = self.find(name)
        return [self._cell(found, row) for row in range(self.row_count)] if found and found in self.names else None

    def _is_mixed(self, name: str, rows: Iterable[int] | None = None) -> bool:
        source = self._source(name)
        numbers, cells = self._numbers.get(source, ()), self._currency_of.get(source, ())
        picked = range(len(cells)) if rows is None or not cells else rows
        return len({cells[row] for row in picked if numbers[row] is not None}) > 1

    def _shown(self, name: str) -> str | None:
        base = self._micros.get(name, name)
        return base if base == name or base in self._currency else None

    def _cell(self, name: str, index: int) -> Any:
        source = self._currency.get(name, name)
        # An amount among those of other currencies says nothing without its own.
        numbers = None if "currencies" in self.left_out.get(source, ()) else self._numbers.get(source)
        if numbers is None or numbers[index] is None:
            return plain(self._cells[source][index])
        return as_float(_fraction_units(numbers[index])) if name in self._currency else plain(numbers[index])

    def _exact(self, name: str, index: int) -> Any:
        numbers = self._numbers.get(self._source(name))
        return None if numbers is None else self._in_units(name, numbers[index])

    def _total(self, name: str, rows: Sequence[int] | None) -> Any:
        source = self._source(name)
        return self._in_units(name, self._sum(source, rows)) if source in self.summed else None

    def _in_units(self, name: str, number: Number | None) -> Any:
        return _fraction_units(number) if self.find(name) in self._currency else number

    def _source(self, name: str) -> str:
        found = self.find(name) or ""
        return self._currency.get(found, found)

    def _sum(self, name: str, rows: Sequence[int] | None) -> Number | None:
        if self._is_mixed(name, rows):
            return None
        picked = self._numbers[name] if rows is None else map(self._numbers[name].__getitem__, rows)
        present = [number for number in picked if number is not None]
        return exact_sum(present) if present else None


def _fraction_units(micros: Number | None) -> Fraction | None:
    return None if (exact := _fraction(micros)) is None else exact / MICROS


@dataclass(frozen=True, kw_only=True, slots=True)
class SummaryPlan:
    """Says what a summary holds beside totals.

    Attributes:
        kpis: the key figures.
        rank_by: the column or key figure for top and bottom. None takes cost, clicks or the like, whatever is there.
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

    `left_out` says which cells of a column no total holds, and `units` in what its numbers are. If rows name several
    currencies, totals of money are None and rank nothing, `by_currency` has those of each, and a group names its own.

    `status` is "ok", "failed" (the query did, see `error`) or "unreadable" (no rows were found). Where rows or groups
    were left out, `_row_limits` says how many are shown of how many. Totals and key figures are of all rows.
    """
    head: dict[str, Any] = {"status": "ok" if result.error is None else "failed" if result.failed else "unreadable"}
    head |= {key: said for key, said in (("title", result.title), ("error", result.error)) if said is not None}
    table = Measures(result.rows or (), result.columns)
    grouped = {table.find(name) for names in plan.group_by for name in names}
    table.summed = [name for name in table.summed if name not in grouped]
    usual = ("cost", "spend", "clicks", "impressions", "conversions", "revenue")
    names = (plan.rank_by,) if plan.rank_by else (*usual, *table.summed)
    known = ((table.find(name) or name, table.values(name, plan.kpis)) for name in names)
    ranked_by, values = next((each for each in known if each[1] is not None), (None, None))
    weights = values or []
    ranked = [row for row, value in enumerate(weights) if value is not None]
    limits: dict[str, Any] = {}
    if table.row_count > plan.max_rows:
        limits["enriched_rows"] = {"shown": plan.max_rows, "total": table.row_count}
    body = head | {
        # What cannot be read is not nothing.
        "row_count": None if result.rows is None and result.error else table.row_count,
        "totals": table.totals(),
        "kpis": table.kpis(plan.kpis),
        **_reservations(table, plan),
        "ranked_by": ranked_by,
        "top": [table.row(row, plan.kpis) for row in nlargest(plan.max_ranked, ranked, key=weights.__getitem__)],
        "bottom": [table.row(row, plan.kpis) for row in nsmallest(plan.max_ranked, ranked, key=weights.__getitem__)],
        # Ratios of rows do not add up to a group's, so that groups are then ordered by their size.
        "groups": _all_groups(table, plan, values if ranked_by in table.names else None, limits),
        "enriched_rows": [table.row(row, plan.kpis) for row in range(min(table.row_count, plan.max_rows))],
    }
    return body | ({LIMITS: limits} if limits else {})


def _reservations(table: Measures, plan: SummaryPlan) -> dict[str, Any]:
    """Returns the notes that a reader of the totals needs."""
    said: dict[str, Any] = {"left_out": table.left_out, "units": table.units}
    found: dict[str, Any] = {name: value for name, value in said.items() if value}
    notes = [table.rows_apart]
    if currencies := table.currencies():
        found["by_currency"] = {}
        for currency, rows in sorted(currencies.items(), key=lambda item: -len(item[1]))[: plan.max_groups]:
            # Not the amounts in another currency that these rows have as well.
            others = [name for name, unit in table.units.items() if unit != currency]
            totals = {name: total for name, total in table.totals(rows).items() if name not in others}
            said = {"row_count": len(rows), "totals": totals, "kpis": table.kpis(plan.kpis, rows)}
            found["by_currency"][str(currency)] = said
        notes.append("Amounts in several currencies or units are not added up or ranked: by_currency has their totals.")
    note = " ".join(filter(None, notes))
    return found | ({"note": note} if note else {})


def without_rows(summary: dict[str, Any]) -> dict[str, Any]:
    """Returns a summary as a writer may see it.

    It has no raw rows, no micros but currency units, and no key figures of a table that has the columns of none.
    """
    parts = [summary, *summary.get("by_currency", {}).values()]
    figures = [(name, value) for part in parts for name, value in part.get("kpis", {}).items()]
    unknown = {name for name, _ in figures} if all(value is None for _, value in figures) else set()
    return {key: _without(value, unknown) for key, value in summary.items() if key not in {"enriched_rows", LIMITS}}


def _without(value: Any, unknown: set[str]) -> Any:
    if isinstance(value, dict):
        kept = {key: item for key, item in value.items() if not str(key).endswith("_micros")}
        return {key: _without(item, unknown) for key, item in kept.items() if item is not None or key not in unknown}
    return [_without(item, unknown) for item in value] if isinstance(value, list) else value


def _all_groups(table: Measures, plan: SummaryPlan, values: list[Any] | None, limits: dict[str, Any]) -> dict[str, Any]:
    found = {}
    for names in plan.group_by:
        known = [column for name in names if (column := table.cells(name)) is not None]
        if len(known) < len(names):
            continue
        rows_of: dict[str, list[int]] = {}
        for row, cells in enumerate(zip(*known, strict=True)):
            rows_of.setdefault(repr(cells), []).append(row)
        groups = sorted(rows_of.values(), key=lambda rows: -_weight(rows, values))
        if len(groups) > plan.max_groups:
            limits[f"groups.{', '.join(names)}"] = {"shown": plan.max_groups, "total": len(groups)}
        found[", ".join(names)] = [
            table.currency(rows)
            | {name: column[rows[0]] for name, column in zip(names, known, strict=True)}
            | {"row_count": len(rows), "totals": table.totals(rows), "kpis": table.kpis(plan.kpis, rows)}
            for rows in groups[: plan.max_groups]
        ]
    return found


def _weight(rows: Sequence[int], values: Sequence[Any] | None) -> float:
    weight = len(rows) if values is None else float_sum([values[row] for row in rows if values[row] is not None])
    return weight if weight == weight else -math.inf  # noqa: PLR0124  NaN has no place in an order
