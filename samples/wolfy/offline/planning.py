"""How the offline model writes and corrects queries, from a field reference and from error messages."""

# ruff: noqa: S608 - these are queries for the parser beside, not SQL
from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from google.adk.models.llm_request import LlmRequest

from . import reading

_UNKNOWN_FIELD = re.compile(r"Unrecognized field in the query: '([^']+)'")
_WRONG_RESOURCE = re.compile(r"Cannot select field '([^']+)' from resource")
_VALUES = re.compile(r"(\d+) different values")


def plan(request: LlmRequest) -> list[dict[str, Any]]:
    """The queries that the field reference in the request allows, with the mistakes that models make."""
    known = reading.fields(request)
    metrics = [name for name in known if name.startswith("metrics.")]
    if not metrics:
        return []
    if "search_term_view" in reading.resources(request):
        return list(_ads_plan(", ".join(metrics)))
    return list(_table_plan(known, metrics, reading.dates(request)))


def correction(query: str, error_message: str, known: Iterable[str]) -> str | None:
    """The query without the mistake that the error message names; None where it does not say enough."""
    if match := _UNKNOWN_FIELD.search(error_message):
        closest = get_close_matches(match[1], list(known), n=1)
        return re.sub(rf"(?<![\w.]){re.escape(match[1])}(?![\w.])", closest[0], query) if closest else None
    if match := _WRONG_RESOURCE.search(error_message):
        return re.sub(rf"{re.escape(match[1])},\s*", "", query, count=1)
    return None


def _ads_plan(metrics: str) -> Iterable[dict[str, Any]]:
    during = "WHERE segments.date DURING LAST_14_DAYS"
    costliest = "ORDER BY metrics.cost_micros DESC"
    yield _query(
        "q1", "Campaigns by cost", "The totals of the account, and where the money goes.",
        f"SELECT campaign.id, campaign.name, campaign.status, {metrics} FROM campaign {during} {costliest}",
    )  # fmt: skip
    yield _query(
        "q2", "Campaigns by day and device", "Whether a day or a device stands out.",
        f"SELECT campaign.name, segments.date, segments.device, {metrics} FROM campaign {during}",
    )  # fmt: skip
    yield _query(
        "q3", "Keywords by cost", "Which keywords carry the account.",
        "SELECT ad_group_criterion.criterion_id, ad_group_criterion.keyword.text, "
        "ad_group_criterion.keyword.matchtype, "
        f"{metrics.replace('cost_micros', 'cost_micro')} FROM keyword_view {during} {costliest}",
    )  # fmt: skip
    yield _query(
        "q4", "Search terms by device", "What people typed, and on what.",
        f"SELECT ad_group_criterion.keyword.text, search_term_view.search_term, segments.device, {metrics} "
        f"FROM search_term_view {during}",
    )  # fmt: skip
    yield _query(
        "q5", "Search terms that cost and never convert", "Where money is wasted.",
        f"SELECT search_term_view.search_term, {metrics} FROM search_term_view {during} "
        f"AND metrics.conversions = 0 AND metrics.cost_micros > 0 {costliest}",
    )  # fmt: skip
    yield _query(
        "q6", "Search terms of the costliest campaign, day by day", "How its waste came about.",
        f"SELECT search_term_view.search_term, segments.date, {metrics} FROM search_term_view {during} "
        "AND campaign.id = $q1.campaign.id",
        "q1",
    )  # fmt: skip


def _table_plan(known: dict[str, str], metrics: list[str], dates: list[str]) -> Iterable[dict[str, Any]]:
    every = ", ".join(metrics)
    counts = {name: int(match[1]) for name, about in known.items() if (match := _VALUES.search(about))}
    groups = [name for name in known if name not in metrics and name not in dates and counts.get(name, 0) > 1]
    if not groups:
        yield _query("q1", "Totals", "The totals of the file.", f"SELECT {every} FROM data")
        return
    group = min(groups, key=lambda name: counts[name])
    by_size = f"SELECT {group}, {every} FROM data ORDER BY {metrics[0]} DESC"
    yield _query("q1", f"Totals by {group}", "The totals of the file, and where they come from.", by_size)
    over = ", ".join([group, *dates])
    # The slip that a model makes with a long field name: its last letter is missing.
    slip = f"SELECT {over}, {', '.join([*metrics[:-1], metrics[-1][:-1]])} FROM data"
    yield _query("q2", f"Rows by {over}", "How it developed.", slip)
    yield _query(
        "q3", f"The largest {group}", "What the largest is made of.",
        f"SELECT {over}, {every} FROM data WHERE {group} = $q1.{group}", "q1",
    )  # fmt: skip


def _query(name: str, title: str, purpose: str, query: str, *depends_on: str) -> dict[str, Any]:
    return {"id": name, "title": title, "purpose": purpose, "query": query, "depends_on": list(depends_on)}
