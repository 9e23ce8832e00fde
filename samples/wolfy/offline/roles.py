"""What the offline model answers in each role; a role shows in the tools that the request declares."""

from __future__ import annotations

import json
from typing import Any

from google.adk.models.llm_request import LlmRequest
from google.genai import types

from . import reading
from .planning import correction, plan
from .reporting import report


def answer(request: LlmRequest) -> types.Content:
    """The model's turn, made of nothing but what stands in the request."""
    tools = reading.tool_names(request)
    for tool, role in (("save_queries", _generator), ("run_query", _executor), ("revise_query", _analyst)):
        if tool in tools:
            return role(request)
    return _writer(request)


def _generator(request: LlmRequest) -> types.Content:
    if saved := reading.latest_responses(request, "save_queries"):
        return reading.said(f"I planned {len(saved[-1].get('saved', ()))} queries: {', '.join(saved[-1]['saved'])}.")
    queries = plan(request)
    if not queries:
        return reading.said("I know no fields to query.")
    return reading.called(("save_queries", {"queries": queries}), text="These queries answer the question.")


def _executor(request: LlmRequest) -> types.Content:
    queries = reading.queries(request)
    done = {entry["id"] for entry in queries if entry.get("status") == "SUCCESS"}
    ready = [entry["id"] for entry in queries if entry.get("status") == "PENDING" and done.issuperset(_needs(entry))]
    results = reading.latest_responses(request, "run_query")
    tried = {result.get("query_id") for result in results}
    if calls := [("run_query", {"query_id": name}) for name in ready if name not in tried]:
        return reading.called(*calls)
    if "set_model_response" in reading.tool_names(request):
        return reading.called(("set_model_response", {"queries": reading.statuses(results)}))
    return reading.said("\n".join(["I ran these queries.", *map(_retold, results)]))


def _needs(entry: dict[str, Any]) -> list[str]:
    return entry.get("depends_on") or []


def _retold(result: dict[str, Any]) -> str:
    """A result in prose: asked for no form, models retell the first rows."""
    head = f"{result.get('query_id')} ({result.get('title')}): {result.get('status')}"
    if result.get("status") != "SUCCESS":
        return f"{head}, {result.get('error_message') or result.get('message')}"
    return f"{head}, {result.get('row_count')} rows, the first of them {json.dumps(result['results'][:3])}"


def _analyst(request: LlmRequest) -> types.Content:
    if revised := reading.latest_responses(request, "revise_query"):
        return reading.said(f"I corrected {', '.join(str(entry.get('query_id')) for entry in revised)}.")
    queries = reading.queries(request)
    known = reading.fields(request)
    calls: list[tuple[str, dict[str, Any]]] = []
    for entry in queries:
        if entry.get("status") == "FAILED":
            better = correction(entry.get("query", ""), entry.get("error_message", ""), known)
            if better:
                calls.append(("revise_query", {"query_id": entry["id"], "query": better}))
    if calls:
        return reading.called(*calls, text="These queries can be corrected.")
    return reading.called(("exit_loop", {}), text="Nothing is left to correct.")


def _writer(request: LlmRequest) -> types.Content:
    summaries = reading.latest_responses(request, "get_summarized_results")
    if not summaries and "get_summarized_results" in reading.tool_names(request):
        return reading.called(("get_summarized_results", {}))
    return reading.said(report(request, summaries[-1] if summaries else None))
