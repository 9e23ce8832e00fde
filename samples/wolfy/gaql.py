"""Queries shaped as in the Google Ads Query Language, run on SQLite; rows are those of the Google Ads REST API."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from .account import Account, Field

_QUERY = re.compile(
    r"\s*SELECT\s+(?P<select>.+?)\s+FROM\s+(?P<resource>\w+)(?:\s+WHERE\s+(?P<where>.+?))?"
    r"(?:\s+ORDER\s+BY\s+(?P<order>.+?))?(?:\s+LIMIT\s+(?P<limit>\d+))?\s*;?\s*",
    re.IGNORECASE | re.DOTALL,
)
_CONDITION = re.compile(
    r"(?P<field>[\w.]+)\s*(?:(?P<op>!=|>=|<=|=|>|<|LIKE\b|NOT\s+IN\b|IN\b|DURING\b)\s*(?P<value>.+)"
    r"|BETWEEN\s+(?P<low>\S+|'[^']*')\s+AND\s+(?P<high>\S+|'[^']*'))",
    re.IGNORECASE | re.DOTALL,
)
# The AND of a BETWEEN joins two values; an AND within quotes is text.
_AND = re.compile(
    r"""((?:BETWEEN\s+(?:'[^']*'|\S+)\s+AND\b|'[^']*'|(?!\bAND\b).)+)(?:\bAND\b|$)""", re.IGNORECASE | re.DOTALL
)
_LITERAL = re.compile(r"'([^']*)'|\"([^\"]*)\"|([^\s,()]+)")
_DURING = {"LAST_7_DAYS": 7, "LAST_14_DAYS": 14, "LAST_30_DAYS": 30}
_RESOURCE_NAMES = {"campaign.id": "campaigns", "ad_group.id": "adGroups"}
_CUSTOMER = "customers/1234567890"


class QueryError(ValueError):
    """A query that cannot run; the message says why, as the API's does."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Plan:
    select: list[Field]
    statement: str
    values: list[Any]


def run_gaql(account: Account, query: str) -> list[dict[str, Any]]:
    """The rows of a query: nested, in camelCase, with 64-bit integers as strings, without fields that have no value.

    Args:
        account: what to query.
        query: `SELECT … FROM … [WHERE …] [ORDER BY …] [LIMIT …]`.

    Raises:
        QueryError: the query's form, a field or a resource is none that the account knows.
    """
    plan = _plan(account, query)
    return [_rest_row(plan.select, values) for values in account.sql(plan.statement, plan.values)]


def _plan(account: Account, query: str) -> _Plan:
    match = _QUERY.fullmatch(query)
    if match is None:
        raise QueryError("Error in query: expected SELECT <fields> FROM <resource> [WHERE] [ORDER BY] [LIMIT].")
    if (resource := account.resources.get(match["resource"])) is None:
        raise QueryError(f"Error in FROM clause: '{match['resource']}' is not a valid resource.")
    select = [_field(account, name.strip()) for name in match["select"].split(",")]
    for entry in select:
        if entry.name.split(".")[0] not in {*resource.families, "segments", "metrics"}:
            raise QueryError(f"Cannot select field '{entry.name}' from resource '{match['resource']}'.")  # noqa: S608
    keys = [_field(account, name) for name in resource.keys]
    where, having, values = _conditions(account, match["where"] or "")
    groups = list(dict.fromkeys(entry.sql for entry in (*keys, *select) if not entry.is_metric))
    order = [_order(account, term) for term in match["order"].split(",")] if match["order"] else []
    clauses = (
        ("SELECT", ", ".join(map(_expression, select))),
        ("FROM", "facts"),
        ("WHERE", " AND ".join(where)),
        ("GROUP BY", ", ".join(groups)),
        ("HAVING", " AND ".join(having)),
        # Every group is in the order, so that equal rows come in the same order on every release of SQLite.
        ("ORDER BY", ", ".join([*order, *groups])),
        ("LIMIT", match["limit"]),
    )
    statement = " ".join(f"{keyword} {clause}" for keyword, clause in clauses if clause)
    return _Plan(select=select, statement=statement, values=values)


def _field(account: Account, name: str) -> Field:
    if (entry := account.fields.get(name)) is None:
        raise QueryError(f"Unrecognized field in the query: '{name}'.")
    return entry


def _expression(entry: Field) -> str:
    return f"SUM({entry.sql})" if entry.is_metric else entry.sql


def _order(account: Account, term: str) -> str:
    name, _, direction = term.strip().partition(" ")
    if direction.strip().upper() not in {"", "ASC", "DESC"}:
        raise QueryError(f"Error in ORDER BY clause: '{term.strip()}'.")
    return f"{_expression(_field(account, name))} {direction.strip().upper() or 'ASC'}"


def _conditions(account: Account, text: str) -> tuple[list[str], list[str], list[Any]]:
    where: list[tuple[str, list[Any]]] = []
    having: list[tuple[str, list[Any]]] = []
    for part in _AND.findall(text):
        entry, sql, values = _condition(account, part.strip())
        (having if entry.is_metric else where).append((sql, values))
    values = [value for _, found in (*where, *having) for value in found]
    return [sql for sql, _ in where], [sql for sql, _ in having], values


def _condition(account: Account, text: str) -> tuple[Field, str, list[Any]]:
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise QueryError(f"Error in WHERE clause: invalid condition '{text}'.")
    entry = _field(account, match["field"])
    if match["op"] is None:
        values = [_literal(entry, match["low"]), _literal(entry, match["high"])]
        return entry, f"{_expression(entry)} BETWEEN ? AND ?", values
    operator = " ".join(match["op"].upper().split())
    if operator == "DURING":
        return entry, f"{_expression(entry)} BETWEEN ? AND ?", _period(account, entry, match["value"])
    if operator.endswith("IN"):
        values = [_literal(entry, found.group()) for found in _LITERAL.finditer(match["value"])]
        return entry, f"{_expression(entry)} {operator} ({', '.join('?' for _ in values)})", values
    if _LITERAL.fullmatch(match["value"].strip()) is None:
        raise QueryError(f"Error in WHERE clause: invalid value in '{text}'.")
    return entry, f"{_expression(entry)} {operator} ?", [_literal(entry, match["value"].strip())]


def _literal(entry: Field, text: str) -> Any:
    text = text.strip("'\"")
    if entry.kind in {"INT64", "DOUBLE"}:
        try:
            return int(text) if entry.kind == "INT64" else float(text)
        except ValueError:
            raise QueryError(f"Invalid value for '{entry.name}': expected a number, got '{text}'.") from None
    return text


def _period(account: Account, entry: Field, name: str) -> list[str]:
    if entry.kind != "DATE" or name.strip().upper() not in _DURING:
        raise QueryError(f"Error in WHERE clause: '{entry.name} DURING {name.strip()}' is not a valid period.")
    last = date.fromisoformat(account.last_day)
    return [(last - timedelta(days=_DURING[name.strip().upper()] - 1)).isoformat(), account.last_day]


def _rest_row(select: list[Field], values: tuple[Any, ...]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for entry, value in zip(select, values, strict=True):
        for path, found in _leaves(entry, value):
            node = row
            for step in path[:-1]:
                node = node.setdefault(step, {})
            node[path[-1]] = found
    return row


def _leaves(entry: Field, value: Any) -> Iterator[tuple[list[str], Any]]:
    if value is None:
        return
    path = [_camel(step) for step in entry.name.split(".")]
    if entry.name in _RESOURCE_NAMES:
        yield [path[0], "resourceName"], f"{_CUSTOMER}/{_RESOURCE_NAMES[entry.name]}/{value}"
    # JSON has no 64-bit integers, so the API writes them as strings.
    yield path, str(value) if entry.kind == "INT64" else value


def _camel(name: str) -> str:
    return re.sub(r"_+(\w)", lambda match: match[1].upper(), name)
