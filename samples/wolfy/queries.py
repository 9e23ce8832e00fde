"""The agents' tools: they keep the list of queries in session state and run them on the account."""

# ruff: noqa: D417 - models read these docstrings, and ADK does not tell them of tool_context
import re
from collections.abc import Iterable
from typing import Any

from google.adk.tools.tool_context import ToolContext
from pydantic import BaseModel, Field, ValidationError

from .account import Account
from .gaql import QueryError, run_gaql

QUERIES = "gaql_queries"
"""The state key of the list of queries."""
RESULTS = "gaql_execution_results"
"""The state key under which full results are kept, one for each query: `gaql_execution_results:<query id>`."""

_REFERENCE = re.compile(r"\$(\w+)\.([\w.]*\w)")


class PlannedQuery(BaseModel):
    """One query of the plan."""

    id: str = Field(description="Short and unique, such as q1.")
    title: str = Field(description="What it answers, in a few words.")
    purpose: str = Field(description="Why the question needs it, in one sentence.")
    query: str = Field(description="The GAQL text.")
    depends_on: list[str] = Field(default_factory=list, description="Ids of queries whose first row it names with $.")


class QueryTools:
    """Tools over one account; bound methods go straight into `LlmAgent(tools=[…])`.

    They read and write the list of queries without an `await` between, so that parallel calls lose no update.
    """

    def __init__(self, account: Account) -> None:
        self._account = account

    def save_queries(self, queries: list[PlannedQuery], tool_context: ToolContext) -> dict[str, Any]:
        """Saves the plan: every query that the question needs.

        Args:
            queries: the queries, in the order in which they should run.
        """
        try:
            # Newer releases of ADK hand over models, older ones the dicts that the model sent.
            plan = [PlannedQuery.model_validate(entry).model_dump() for entry in queries]
        except ValidationError as error:
            return {"status": "FAILED", "error_message": str(error)}
        for key in tool_context.state.to_dict():
            # Results of an earlier question in this session are no answer to this one.
            if key.startswith(f"{RESULTS}:"):
                tool_context.state[key] = None
        tool_context.state[QUERIES] = [{**entry, "status": "PENDING", "attempts": 0} for entry in plan]
        return {"status": "SUCCESS", "saved": [entry["id"] for entry in plan]}

    def run_query(self, query_id: str, tool_context: ToolContext) -> dict[str, Any]:
        """Runs one saved query and returns its rows.

        Args:
            query_id: the id under which the query was saved.
        """
        queries = tool_context.state.get(QUERIES, [])
        found = _find(queries, query_id)
        if found is None:
            return {"query_id": query_id, "status": "FAILED", "error_message": f"There is no query '{query_id}'."}
        outcome = self._outcome(found, queries)
        rows = outcome.pop("results", None)
        attempt = {"attempts": found["attempts"] + 1} if outcome["status"] != "PENDING" else {}
        tool_context.state[QUERIES] = _replaced(queries, query_id, {**outcome, **attempt})
        answer = {"query_id": query_id, "title": found["title"], **outcome}
        answer = answer if rows is None else {**answer, "results": rows}
        # Under the key where cap_rows keeps what it cut, so that the summarizer also finds small and failed results.
        tool_context.state[f"{RESULTS}:{query_id}"] = answer
        return answer

    def revise_query(self, query_id: str, query: str, tool_context: ToolContext) -> dict[str, Any]:
        """Replaces the text of a query that failed, so that it runs again.

        Args:
            query_id: the id of the query.
            query: its corrected GAQL text.
        """
        queries = tool_context.state.get(QUERIES, [])
        if _find(queries, query_id) is None:
            return {"query_id": query_id, "status": "FAILED", "error_message": f"There is no query '{query_id}'."}
        change = {"query": query, "status": "PENDING", "error_message": None}
        tool_context.state[QUERIES] = _replaced(queries, query_id, change)
        return {"query_id": query_id, "status": "PENDING"}

    def _outcome(self, found: dict[str, Any], queries: Iterable[dict[str, Any]]) -> dict[str, Any]:
        done = {entry["id"]: entry["query"] for entry in queries if entry["status"] == "SUCCESS"}
        if missing := [name for name in found["depends_on"] if name not in done]:
            return {"status": "PENDING", "message": f"Waits for {', '.join(missing)}."}
        try:
            rows = run_gaql(self._account, self._filled_in(found["query"], done))
        except QueryError as error:
            return {"status": "FAILED", "error_message": str(error)}
        return {"status": "SUCCESS", "row_count": len(rows), "results": rows}

    def _filled_in(self, query: str, done: dict[str, str]) -> str:
        return _REFERENCE.sub(lambda match: self._first_value(match[1], match[2], done), query)

    def _first_value(self, query_id: str, field: str, done: dict[str, str]) -> str:
        entry = self._account.fields.get(field)
        if query_id not in done or entry is None:
            raise QueryError(f"'${query_id}.{field}' names no field of a query that this one depends on.")
        value: Any = next(iter(run_gaql(self._account, self._filled_in(done[query_id], done))), None)
        for step in field.split("."):
            camel = re.sub(r"_+(\w)", lambda match: match[1].upper(), step)
            value = value.get(camel) if isinstance(value, dict) else None
        if value is None:
            raise QueryError(f"The first row of {query_id} has no '{field}'.")
        return str(value) if entry.kind in {"INT64", "DOUBLE"} else f"'{value}'"


def _find(queries: Iterable[dict[str, Any]], query_id: str) -> dict[str, Any] | None:
    return next((entry for entry in queries if entry["id"] == query_id), None)


def _replaced(queries: Iterable[dict[str, Any]], query_id: str, change: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**entry, **change} if entry["id"] == query_id else entry for entry in queries]
