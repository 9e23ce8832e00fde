"""What columns are, over data of people's own making: no sum that means nothing, and no measure lost."""

import json
import random
from pathlib import Path

import pytest

from adk_context_pack.tables.columns import iter_columns
from adk_context_pack.tables.schema import column_schema, in_one_table
from adk_context_pack.tables.table_facts import table_facts


def cases_of(file):
    lines = Path(__file__).with_name("golden").joinpath(f"{file}.txt").read_text("utf-8").splitlines()[1:]
    return [(role, name, json.loads(cells)) for role, name, cells in (line.split("\t") for line in lines)]


def is_summed(name, cells):
    return "sum" in table_facts([{name: cell, "label": "a"} for cell in cells]).as_dict()["columns"][name]


@pytest.mark.parametrize("written", [lambda cell: cell, str], ids=["numbers", "texts"])
@pytest.mark.parametrize(
    ("file", "most", "lost"),
    [("roles", 0, 2), ("roles_seen", 0, 0), ("roles_unseen", 0, 0), ("roles_world", 2, 0), ("roles_trades", 2, 1),
     ("roles_services", 0, 1), ("roles_fields", 4, 2), ("roles_exports", 13, 29), ("roles_abroad", 0, 0)],
)  # fmt: skip
def test_only_measures_are_summed(file, most, lost, written):
    """Of identifiers, times and rates in thirty languages next to none is summed, and next to no measure is lost."""
    summed = [(role, is_summed(name, list(map(written, cells)))) for role, name, cells in cases_of(file)]
    assert len([role for role, is_sum in summed if is_sum and role != "measure"]) <= most
    assert summed.count(("measure", False)) <= lost


def test_neighbours_tell_what_is_summed():
    """Balances, counters and levels over time are not summed, in row dicts and as texts, and the amounts beside are."""
    lines = Path(__file__).with_name("golden").joinpath("role_tables.txt").read_text("utf-8").splitlines()[1:]
    for names, table in (map(json.loads, line.split("\t")) for line in lines):
        for written in (lambda cell: cell, str):
            rows = [dict(zip(table, map(written, row), strict=True)) for row in zip(*table.values(), strict=True)]
            known = in_one_table(map(column_schema, iter_columns(rows)))
            assert {each.name for each in known if each.role == "measure"} == set(names)
            assert {each.name for each in table_facts(rows).columns if each.total or each.parts} == set(names)


def test_roles_are_told():
    """Of the columns that are not summed nine in ten have the role that a person would give them."""
    cases = [(role, [{name: cell} for cell in cells]) for role, name, cells in cases_of("roles") if role != "measure"]
    right = [in_one_table(map(column_schema, iter_columns(rows)))[0].role == role for role, rows in cases]
    assert sum(right) >= 0.9 * len(right)


@pytest.mark.parametrize("rows", [40, 300, 1_500, 20_000])
def test_a_long_table_counts_on_as_a_short_one_does(rows):
    """What counts on under a name that says nothing is no measure, of however many rows a part is looked at."""
    seen, chance = range(rows), random.Random(3)
    for numbers in (seen, seen[::-1], range(5, 5 + 10 * rows, 10), chance.sample(seen, rows)):
        assert not is_summed("flurb", list(numbers))
    assert is_summed("flurb", [int(chance.expovariate(0.002)) for _ in seen])
