"""Stubs: what stands in place of many rows, how exact it is and how much room it takes."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from adk_context_pack._json import json_text
from adk_context_pack.conversation.token_estimate import estimate_tokens
from adk_context_pack.tables.stub_form import FACTS, HANDLE, LIMITS, NOTE
from adk_context_pack.tables.table_walk import REPEATED
from adk_context_pack.tools import stub_facts
from adk_context_pack.tools.row_stub import make_stub
from adk_context_pack.tools.stub_plan import StubPlan
from tests.support.o200k import o200k
from tests.support.tables import OUTLIER, transactions


class Sale(BaseModel):
    """A row of a tool that answers with pydantic models."""

    amount: int


def plan(counter=None, **given_settings):
    """The plan of `CapRows` with its defaults."""
    defaults = {"max_rows": 100, "max_tokens": None, "facts": True, "encoding": "json", "can_query": False}
    return StubPlan(**{**defaults, **given_settings}, counter=counter)


@pytest.mark.parametrize("counter", [None, o200k])
@pytest.mark.parametrize("encoding", ["json", "csv"])
def test_five_hundred_rows_fit_into_six_hundred_tokens_with_every_fact(counter, encoding):
    """By o200k the stub has at most 600 tokens, and in it are count, totals, extremes and the one odd row."""
    rows = transactions()
    assert o200k(rows) > 33_000
    stub = make_stub({"rows": rows}, plan(counter, max_tokens=600, encoding=encoding))
    said = json.dumps(stub.with_handle("01abcdefghj"))
    assert o200k(said) <= 600
    assert stub.body[LIMITS]["rows"]["total"] == 500
    for column in ("amount", "quantity", "fee"):
        values = [row[column] for row in rows]
        total = sum(map(Decimal, map(str, values)))
        for figure in (total, min(values), max(values)):
            assert f",{figure}," in said
    assert json.dumps(rows[OUTLIER]) in said
    assert "01abcdefghj" in said
    assert stub.rows_shown >= 1


def test_a_default_stub_has_facts_as_data():
    """Without a budget the facts are data by column, exact, with the rows that hold extremes."""
    rows = transactions()
    body = make_stub({"rows": rows, "status": "ok"}, plan()).body
    facts = body[FACTS]["rows"]
    assert facts["columns"]["quantity"]["sum"] == sum(row["quantity"] for row in rows)
    assert facts["columns"]["amount"]["max"] == 98_999.99
    assert facts["columns"]["amount"]["missing"] == 0
    assert facts["columns"]["country"]["distinct"] == 5
    assert facts["columns"]["transaction_id"]["distinct"] == 500
    assert facts["outliers"]["rows"][0]["row"] == OUTLIER
    assert {"row": OUTLIER, "stands_out": "amount", "values": rows[OUTLIER]} in facts["notable_rows"]
    assert body["rows"] == rows[:100]
    assert body["status"] == "ok"
    assert "sample" in body[NOTE]


def test_a_stub_names_query_rows_only_where_the_agent_has_it():
    """A model is not sent to a tool that it was not given."""
    result = {"rows": transactions()}
    assert "query_rows" not in json.dumps(make_stub(result, plan()).body)
    assert "query_rows" in make_stub(result, plan(can_query=True)).body[NOTE]


def test_facts_that_cost_more_than_they_replace_are_left_out():
    """One tiny row too many: the limit holds, and nothing else is added."""
    result = {"rows": [{"n": n} for n in range(6)]}
    assert make_stub(result, plan(max_rows=5)).body == {
        "rows": result["rows"][:5],
        LIMITS: {"rows": {"shown": 5, "total": 6}},
    }


def test_a_budget_alone_never_makes_a_result_larger():
    """A result of 22 tokens, or one that cannot shrink, stays as it is even over its budget."""
    assert make_stub({"rows": [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]}, plan(max_tokens=600)) is None
    assert make_stub({"rows": [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]}, plan(max_tokens=10)) is None
    assert make_stub({"text": "word " * 2000}, plan(max_tokens=100)) is None


def test_a_budget_does_not_make_room_for_facts_that_cost_more_than_the_rows():
    """A few tiny rows above `max_rows`: a large budget is no reason to say more than the limits."""
    result = {"rows": [{"n": n} for n in range(6)]}
    assert make_stub(result, plan(max_rows=5, max_tokens=600)).body.keys() == {"rows", LIMITS}


def test_few_wide_rows_are_cut_by_the_budget():
    """Fifty rows are within `max_rows`, and still too many tokens; a short list beside them stays whole."""
    result = {"rows": [{"id": n, "text": f"word {n} " * 40} for n in range(50)], "tags": ["a", "b", "c"]}
    body = make_stub(result, plan(o200k, max_tokens=900)).body
    assert o200k(body) <= 900
    assert body[LIMITS]["rows"]["total"] == 50
    assert 0 < body[LIMITS]["rows"]["shown"] < 50
    assert body["tags"] == ["a", "b", "c"]
    assert list(body[LIMITS]) == ["rows"]


def issues(count=60):
    """Issues as a tracker gives them; one has 150 labels."""
    found = [
        {
            "number": n,
            "title": f"Issue {n}",
            "body": f"Steps to reproduce {n}: " + "do this, then that. " * 30,
            "user": {"login": f"user{n}", "id": n},
            "labels": [{"name": "bug", "color": "red"}],
        }
        for n in range(count)
    ]
    found[17]["labels"] = [{"name": f"label {n}", "color": "red", "description": "x" * 40} for n in range(150)]
    return found


@pytest.mark.parametrize("max_tokens", [600, 1500, 4000])
@pytest.mark.parametrize("wrap", [list, lambda rows: {"items": rows}, json.dumps])
def test_few_rows_with_a_long_list_in_one_are_cut_by_the_budget(max_tokens, wrap):
    """Sixty issues, one with 150 labels, keep to the budget, and all sixty are counted and reachable."""
    stub = make_stub(wrap(issues()), plan(o200k, max_tokens=max_tokens, can_query=True))
    assert o200k(stub.body) <= max_tokens
    (limit,) = stub.body[LIMITS].values()
    assert limit["total"] == 60
    assert limit["shown"] >= 1
    assert "0" * 11 in stub.body[HANDLE]


def test_long_cells_are_cut_with_a_mark_and_the_whole_is_one_call_away():
    """Three rows of huge nested cells are all shown, shortened; the stub says so and names the handle."""
    rows = [{"id": n, "text": "word " * 5000, "parts": [{"k": m, "v": "x" * 50} for m in range(400)]} for n in range(3)]
    body = make_stub({"docs": rows}, plan(o200k, max_tokens=900)).body
    assert o200k(body) <= 900
    assert body[LIMITS]["docs"]["shown"] == body[LIMITS]["docs"]["total"] == 3
    assert "cut" in body[LIMITS]["docs"]["cells"]
    assert "more characters" in body["docs"][0]["text"]
    assert "more" in body["docs"][0]["parts"][-1]
    assert [row["id"] for row in body["docs"]] == [0, 1, 2]
    assert body[HANDLE]
    assert body[NOTE]
    assert len(rows[0]["parts"]) == 400


def test_a_table_of_many_columns_keeps_to_the_budget_and_tells_some():
    """Of 150 columns some are told with their figures, the others are counted."""
    rows = [{f"metric_{n}": n * row for n in range(150)} for row in range(300)]
    body = make_stub({"rows": rows}, plan(o200k, max_tokens=1200)).body
    assert o200k(body) <= 1200
    assert f"metric_1,{sum(range(300))}," in body[FACTS]["rows"]["numbers"]
    assert body[FACTS]["rows"]["more_columns"] == 138


def test_sums_by_category_and_counts_by_value_are_told_where_they_fit():
    """Within 600 tokens the stub says how many rows each country has, and the sum of each category."""
    facts = make_stub({"rows": transactions()}, plan(o200k, max_tokens=600, max_rows=5)).body[FACTS]["rows"]
    assert "country: DK x135" in facts["others"]
    assert "amount by category: " in facts["sums"]
    fuel = sum(Decimal(str(row["amount"])) for row in transactions() if row["category"] == "fuel")
    assert f"fuel = {fuel}" in facts["sums"]


def test_a_log_is_told_by_its_levels():
    """The lines of a log are counted by level, and the one that reports trouble is shown."""
    log = [f"10:00:{n % 60:02d} INFO request {n}" for n in range(400)]
    log[200] = "10:00:20 FATAL out of memory"
    facts = make_stub({"log": log}, plan(max_tokens=400)).body[FACTS]["log"]
    assert facts["levels"] == {"INFO": 399, "FATAL": 1}
    assert {"row": 200, "values": log[200]}.items() <= facts["notable_rows"][0].items()


@pytest.mark.parametrize("max_tokens", [40, 90, 150, 250, 350, 500, 800, 1500, 3000, 6000])
def test_every_budget_holds(max_tokens):
    """Whatever the budget, the stub is within it by the real tokenizer, and says how many rows there are."""
    body = make_stub({"rows": transactions()}, plan(o200k, max_tokens=max_tokens)).body
    assert o200k(body) <= max_tokens
    assert body[LIMITS]["rows"]["total"] == 500


def test_several_tables_share_a_budget():
    """Each table keeps some rows, its own limits and its own facts."""
    result = {"a": transactions(300), "b": [{"k": n, "v": n * n} for n in range(300)]}
    body = make_stub(result, plan(max_tokens=1500)).body
    assert o200k(body) <= 1500
    assert {key: limit["total"] for key, limit in body[LIMITS].items()} == {"a": 300, "b": 300}
    assert all(limit["shown"] for limit in body[LIMITS].values())
    assert str(sum(n * n for n in range(300))) in json.dumps(body[FACTS]["b"])


def test_rows_as_csv_are_one_text_with_a_header():
    """The compact encoding says each column's name once, and takes half the tokens."""
    result = {"rows": transactions()}
    body = make_stub(result, plan(encoding="csv", facts=False)).body
    lines = body["rows"].split("\n")
    assert lines[0].split(",")[:2] == ["transaction_id", "date"]
    assert len(lines) == 101
    assert o200k(body) < 0.6 * o200k(make_stub(result, plan(facts=False)).body)


def test_json_in_a_text_keeps_being_json_in_a_text():
    """A tool that answers with JSON text gets shorter JSON text, and its limits beside it."""
    text = json.dumps({"account": "a", "rows": transactions(200)})
    body = make_stub(text, plan(facts=False, max_rows=3)).body
    assert json.loads(body["result"]) == {"account": "a", "rows": transactions(200)[:3]}
    assert body[LIMITS] == {"rows": {"shown": 3, "total": 200}}


def test_rows_that_an_mcp_result_repeats_are_shown_once():
    """Rows in the text and in the structured content are cut in the latter alone, and `isError` is not touched."""
    data = {"rows": transactions(200)}
    result = {"content": [{"type": "text", "text": json.dumps(data)}], "structuredContent": data, "isError": False}
    body = make_stub(result, plan(max_rows=4)).body
    assert body["structuredContent"]["rows"] == data["rows"][:4]
    assert json.loads(body["content"][0]["text"]) == {"rows": REPEATED}
    assert body["isError"] is False
    assert list(body[LIMITS]) == list(body[FACTS]) == ["rows"]


class Page(BaseModel):
    """A page of rows."""

    title: str
    rows: list[dict]


def test_a_pydantic_result_is_capped():
    """The rows of a model are cut in a dict of its fields; the model stays as it was."""
    page = Page(title="t", rows=transactions(200))
    body = make_stub(page, plan(max_rows=2, facts=False)).body
    assert body["result"]["title"] == "t"
    assert len(body["result"]["rows"]) == 2
    assert len(page.rows) == 200


def test_facts_that_fail_do_not_keep_rows_from_being_capped(monkeypatch, caplog):
    """Trouble with facts costs the facts, not the cap; the log says the type only."""

    def broken(rows, **_):
        raise ValueError("secret cell")

    monkeypatch.setattr(stub_facts, "table_facts", broken)
    body = make_stub({"rows": transactions()}, plan()).body
    assert FACTS not in body
    assert HANDLE in body
    assert "ValueError" in caplog.text
    assert "secret" not in caplog.text


cells = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=30), st.lists(st.integers(), max_size=1)
)
tables = st.lists(st.dictionaries(st.text(max_size=8), cells, max_size=6), max_size=60)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(rows=tables, max_rows=st.integers(1, 70), max_tokens=st.none() | st.integers(1, 2000), facts=st.booleans())
def test_any_table_is_within_its_limits_and_untouched(rows, max_rows, max_tokens, facts):
    """Whatever the rows hold, no more than `max_rows` are shown, they are the first ones, and none is changed."""
    before = repr(rows)
    stub = make_stub({"rows": rows, "beside": 1}, plan(max_rows=max_rows, max_tokens=max_tokens, facts=facts))
    assert repr(rows) == before
    if stub is None:
        assert len(rows) <= max_rows
        return
    limit = stub.body[LIMITS]["rows"]
    assert limit["total"] == len(rows)
    assert limit["shown"] == len(stub.body["rows"]) <= max_rows
    assert all(shown is row for shown, row in zip(stub.body["rows"], rows, strict=False))
    assert stub.body["beside"] == 1


class Watched(list):
    """A list that counts how many of its entries are handed out one by one."""

    handed = 0

    def __iter__(self):
        for row in super().__iter__():
            self.handed += 1
            yield row


@pytest.mark.parametrize("max_tokens", [None, 600])
def test_without_facts_the_number_of_rows_costs_nothing(max_tokens):
    """Of a hundred thousand rows only those are looked at that are shown or weighed against the stub."""
    rows = Watched({"n": number} for number in range(100_000))
    assert make_stub({"rows": rows}, plan(facts=False, max_tokens=max_tokens)) is not None
    assert rows.handed <= 200


def test_records_stand_out_as_their_fields():
    """A row that is a model or a dataclass is shown with its fields where it stands out."""
    rows = [Sale(amount=10 + number % 5) for number in range(300)] + [Sale(amount=100_000)]
    stub = make_stub({"rows": rows}, plan(max_rows=10))
    facts = stub.body["_row_facts"]["rows"]
    assert {"amount": 100_000} in [row["values"] for row in facts["notable_rows"]]


def test_facts_are_weighed_against_the_rows_left_out():
    """Facts that cost more than the few rows that are left out stand in no stub, however heavy the shown rows are."""
    rows = [*({"a": "x" * 400, "b": number} for number in range(100)), {"a": "y", "b": 100}]
    stub = make_stub({"rows": rows}, plan())
    assert stub.shown == {"rows": 100}
    assert FACTS not in stub.body


@pytest.mark.parametrize("count", [30, 100])
def test_a_stub_has_limits_of_its_own(count):
    """A table within `max_rows` and `max_tokens` stays. A larger one shrinks to `stub_rows` and `stub_tokens`."""
    limits = {"max_rows": 40, "max_tokens": 3000, "stub_rows": 3, "stub_tokens": 600}
    result = {"rows": transactions(count), "status": "ok"}
    stub = make_stub(result, plan(**limits))
    if count == 30:
        assert stub is None
        return
    assert 0 < stub.rows_shown <= 3
    assert estimate_tokens(json_text(stub.body)) <= 600
    assert stub.body[LIMITS]["rows"]["total"] == 100


def test_stub_rows_bind_without_a_token_limit():
    """Without `max_tokens`, the list that is too long shows `stub_rows` rows."""
    assert make_stub({"rows": transactions(100)}, plan(max_rows=40, stub_rows=7)).rows_shown == 7
    assert make_stub({"rows": transactions(40)}, plan(max_rows=40, stub_rows=7)) is None


def test_a_small_stub_says_its_facts_in_lines():
    """In a stub of up to 1,000 tokens the facts of numbers are lines of text, and data in a larger one."""
    result = {"rows": transactions()}
    small = make_stub(result, plan(max_tokens=1000)).body[FACTS]["rows"]
    large = make_stub(result, plan(max_tokens=2500)).body[FACTS]["rows"]
    assert "amount," in small["numbers"]
    assert set(large["columns"]) == set(transactions()[0])
