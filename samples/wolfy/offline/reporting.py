"""How the offline model writes the report: from a summary where it was given one, else from the rows in its request."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from google.adk.models.llm_request import LlmRequest

from . import reading

_MICROS = 1_000_000
_KPIS = {
    "CTR": ("clicks", "impressions", 1),
    "CPC": ("cost", "clicks", 1),
    "CPM": ("cost", "impressions", 1000),
    "CVR": ("conversions", "clicks", 1),
    "CPA": ("cost", "conversions", 1),
    "ROAS": ("conversions_value", "cost", 1),
}


def report(request: LlmRequest, summary: dict[str, Any] | None) -> str:
    """The report, with every figure that reached the writer and no other."""
    figures = _from_summary(summary) if summary is not None else _from_rows(request)
    lines = ["# Ads report"]
    for query in reading.queries(request):
        lines += ["", f"## {query.get('id')}: {query.get('title')}"]
        lines += list(_section(query, figures.get(str(query.get("id")), {})))
    return "\n".join(lines)


def _section(query: dict[str, Any], found: dict[str, Any]) -> Iterator[str]:
    if query.get("status") != "SUCCESS":
        yield f"This query did not succeed: {query.get('error_message') or query.get('status')}"
        return
    if not found:
        yield "No figures reached me."
    yield from (f"- {name}: {_written(value)}" for name, value in sorted(found.items()))


def _written(value: float) -> str:
    # Six decimals: micros in full.
    return f"{value:,}" if isinstance(value, int) else f"{round(value, 6):,.6f}".rstrip("0").rstrip(".")


def _from_summary(summary: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: _figures(entry) for name, entry in summary.items() if isinstance(entry, dict)}


def _figures(entry: dict[str, Any]) -> dict[str, Any]:
    found = {**(entry.get("totals") or {}), **(entry.get("kpis") or {}), "rows": entry.get("row_count")}
    return {name: value for name, value in found.items() if isinstance(value, int | float)}


def _from_rows(request: LlmRequest) -> dict[str, dict[str, Any]]:
    """The sums that a model has to do itself where nobody did them for it."""
    results = {str(result.get("query_id")): result for result in reading.seen_results(request, "run_query")}
    # What is pasted in is whole; what was seen in passing may have been capped.
    results |= reading.pasted_results(request)
    return {name: _summed(entry["results"]) for name, entry in results.items() if "results" in entry}


def _summed(rows: list[dict[str, Any]]) -> dict[str, Any]:
    columns: dict[str, list[Any]] = {}
    for row in rows:
        for name, value in row.get("metrics", {}).items():
            columns.setdefault(_snake(name), []).append(int(value) if isinstance(value, str) else value)
    totals: dict[str, Any] = {name: _total(values) for name, values in columns.items()}
    for name in [name for name in totals if name.endswith("_micros")]:
        totals[name.removesuffix("_micros")] = float(Fraction(totals.pop(name), _MICROS))
    return {**totals, **dict(_kpis(totals)), "rows": len(rows)}


def _total(values: list[Any]) -> float:
    return sum(values) if all(isinstance(value, int) for value in values) else math.fsum(values)


def _kpis(totals: dict[str, Any]) -> Iterator[tuple[str, float]]:
    for name, (above, below, factor) in _KPIS.items():
        if totals.get(above) is not None and totals.get(below):
            yield name, factor * totals[above] / totals[below]


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
