"""The small result that a model gets in place of one with many rows."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from adk_context_pack.stores.handles import HANDLE_LENGTH
from adk_context_pack.tables.columns import as_record, is_record
from adk_context_pack.tables.find_tables import Memo, Table, find_tables, replace_rows
from adk_context_pack.tables.table_facts import TableFacts, table_facts
from adk_context_pack.tools.stub_plan import StubPlan, alarming_rows
from adk_context_pack.tools.table_text import facts_as_text, rows_as_csv

LIMITS = "_row_limits"
"""For each capped list, how many rows are shown and how many there are."""
FACTS = "_row_facts"
"""For each capped table, what was computed from all of its rows."""
HANDLE = "_handle"
"""The handle of the full result."""
NOTE = "_note"
"""What the model has to know about the above."""

logger = logging.getLogger("adk_context_pack")

_NO_HANDLE = "0" * HANDLE_LENGTH
_MAX_NOTABLE = 6
# A list is cut to meet a budget if it takes more than a quarter of it.
_HEAVY = 4
# What a budget alone has to save before anything is moved; a handle and a note are about as much.
_MIN_GAIN = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class RowStub:
    """A capped result, and how many rows of each table it shows."""

    body: dict[str, Any]
    shown: Mapping[str, int]
    rows_total: int

    @property
    def rows_shown(self) -> int:
        """How many rows the model sees, of all tables together."""
        return sum(self.shown.values())

    def with_handle(self, handle: str) -> dict[str, Any]:
        """The result for the model, with the handle under which the full one is kept."""
        return {**self.body, HANDLE: handle} if HANDLE in self.body else self.body


def make_stub(result: Any, plan: StubPlan) -> RowStub | None:
    """The stub of a result; None where the result should stay as it is.

    Args:
        result: what a tool returned; it is not changed, and the rows in the stub are its own objects.
        plan: limits and form.
    """
    draft = _Draft(result, plan)
    if not draft.tables:
        return None
    forms = _forms(draft.tables, plan)
    stub = next((stub for extras in forms if (stub := draft.stub(extras)) is not None), None) or draft.basic()
    return stub if draft.is_worth_it(stub) else None


class _Draft:
    """One result on its way to a stub."""

    def __init__(self, result: Any, plan: StubPlan) -> None:
        self.result = result
        self.plan = plan
        self._memo: Memo = {}
        self._min_rows = plan.max_rows + 1
        self.tables = find_tables(result, min_rows=self._min_rows, memo=self._memo)
        if not self.tables and plan.max_tokens is not None and plan.tokens(result) > plan.max_tokens:
            self._min_rows = 2
            self.tables = self._heavy(plan.max_tokens)
        self.most = {table.key: min(plan.max_rows, len(table.rows)) for table in self.tables}

    def stub(self, extras: Mapping[str, Any]) -> RowStub | None:
        """The stub with these extras; None where they cost more than is left out or than the budget allows."""
        cost = self.plan.tokens(extras)
        if self.plan.max_tokens is None:
            return self._with(extras, self.most) if self._saves(cost, self.most) else None
        left = self._left_by(extras, self.plan.max_tokens)
        stub = self._fitted(extras, left) if left >= 0 else None
        return stub if stub is not None and self._saves(cost, stub.shown) else None

    def basic(self) -> RowStub:
        """The rows within the limits, and nothing beside them but the limits."""
        if self.plan.max_tokens is None:
            return self._with({}, self.most)
        return self._fitted({}, self._left_by({}, self.plan.max_tokens))

    def is_worth_it(self, stub: RowStub) -> bool:
        """Whether the stub takes the result's place: always above `max_rows`, else where it saves enough."""
        if any(len(table.rows) > self.plan.max_rows for table in self.tables):
            return True
        return self._tokens(stub) + _MIN_GAIN <= self.plan.tokens(self.result)

    def _heavy(self, max_tokens: int) -> list[Table]:
        # A short list of labels stays beside a table that fills the budget by itself.
        found = find_tables(self.result, min_rows=self._min_rows, memo=self._memo)
        return [table for table in found if self.plan.tokens(table.rows) * _HEAVY > max_tokens]

    def _left_by(self, extras: Mapping[str, Any], max_tokens: int) -> int:
        return max_tokens - self._tokens(self._with(extras, dict.fromkeys(self.most, 0)))

    def _with(self, extras: Mapping[str, Any], shown: Mapping[str, int]) -> RowStub:
        limits = {t.key: {"shown": shown[t.key], "total": len(t.rows)} for t in self.tables}
        rows = {t.key: self._encoded(t, shown[t.key]) for t in self.tables}
        smaller = replace_rows(self.result, rows, min_rows=self._min_rows, memo=self._memo)
        # ADK hands what is no dict to the model under this key.
        body = {**(smaller if isinstance(self.result, Mapping) else {"result": smaller}), LIMITS: limits, **extras}
        return RowStub(body=body, shown=shown, rows_total=sum(len(t.rows) for t in self.tables))

    def _encoded(self, table: Table, shown: int) -> Any:
        rows = list(table.rows[:shown])
        return rows_as_csv(rows, table.columns) if self.plan.encoding == "csv" and rows else rows

    def _fitted(self, extras: Mapping[str, Any], left: int) -> RowStub:
        shown = {}
        for position, table in enumerate(self.tables):
            count, used = self._rows_for(table, left // (len(self.tables) - position))
            shown[table.key] = count
            left -= used
        stub = self._with(extras, shown)
        while self._tokens(stub) > (self.plan.max_tokens or 0) and any(shown.values()):
            shown = {key: count - (count + 7) // 8 for key, count in shown.items()}
            stub = self._with(extras, shown)
        return stub

    def _rows_for(self, table: Table, budget: int) -> tuple[int, int]:
        used = 0
        for count, row in enumerate(table.rows[: self.most[table.key]]):
            cost = self._row_tokens(table, row)
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
            for row in islice(table.rows, shown[table.key], None):
                saved += self.plan.tokens(row)
                if saved > cost:
                    return True
        return False

    def _tokens(self, stub: RowStub) -> int:
        return self.plan.tokens(stub.body)


def _forms(tables: Sequence[Table], plan: StubPlan) -> Iterator[dict[str, Any]]:
    """What may stand beside the rows, the fullest first."""
    base = {HANDLE: _NO_HANDLE, NOTE: _note(plan)}
    if plan.facts and (facts := _facts_of(tables)):
        for form in (_full, _short, _shortest, _numbers):
            yield {FACTS: {table.key: form(table, found) for table, found in facts}, **base}
    yield {**base, NOTE: _note(replace(plan, facts=False))}


def _facts_of(tables: Sequence[Table]) -> list[tuple[Table, TableFacts]]:
    try:
        return [(table, table_facts(table.rows, columns=table.columns)) for table in tables]
    except Exception as exception:
        # The rows are capped all the same. The type only: a message may quote a cell.
        logger.warning("facts could not be computed: %s", type(exception).__name__)
        return []


def _full(table: Table, facts: TableFacts) -> dict[str, Any]:
    said = facts.as_dict()
    said.pop("rows")
    return said | _notable(table, facts, (*facts.notable_rows, *alarming_rows(table.rows, most=_MAX_NOTABLE)))


def _short(table: Table, facts: TableFacts) -> dict[str, Any]:
    return facts_as_text(facts) | _outlier_rows(table, facts, 2)


def _shortest(table: Table, facts: TableFacts) -> dict[str, Any]:
    return facts_as_text(facts, others=False) | _outlier_rows(table, facts, 1)


def _numbers(_: Table, facts: TableFacts) -> dict[str, Any]:
    return facts_as_text(facts, others=False)


def _outlier_rows(table: Table, facts: TableFacts, most: int) -> dict[str, Any]:
    return _notable(
        table, facts, (*(cell.row for cell in facts.outliers[:most]), *alarming_rows(table.rows, most=most))
    )


def _notable(table: Table, facts: TableFacts, indexes: Sequence[int]) -> dict[str, Any]:
    stands_out = {cell.row: {"stands_out": cell.column} for cell in facts.outliers}
    rows = [
        {"row": index, **stands_out.get(index, {}), "values": _values(table.rows[index])}
        for index in indexes[:_MAX_NOTABLE]
    ]
    return {"notable_rows": rows} if rows else {}


def _values(row: Any) -> Any:
    return dict(as_record(row)) if is_record(type(row)) else row


def _note(plan: StubPlan) -> str:
    note = f"A sample: lists in {LIMITS} show only their first rows, so never add up or count what is shown."
    if plan.facts:
        note += f" {FACTS} is exact over all rows (row indexes from 0)."
    return note + (f" query_rows answers from all rows by {HANDLE}." if plan.can_query else " All rows are stored.")
