"""Rows and facts as text."""

import csv
import io
from decimal import Decimal

from adk_context_pack.tables.table_facts import table_facts
from adk_context_pack.tools.table_text import facts_as_text, rows_as_csv


def read(text):
    """The lines of a CSV text as dicts."""
    return list(csv.DictReader(io.StringIO(text)))


def test_csv_reads_back_as_the_rows():
    """Quotes, commas, line feeds and nested rows survive; missing and None are empty."""
    rows = [
        {"name": 'a "quoted", b', "metrics": {"clicks": 1, "cost": Decimal("1.50")}},
        {"name": "two\nlines", "metrics": {"clicks": 2}, "extra": None},
    ]
    assert read(rows_as_csv(rows)) == [
        {"name": 'a "quoted", b', "metrics.clicks": "1", "metrics.cost": "1.5", "extra": ""},
        {"name": "two\nlines", "metrics.clicks": "2", "metrics.cost": "", "extra": ""},
    ]


def test_rows_that_are_lists_take_their_names():
    """Columns plus lists of values become the same text as dicts."""
    assert rows_as_csv([[1, "a"], [2, "b"]], ["n", "letter"]) == "n,letter\n1,a\n2,b"


def test_facts_are_one_line_a_column():
    """Numbers stand in a table of their own, the other columns in a sentence each, or by name only."""
    rows = [
        {"n": 2**60 + number, "kind": "a" if number else "b", "day": f"2026-01-0{number + 1}"} for number in range(3)
    ]
    facts = table_facts([*rows, {"n": None, "kind": "a", "day": None}])
    said = facts_as_text(facts)
    (line,) = read(said["numbers"])
    assert line["sum"] == str(3 * 2**60 + 3)
    assert (line["min"], line["max"], line["missing"]) == (str(2**60), str(2**60 + 2), "1")
    assert said["others"].split("\n") == [
        "kind: a x3, b x1",
        "day: 3 distinct, 2026-01-01 to 2026-01-03, 1 missing",
    ]
    assert facts_as_text(facts, others=False)["others"] == "kind, day"
