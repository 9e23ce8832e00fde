"""search_history: what left the request is found again, and only what is the session's own."""

import json
import random
import re
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.events.event_actions import EventActions
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session
from google.adk.version import __version__

from adk_context_pack import (
    ClearToolResults,
    ContextPackPlugin,
    FitTokenBudget,
    SearchHistory,
    estimate_tokens,
    search_history,
)
from adk_context_pack.tools.search_history import HistoryIndex
from tests.support.events import agent_called, agent_said, event, summary, tool_returned, user_said
from tests.support.histories import rows
from tests.support.plugin_apps import ROWS, list_sales
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in, text_of


class Context:
    """What the tool reads of a ToolContext."""

    def __init__(self, events, scope=None):
        self.session = Session(id="s", app_name="app", user_id="user", events=[])
        self.session.events = events
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


def lines(answer):
    return [line for day in answer["found"].values() for line in day]


def ids(answer):
    return [line.partition(",")[0] for line in lines(answer)]


async def test_a_search_leaves_the_loop_and_a_huge_query_is_refused(monkeypatch):
    """Reading and ranking a session takes as long as it is, so that no search holds up other users or ends a run."""
    assert "error" in await search_history(None, query="x")
    threads = []
    monkeypatch.setattr(HistoryIndex, "grow", lambda *_: threads.append(threading.current_thread()))
    await find(query="Oslo")
    assert [thread is threading.main_thread() for thread in threads] == [False]
    assert await find(query="Oslo " * 300) == {"error": "The query has 1499 characters. Ask in at most 1000."}


async def test_finds_by_words():
    """What fits is shown with what is around it, in order; identifiers are found by parts, and quotes exactly."""
    # Recorded sessions show a model the former name of the argument.
    assert ids(await SearchHistory().run_async(args={"words": "aisle"}, tool_context=Context(EVENTS)))[0] == "e0"
    assert ids(await find(query="sk 4711", agent="booker")) == ["e1", "e2", "e3"]
    assert ids(await find(query="OSLO seats", turn=1))[0] == "e0"
    assert ids(await find(query="東京"))[-1] == "e4"
    assert "e3" in ids(await find(query="How much did it cost in euros?"))
    assert ids(await find(query='"euros 120"')) == []


async def test_finds_by_agent_and_by_tool():
    """The author narrows the search, and so does the tool; without words everything counts. An agent is a word."""
    assert "e3" in ids(await find(query="booker"))
    assert ids(await find(query="user")) == []
    assert ids(await find(agent="user")) == ["e4", "e0"]
    returned, called = lines(await find(tool="find_flights"))
    assert "turn 1, booker returned find_flights: {" in returned
    assert "turn 1, booker called find_flights: {" in called


@pytest.mark.parametrize("asked", [{"query": "needle"}, {}])
async def test_output_is_bounded_and_can_be_read_on(asked):
    """Never more than the budget, which is a setting; going on, ranked or listed, leads to every event."""
    events = numbered(*(agent_said("a", f"needle {n} " + "hay " * 500) for n in range(30)))
    seen, on = set(), {}
    for _ in range(30):
        answer = await find(events, **asked, **on)
        assert estimate_tokens(json.dumps(answer)) < 1800
        seen.update(ids(answer))
        on = {"offset": answer["next_offset"]} if "next_offset" in answer else {"before_event": ids(answer)[-1]}
        if "next_offset" not in answer and "more" not in answer:
            break
    assert seen == {f"e{n}" for n in range(30)}
    few, many = [await SearchHistory(max_tokens=size).search_history(Context(events), "needle") for size in (200, 1000)]
    assert 1 <= len(lines(few)) < len(lines(many))


async def test_finds_by_turn():
    """A turn begins with what the user says, not with an agent's words or a result that the user's side gave."""
    welcome = agent_said("a", "Welcome."), *EVENTS[:2], tool_returned("user", "find_flights", {"rows": 3}, "c1")
    assert ids(await find(numbered(*(one.model_copy() for one in (*welcome, EVENTS[4]))), turn=2)) == ["e4"]
    assert ids(await find(turn=-1)) == ["e4"]
    assert ids(await find(turn=1, agent="user")) == ["e0"]
    assert str(await find(query="oslo euros tokyo 東京")).count("turn 2, ") == 1


async def test_the_index_grows_with_the_session_and_is_made_again_for_another(monkeypatch):
    """What was said since the last search is found; a session made again under the same id has nothing of the old."""
    await find(query="alpha")  # whatever other tests have left under this id is gone then
    made, init = [], HistoryIndex.__init__
    monkeypatch.setattr(HistoryIndex, "__init__", lambda index: made.append(index) or init(index))
    events = numbered(user_said("alpha"), agent_said("a", "beta"))
    assert not ids(await find([], query="alpha"))
    assert ids(await find(events, query="alpha", agent="user")) == ["e0"]
    events = numbered(*events, user_said("gamma"))
    for _ in range(2):
        assert ids(await find(events, query="gamma", agent="user"))[-1] == "e2"
    assert len(made) == 1
    assert ids(await find(events[:1], query="beta")) == []
    assert ids(await find([*events[:2], user_said("delta")], query="gamma")) == []
    assert ids(await find(numbered(user_said("delta")), query="alpha")) == []


def limited_to(events):
    module = pytest.importorskip("google.adk.sessions.base_session_service")
    if "get_session_config" not in RunConfig.model_fields:
        pytest.skip("this ADK loads all events of a session")
    return RunConfig(get_session_config=module.GetSessionConfig(num_recent_events=events))


async def searched(service, query, config):
    """What a model finds in its third turn, with few events loaded."""

    def answer(request):
        if "Find" in str(request.contents) and not results_in(request):
            return call("search_history", query=query)
        return "noted"

    agent = LlmAgent(name="a", model=ScriptedModel(answer=answer), tools=[search_history])
    messages = ["The code word is zebra.", *["More."] * 4, "Find it."]
    run = await run_agent(agent, *messages, session_service=service, run_config=config)
    return results_in(run.requests[-1])[-1].response


async def test_events_that_were_not_loaded_are_read_from_the_service():
    """With only the newest events loaded, the first turn is found all the same."""
    answer = await searched(InMemorySessionService(), "code word", limited_to(2))
    assert "zebra" in lines(answer)[0]
    assert "note" not in answer


@pytest.mark.skipif(__version__.startswith("2.0."), reason="ADK 2.0 loads the session again within a run")
async def test_handles_open_where_only_the_newest_events_are_loaded():
    """A result of the first turn is queried in the fifth; the prompt begins elsewhere by then."""

    def answer(request):
        if "Query" in text_of(request.contents[-1:]):
            return call("query_rows", handle=handle, sql="SELECT COUNT(*) FROM rows")
        return "noted" if results_in(request) or "More" in text_of(request) else call("list_sales")

    app = {"session_service": InMemorySessionService(), "artifact_service": InMemoryArtifactService()}
    plugins, config = [ContextPackPlugin(read_back="early")], limited_to(2)
    agent = LlmAgent(name="a", model=ScriptedModel(answer=answer), tools=[list_sales])
    first = await run_agent(agent, "Go.", plugins=plugins, **app)
    handle = results_in(first.requests[-1])[0].response["_handle"]
    run = await run_agent(agent, "More.", "More.", "More.", "Query.", plugins=plugins, run_config=config, **app)
    assert results_in(run.requests[-1])[-1].response["rows"] == [[len(ROWS)]]
    assert "Go." in text_of(first.requests[-1])
    assert "Go." not in text_of(run.requests[-1])


@pytest.mark.skipif(__version__.startswith("2.0."), reason="ADK 2.0 loads the session again within a run")
async def test_says_what_it_could_not_see():
    """Where the service cannot give the older events, the answer says how many are loaded and denies nothing."""

    class Forgetful(InMemorySessionService):
        failed = False

        async def get_session(self, *, config=None, **key):
            session = await super().get_session(config=config, **key)
            if config is None and session is not None and session.events and not self.failed:
                self.failed = True
                raise ConnectionError("gone")
            return session

    answer = await searched(Forgetful(), "code word", limited_to(2))
    assert not ids(answer)
    assert re.search("newest [2-4] events of this session are loaded", answer["note"])


async def test_a_snippet_shows_the_word_and_pages_give_it_all():
    """A word deep in a long text stands in the snippet, and all pages together, by its short id, are the exact text."""
    text = "x" * 5000 + " NEEDLE " + "y\u2028😀" * 3000
    twins = [user_said("Twin.", id=f"a-common-begin-{n}") for n in "12"]
    events = [agent_said("a", text, id="0123456789abc-7"), *twins]
    known, _, found = lines(await find(events, query="needle"))[0].partition(",")
    assert "NEEDLE" in found
    assert {known, *(each.id for each in twins)} == set(ids(await find(events, query="twin")))
    assert known == "01234567"
    pages, offset = "", 0
    while offset is not None:
        page = await find(events, read_event=known, offset=offset)
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
    assert not ids(await find(events, query="secret"))


async def test_other_scopes_stay_closed():
    """What another isolated task said is not found; what has no scope is."""
    inner, open_to_all = agent_said("a", "needle in a task"), agent_said("a", "needle for all")
    if "isolation_scope" not in type(inner).model_fields:
        pytest.skip("this ADK has no isolated tasks")
    inner.isolation_scope = "task-1"
    events = numbered(inner, open_to_all)
    assert ids(await find(events, query="needle")) == ["e1"]
    assert ids(await search_history(Context(events, "task-1"), query="needle")) == ["e0", "e1"]


@pytest.mark.parametrize("asked", [{"read_event": "nope"}, {"before_event": "nope"}, {"turn": "nope"}])
async def test_a_mistaken_argument_is_said(asked, caplog):
    """The answer names the id that is not there, or the number that is none, and no traceback is logged."""
    assert re.search("no event 'nope'|turn must be a whole number", (await find(**asked))["error"])
    assert not caplog.records


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
        return call("search_history", query="code-of-page-1", tool="fetch")

    passes = [ClearToolResults(), FitTokenBudget(max_tokens=5000)]
    agent = LlmAgent(
        name="a", model=ScriptedModel(answer=answer), tools=[fetch, search_history], before_model_callback=passes
    )
    run = await run_agent(agent, "Which code has page 1?")
    assert run.answer == "It was code-of-page-1."


async def test_what_is_found_says_who_and_how_to_read_on():
    """Each line names its event, turn, agent and tool, and how to read a long one; nothing found says so."""
    long = numbered(
        user_said("Q"), agent_called("a", "dump", "c1"), tool_returned("a", "dump", {"t": "word " * 3000}, "c1")
    )
    found = lines(await find(long, query="word", tool="dump"))[-1]
    assert re.match(r"e2, \d\d:\d\d, turn 1, a returned dump: \S", found)
    assert found.endswith("… [15008 characters in all; read the event]")
    assert set(await find(query="nowhere")) == {"found", "note"}


async def test_what_is_found_says_when():
    """A find has its event's time, if it is one, is found by it, and tells what a speaker's "yesterday" meant."""
    events = numbered(
        user_said("The crane fell yesterday."), tool_returned("a", "log", {"crane": "fell yesterday"}, "1")
    )
    for one, day in zip(events, (28, 29), strict=True):
        one.timestamp = datetime(2024, 2, day, 9, 5, tzinfo=UTC).timestamp()
    found = {
        "Wed 28 Feb 2024": ["e0, 09:05, turn 1, user: The crane fell yesterday. [yesterday: Tue 27 Feb 2024]"],
        "Thu 29 Feb 2024": ['e1, 09:05, turn 1, a returned log: {"crane":"fell yesterday"}'],
    }
    first, second = ({day: found[day]} for day in found)
    for filters, expected in (
        ({}, found),
        ({"since": "2024-02-29"}, second),
        ({"until": "2024-02-28"}, first),
        ({"since": "2024-02-28", "until": "2024-02-29T10:00"}, found),
        ({"until": "2024-02-27"}, {}),
    ):
        assert (await find(events, query="crane", **filters))["found"] == expected
    events.append(agent_said("a", "Noon.", timestamp=datetime(2024, 3, 1, 12, tzinfo=UTC).timestamp(), id="e2"))
    assert lines(await find(events, query="What was said in March?"))[-1].endswith(": Noon.")
    for events[-1].timestamp in (1e30, float("nan")):
        assert (await find(events, query="noon"))["found"]["day unknown"] == ["e2, turn 1, a: Noon."]
    assert await find(since="last week") == {"error": "A day is written 2026-11-23, not 'last week'."}


def dialogue(language):
    """The events of a dialogue of `dialogues.txt`, and its questions with the texts that answer them and a day."""
    lines = Path(__file__).with_name("dialogues.txt").read_text("utf-8").splitlines()
    rows = [line.removeprefix(f"{language} ").split(" | ") for line in lines if line.startswith(f"{language} ")]
    facts = [(int(day), f"{name}: {text}") for kind, day, name, text in (row for row in rows if row[0] == "fact")]
    idle, drawn = [row[1] for row in rows if row[0] == "idle"], random.Random(language)
    said = sorted([*facts, *((day, drawn.choice(idle)) for day in range(46) for _ in range(7))], key=lambda one: one[0])
    start = datetime(2026, 3, 2, 9, tzinfo=UTC)
    times = [(start + timedelta(days=day)).timestamp() for day, _ in said]
    events = [user_said(text).model_copy(update={"timestamp": at}) for at, (_, text) in zip(times, said, strict=True)]
    asked = [(row[1], [facts[int(number)][1] for number in row[2].split()], row[3]) for row in rows if row[0] == "ask"]
    return events, asked


@pytest.mark.parametrize("language", ["en", "de", "fr", "it", "es", "pl", "zh", "ja", "th"])
async def test_the_first_reply_has_the_answers_in_nine_languages(language):
    """Of the questions nobody tuned for, three of four find all their evidence at once, and each day is named."""
    events, asked = dialogue(language)
    context, hits = Context(numbered(*events)), []
    context.session.id = language
    for question, answers, day in asked:
        found = lines(await search_history(context, question))
        hits.append(all(any(answer in each for each in found) for answer in answers))
        assert not day or any(answers[0] in each and day in each for each in found), question
    assert sum(hits) >= 0.7 * len(hits)
