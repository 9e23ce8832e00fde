"""The small result that a model gets in place of one with many rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from adk_context_pack.stores.handles import NO_HANDLE
from adk_context_pack.tables.find_tables import Memo, Table, find_tables, replace_rows
from adk_context_pack.tables.stub_form import FACTS, HANDLE, LIMITS, NOTE
from adk_context_pack.tools.short_cells import STEPS, CellLimits, shortened
from adk_context_pack.tools.stub_facts import FORMS, SMALL_FORMS, facts_of, values_of
from adk_context_pack.tools.stub_plan import StubPlan
from adk_context_pack.tools.table_text import rows_as_csv

# A list is cut to meet a budget if it takes more than a quarter of it.
_HEAVY = 4
# The least that a budget alone has to save before anything is moved. A handle and a note are about as much.
_MIN_GAIN = 100
_SMALL = 1000
"""A stub of so many tokens has its facts in their short forms, which leaves room for rows."""
_FEWEST_ROWS = 2
# Fewer than this are too few to show what rows look like, so that long cells give way.
_FEW_ROWS = 3
_HOW_TO_REFER = " In {}, {{{{result:HANDLE.LIST}}}} or {{{{result:HANDLE.LIST[0].COLUMN}}}} passes on the value."
_CUT_CELLS = "long ones are cut, see the marks"


@dataclass(frozen=True, kw_only=True, slots=True)
class RowStub:
    """A capped result, and how many rows of each table it shows."""

    body: dict[str, Any]
    shown: Mapping[str, int]
    rows_total: int

    @property
    def rows_shown(self) -> int:
        """The number of rows that the model sees, of all tables together."""
        return sum(self.shown.values())

    def with_handle(self, handle: str) -> dict[str, Any]:
        """The result for the model, with the handle under which the full one is kept."""
        return {**self.body, HANDLE: handle} if HANDLE in self.body else self.body


def make_stub(result: Any, plan: StubPlan) -> RowStub | None:
    """Makes the stub of a result, or returns None if the result should stay as it is.

    Args:
        result: a tool's result. It is not changed, and the rows in the stub are its own objects.
        plan: limits and form.
    """
    draft = _Draft(result, plan)
    if not draft.tables:
        return None
    found = (stub for extras in _forms(draft.tables, plan) if (stub := draft.stub(extras)) is not None)
    stub = _first_with_rows(found) or draft.basic()
    return stub if draft.is_worth_it(stub) else None


def _first_with_rows(stubs: Iterator[RowStub]) -> RowStub | None:
    """Returns the first stub that shows some row of each table; the first of all where none does."""
    first = None
    for stub in stubs:
        if all(stub.shown.values()):
            return stub
        first = first or stub
    return first


class _Draft:
    """One result on its way to a stub."""

    def __init__(self, result: Any, plan: StubPlan) -> None:
        self.result = result
        self.plan = plan
        self._memo: Memo = {}
        self._min_rows = plan.max_rows + 1
        self.tables = find_tables(result, min_rows=self._min_rows, memo=self._memo)
        self._limits: dict[str, CellLimits] = {}
        self.most = self._most()
        if plan.max_tokens is not None and self._is_too_long(plan.max_tokens):
            # Something else than many rows makes the result long: few wide rows, or one with a long list in it.
            heavy = self._heavy(plan.max_tokens)
            if heavy:
                self._min_rows, self.tables = _FEWEST_ROWS, heavy
                self.most = self._most()

    def stub(self, extras: Mapping[str, Any]) -> RowStub | None:
        """Returns the stub with these extras, or None if they cost more than is left out or than the budget allows."""
        cost = self.plan.tokens(extras)
        if self.plan.target is None:
            return self._with(extras, self.most) if self._saves(cost, self.most) else None
        left = self._left_by(extras, self.plan.target)
        stub = self._fitted(extras, left) if left >= 0 else None
        return stub if stub is not None and self._saves(cost, stub.shown) else None

    def basic(self) -> RowStub:
        """The rows within the limits, and nothing beside them but the limits."""
        if self.plan.target is None:
            return self._with({}, self.most)
        return self._fitted({}, self._left_by({}, self.plan.target))

    def is_worth_it(self, stub: RowStub) -> bool:
        """Tells whether the stub replaces the result: always above `max_rows`, otherwise if it saves enough."""
        if any(len(table.rows) > self.plan.max_rows for table in self.tables):
            return True
        return self._tokens(stub) + _MIN_GAIN <= self.plan.tokens(self.result)

    def _most(self) -> dict[str, int]:
        return {table.key: min(self.plan.most_rows, len(table.rows)) for table in self.tables}

    def _is_too_long(self, max_tokens: int) -> bool:
        return self._left_by({}, max_tokens) < 0 if self.tables else self.plan.tokens(self.result) > max_tokens

    def _heavy(self, max_tokens: int) -> list[Table]:
        found = find_tables(self.result, min_rows=_FEWEST_ROWS, memo=self._memo)
        # A short list of labels stays beside a table that fills the budget by itself.
        return [
            table
            for table in found
            if len(table.rows) > self.plan.max_rows or self.plan.tokens(table.rows) * _HEAVY > max_tokens
        ]

    def _left_by(self, extras: Mapping[str, Any], max_tokens: int) -> int:
        return max_tokens - self._tokens(self._with(extras, dict.fromkeys(self.most, 0)))

    def _with(self, extras: Mapping[str, Any], shown: Mapping[str, int]) -> RowStub:
        limits = {t.key: self._said_of(t, shown[t.key]) for t in self.tables}
        rows = {t.key: self._encoded(t, shown[t.key]) for t in self.tables}
        smaller = replace_rows(self.result, rows, min_rows=self._min_rows, memo=self._memo)
        # ADK hands what is no dict to the model under this key.
        body = {**(smaller if isinstance(self.result, Mapping) else {"result": smaller}), LIMITS: limits, **extras}
        return RowStub(body=body, shown=shown, rows_total=sum(len(t.rows) for t in self.tables))

    def _said_of(self, table: Table, shown: int) -> dict[str, Any]:
        said = {"shown": shown, "total": len(table.rows)}
        return {**said, "cells": _CUT_CELLS} if shown and table.key in self._limits else said

    def _rows(self, table: Table, shown: int) -> list[Any]:
        limits = self._limits.get(table.key)
        rows = table.rows[:shown]
        return list(rows) if limits is None else [shortened(values_of(row), limits) for row in rows]

    def _encoded(self, table: Table, shown: int) -> Any:
        rows = self._rows(table, shown)
        return rows_as_csv(rows, table.columns) if self.plan.encoding == "csv" and rows else rows

    def _fitted(self, extras: Mapping[str, Any], left: int) -> RowStub:
        shown = {}
        for position, table in enumerate(self.tables):
            count, used = self._rows_for(table, left // (len(self.tables) - position))
            shown[table.key] = count
            left -= used
        stub = self._with(extras, shown)
        while self._tokens(stub) > (self.plan.target or 0) and any(shown.values()):
            shown = {key: count - (count + 7) // 8 for key, count in shown.items()}
            stub = self._with(extras, shown)
        return stub

    def _rows_for(self, table: Table, budget: int) -> tuple[int, int]:
        """Returns how many rows fit, and their tokens; where hardly one does, with long cells shortened."""
        self._limits.pop(table.key, None)
        best = self._fit(table, budget, None)
        for limits in STEPS:
            if best[0] >= min(_FEW_ROWS, self.most[table.key]):
                break
            fit = self._fit(table, budget, limits)
            if fit[0] > best[0]:
                best = fit
                self._limits[table.key] = limits
        return best

    def _fit(self, table: Table, budget: int, limits: CellLimits | None) -> tuple[int, int]:
        used = 0
        for count, row in enumerate(table.rows[: self.most[table.key]]):
            cost = self._row_tokens(table, row if limits is None else shortened(values_of(row), limits))
            if used + cost > budget:
                return count, used
            used += cost
        return self.most[table.key], used

    def _row_tokens(self, table: Table, row: Any) -> int:
        if self.plan.encoding == "csv":
            return self.plan.text_tokens(rows_as_csv([row], table.columns).rpartition("\n")[2]) + 1
        return self.plan.tokens(row) + 1

    def _saves(self, cost: int, shown: Mapping[str, int]) -> bool:
        # Only as many of the rows left out are counted as it takes, since there may be a hundred thousand.
        saved = 0
        for table in self.tables:
            if table.key in self._limits:
                rows, short = table.rows[: shown[table.key]], self._rows(table, shown[table.key])
                saved += self.plan.tokens(rows) - self.plan.tokens(short)
            for row in islice(table.rows, shown[table.key], None):
                saved += self.plan.tokens(row)
                if saved > cost:
                    return True
        return saved > cost

    def _tokens(self, stub: RowStub) -> int:
        return self.plan.tokens(stub.body)


def _forms(tables: Sequence[Table], plan: StubPlan) -> Iterator[dict[str, Any]]:
    """Yields what may join the rows, the fullest first."""
    base = {HANDLE: NO_HANDLE, NOTE: _note(plan)}
    if plan.facts and (facts := facts_of(tables)):
        for form in FORMS if plan.target is None or plan.target > _SMALL else SMALL_FORMS:
            said = {table.key: form(table, found) for table, found in facts}
            yield {FACTS: said, **base}
    yield {**base, NOTE: _note(replace(plan, facts=False))}


def _note(plan: StubPlan) -> str:
    note = "A sample of the rows: never count or add them up."
    if plan.facts:
        note += f" {FACTS} is exact over all rows (indexes from 0)."
    note += f" query_rows answers from all by {HANDLE}." if plan.can_query else " All rows are stored."
    return note + (_HOW_TO_REFER.format(plan.where_to_refer) if plan.where_to_refer else "")
