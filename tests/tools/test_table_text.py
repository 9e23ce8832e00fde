"""Rows and facts as text."""

import csv
import io

from adk_context_pack import table_facts
from adk_context_pack.tools.table_text import facts_as_text


def read(text):
    """The lines of a CSV text as dicts."""
    return list(csv.DictReader(io.StringIO(text)))


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
    assert said["others"].split("\n") == ["kind: a x3, b x1", "day: 3 distinct, 2026-01-01 to 2026-01-03, 1 missing"]
    assert facts_as_text(facts, others=False)["others"] == "kind, day"
