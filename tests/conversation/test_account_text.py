"""The text of an account: lines of the user, of agents and of tools, read back from it."""

from google.adk.events.event import Event
from google.genai import types

from adk_context_pack.conversation.account import HEAD, Limits, Line, account_lines, bounded, event_text, parse
from adk_context_pack.conversation.tokens import TokenMeter
from tests.support.events import agent_called, agent_said, call_part, event, result_part, tool_returned, user_said

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
    assert [(line.kind, line.text) for line in parse(account)] == LINES


LIMITS = Limits(said=20, args=20, outcome=40)


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
