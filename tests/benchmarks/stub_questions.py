"""Thirteen questions about the table of transactions, each with the words in which a stub may answer it.

An answer has to be visible in what the model is shown: no read-back, no adding up.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import Any


def questions(rows: Sequence[dict[str, Any]]) -> dict[str, list[str]]:
    """Returns, by question, patterns of which all have to be found in a stub."""
    amounts = [Decimal(str(row["amount"])) for row in rows]
    fuel = sum(Decimal(str(row["amount"])) for row in rows if row["category"] == "fuel")
    countries = Counter(row["country"] for row in rows)
    categories = Counter(row["category"] for row in rows)
    odd = max(rows, key=lambda row: row["amount"])
    return {
        "How many transactions are there?": [rf'"total": {len(rows)}\b'],
        "What is the total amount?": [_number(sum(amounts))],
        "What is the largest amount?": [_number(max(amounts))],
        "What is the smallest amount?": [_number(min(amounts))],
        "What is the mean amount?": [_number(round(sum(amounts) / len(amounts), 2))],
        "How many items were bought?": [_number(sum(row["quantity"] for row in rows))],
        "What did the fees add up to?": [_number(sum(Decimal(str(row["fee"])) for row in rows))],
        "From when to when?": [min(row["date"] for row in rows), max(row["date"] for row in rows)],
        "Which transaction is suspicious, and whose?": [odd["transaction_id"], odd["merchant"]],
        "Which countries are there, with how many transactions each?": [
            _counted(value, count) for value, count in countries.items()
        ],
        "How many transactions of each category?": [_counted(value, count) for value, count in categories.items()],
        "How much was spent on fuel?": [_counted("fuel", fuel)],
        "How much was spent on fuel in Norway in May?": [r"\bno stub says this\b"],
    }


def answered(text: str, rows: Sequence[dict[str, Any]]) -> list[str]:
    """Returns the questions whose answers are visible in a text."""
    return [asked for asked, patterns in questions(rows).items() if all(re.search(one, text) for one in patterns)]


def _number(value: Any) -> str:
    return rf"(?<![\d.]){re.escape(str(value))}(?![\d])"


def _counted(value: str, count: Any) -> str:
    return rf"\b{re.escape(value)}(?: x|\W{{1,4}}){re.escape(str(count))}(?![\d.])"
