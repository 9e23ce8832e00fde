"""Adds up a table's measures: totals of some or all rows, key figures, cells in currency units."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from adk_context_pack.tables.columns import free_name, is_missing, iter_columns
from adk_context_pack.tables.kpis import MICROS, Kpi
from adk_context_pack.tables.names import snake_case
from adk_context_pack.tables.numbers import Number, as_float, exact_sum, plain, short_text
from adk_context_pack.tables.schema import ADDED, ColumnSchema, schema_of_columns

_SUFFIX = "_micros"
# Prices that the Google Ads API gives in micros though their names do not say so.
# https://developers.google.com/google-ads/api/fields/latest/metrics
_PRICES = frozenset(
    f"metrics.{name}"
    for name in (
        *("average_cost", "average_cpc", "average_cpe", "average_cpm", "average_cpv"),
        *("cost_per_conversion", "cost_per_all_conversions", "cost_per_current_model_attributed_conversion"),
    )
)


class Measures:
    """Holds the columns of one table under one spelling, ready to be added up.

    Amounts of several currencies are never added up. They differ where a column names the currency of each row
    (`customer.currency_code`) and the rows in question name more than one, or where cells have different signs.

    Args:
        rows: as for `table_facts`. They are only read.
        columns: the names of the columns where rows are lists of values.

    Attributes:
        row_count: how many rows there are.
        names: the columns as a reader sees them: snake case, without `metrics.`, micros as currency (`cost`).
        schema: the schema of the table. Rows that sum up others, or repeat the header, are left out of all figures.
        summed: the columns that may be added up: measures, no ratios and no averages.
        left_out: for each number column with cells that no total holds: how many are `missing`, how many are
            `not_numbers`, one of those as `such_as`, and the `currencies` of a column that holds several.
    """

    def __init__(self, rows: Sequence[Any], columns: Sequence[str] | None = None) -> None:
        found = list(iter_columns(rows, columns))
        self.schema = schema_of_columns(found, rows, columns)
        if apart := {*self.schema.total_rows, *self.schema.repeated_headers}:
            found = list(iter_columns([row for at, row in enumerate(rows) if at not in apart], columns))
        schemas = schema_of_columns(found).columns if apart else self.schema.columns
        self.row_count = len(rows) - len(apart)
        self._cells: dict[str, Sequence[Any]] = {}
        self._numbers: dict[str, Sequence[Number | None]] = {}
        self._micros: dict[str, str] = {}
        self._found: dict[str, str | None] = {}
        self._currency_of: dict[str, Sequence[Any]] = {}
        self.summed: list[str] = []
        self.left_out: dict[str, dict[str, Any]] = {}
        values = {column.name: column.values for column in found}
        taken: dict[str, int] = {}
        for column, schema in zip(found, schemas, strict=True):
            name = free_name(snake_case(column.name), taken)
            self._cells[name] = column.values
            if schema.role in ADDED:
                self._numbers[name] = schema.numbers(column.values)
                self.summed += [name] if schema.role == "measure" else []
                if schema.currency_column:
                    self._currency_of[name] = values[schema.currency_column]
                elif schema.texts.units:
                    self._currency_of[name] = list(map(schema.texts.unit_of.get, column.values))
                if left_out := _left_out(schema):
                    self.left_out[name] = left_out
            if name not in {"id", _SUFFIX} and (name.endswith(_SUFFIX) or _is_price(column.name)):
                self._micros[name] = name.removesuffix(_SUFFIX)
        # Rows with both `cost` and `cost_micros` have the value in currency already.
        self._currency = {base: name for name, base in self._micros.items() if base == name or base not in self._cells}
        self.names = tuple(filter(None, map(self._shown, self._cells)))

    def find(self, name: str) -> str | None:
        """Returns the column that is meant by `name`, in any spelling: `metrics.costMicros`, `cost_micros`, `cost`."""
        if name not in self._found:
            self._found[name] = self._search(name)
        return self._found[name]

    def _search(self, name: str) -> str | None:
        wanted = snake_case(name)
        known = (*self.names, *self._numbers)
        tests = (
            wanted.__eq__,
            lambda other: other.lower() == wanted.lower(),
            lambda other: other.endswith(f".{wanted}"),
        )
        for test in tests:
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

    def totals(self, rows: Sequence[int] | None = None) -> dict[str, Any]:
        """Returns exact totals of the number columns, over all rows or some, micros and currency units side by side.

        A total is None where no cell holds a number, and where it would add up several currencies.
        """
        result: dict[str, Any] = {}
        for name in self.summed:
            total = self._sum(name, rows)
            result[name] = plain(total)
            base = self._micros.get(name)
            if base in self._currency:
                result[base] = None if total is None else _units(total)
        return result

    def kpis(self, kpis: Iterable[Kpi], rows: Sequence[int] | None = None) -> dict[str, float | None]:
        """Returns key figures from the totals of all rows or some."""
        return {kpi.name: kpi.value(lambda name: self._total(name, rows)) for kpi in kpis}

    def row(self, index: int, kpis: Iterable[Kpi]) -> dict[str, Any]:
        """Returns one row with its key figures, micros as currency units."""
        cells = {name: self._cell(name, index) for name in self.names}
        return cells | {kpi.name: kpi.value(lambda name: self._exact(name, index)) for kpi in kpis}

    def values(self, name: str, kpis: Iterable[Kpi] = ()) -> list[Any] | None:
        """Returns for each row the number in a column, or the key figure of that name, or None."""
        kpi = next((kpi for kpi in kpis if kpi.name.lower() == name.lower()), None)
        if kpi is not None:
            return [kpi.value(partial(self._exact, index=row)) for row in range(self.row_count)]
        found = self.find(name)
        numbers = self._numbers.get(self._currency.get(found, found)) if found else None
        return list(numbers) if numbers is not None else None

    def cells(self, name: str) -> list[Any] | None:
        """Returns a column as `row` shows it, or None."""
        found = self.find(name)
        if found is None or found not in self.names:
            return None
        return [self._cell(found, index) for index in range(self.row_count)]

    def _shown(self, name: str) -> str | None:
        base = self._micros.get(name, name)
        return base if base == name or base in self._currency else None

    def _cell(self, name: str, index: int) -> Any:
        source = self._currency.get(name, name)
        numbers = self._numbers.get(source)
        number = numbers[index] if numbers is not None else None
        if number is None:
            return plain(self._cells[source][index])
        return _units(number) if name in self._currency else plain(number)

    def _exact(self, name: str, index: int) -> Any:
        found = self.find(name)
        numbers = self._numbers.get(self._currency.get(found, found)) if found else None
        number = numbers[index] if numbers is not None else None
        return _fraction_units(number) if number is not None and found in self._currency else number

    def _total(self, name: str, rows: Sequence[int] | None) -> Any:
        found = self.find(name)
        source = self._currency.get(found, found) if found else None
        if source not in self.summed:
            return None
        total = self._sum(source, rows)
        return _fraction_units(total) if total is not None and found in self._currency else total

    def _sum(self, name: str, rows: Sequence[int] | None) -> Number | None:
        numbers = self._numbers[name]
        if name in self._currency_of:
            cells = self._currency_of[name]
            picked_rows = range(self.row_count) if rows is None else rows
            if len({cells[row] for row in picked_rows if numbers[row] is not None and not is_missing(cells[row])}) > 1:
                return None
        picked = numbers if rows is None else map(numbers.__getitem__, rows)
        present = [number for number in picked if number is not None]
        return exact_sum(present) if present else None


def _left_out(schema: ColumnSchema) -> dict[str, Any]:
    found: dict[str, Any] = {"missing": schema.missing} if schema.missing else {}
    if schema.texts.units:
        found["currencies"] = list(schema.texts.units)
    if schema.unread:
        found |= {"not_numbers": schema.unread, "such_as": short_text(schema.example)}
    return found


def _is_price(name: str) -> bool:
    return name.startswith("metrics.") and f"metrics.{snake_case(name)}" in _PRICES


def _fraction_units(micros: Number) -> Any:
    try:
        return Fraction(micros, MICROS) if isinstance(micros, int) else Fraction(micros) / MICROS
    except (ValueError, OverflowError):
        return None


def _units(micros: Number) -> float | None:
    exact = _fraction_units(micros)
    return None if exact is None else as_float(exact)
