"""What a query over stored rows gave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class QueryAnswer:
    """The first rows of a query's result.

    Attributes:
        columns: the names of the result's columns.
        rows: its first rows, in order.
        total: how many rows it has; None if counting them took longer than the query may take.
    """

    columns: list[str]
    rows: list[list[Any]]
    total: int | None
