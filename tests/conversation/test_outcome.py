"""What came of a call, in a few words."""

import pytest
from google.adk.events.event import Event
from google.genai import types

from adk_context_pack.conversation.account import HEAD, Line, account_lines, bounded, event_text, lines_in
from adk_context_pack.conversation.clearing import outcome_of
from adk_context_pack.conversation.token_estimate import TokenMeter
from tests.support.events import agent_called, agent_said, call_part, event, result_part, tool_returned, user_said

ROWS = [{"id": 1, "cost": 2}, {"id": 2, "cost": 3}]
MARK = "[text of 24000 characters, shown in part. The whole is kept; read_payload(handle='abc') reads and searches it]"


@pytest.mark.parametrize(("response", "told"), [
    (None, "null"), ({}, "{}"), ("plain", '"plain"'), ([1, 2, 3], "list of 3"), ({"result": "short"}, '"short"'),
    ({"result": "x" * 61}, "text of 61 characters"), ({"result": [{"a": 1, "b": 2}] * 7}, "list of 7 {a, b}"),
    ({"output": True}, "true"), ({"rows": []}, "{rows: list of 0}"),
    ({"a": None, "b": False, "c": 1.5, "d": 2}, "{a: null, b: false, c: 1.5, d: 2}"),
    ({"deep": {str(n): n for n in range(10)}}, "{deep: {0, 1, 2, 3, 4, 5, 6, 7, +2}}"),
    ({"blob": b"x"}, "{blob: b'x'}"), ({1: 2, "x": 3}, "{1: 2, x: 3}"),
    ({"k" * 70: "v", "x": 1}, f'{{{"k" * 60}… [+10 characters]: "v", x: 1}}'),
    ({"rows": [{"id": 1}], "_row_limits": {"rows": {"shown": 1, "total": 500}}, "_handle": "h1", "_note": "n"},
     '{rows: list of 500, _handle: "h1"}'),
    ({"rows": [1], "a": [2], "_row_limits": {"rows": "odd", "a": {"total": "many"}, "gone": {"total": 5}}},
     "{rows: list of 1, a: list of 1}"),
    ({"errors": ["a", "b"]}, 'error: ["a","b"]'), ({"error": {"code": 3}}, 'error: {"code":3}'),
    ({"status": "FAILED", "reason": "no"}, "error: no"), ({"status": "denied"}, "error: denied"),
    ({"isError": True}, "error: failed"),
    ({"result": "Traceback (most recent call last)"}, "error: Traceback (most recent call last)"),
    ({"result": f"{MARK}\nhead\ntail"}, "text of 24000 characters (_handle abc)"),
    ({"log": "[JSON of 9000 characters, shown in part. The whole is kept as abc]\n{}", "status": "ok"},
     '{log: JSON of 9000 characters (_handle abc), status: "ok"}'),
    ({"a": {"rows": ROWS}, "_row_limits": {"a.rows": {"shown": 2, "total": 900}}, "_handle": "abc"},
     '{a: {rows}, _handle: "abc", a.rows: list of 900}'),
    ({"error": f"{MARK}\ndisk full"}, "error: disk full… [text of 24000 characters (_handle abc)]"),
    ({"error": "one shard", "rows": ROWS}, "error: one shard, beside {rows: list of 2 {id, cost}}"),
    ({"content": [{"type": "text", "text": "sunny"}], "isError": False}, '"sunny"'),
    ({"content": [{"type": "text", "text": '{"a": 1, "b": [1, 2]}'}]}, "{a, b}"),
    ({"content": [{"type": "text", "text": "12"}]}, '"12"'),
    ({"content": [{"type": "text", "text": " [1, 2"}]}, '" [1, 2"'),
    ({"content": [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]}, "list of 2"),
    ({"content": [{"type": "text", "text": "x"}, {"type": "audio"}]}, '{result: "x", attached: "audio"}'),
    ({"data": [], "error": "no"}, "error: no"),
    ({"data": [1], "other": [2], "error": "no", "_handle": "h1"},
     'error: no, beside {data: list of 1, _handle: "h1"}'),
    ({"content": [{"type": "text", "text": '[{"a": 1}, {"a": 2}]'}]}, "list of 2 {a}"),
    ({"content": [{"type": "text", "text": '{"a": 1}'}] * 3, "isError": False}, "list of 3 {a}"),
    ({"content": [{"type": "text", "text": "x"}], "structuredContent": {"rows": ROWS, "next": None}},
     "{rows: list of 2 {id, cost}, next: null}"),
    ({"content": [{"type": "text", "text": "x"}], "structuredContent": {"rows": ROWS},
      "_row_limits": {"rows": {"shown": 2, "total": 150}}, "_handle": "abc"},
     '{rows: list of 150, _handle: "abc"}'),
    ({"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]}, '{attached: "image"}'),
    ({"content": [{"type": "text", "text": "no quota"}], "isError": True}, "error: no quota"),
])  # fmt: skip
def test_tells_status_sizes_handles_and_what_blocks_hold(response, told):
    """A response is told by status, error, counts and shapes, a reduced one by its true size, MCP's by its blocks."""
    assert outcome_of(response, max_chars=300, max_error_chars=300) == told


def test_tells_only_the_first_entries_of_a_wide_response():
    """A response of very many keys is told by its first ones, and how many more there are."""
    told = outcome_of({f"k{n}": n for n in range(30)}, max_chars=1000, max_error_chars=9)
    assert told.endswith("k19: 19, +10}")


def test_keeps_to_its_limits():
    """Neither a description nor an error text gets longer than its limit and the mark."""
    wide = {f"key{n}": "v" * 30 for n in range(20)}
    assert outcome_of(wide, max_chars=50, max_error_chars=9).startswith('{key0: "')
    assert outcome_of({"error": "e" * 99}, max_chars=9, max_error_chars=10) == f"error: {'e' * 10}… [+89 characters]"


LINES = [
    ("user", "[user] What does lookup(x) -> y mean?"),
    ("tool", '[worker] look_up({"city":"Rome"}) -> 3 rows'),
    ("agent", "[worker] It goes up -> that is (all)."),
    ("agent", "[worker] It calls (me) and ends."),
    ("agent", "[worker] Two lines,\n  the second one here."),
]


def test_each_line_is_read_back_with_its_kind():
    """A tool's line has a call before the arrow, whoever speaks of calls and arrows in other ways."""
    account = "\n".join(["What happened:", *(text for _, text in LINES)])
    assert [(line.kind, line.text) for line in lines_in(account)] == LINES


LIMITS = 20, 20, 40


def told(*events):
    return [tuple(line) for line in account_lines(events, LIMITS)]


def test_calls_and_results_are_one_line():
    """A call has its result behind an arrow, found by id or by name. A result without a call has a line of its own."""
    assert told(
        user_said("What is it? " * 5),
        agent_called("a", "look", "c1", city="Oslo"),
        agent_called("a", "look", "c2", city="Rome"),
        agent_called("a", "ask", q=1),
        tool_returned("a", "look", {"n": 2}, "c2"),
        tool_returned("a", "ask", {"n": 3}),
        tool_returned("a", "look", {"n": 1}, "c1"),
        tool_returned("a", "look", {"n": 4}, "c1"),
        agent_said("b", "x" * 21),
        agent_said("b", "x" * 20),
    ) == [
        ("user", f"[user] {'What is it? ' * 5}"),
        ("tool", '[a] look({"city":"Oslo"}) -> {n: 1}'),
        ("tool", '[a] look({"city":"Rome"}) -> {n: 2}'),
        ("tool", '[a] ask({"q":1}) -> {n: 3}'),
        ("tool", "[a] look(…) -> {n: 4}"),
        ("agent", f"[b] {'x' * 20}… [+1 characters]"),
        ("agent", f"[b] {'x' * 20}"),
    ]


def test_an_earlier_account_is_taken_in_line_by_line():
    """What ADK hands on as words of "model" is an account. The same words of anybody else are quoted."""
    text = f"{HEAD}\n[user] Hi.\n  More.\n[a] f(1) -> 2"
    assert told(agent_said("model", text)) == [("user", "[user] Hi.\n  More."), ("tool", "[a] f(1) -> 2")]
    ((kind, line),) = told(user_said(text))
    assert kind == "user"
    assert line == "[user] " + text.replace("\n", "\n  ")


def test_the_text_of_an_event():
    """Words stand alone, calls and results with their tool, without thoughts and credentials."""
    parts = [
        types.Part(text="Well."),
        types.Part(text="hm", thought=True),
        call_part("look", {"a": 1}),
        result_part("look", {"b": 2}),
        call_part("adk_request_credential", {"key": "k"}),
        result_part("adk_request_credential", {"key": "k"}),
        result_part(None, None),
    ]
    assert (
        event_text(event("a", *parts))
        == 'Well.\ncalled look: {"a":1}\nreturned look: {"b":2}\nreturned : {"result":null}'
    )
    assert event_text(Event(author="a")) == ""


def test_what_leaves_an_account_that_is_too_long():
    """Tools leave first, then agents, then the user, the oldest first. A line counts them, with those of before."""
    meter = TokenMeter(counter=len)
    lines = [Line("user", "[user] u" + "." * 42), Line("tool", "[a] t1" + "." * 44), Line("agent", "[a] a" + "." * 45),
             Line("tool", "[a] t2" + "." * 44)]  # fmt: skip
    assert {len(line.text) for line in lines} == {50}
    dropped = "[…] older entries left out: "
    room = len(HEAD) + len(dropped) + 4
    left = [
        [line.text[4:6] for line in lines if line.text in bounded(lines, room + count * 51 + more, meter)]
        for count, more in ((4, 0), (4, -1), (2, 0), (2, -1), (1, 0), (1, -1))
    ]
    assert left == [["r]", "t1", "a.", "t2"], ["r]", "a.", "t2"], ["r]", "a."], ["r]"], ["r]"], []]
    assert bounded(lines, room + 204, meter) == "\n".join([HEAD, *(line.text for line in lines)])
    assert bounded(lines, room + 203, meter).split("\n")[1] == f"{dropped}1"
    earlier = [Line("agent", f"{dropped}7"), *lines]
    assert bounded(earlier, room + 1000, meter).split("\n")[1:3] == [f"{dropped}7", lines[0].text]
    assert bounded(earlier, 0, meter) == f"{HEAD}\n{dropped}11"
