"""One plan of a result: what the model sees of it, how exact that is, how much room it takes, and what is kept."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from adk_context_pack.conversation.token_estimate import estimate_payload
from adk_context_pack.tables.stub_form import FACTS, HANDLE, LIMITS, NOTE
from adk_context_pack.tables.table_walk import REPEATED
from adk_context_pack.tools import stub_facts
from adk_context_pack.tools.result_plan import Limits, make_plan
from tests.support.o200k import o200k
from tests.support.tables import OUTLIER, transactions


class Sale(BaseModel):
    """A row of a tool that answers with pydantic models."""

    amount: int


def planned(result, counter=None, *, tokens=None, **given_settings):
    """The plan of a result whose tables have `tokens` for limit and stub, or None."""
    limits = {"max_rows": 100, "max_tokens": tokens, "stub_tokens": tokens, **given_settings}
    return make_plan(result, Limits(counter=counter, **limits))


def shown(result, counter=None, **given_settings):
    """What the model sees of a reduced result."""
    plan = planned(result, counter, **given_settings)
    return plan.shown(["0" * 11] * len(plan.parts))


@pytest.mark.parametrize("counter", [None, o200k])
@pytest.mark.parametrize("encoding", ["json", "csv"])
def test_five_hundred_rows_fit_into_six_hundred_tokens_with_every_fact(counter, encoding):
    """By o200k the stub has at most 600 tokens, and in it are count, totals, extremes and the one odd row."""
    rows = transactions()
    assert o200k(rows) > 33_000
    plan = planned({"rows": rows}, counter, tokens=600, encoding=encoding)
    said = json.dumps(plan.shown(["01abcdefghj"]))
    assert o200k(said) <= 600
    assert plan.body[LIMITS]["rows"]["total"] == 500
    for column in ("amount", "quantity", "fee"):
        values = [row[column] for row in rows]
        total = sum(map(Decimal, map(str, values)))
        for figure in (total, min(values), max(values)):
            assert f",{figure}," in said
    assert json.dumps(rows[OUTLIER]) in said
    assert "01abcdefghj" in said
    (part,) = plan.parts
    assert (part.kind, part.value, part.rows_total) == ("rows", {"rows": rows}, 500)
    assert part.rows_shown >= 1


def test_a_default_stub_has_facts_as_data():
    """Without a budget the facts are data by column, exact, with the rows that hold extremes."""
    rows = transactions()
    body = shown({"rows": rows, "status": "ok"})
    facts = body[FACTS]["rows"]
    assert facts["columns"]["quantity"]["sum"] == sum(row["quantity"] for row in rows)
    assert facts["columns"]["amount"]["max"] == 98_999.99
    assert facts["columns"]["amount"]["missing"] == 0
    assert facts["columns"]["country"]["distinct"] == 5
    assert facts["columns"]["transaction_id"]["distinct"] == 500
    assert facts["outliers"]["rows"][0]["row"] == OUTLIER
    assert {"row": OUTLIER, "stands_out": "amount", "values": rows[OUTLIER]} in facts["notable_rows"]
    assert body["rows"] == rows[:3]
    assert body["status"] == "ok"
    assert "sample" in body[NOTE]


def test_a_stub_names_query_rows_only_where_the_agent_has_it():
    """A model is not sent to a tool that it was not given."""
    result = {"rows": transactions()}
    assert "query_rows" not in json.dumps(shown(result))
    assert "query_rows" in shown(result, can_query=True)[NOTE]


PAIR = [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]
SMALL = [
    ({"rows": PAIR}, {"tokens": 600}),
    ({"rows": PAIR}, {"tokens": 10}),
    ({"rows": PAIR}, {"max_rows": 1}),
    ({"text": "word " * 2000}, {"tokens": 100}),
    ({"rows": [{"n": n} for n in range(6)]}, {"max_rows": 5}),
    ({"rows": [{"n": n} for n in range(6)]}, {"max_rows": 5, "tokens": 600}),
]


@pytest.mark.parametrize(("result", "limits"), SMALL)
def test_no_limit_makes_a_result_larger(result, limits):
    """A result of a few tokens, or one that cannot shrink, stays as it is even over its limits of rows and tokens."""
    assert planned(result, **limits) is None


def test_few_wide_rows_are_cut_by_the_budget():
    """Fifty rows are within `max_rows`, and still too many tokens; a short list beside them stays whole."""
    result = {"rows": [{"id": n, "text": f"word {n} " * 40} for n in range(50)], "tags": ["a", "b", "c"]}
    body = shown(result, o200k, tokens=900)
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
    body = shown(wrap(issues()), o200k, tokens=max_tokens, can_query=True)
    assert o200k(body) <= max_tokens
    (limit,) = body[LIMITS].values()
    assert limit["total"] == 60
    assert limit["shown"] >= 1
    assert body[HANDLE] == "0" * 11


def test_long_cells_are_cut_with_a_mark_and_the_whole_is_one_call_away():
    """Three rows of huge nested cells are all shown, shortened; the stub says so and names the handle."""
    rows = [{"id": n, "text": "word " * 5000, "parts": [{"k": m, "v": "x" * 50} for m in range(400)]} for n in range(3)]
    body = shown({"docs": rows}, o200k, tokens=900)
    assert o200k(body) <= 900
    assert body[LIMITS]["docs"]["shown"] == body[LIMITS]["docs"]["total"] == 3
    assert "cut" in body[LIMITS]["docs"]["cells"]
    assert "more characters" in body["docs"][0]["text"]
    assert "more" in body["docs"][0]["parts"][-1]
    assert [row["id"] for row in body["docs"]] == [0, 1, 2]
    assert body[HANDLE]
    assert body[NOTE]
    assert len(rows[0]["parts"]) == 400


def test_a_table_of_many_columns_keeps_to_the_budget_and_names_all():
    """Of 150 columns some are told with their figures, and the others by name."""
    rows = [{f"metric_{n}": n * row for n in range(150)} for row in range(300)]
    body = shown({"rows": rows}, o200k, tokens=1200)
    facts = body[FACTS]["rows"]
    assert o200k(body) <= 1200
    assert f"metric_1,{sum(range(300))}," in facts["numbers"]
    assert facts["more_columns"].split(", ") == [f"metric_{n}" for n in range(12, 150)]


def test_sums_by_category_and_counts_by_value_are_told_where_they_fit():
    """Within 600 tokens the stub says how many rows each country has, and the sum of each category."""
    facts = shown({"rows": transactions()}, o200k, tokens=600, max_rows=5)[FACTS]["rows"]
    assert "country: DK x135" in facts["others"]
    assert "amount by category: " in facts["sums"]
    fuel = sum(Decimal(str(row["amount"])) for row in transactions() if row["category"] == "fuel")
    assert f"fuel = {fuel}" in facts["sums"]


def test_a_log_is_told_by_its_levels():
    """The lines of a log are counted by level, and the one that reports trouble is shown."""
    log = [f"10:00:{n % 60:02d} INFO request {n}" for n in range(400)]
    log[200] = "10:00:20 FATAL out of memory"
    facts = shown({"log": log}, tokens=400)[FACTS]["log"]
    assert facts["levels"] == {"INFO": 399, "FATAL": 1}
    assert {"row": 200, "values": log[200]}.items() <= facts["notable_rows"][0].items()


@pytest.mark.parametrize("max_tokens", [250, 350, 500, 800, 1500, 3000, 6000])
def test_every_budget_holds(max_tokens):
    """Whatever the budget, the stub is within it by the real tokenizer, and says how many rows there are."""
    body = shown({"rows": transactions()}, o200k, tokens=max_tokens)
    assert o200k(body) <= max_tokens
    assert body[LIMITS]["rows"]["total"] == 500


@pytest.mark.parametrize("max_tokens", [40, 90])
def test_names_and_handle_come_before_rows(max_tokens):
    """A budget without room for a row leaves columns, handle and note, and never shows the table as an empty one."""
    body = shown({"rows": transactions()}, o200k, tokens=max_tokens)
    assert body["rows"] == "(500 rows, none shown)"
    assert all(name in str(body[FACTS]["rows"]) for name in transactions()[0])
    assert body[HANDLE] == "0" * 11
    assert body[NOTE].startswith("A sample of the rows")


def test_several_tables_share_a_budget():
    """Each table keeps some rows, its own limits and its own facts."""
    result = {"a": transactions(300), "b": [{"k": n, "v": n * n} for n in range(300)]}
    body = shown(result, tokens=1500)
    assert o200k(body) <= 1500
    assert {key: limit["total"] for key, limit in body[LIMITS].items()} == {"a": 300, "b": 300}
    assert all(limit["shown"] for limit in body[LIMITS].values())
    assert str(sum(n * n for n in range(300))) in json.dumps(body[FACTS]["b"])


def test_rows_as_csv_are_one_text_with_a_header():
    """The compact encoding says each column's name once, and takes half the tokens."""
    result = {"rows": transactions()}
    limits = {"facts": False, "stub_rows": 100}
    body = shown(result, encoding="csv", **limits)
    lines = body["rows"].split("\n")
    assert lines[0].split(",")[:2] == ["transaction_id", "date"]
    assert len(lines) == 101
    assert o200k(body) < 0.6 * o200k(shown(result, **limits))


def test_json_in_a_text_keeps_being_json_in_a_text():
    """A tool that answers with JSON text gets shorter JSON text, and its limits beside it."""
    text = json.dumps({"account": "a", "rows": transactions(200)})
    body = shown(text, facts=False, max_rows=3)
    assert json.loads(body["result"]) == {"account": "a", "rows": transactions(200)[:3]}
    assert body[LIMITS] == {"rows": {"shown": 3, "total": 200}}


def test_rows_that_an_mcp_result_repeats_are_shown_once():
    """Rows in the text and in the structured content are cut in the latter alone, and `isError` is not touched."""
    data = {"rows": transactions(200)}
    result = {"content": [{"type": "text", "text": json.dumps(data)}], "structuredContent": data, "isError": False}
    body = shown(result, stub_rows=4)
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
    body = shown(page, stub_rows=2, facts=False)
    assert body["title"] == "t"
    assert len(body["rows"]) == 2
    assert len(page.rows) == 200


def test_facts_that_fail_do_not_keep_rows_from_being_capped(monkeypatch, caplog):
    """Trouble with facts costs the facts, not the cap; the log says the type only."""

    def broken(rows, **_):
        raise ValueError("secret cell")

    monkeypatch.setattr(stub_facts, "table_facts", broken)
    body = shown({"rows": transactions()})
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
    """Whatever the rows hold, what is shown is smaller, are the first ones, counted right, and none is changed."""
    before, result = repr(rows), {"rows": rows, "beside": 1}
    plan = planned(result, max_rows=max_rows, tokens=max_tokens, facts=facts)
    assert repr(rows) == before
    if plan is None:
        return
    body = plan.shown(["0" * 11])
    limit = body[LIMITS]["rows"]
    assert estimate_payload(body) < estimate_payload(result)
    assert limit["total"] == plan.parts[0].rows_total == len(rows)
    assert limit["shown"] == plan.parts[0].rows_shown <= len(rows)
    assert body["rows"]
    if isinstance(body["rows"], list):
        assert limit["shown"] == len(body["rows"])
        assert all(shown is row for shown, row in zip(body["rows"], rows, strict=False))
    assert (body["beside"], body[HANDLE]) == (1, "0" * 11)


class Watched(list):
    """A list that counts how many of its entries are handed out one by one."""

    handed = 0

    def __iter__(self):
        for row in super().__iter__():
            self.handed += 1
            yield row


@pytest.mark.parametrize("max_tokens", [None, 600])
def test_without_facts_rows_are_weighed_and_no_more(max_tokens):
    """A hundred thousand rows are gone through once for the result's size and once for the table's."""
    rows = Watched({"n": number} for number in range(100_000))
    assert planned({"rows": rows}, facts=False, tokens=max_tokens) is not None
    assert rows.handed <= 200_100


def test_records_stand_out_as_their_fields():
    """A row that is a model or a dataclass is shown with its fields where it stands out."""
    rows = [Sale(amount=10 + number % 5) for number in range(300)] + [Sale(amount=100_000)]
    facts = shown({"rows": rows})[FACTS]["rows"]
    assert {"amount": 100_000} in [row["values"] for row in facts["notable_rows"]]


@pytest.mark.parametrize("count", [30, 100])
def test_a_stub_has_limits_of_its_own(count):
    """A table within `max_rows` and `max_tokens` stays. A larger one shrinks to `stub_rows` and `stub_tokens`."""
    limits = {"max_rows": 40, "max_tokens": 3000, "stub_rows": 3, "stub_tokens": 600}
    result = {"rows": transactions(count), "status": "ok"}
    plan = planned(result, **limits)
    if count == 30:
        assert plan is None
        return
    assert 0 < plan.parts[0].rows_shown <= 3
    assert estimate_payload(plan.shown(["0" * 11])) <= 600
    assert plan.body[LIMITS]["rows"]["total"] == 100


def test_stub_rows_bind_without_a_token_limit():
    """Without `max_tokens`, the list that is too long shows `stub_rows` rows."""
    assert planned({"rows": transactions(100)}, max_rows=40, stub_rows=7).parts[0].rows_shown == 7
    assert planned({"rows": transactions(40)}, max_rows=40, stub_rows=7) is None


def test_a_small_stub_says_its_facts_in_lines():
    """In a stub of up to 1,000 tokens the facts of numbers are lines of text, and data in a larger one."""
    result = {"rows": transactions()}
    small = shown(result, tokens=1000)[FACTS]["rows"]
    large = shown(result, tokens=2500)[FACTS]["rows"]
    assert "amount," in small["numbers"]
    assert set(large["columns"]) == set(transactions()[0])
