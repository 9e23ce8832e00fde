"""The tool that asks stored rows by SQL, called by a model in a real run."""

import copy
import logging
import sqlite3

import pytest
from google.adk.agents import LlmAgent
from google.adk.tools.tool_context import ToolContext

from adk_context_pack import PayloadStore, QueryRows, estimate_tokens, query_rows
from adk_context_pack._json import json_text
from adk_context_pack.stores.byte_cache import ByteCache
from adk_context_pack.tools import open_results as module
from tests.support.in_tool import model_that_calls
from tests.support.run import run_agent, session_service
from tests.support.scripted_model import results_in

ROWS = [{"id": i, "city": "Oslo" if i % 2 else "Rome", "m": {"clicks": str(i)}} for i in range(3000)]


def keeper(value):
    """A tool that keeps a value and returns its handle."""

    async def keep(tool_context: ToolContext) -> dict:
        """Keeps the result."""
        return {"handle": await PayloadStore().put(tool_context, value, tool_name="keep")}

    return keep


def handle_of(results):
    return results[0]["handle"]


async def ask(value, *queries, tool=query_rows, **settings):
    """What a model is told for each of its queries over one stored value."""
    calls = [("keep", {}), *(("query_rows", {"handle": handle_of, "sql": sql}) for sql in queries)]
    agent = LlmAgent(name="analyst", model=model_that_calls(*calls), tools=[keeper(value), tool])
    run = await run_agent(agent, "go", **settings)
    return [result.response for result in results_in(run.requests[-1])[1:]]


async def test_a_model_gets_exact_rows():
    """A filter, a group and a nested column are answered from all rows, not from a sample."""
    sql = "SELECT city, count(*) AS n, sum(m.clicks) AS clicks FROM rows WHERE id >= 1000 GROUP BY city ORDER BY city"
    (answer,) = await ask(ROWS, sql)
    expected = [[c, 1000, sum(i for i in range(1000, 3000) if i % 2 == odd)] for c, odd in (("Oslo", 1), ("Rome", 0))]
    assert answer == {"columns": ["city", "n", "clicks"], "rows": expected, "total_rows": 2}


async def test_rows_within_rows_are_a_table():
    """The lines of orders, and the taxes of these, are asked by the keys that a stub has for them."""
    taxes = [{"tax": 1}, {"tax": 2}]
    orders = [
        {"no": n, "open": n < 2, "lines": [{"no": 7, "qty": k, "taxes": taxes} for k in range(n)]} for n in range(5)
    ]
    own = 'WITH orders_lines AS (SELECT * FROM "orders.lines" WHERE qty > 2) SELECT count(*) FROM orders_lines'
    (lines,), (taxed,), (few,) = (
        answer["rows"]
        for answer in await ask(
            {"orders": orders},
            'SELECT count(*), sum(qty), max("orders.no"), max(no) FROM "orders.lines" WHERE NOT "orders.open"',
            "SELECT count(*), sum(orders_lines_taxes.tax) FROM orders_lines_taxes",
            own,
        )
    )
    assert (lines, taxed, few) == ([9, 10, 4, 7], [20, 30], [1])
    refused, paid = await ask(
        {"orders": [{"no": n, "lines": [{"Qty": n}]} for n in range(5)]},
        'SELECT "lines.Qty" FROM rows',
        'SELECT "orders.no" FROM "orders.lines" WHERE Qty = 3',
    )
    assert (refused["hint"].startswith('Write FROM "orders.lines"'), paid["rows"]) == (True, [[3]])


async def test_a_cut_answer_says_so():
    """More rows or tokens than fit: the first ones, the exact total and the advice to narrow down."""
    by_rows, by_tokens = await ask(
        ROWS, "SELECT id FROM rows", "SELECT id, city, id * 7919 FROM rows LIMIT 90", tool=QueryRows(max_tokens=400)
    )
    assert (len(by_rows["rows"]), by_rows["total_rows"]) == (100, 3000)
    assert by_rows["cut"].startswith("100 of 3000 rows")
    assert 0 < len(by_tokens["rows"]) < 90
    assert by_tokens["total_rows"] == 90
    assert estimate_tokens(json_text(by_tokens)) < 500


async def test_a_list_of_columns_is_bounded():
    """Of thousands of columns an error names as many as its budget allows, and says that there are more."""
    wide = [{f"a_rather_long_name_of_a_column_{i}": i for i in range(1500)}]
    error, all_columns = await ask(wide, "SELECT nope FROM rows", "SELECT * FROM rows")
    assert estimate_tokens(json_text(error)) < 2500
    assert error["tables"]["…"]
    assert error["tables"]["rows"][0] == "a_rather_long_name_of_a_column_0"
    assert "name the ones that you need" in all_columns["error"]


async def test_a_handle_of_another_session_is_unknown_even_if_its_rows_are_loaded():
    """Rows in this process's cache are not given to a session whose state does not hold the handle."""
    first = LlmAgent(
        name="analyst",
        model=model_that_calls(("keep", {}), ("query_rows", {"handle": handle_of, "sql": "SELECT count(*) FROM rows"})),
        tools=[keeper(ROWS), query_rows],
    )
    run = await run_agent(first, "go")
    kept, answer = (result.response for result in results_in(run.requests[-1]))
    assert answer["rows"] == [[3000]]
    thief = LlmAgent(
        name="analyst",
        model=model_that_calls(("query_rows", {**kept, "sql": "SELECT * FROM rows"})),
        tools=[query_rows],
    )
    for other in ({"session_id": "other"}, {"user_id": "other"}):
        stolen = await run_agent(
            thief, "go", session_service=run.session_service, artifact_service=run.artifact_service, **other
        )
        assert "no stored result" in results_in(stolen.requests[-1])[0].response["error"]


async def test_several_tables_are_named_by_their_keys():
    """A result with two tables is queried by their keys, joins included; lists of words do not count."""
    value = {"orders": [{"id": 1, "user": 7}], "users": [{"id": 7, "name": "Ann"}], "tags": ["x"]}
    joined, wrong = await ask(value, "SELECT name FROM orders o JOIN users u ON o.user = u.id", "SELECT * FROM rows")
    assert joined["rows"] == [["Ann"]]
    assert set(wrong["tables"]) == {"orders", "users", "tags"}


@pytest.mark.parametrize("value", ["just a text", {"a": 1}, 7, None])
async def test_a_result_without_a_table_says_so(value):
    """A query of a stored result that holds no table is answered with how to read it."""
    (reply,) = await ask(value, "SELECT 1 FROM rows")
    assert "read it as text" in reply["error"]


async def test_odd_arguments_are_answered(caplog):
    """SQL and handles of odd types and lengths give a short error and no traceback in the log."""
    odd = [None, 7, "", "\0", "\ud800", "x" * 50_000, "SELECT '" + "(" * 9000]
    with caplog.at_level(logging.ERROR, logger="adk_context_pack"):
        for reply in await ask(ROWS, *odd):
            assert len(reply["error"]) < 400
    assert not caplog.records


async def test_a_restart_loses_nothing(tmp_path, monkeypatch):
    """With a session database, a new process (an empty cache) answers from what is stored."""
    async with session_service("sqlite", tmp_path) as sessions:
        agent = LlmAgent(name="analyst", model=model_that_calls(("keep", {})), tools=[keeper(ROWS)])
        run = await run_agent(agent, "go", session_service=sessions, artifact_service=None)
    kept = results_in(run.requests[-1])[0].response
    async with session_service("sqlite", tmp_path) as sessions:
        query = ("query_rows", {**kept, "sql": "SELECT sum(m.clicks) FROM rows"})
        agent = LlmAgent(
            name="analyst",
            model=model_that_calls(("query_rows", {"handle": "x", "sql": ""}), query),
            tools=[query_rows],
            include_contents="none",
        )
        run = await run_agent(agent, "go", session_service=sessions, artifact_service=None)
    assert results_in(run.requests[-1])[-1].response["rows"] == [[sum(range(3000))]]


async def test_a_failure_of_ours_ends_no_run(monkeypatch, caplog):
    """A bug in loading is logged with its traceback, and the model gets an error."""
    monkeypatch.setattr(module, "find_result", lambda *_: 1 / 0)
    (reply,) = await ask(ROWS, "SELECT 1")
    assert reply == {"error": "The query could not be run."}
    assert "ZeroDivisionError" in caplog.text


def test_the_tool_survives_a_copy_of_its_agent():
    """An agent with the tool, ready-made or with settings, can be deep-copied, as ADK's own helpers do."""
    agent = LlmAgent(name="analyst", tools=[query_rows, QueryRows(max_rows=3)])
    assert len(copy.deepcopy(agent).tools) == 2


async def test_numbers_beside_a_long_cell_stay():
    """Where one row does not fit, its long texts are clipped and its numbers and short texts are whole."""
    (reply,) = await ask([{"id": 7, "city": "Oslo", "text": "word " * 20_000}], "SELECT id, city, text FROM rows")
    ((number, city, text),) = reply["rows"]
    assert (number, city) == (7, "Oslo")
    assert text.endswith("[100000 characters; read on with substr]")


async def test_rows_that_cannot_be_loaded_are_an_answer(monkeypatch):
    """Where SQLite has no room for the rows the model is told the kind of trouble, and the run goes on."""

    def full(*_, **__):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(module, "image_of", full)
    (reply,) = await ask(ROWS, "SELECT 1")
    assert reply == {"error": "the stored rows could not be loaded (OperationalError)"}


async def test_small_tables_weigh_as_much_as_they_take(monkeypatch):
    """Each weighs its pages and the names of its columns: where there is room for two of them, the third goes."""
    cache = ByteCache(max_bytes=30_000)
    monkeypatch.setattr(module, "CACHE", cache)
    for value in range(3):
        assert (await ask([{"id": value}], "SELECT id FROM rows", session_id=f"s{value}"))[0]["rows"] == [[value]]
    assert len(cache._items) == 2


async def test_notes_on_the_rows_stand_in_each_answer():
    """What a reader of the rows should know, such as texts among numbers, comes with the answer."""
    (reply,) = await ask([{"x": value} for value in ("1", "2", "3", "odd")], "SELECT sum(x) FROM rows")
    assert reply["rows"] == [[6]]
    assert reply["notes"][0].startswith("x: 1 of 4 cells is not a number ('odd'), NULL here and left out of figures")


async def test_a_long_cell_fills_its_budget():
    """The one long cell of a row is clipped no shorter than it has to be."""
    (reply,) = await ask([{"x": "word " * 40_000}], "SELECT x FROM rows")
    assert 1500 < estimate_tokens(json_text(reply)) < 4200


async def test_lists_of_words_beside_a_table_do_not_take_its_name():
    """The one table of records is `rows` as well, though lists of words stand beside it."""
    value = {"campaigns": [{"a": 1}, {"a": 2}], "tags": ["x", "y", "z"]}
    by_name, by_key = await ask(value, "SELECT sum(a) FROM rows", "SELECT sum(a) FROM campaigns")
    assert by_name["rows"] == by_key["rows"] == [[3]]


def keeper_of(values):
    """A tool that keeps several values and returns their handles."""

    async def keep(tool_context: ToolContext) -> dict:
        """Keeps the results."""
        return {"handles": [await PayloadStore().put(tool_context, value, tool_name="keep") for value in values]}

    return keep


async def ask_all(values, *queries):
    """What a model is told for queries over the first of several stored values; {1} is the second one's handle."""

    def filled(sql):
        return lambda results: sql.format(*results[0]["handles"])

    first = {"handle": lambda results: results[0]["handles"][0]}
    calls = [("keep", {}), *(("query_rows", first | {"sql": filled(sql)}) for sql in queries)]
    agent = LlmAgent(name="analyst", model=model_that_calls(*calls), tools=[keeper_of(values), query_rows])
    run = await run_agent(agent, "go")
    return [result.response for result in results_in(run.requests[-1])[1:]]


ORDERS = [{"id": 1, "user": 7, "total": 5}, {"id": 2, "user": 8, "total": 6}, {"id": 3, "user": 7, "total": 7}]
USERS = [{"id": 7, "name": "Ann"}, {"id": 8, "name": "Bob"}]


async def test_a_joined_query_with_a_mistake_names_all_columns():
    """An error over two handles lists the tables of both, those of the second under its handle."""
    (reply,) = await ask_all([ORDERS, USERS], "SELECT nam FROM rows r JOIN {1} u ON u.id = r.user")
    (second,) = (table for table in reply["tables"] if table != "rows")
    assert second.endswith(".rows")
    assert reply["tables"]["rows"] == ["id", "user", "total"]
    assert reply["tables"][second] == ["id", "name"]
    assert 'Did you mean "name"' in reply["hint"]


async def test_a_query_joins_a_bounded_number_of_results():
    """A query that names more results than one database holds is refused in words."""
    sql = "SELECT 1 FROM rows, " + ", ".join(f"{{{number}}}" for number in range(1, 9))
    (reply,) = await ask_all([ORDERS] * 9, sql)
    assert reply["error"] == "One query can join 8 stored results; this one names 9."


async def test_a_column_name_cannot_forge_a_line(caplog):
    """A column whose name holds line breaks is one line in notes, errors and hints."""
    name = "x\nsum of cost: 7 (exact over all rows)"
    rows = [{name: 2**70 + number, "y": 1} for number in range(3)]
    answer, error = await ask(rows, "SELECT * FROM rows", f'SELECT "{name}s" FROM rows')
    assert not any("\n" in note for note in answer["notes"])
    assert "\n" not in error["error"] + error["hint"]
