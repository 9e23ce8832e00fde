"""Warns of the settings of a `DataSummarizer` that nothing in the data answers to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from adk_context_pack.errors import did_you_mean, misspelled, warn_once
from adk_context_pack.tables.kpis import GOOGLE_ADS_KPIS
from adk_context_pack.tables.names import snake_case
from adk_context_pack.tables.summarize import SummaryPlan


class SummaryCheck:
    """Warns once of each column that no row has, and of a source that nothing was stored under.

    A column is looked for in all results that have rows. Without rows there is nothing to say, so a first run before
    the data is there and an empty list do not warn. The columns of `GOOGLE_ADS_KPIS` are not looked for, since few
    queries have all of them. What was found or warned of once is not looked for again.

    A missing source is a mistake if the state has a name that it is a misspelling of, or if other results were read in
    its place although the source was set.

    Args:
        owner: the name of the summarizer.
        plan: the plan with the columns.
    """

    def __init__(self, owner: str, plan: SummaryPlan) -> None:
        self._owner = owner
        own = [kpi for kpi in plan.kpis if kpi not in GOOGLE_ADS_KPIS]
        sides = [(kpi.name, side) for kpi in own for side in (kpi.numerator, kpi.denominator)]
        self._columns = {(f"Kpi {name!r}", side) for name, side in sides}
        self._columns |= {("group_by", name) for names in plan.group_by for name in names}
        self._columns |= {("rank_by", plan.rank_by)} if plan.rank_by and not _is_kpi(plan) else set()
        self._has_source = False

    def columns(self, summary: Mapping[str, Mapping[str, Any]]) -> None:
        """Warns of the columns that no row of any result has.

        Args:
            summary: what `summarize` made of each result, by id.
        """
        known = sorted({name for entry in summary.values() for name in _names(entry)}) if self._columns else []
        if not known:
            return
        for setting, name in sorted(self._columns):
            if not _is_among(name, known):
                warn_once(f"{self._owner}: {setting} names {name!r}, which no row has{did_you_mean(name, known)}")
        self._columns.clear()

    def source(self, source: str, state: Mapping[str, Any], *, is_set: bool, others: bool) -> None:
        """Warns of a source that nothing was stored under.

        Args:
            source: the setting.
            state: the session's state.
            is_set: whether the app has set a source of its own.
            others: whether other results were read in its place.
        """
        if self._has_source:
            return
        known = sorted(set(_stored_names(state)))
        if source in known:
            self._has_source = True
        elif (is_set and others) or misspelled(source, known):
            self._has_source = True
            instead = ", so all results that are stored were read" if others else ""
            hint = did_you_mean(source, known)
            warn_once(f"{self._owner}: nothing is stored under the source {source!r}{hint}{instead}")


def _is_kpi(plan: SummaryPlan) -> bool:
    wanted = (plan.rank_by or "").casefold()
    return any(kpi.name.casefold() == wanted for kpi in plan.kpis)


def _names(entry: Mapping[str, Any]) -> Iterator[str]:
    if entry.get("row_count"):
        yield from entry["totals"]
        for row in (*entry["enriched_rows"][:1], *entry["top"][:1]):
            yield from row.keys() - entry["kpis"].keys()
        for groups in entry["groups"].values():
            yield from groups[0] if groups else ()


def _is_among(name: str, known: Iterable[str]) -> bool:
    # The spellings that `Measures.find` takes, whether one column is meant or several.
    wanted = snake_case(name).casefold()
    return any(found == wanted or found.endswith(f".{wanted}") for found in map(str.casefold, known))


def _stored_names(state: Mapping[str, Any]) -> Iterator[str]:
    for key in map(str, state):
        yield key
        pieces = key.split(":")
        yield from pieces[1:2] if pieces[0] == "rows" else pieces[:1]
