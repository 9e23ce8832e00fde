"""The data that Wolfy queries: tables with named fields in an embedded SQLite database."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """One field that a query may name.

    Attributes:
        name: the GAQL name, such as `metrics.cost_micros`.
        kind: "INT64", "DOUBLE", "STRING", "ENUM" or "DATE", as in the Google Ads field reference.
        about: one line for the field reference.
        column: the column of `facts` behind it; by default the name with `_` for each dot.
    """

    name: str
    kind: str
    about: str
    column: str = ""

    @property
    def sql(self) -> str:
        """The column as SQL."""
        return '"' + (self.column or self.name.replace(".", "_")) + '"'

    @property
    def is_metric(self) -> bool:
        """Whether the API sums it up over what was not selected."""
        return self.name.startswith("metrics.")


@dataclass(frozen=True, kw_only=True, slots=True)
class Resource:
    """What a FROM clause may name.

    Attributes:
        keys: the fields that tell one of its rows from another; they group, selected or not.
        families: the first words of the attributes that can be selected from it.
    """

    keys: tuple[str, ...]
    families: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Account:
    """An account as queries see it: one wide table `facts`, and which fields each resource has.

    Attributes:
        connection: the database with the table `facts`.
        fields: every field by its GAQL name.
        resources: the resources of a FROM clause by name.
        first_day: the first date in the data, as `YYYY-MM-DD`; empty where there are none.
        last_day: the last one.
        currency: what the `_micros` are millionths of.
    """

    connection: sqlite3.Connection
    fields: Mapping[str, Field]
    resources: Mapping[str, Resource]
    first_day: str = ""
    last_day: str = ""
    currency: str = "USD"
    _reference: list[str] = field(default_factory=list, repr=False)

    def sql(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of an SQL statement."""
        return self.connection.execute(statement, values).fetchall()

    @property
    def field_reference(self) -> str:
        """The field reference for a prompt; the same bytes at every call, so that a provider can cache it."""
        if not self._reference:
            self._reference.append(_field_reference(self))
        return self._reference[0]


def open_database(columns: Iterable[tuple[str, str]]) -> sqlite3.Connection:
    """An empty database in memory with the table `facts`.

    Args:
        columns: the name of each column and its SQL type.
    """
    # `adk web` loads agents in one thread and runs them in another.
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.execute("CREATE TABLE facts (" + ", ".join(f'"{name}" {kind}' for name, kind in columns) + ")")
    return connection


_INTRODUCTION = """\
GAQL field reference
====================
A query reads: SELECT <fields> FROM <resource> [WHERE <conditions joined by AND>] [ORDER BY <field> [DESC]] [LIMIT n]
Metrics are summed up over every segment that is not selected; there is no GROUP BY, no JOIN and no function.
Conditions: = != > >= < <= IN (..) NOT IN (..) LIKE '..' BETWEEN .. AND .., and for dates also
DURING LAST_7_DAYS | LAST_14_DAYS | LAST_30_DAYS. Text and dates stand in single quotes, dates as YYYY-MM-DD.
A field ends in _micros where its unit is a millionth of the currency.
A field that is not listed here does not exist.
`$q1.campaign.id` in a condition stands for that field in the first row of query q1; name q1 in `depends_on` then."""


def _field_reference(account: Account) -> str:
    blocks = [_INTRODUCTION, "Resources (FROM), and the fields that can be selected from each:"]
    blocks += [_resource_line(name, entry) for name, entry in account.resources.items()]
    if account.last_day:
        blocks.append(f"Dates run from {account.first_day} to {account.last_day}; currency {account.currency}.")
    blocks.append("Fields (SELECT, WHERE, ORDER BY):")
    blocks += [f"- {entry.name} ({entry.kind}): {entry.about}" for entry in account.fields.values()]
    return "\n".join(blocks)


def _resource_line(name: str, resource: Resource) -> str:
    families = [f"{family}.*" for family in (*resource.families, "segments", "metrics")]
    return f"- resource {name}: {', '.join(families)}"
