"""A table's measures and dimensions: totals of some or all rows, key figures, cells in currency units."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from adk_context_pack.tables.column_facts import as_numbers
from adk_context_pack.tables.columns import column_kind, free_name, iter_columns
from adk_context_pack.tables.kpis import MICROS, Kpi
from adk_context_pack.tables.names import names_rate, snake_case
from adk_context_pack.tables.numbers import Number, as_float, exact_sum, plain

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
    """The columns of one table under one spelling, ready to be added up.

    Args:
        rows: as for `table_facts`; only read.
        columns: the names of the columns where rows are lists of values.

    Attributes:
        row_count: how many rows there are.
        names: the columns as a reader sees them: snake case, without `metrics.`, micros as currency (`cost`).
    """

    def __init__(self, rows: Sequence[Any], columns: Sequence[str] | None = None) -> None:
        self.row_count = len(rows)
        self._cells: dict[str, Sequence[Any]] = {}
        self._numbers: dict[str, Sequence[Number | None]] = {}
        self._micros: dict[str, str] = {}
        self._found: dict[str, str | None] = {}
        taken: dict[str, int] = {}
        for column in iter_columns(rows, columns):
            name = free_name(snake_case(column.name), taken)
            self._cells[name] = column.values
            if column_kind(column) == "number":
                self._numbers[name] = as_numbers(column)
            if name in {"id", _SUFFIX} or not (name.endswith(_SUFFIX) or _is_price(column.name)):
                continue
            self._micros[name] = name.removesuffix(_SUFFIX)
        # Where rows have both `cost` and `cost_micros`, the one in currency is there already.
        self._currency = {base: name for name, base in self._micros.items() if base == name or base not in self._cells}
        self.names = tuple(filter(None, map(self._shown, self._cells)))

    def find(self, name: str) -> str | None:
        """The column that is meant by `name`, in any spelling: `metrics.costMicros`, `cost_micros`, `cost`."""
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

    @property
    def summed(self) -> list[str]:
        """Number columns that may be added up: no ratios and no averages."""
        return [name for name in self._numbers if not names_rate(name)]

    def totals(self, rows: Sequence[int] | None = None) -> dict[str, Any]:
        """Exact totals of the number columns, over all rows or some; micros and currency units side by side."""
        result: dict[str, Any] = {}
        for name in self.summed:
            total = self._sum(name, rows)
            result[name] = plain(total)
            base = self._micros.get(name)
            if base in self._currency:
                result[base] = _units(total)
        return result

    def kpis(self, kpis: Iterable[Kpi], rows: Sequence[int] | None = None) -> dict[str, float | None]:
        """Key figures from the totals of all rows or some."""
        return {kpi.name: kpi.value(lambda name: self._total(name, rows)) for kpi in kpis}

    def row(self, index: int, kpis: Iterable[Kpi]) -> dict[str, Any]:
        """One row with its key figures, micros as currency units."""
        cells = {name: self._cell(name, index) for name in self.names}
        return cells | {kpi.name: kpi.value(lambda name: self._exact(name, index)) for kpi in kpis}

    def values(self, name: str, kpis: Iterable[Kpi] = ()) -> list[Any] | None:
        """For each row the number in a column or the key figure of that name, to rank by; None where there is none."""
        kpi = next((kpi for kpi in kpis if kpi.name.lower() == name.lower()), None)
        if kpi is not None:
            return [kpi.value(partial(self._exact, index=row)) for row in range(self.row_count)]
        found = self.find(name)
        numbers = self._numbers.get(self._currency.get(found, found)) if found else None
        return list(numbers) if numbers is not None else None

    def cells(self, name: str) -> list[Any] | None:
        """A column as `row` shows it; None where there is none."""
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
        if source not in self._numbers:
            return None
        total = self._sum(source, rows)
        return _fraction_units(total) if found in self._currency else total

    def _sum(self, name: str, rows: Sequence[int] | None) -> Number:
        numbers = self._numbers[name]
        picked = numbers if rows is None else map(numbers.__getitem__, rows)
        return exact_sum([number for number in picked if number is not None])


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
