"""An agent without a model that computes what a report needs from the full rows of query results."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from functools import partial
from itertools import chain
from typing import Any

from pydantic import PrivateAttr

from adk_context_pack._adk import BaseAgent, Event, EventActions, InvocationContext, ToolContext
from adk_context_pack.errors import Configured, at_least, instances, logger, must, warn_of_name
from adk_context_pack.stores.codec import off_loop, rough_size
from adk_context_pack.stores.handles import HANDLE_LENGTH, stored_result, why_gone
from adk_context_pack.stores.payload_store import resolve
from adk_context_pack.tables.column_names import snake_case
from adk_context_pack.tables.query_results import Result, read_result, read_results
from adk_context_pack.tables.summarize import GOOGLE_ADS_KPIS, Kpi, SummaryPlan, summarize, without_rows

_KEPT = "rows:"
_SOURCE = "gaql_execution_results"


class DataSummarizer(Configured, BaseAgent):
    """Computes totals, key figures, top and bottom rows and groups from state, and writes them back to state.

    It reads what `source` names: the state value itself (a dict of results by query id, a list of results, or a single
    one), and what `cap_rows` kept under `<source>:<id>` or `rows:<source>:<handle>`, also if that is an artifact.
    If neither exists, it reads every result that `cap_rows` kept. Rows are the Google Ads API's own (nested or
    dotted, snake or camel case, integers as texts) or any others.

    Under `output_key` it writes, by id: `status` ("ok", "failed", "unreadable") and `error`, `row_count`, `totals`
    (exact totals of measures, see `ColumnSchema`, with micros and currency units side by side, and None if no cell
    has a number), `units` (of columns that have one), `left_out` (the cells of each column that no total holds),
    `by_currency` (totals for each currency if rows name several, which are never added up or ranked), `note` (such as a
    last row that sums up others), `kpis` (from totals), `ranked_by`, `top`, `bottom`, `groups` (by dimension), and
    `enriched_rows` (each row with its key figures, micros as currency units). It writes only what has changed.

    A column that no row has, and a source that nothing was stored under, are warned of once in a process, and left out.

    It costs the prompt nothing. Let the writer read the result with `get_summarized_results`. It works in any workflow
    agent. As a node of an ADK 2.x `Workflow`, its output is what `get_summarized_results` returns.
    """

    source: str
    kpis: tuple[Kpi, ...]
    output_key: str
    rank_by: str | None
    max_ranked: int
    group_by: tuple[tuple[str, ...], ...]
    max_groups: int
    max_rows: int
    _check: SummaryCheck = PrivateAttr()

    def __init__(  # noqa: PLR0913  each is a setting of its own
        self,
        *,
        name: str,
        source: str = _SOURCE,
        kpis: Iterable[Kpi] = GOOGLE_ADS_KPIS,
        output_key: str = "summarized_results",
        rank_by: str | None = None,
        max_ranked: int = 5,
        group_by: Iterable[str | Iterable[str]] = (),
        max_groups: int = 50,
        max_rows: int = 1000,
        **settings: Any,
    ) -> None:
        """Computes what a report needs from all rows in state.

        Args:
            name: the agent's name.
            source: the state key, the tool or the prefix under which results are.
            kpis: the key figures, declared as data.
            output_key: the state key for the summary.
            rank_by: the column or key figure for top and bottom, such as `cost` or `ROAS`. None takes the first that
                there is of cost, spend, clicks, impressions, conversions, revenue and other numbers.
            max_ranked: how many rows top and bottom have.
            group_by: dimensions to group by: names of columns, or tuples of them for several together.
            max_groups: how many groups of each dimension are kept, the largest first.
            max_rows: how many enriched rows are kept. `_row_limits` says so if there are more.
            **settings: what each agent of ADK has, such as `description`.
        """
        # Checked before pydantic, which would wrap the error in one of its own.
        owner = type(self).__name__
        own: dict[str, Any] = {
            "source": _text(owner, "source", source),
            "kpis": instances(owner, "kpis", kpis, Kpi, "Kpi(…)"),
            "output_key": _text(owner, "output_key", output_key),
            "rank_by": None if rank_by is None else _text(owner, "rank_by", rank_by),
            "max_ranked": at_least(owner, "max_ranked", max_ranked, 0),
            "group_by": tuple(_dimensions(owner, group_by)),
            "max_groups": at_least(owner, "max_groups", max_groups, 0),
            "max_rows": at_least(owner, "max_rows", max_rows, 0),
        }
        super().__init__(name=name, **own, **settings)
        self._check = SummaryCheck(name, self._plan)

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        plan, results = self._plan, await self._results(ctx)
        size = rough_size([result.rows for result in results])
        summary = await off_loop(size, lambda: {result.id: self._entry(result, plan) for result in results})
        self._check.source(self.source, ctx.session.state, is_set=self.source != _SOURCE, others=bool(results))
        self._check.columns(summary)
        said: dict[str, Any] = {}
        if ctx.session.state.get(self.output_key) != summary:
            # Written into `ctx.session.state` it would be lost after the turn; only an event's delta is stored.
            said["actions"] = EventActions(state_delta={self.output_key: summary})
        # A node of a graph has no parent; under one, an output would be stored for nobody.
        if "output" in Event.model_fields and self.parent_agent is None:
            said["output"] = {id_: without_rows(entry) for id_, entry in summary.items()}
        if said:
            yield Event(author=self.name, invocation_id=ctx.invocation_id, branch=ctx.branch, **said)

    @property
    def _plan(self) -> SummaryPlan:
        return SummaryPlan(**{each.name: getattr(self, each.name) for each in fields(SummaryPlan)})

    def _entry(self, result: Result, plan: SummaryPlan) -> dict[str, Any]:
        if result.error is not None and not result.failed:
            logger.warning("%s: a result under %s could not be read as rows", self.name, self.source)
        try:
            return summarize(result, plan)
        except Exception as error:
            logger.exception("%s: a result under %s could not be summarized", self.name, self.source)
            unreadable = Result(id=result.id, error=f"could not be summarized ({type(error).__name__})")
            # A key figure of the app's own may be what failed.
            return summarize(unreadable, replace(plan, kpis=()))

    async def _results(self, ctx: InvocationContext) -> list[Result]:
        state = ctx.session.state
        found: dict[str, Result] = {}
        if state.get(self.source) is not None:
            found = {result.id: result for result in await self._read(ctx, self.source, self.source, read_results)}
        kept, gone = self._kept(state)
        for key, name in kept.items():
            for result in await self._read(ctx, key, name, partial(read_result, own_id=key.startswith(_KEPT))):
                # `cap_rows` kept the whole result. The agent may have written down a part of it, or only an account.
                if result.rows is not None or result.id not in found:
                    found[result.id] = result
        return [*found.values(), *gone]

    def _kept(self, state: dict[str, Any]) -> tuple[dict[str, str], list[Result]]:
        """Returns the names of the results to read by their keys, and an entry for those that are gone."""
        prefixes = (f"{_KEPT}{self.source}:", f"{self.source}:")
        own = {key: key[len(prefix) :] for prefix in prefixes for key in state if key.startswith(prefix)}
        if not own and state.get(self.source) is None:
            own = {key: key[-HANDLE_LENGTH:] for key in state if key.startswith(_KEPT) and stored_result(key)}
        gone = {name: reason for key, name in own.items() if (reason := why_gone(state, key))}
        said = "; ".join(f"{name} {reason}" for name, reason in list(gone.items())[-10:])
        missing = [Result(id="missing", error=f"results gone: {len(gone)} ({said})")] if gone else []
        return {key: name for key, name in own.items() if name not in gone}, missing

    async def _read(
        self, ctx: InvocationContext, key: str, name: str, read: Callable[..., list[Result]]
    ) -> list[Result]:
        try:
            value = await resolve(ctx.session.state[key], ctx)
            return await off_loop(rough_size(value), read, value, name=name)
        except Exception as error:
            logger.exception("%s: the result under %s could not be read", self.name, key)
            return [Result(id=name, error=f"could not be read ({type(error).__name__})")]


def _text(owner: object, name: str, value: object) -> str:
    must(isinstance(value, str) and value, owner, name, value, "a non-empty text")
    return str(value)


def _dimensions(owner: object, group_by: Any) -> Iterator[tuple[str, ...]]:
    are_several = isinstance(group_by, Iterable) and not isinstance(group_by, str | set | frozenset)
    must(are_several, owner, "group_by", group_by, 'a collection of columns such as ("device",)')
    for names in group_by:
        entry = (names,) if isinstance(names, str) else tuple(names) if isinstance(names, Iterable) else ()
        are_names = entry and all(isinstance(name, str) and name for name in entry)
        must(are_names, owner, "group_by", names, "made of column names, or of tuples of them")
        yield entry


class SummaryCheck:
    """Warns once of each column that no row has, and of a source that nothing was stored under.

    Columns are looked for once, in the first results with rows, and those of `GOOGLE_ADS_KPIS` are not, since few
    queries have all of them. A missing source is a mistake if the state has a name that it is a misspelling of, or if
    other results were read in its place although the source was set.
    """

    def __init__(self, owner: str, plan: SummaryPlan) -> None:
        self._owner = owner
        own = [kpi for kpi in plan.kpis if kpi not in GOOGLE_ADS_KPIS]
        sides = [(kpi.name, side) for kpi in own for side in (kpi.numerator, kpi.denominator)]
        self._columns = {(f"Kpi {name!r}", side) for name, side in sides}
        self._columns |= {("group_by", name) for names in plan.group_by for name in names}
        if plan.rank_by and all(kpi.name.casefold() != plan.rank_by.casefold() for kpi in plan.kpis):
            self._columns |= {("rank_by", plan.rank_by)}

    def columns(self, summary: Mapping[str, Mapping[str, Any]]) -> None:
        """Warns of the columns that no row of any result has."""
        known = sorted({name for entry in summary.values() for name in _names(entry)}) if self._columns else []
        if not known:
            return
        for setting, name in sorted(self._columns):
            # The spellings that `Measures.find` takes, whether one column is meant or several.
            wanted = snake_case(name).casefold()
            if not any(found == wanted or found.endswith(f".{wanted}") for found in map(str.casefold, known)):
                warn_of_name(f"{self._owner}: {setting}", name, known, "which no row has", is_sure=True)
        self._columns.clear()

    def source(self, source: str, state: Mapping[str, Any], *, is_set: bool, others: bool) -> None:
        """Warns of a source that nothing was stored under."""
        pieces = [key.split(":") for key in map(str, state)]
        parts = (each[1:2] if each[0] == "rows" else each[:1] for each in pieces)
        known = sorted({*map(str, state), *chain.from_iterable(parts)})
        if source not in known:
            lacking = "under which nothing is stored" + ", so all results that are stored were read" * others
            warn_of_name(f"{self._owner}: source", source, known, lacking, is_sure=is_set and others)


def _names(entry: Mapping[str, Any]) -> Iterator[str]:
    if entry.get("row_count"):
        yield from entry["totals"]
        for row in (*entry["enriched_rows"][:1], *entry["top"][:1]):
            yield from row.keys() - entry["kpis"].keys()
        for groups in entry["groups"].values():
            yield from groups[0] if groups else ()


def summarized_results_tool(*, output_key: str) -> Callable[[ToolContext], dict[str, Any]]:
    """`get_summarized_results` for a `DataSummarizer` with an `output_key` of its own.

    Args:
        output_key: the summarizer's `output_key`.

    Raises:
        SettingError: `output_key` is not a text, or is empty.
    """
    key = _text("summarized_results_tool", "output_key", output_key)

    # ADK declares a tool by its function's name and docstring.
    def get_summarized_results(tool_context: ToolContext) -> dict[str, Any]:
        """Returns the computed results of all queries: exact totals, key figures, top and bottom rows, groups.

        Figures are exact and cover all rows. Money is in units of the account's currency. Shares such as CTR are
        fractions, so 0.05 is 5 %.
        """
        # The raw session, since `tool_context.state[...]` deep-copies a large value. What this call's own tools wrote
        # is in it as well, because a summarizer's event is stored before the writer runs.
        summary = tool_context.session.state.get(key)
        if not isinstance(summary, dict) or not summary:
            problem = f"No summarized results are stored in this session yet ({key})."
            return {"status": "error", "error_message": problem}
        return {name: without_rows(entry) if isinstance(entry, dict) else entry for name, entry in summary.items()}

    return get_summarized_results


get_summarized_results = summarized_results_tool(output_key="summarized_results")
