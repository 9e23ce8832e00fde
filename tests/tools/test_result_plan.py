"""One plan of a result: what the model sees of it, how exact that is, how much room it takes, and what is kept."""

import json
import random
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adk_context_pack.conversation.token_estimate import estimate_payload
from adk_context_pack.tables.find_tables import REPEATED
from adk_context_pack.tables.stub_form import FACTS, HANDLE, LIMITS, NOTE
from adk_context_pack.tools import result_plan
from adk_context_pack.tools.result_plan import ResultLimits, is_page, make_plan
from tests.support.o200k import o200k
from tests.support.tables import OUTLIER, transactions


def planned(result, counter=None, *, tokens=None, **given_settings):
    """The plan of a result whose tables have `tokens` for limit and stub, or None."""
    limits = {"max_rows": 100, "max_tokens": tokens, "stub_tokens": tokens, **given_settings}
    return make_plan(result, ResultLimits(counter=counter, **limits))


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
    assert all(str(cell) in said for cell in rows[OUTLIER].values())
    assert plan.body[LIMITS]["rows"]["rows"].endswith(f"{OUTLIER} (amount)")
    assert plan.shown(["01abcdefghj"])[NOTE].startswith("Only some rows, numbered from 0 in _row_limits")
    assert "01abcdefghj" in said
    (part,) = plan.parts
    assert (part.kind, part.value, part.rows_total) == ("rows", {"rows": rows}, 500)
    assert part.rows_shown >= 1


@settings(max_examples=30)
@given(st.lists(st.lists(st.decimals("0.01", "99", places=2), max_size=9), min_size=9, max_size=40))
def test_rows_within_rows_have_facts_of_their_own(costs):
    """What orders say is told of orders and what their lines say of lines, exactly, and no total is told twice."""
    orders = [
        {
            "order": f"o{n}",
            "shipping": n + 1,
            "note": "left " * 9,
            "lines": [{"sku": "a", "cost": str(cost)} for cost in lines],
        }
        for n, lines in enumerate(costs)
    ]
    body, flat = shown({"orders": orders}, max_rows=4), [cost for lines in costs for cost in lines]
    assert body[LIMITS]["orders"]["total"] == len(costs)
    assert f"shipping,{sum(range(1, len(costs) + 1))}," in body[FACTS]["orders"]["numbers"]
    assert ("orders.lines" in body[LIMITS]) == (len(flat) > len(costs))
    if len(flat) > len(costs):
        assert body[LIMITS]["orders.lines"] == {"shown": 0, "total": len(flat)}
        (name, total, low, high), *others = (
            line.split(",")[:4] for line in body[FACTS]["orders.lines"]["numbers"].split("\n")[1:]
        )
        assert not others
        assert (name, *map(Decimal, (total, low, high))) == ("cost", sum(flat), min(flat), max(flat))


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


@pytest.mark.parametrize("max_tokens", [250, 350, 500, 800, 1500, 3000, 6000])
def test_every_budget_holds(max_tokens):
    """Whatever the budget, the stub is within it by the real tokenizer, and says how many rows there are."""
    body = shown({"rows": transactions()}, o200k, tokens=max_tokens)
    assert o200k(body) <= max_tokens
    assert body[LIMITS]["rows"]["total"] == 500


def test_rows_that_an_mcp_result_repeats_are_shown_once():
    """Rows in the text and in the structured content are cut in the latter alone, and `isError` is not touched."""
    data = {"rows": transactions(200)}
    result = {"content": [{"type": "text", "text": json.dumps(data)}], "structuredContent": data, "isError": False}
    body = shown(result, stub_rows=4)
    assert body["structuredContent"]["rows"] == data["rows"][:4]
    assert json.loads(body["content"][0]["text"]) == {"rows": REPEATED}
    assert body["isError"] is False
    assert list(body[LIMITS]) == list(body[FACTS]) == ["rows"]


def test_of_many_short_tables_in_one_preview_three_are_named():
    """A result of ninety short lists is shown by its shape and three of them, not by ninety marks."""
    result = {f"1.{n}": [{"file": f"{n}-{k}", "hash": f"{n}{k}" * 99} for k in range(4)] for n in range(90)}
    assert len(shown(result, tokens=600, text_tokens=600, preview_tokens=200)[LIMITS]) == 3


@pytest.mark.parametrize("figures", [range(60), [None] * 60, [0.5] * 60, ["a"] * 60, [{"text": "a"}] * 60])
def test_prose_stays_whole_beside_any_list(figures):
    """A text that is read to its end, as settings with numbered lines are, stays whatever is listed beside it."""
    words = "the harbour says that sales of northern ports grew slowly since storms and late ships cost fuel"
    text = " ".join(f"{' '.join(random.Random(n).choices(words.split(), k=12))}." for n in range(60))
    settings = "".join(f"{n}\t  port{n}:\n{n}\t    - {n % 7}\n" for n in range(90))
    assert not any(planned({"text": x, "figures": [*figures]}, tokens=600, text_tokens=600) for x in (text, settings))


@pytest.mark.parametrize("keys", [(), ("n", "text"), ("text",), ("part", "text"), ("id", "source", "text")])
def test_of_lines_that_will_be_read_a_stub_shows_few(keys):
    """A list of sentences or sections is read to its end: shown as shortly as a long text. Others are not."""
    words = "the harbour says that sales of northern ports grew slowly since storms and late ships cost fuel"
    lines = [f"{' '.join(random.Random(n).choices(words.split(), k=60))}." for n in range(90)]
    rows = [{key: f"{key}{n}" for key in keys} | {"n": n, "text": line} for n, line in enumerate(lines)]
    rows = [{key: row[key] for key in keys} if keys else row["text"] for row in rows]
    limits = {"tokens": 1000, "text_tokens": 1000, "preview_tokens": 200}
    weight = estimate_payload(shown({"lines": rows}, **limits))
    assert (weight < 400) == (len(keys) < 3)


def test_facts_that_fail_do_not_keep_rows_from_being_capped(monkeypatch, caplog):
    """Trouble with facts costs the facts, not the cap; the log says the type only."""

    def broken(rows, **_):
        raise ValueError("secret cell")

    monkeypatch.setattr(result_plan, "table_facts", broken)
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
@given(tables, st.integers(1, 70), st.none() | st.integers(1, 2000), st.booleans(), st.sampled_from([None, 0]))
def test_any_table_is_within_its_limits_and_untouched(rows, max_rows, max_tokens, facts, most):
    """Whatever the rows hold, what is shown is smaller, are rows of it, counted right, and none is changed."""
    before, result = repr(rows), {"rows": rows, "beside": 1}
    plan = planned(result, max_rows=max_rows, tokens=max_tokens, facts=facts, stub_rows=most)
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
        assert all(any(shown is row for row in rows) for shown in body["rows"])
    assert (body["beside"], body[HANDLE], "No row" in body["_note"]) == (1, "0" * 11, not limit["shown"])


def test_what_names_a_next_page():
    """Tokens, links and flags of nine services say that rows are a page, what is empty or else so called does not."""
    signs = "nextPageToken has_more @odata.nextLink LastEvaluatedKey next IsTruncated incomplete_results nextRecordsUrl"
    for sign in (*signs.split(), "continue"):
        assert (is_page({sign: "t"}), is_page({"meta": {sign: True}}), is_page({sign: None})) == (True, True, False)
    others = ("next_action", "nextSyncToken", "more_info", "endCursor", "total", "_row_facts")
    assert not any(is_page({each: {"next": 1}} if each == "_row_facts" else {each: "t"}) for each in others)
