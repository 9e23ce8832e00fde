"""search_history: what left the request is found again, and only what is the session's own."""

import json

import pytest
from google.adk.agents import LlmAgent
from google.adk.events.event_actions import EventActions
from google.adk.tools.function_tool import FunctionTool

from adk_context_pack import ClearToolResults, FitTokenBudget, search_history
from tests.support.events import agent_called, agent_said, event, summary, tool_returned, user_said
from tests.support.histories import rows
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in


class Context:
    """What the tool reads of a ToolContext."""

    def __init__(self, events, scope=None):
        self.session = type("Session", (), {"events": events})()
        self._invocation_context = type("Invocation", (), {"isolation_scope": scope})()


def numbered(*events):
    for number, one in enumerate(events):
        one.id = f"e{number}"
        one.invocation_id = one.invocation_id or f"turn-{number}"
    return list(events)


EVENTS = numbered(
    user_said("Book a flight to Oslo, aisle seat please."),
    agent_called("booker", "find_flights", "c1", city="Oslo"),
    tool_returned("booker", "find_flights", {"flights": [{"no": "SK 4711", "price": 120}]}, "c1"),
    agent_said("booker", "SK 4711 costs 120 euros."),
    user_said("Take it. 東京も。"),
)


async def find(events=EVENTS, **asked):
    return await search_history(Context(events), **asked)


def ids(answer):
    return [found["event"] for found in answer["found"]]


async def test_finds_by_words_newest_first():
    """All words must occur, in any case; the newest comes first."""
    assert ids(await find(words="sk 4711")) == ["e3", "e2"]
    assert ids(await find(words="OSLO seat")) == ["e0"]
    assert ids(await find(words="東京")) == ["e4"]


async def test_finds_by_agent_and_by_tool():
    """The author narrows the search, and so does the tool; without words everything counts."""
    assert ids(await find(agent="user")) == ["e4", "e0"]
    answer = await find(tool="find_flights")
    assert [(found["kind"], found["event"]) for found in answer["found"]] == [("returned", "e2"), ("called", "e1")]


async def test_output_is_bounded_and_can_be_read_on():
    """Never more than eight hits of a few hundred characters; going on leads to every hit exactly once."""
    events = numbered(*(agent_said("a", f"needle {n} " + "hay " * 500) for n in range(30)))
    seen, asked = [], {}
    while True:
        answer = await find(events, words="needle", **asked)
        assert len(json.dumps(answer)) < 6000
        seen += ids(answer)
        if "more" not in answer:
            break
        asked = {"before_event": seen[-1]}
    assert seen == [f"e{n}" for n in reversed(range(30))]


async def test_a_snippet_shows_the_word_and_pages_give_it_all():
    """A word deep in a long text stands in the snippet, and all pages together are the exact text."""
    text = "x" * 5000 + " NEEDLE " + "y\u2028😀" * 3000
    events = numbered(agent_said("a", text))
    found = (await find(events, words="needle"))["found"][0]
    assert "NEEDLE" in found["text"]
    pages, offset = "", 0
    while offset is not None:
        page = await find(events, read_event="e0", offset=offset)
        pages, offset = pages + page["text"], page.get("next_offset")
    assert pages == text


async def test_leaves_out_thoughts_credentials_rewound_and_its_own():
    """No thought, no credential, nothing rewound, no summary, and nothing of this tool itself is found."""
    thought = agent_said("a", "secret plan")
    thought.content.parts[0].thought = True
    rewind = event("a", actions=EventActions())
    rewound = [user_said("secret wish", invocation_id="gone"), agent_said("a", "secret reply", invocation_id="gone")]
    if not hasattr(rewind.actions, "rewind_before_invocation_id"):
        rewound = []
    else:
        rewind.actions.rewind_before_invocation_id = "gone"
    events = numbered(
        thought,
        tool_returned("user", "adk_request_credential", {"token": "secret key"}, "k"),
        *rewound,
        rewind,
        tool_returned("a", "search_history", {"found": ["secret again"]}, "s"),
        summary("secret summary", 1.0, 2.0, timestamp=3.0),
    )
    assert (await find(events, words="secret"))["found"] == []


async def test_other_scopes_stay_closed():
    """What another isolated task said is not found; what has no scope is."""
    inner, open_to_all = agent_said("a", "needle in a task"), agent_said("a", "needle for all")
    if "isolation_scope" not in type(inner).model_fields:
        pytest.skip("this ADK has no isolated tasks")
    inner.isolation_scope = "task-1"
    events = numbered(inner, open_to_all)
    assert ids(await find(events, words="needle")) == ["e1"]
    assert ids(await search_history(Context(events, "task-1"), words="needle")) == ["e1", "e0"]


@pytest.mark.parametrize("asked", [{"read_event": "nope"}, {"before_event": "nope"}])
async def test_an_unknown_event_is_said(asked):
    """The answer names the id that is not there."""
    assert "nope" in (await find(**asked))["error"]


async def test_a_broken_session_is_no_exception():
    """Whatever goes wrong is an answer, not the end of a run."""
    assert "error" in await search_history(None, words="x")


def test_declares_what_the_model_may_ask():
    """ADK builds a declaration from it, with the model's arguments only."""
    declaration = FunctionTool(search_history)._get_declaration()
    assert declaration.name == "search_history"
    assert "tool_context" not in str(declaration)
    assert "before_event" in str(declaration)


async def test_what_a_pass_took_away_is_found_in_a_real_run():
    """A fact that is no longer in the request is found by the agent itself, because notes and marker name the tool."""

    def fetch(page: int) -> dict:
        """Fetches a page."""
        return {"rows": rows(page, 80), "code": f"code-of-page-{page}"}

    def answer(request):
        text = str(request.contents)
        seen = [r for r in results_in(request) if "rows" in r or "left_out" in r]
        if "found" in str(results_in(request)[-1:]):
            return f"It was {text[text.index('code-of-page-1') :][:14]}."
        if len(seen) < 8 and "search_history" not in text:
            return call("fetch", page=len(seen))
        return call("search_history", words="code-of-page-1", tool="fetch")

    passes = [ClearToolResults(), FitTokenBudget(max_tokens=5000)]
    agent = LlmAgent(
        name="a", model=ScriptedModel(answer=answer), tools=[fetch, search_history], before_model_callback=passes
    )
    run = await run_agent(agent, "Which code has page 1?")
    assert run.answer == "It was code-of-page-1."


async def test_what_is_found_says_who_and_how_to_read_on():
    """Each find names its event, agent, kind and tool, and how to read a long one; nothing found says so."""
    long = numbered(user_said("Q"), agent_called("a", "dump", "c1"), tool_returned("a", "dump", {"t": "x" * 900}, "c1"))
    (found,) = (await find(long, words="xxx"))["found"]
    assert list(found) == ["event", "agent", "kind", "tool", "text", "read"]
    assert (found["event"], found["agent"], found["tool"]) == ("e2", "a", "dump")
    assert "read_event='e2'" in found["read"]
    assert set(await find(words="nowhere")) == {"found", "note"}


async def test_an_event_is_read_from_its_beginning():
    """Without an offset the page begins with the event's first character."""
    assert (await find(read_event="e3"))["text"] == "SK 4711 costs 120 euros."
