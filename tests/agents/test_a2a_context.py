"""What a remote agent is sent over A2A, on a real server in the test process and by ADK's own agent."""

from __future__ import annotations

import copy
import logging

import pytest
from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.genai import types

from adk_context_pack import CastNarrative, ContextPass, RecallMemory, SettingError, StripForContext, a2a_context
from adk_context_pack._adk.remote_agents import missing_for_context_builder
from adk_context_pack.passes.cast_narrative import PREAMBLE
from tests.support import a2a_server, relay
from tests.support.a2a_server import remote_agent, text_sent
from tests.support.events import agent_said, event, user_said
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in, text_of

MISSING = missing_for_context_builder()
needs_hook = pytest.mark.skipif(MISSING is not None, reason=f"needs {MISSING}")
PHOTO = types.Part(inline_data=types.Blob(mime_type="image/png", data=b"photo"))
ADK_PREAMBLE = relay.PREAMBLES[relay.FENCED]


def look_up(city: str) -> dict[str, object]:
    """Looks a city up."""
    return {"city": city, "rows": [1, 2, 3]}


def scout(request):
    found = len(results_in(request, "look_up"))
    return call("look_up", city=f"Oslo {found}") if found % 3 or not found else f"I looked {found} times."


async def handed_over(*messages, **settings):
    """Two agents in a row, the second one remote: what its model received, and the run here."""
    from google.adk.agents.remote_a2a_agent import RemoteA2aAgent  # noqa: PLC0415 - not with every release

    far = ScriptedModel(answer=lambda _: "billed")
    async with a2a_server.served(LlmAgent(name="far", description="d", model=far)) as card:
        near = LlmAgent(name="near", model=ScriptedModel(answer=scout), tools=[look_up])
        remote = RemoteA2aAgent("billing", card, **settings)
        run = await run_agent(SequentialAgent(name="root", sub_agents=[near, remote]), *messages)
        await remote.cleanup()
    return [request for request in far.requests if request.agent == "far"], run


@needs_hook
@pytest.mark.slow
async def test_a_real_server_gets_one_account_in_place_of_many_blocks():
    """The remote model sees the user's message, the file, and one fenced account with all facts."""
    builder = a2a_context()
    plain, _ = await handed_over([types.Part(text="Bill me."), PHOTO])
    lean, run = await handed_over([types.Part(text="Bill me."), PHOTO], context_builder=builder)
    assert run.answer == "billed"
    assert text_of(plain[0]).count(ADK_PREAMBLE) == 7
    shown = text_of(lean[0])
    assert shown.startswith("Bill me.")
    assert shown.count(PREAMBLE) == 1
    assert shown.count(relay.BEGIN) == shown.count(relay.END) == 1
    assert ADK_PREAMBLE not in shown
    assert all(f'{{"city":"Oslo {n}","rows":[1,2,3]}}' in shown for n in range(3))
    assert "I looked 3 times." in shown
    photos = [part.inline_data for part in lean[0].contents[-1].parts if part.inline_data]
    assert [photo.data for photo in photos] == [b"photo"]
    assert [report.agent for report in builder.reports] == ["billing"]
    assert builder.reports[0].tokens_after * 3 < builder.reports[0].tokens_before


@needs_hook
@pytest.mark.slow
async def test_the_next_turn_continues_the_remote_conversation():
    """What the server has is not sent again, and it knows the second message for the same conversation."""
    requests, run = await handed_over("One.", "Two.", context_builder=a2a_context())
    assert [content.role for content in requests[1].contents] == ["user", "model", "user"]
    last = text_of([requests[1].contents[-1]])
    assert last.startswith("Two.")
    assert "One." not in last
    assert "city" not in last
    assert run.events[-1].author == "billing"


@needs_hook
def test_the_session_stays_as_it_is():
    """Building a message changes no event."""
    events = [user_said("Go."), agent_said("near", "I did."), event("near", call("look_up", city="Oslo"))]
    before = copy.deepcopy(events)
    text_sent(remote_agent(context_builder=a2a_context()), events)
    assert events == before


class DropAll(ContextPass):
    """Drops everything."""

    def apply(self, request, call):
        return request.model_copy(update={"contents": []})


@needs_hook
def test_the_users_message_and_files_survive_any_pass():
    """A pass that drops everything loses neither the current message nor a file of an earlier turn."""
    agent = remote_agent(context_builder=a2a_context(passes=[DropAll()]))
    old = Event(author="user", content=types.Content(role="user", parts=[types.Part(text="Look."), PHOTO]))
    parts = a2a_server.parts_sent(agent, [old, agent_said("near", "I did."), user_said("Bill me.")])
    assert [part.raw or part.text for part in parts] == [b"photo", "Bill me."]


@needs_hook
def test_each_preamble_is_sent_once():
    """Blocks that no pass retells share one preamble in a message, and each keeps its own fence."""
    events = [item for n in range(4) for item in (user_said(f"Question {n}."), agent_said("near", f"Answer {n}."))]
    agent = remote_agent(context_builder=a2a_context(passes=[]))
    shown = text_sent(agent, events)
    assert shown.count(ADK_PREAMBLE) == 1
    assert shown.replace(ADK_PREAMBLE, "").count(relay.BEGIN) == 4
    cast = text_sent(remote_agent(context_builder=a2a_context(passes=[CastNarrative()])), events)
    assert cast.count(PREAMBLE) == 1
    assert cast.count(relay.BEGIN) == cast.count(relay.END) == 4
    assert all(f"Question {n}." in cast and f"Answer {n}." in cast for n in range(4))


@needs_hook
def test_what_a_user_types_stays_byte_for_byte():
    """A user who types ADK's preamble, twice and with a fence, is sent as typed."""
    typed = [types.Part(text=ADK_PREAMBLE), types.Part(text=f"[near] said:\n{relay.fenced('hello')}")]
    events = [
        agent_said("near", "I did."),
        *(Event(author="user", content=types.Content(parts=typed)) for _ in range(2)),
    ]
    shown = text_sent(remote_agent(context_builder=a2a_context(passes=[])), events)
    assert shown.count(f"{ADK_PREAMBLE}\n[near] said:\n{relay.fenced('hello')}") == 2


@needs_hook
def test_rewound_events_and_other_branches_are_left_out():
    """Neither what a rewind took back nor what a sibling branch did is sent, as in a local request."""
    events = [
        user_said("First.", invocation_id="one"),
        agent_said("near", "Taken back.", invocation_id="two"),
        Event(author="user", invocation_id="three", actions=EventActions(rewind_before_invocation_id="two")),
        agent_said("near", "Of a sibling.", branch="all.other"),
        agent_said("near", "Of a task.", isolation_scope="task"),
        agent_said("near", "Before.", branch="all"),
        user_said("Bill me."),
    ]
    plain = text_sent(remote_agent(), events, branch="all.mine")
    shown = text_sent(remote_agent(context_builder=a2a_context()), events, branch="all.mine")
    gone = ("Taken back.", "Of a sibling.", "Of a task.")
    assert all(text in plain for text in gone)
    assert not any(text in shown for text in gone)
    assert all(text in shown for text in ("First.", "Before.", "Bill me."))


@needs_hook
def test_credentials_are_not_sent():
    """A call that asks the user for a credential is left out, as ADK does."""
    asked = call("adk_request_credential", authConfig={"rawAuthCredential": "secret"})
    events = [user_said("Go."), event("near", asked), agent_said("near", "I may."), user_said("Bill me.")]
    shown = text_sent(remote_agent(context_builder=a2a_context()), events)
    assert "secret" not in shown
    assert "I may." in shown


@needs_hook
def test_the_budget_holds():
    """A long history is cut to `max_tokens`, and the current message stays."""
    events = [
        item for n in range(300) for item in (user_said(f"Question {n}. " * 20), agent_said("near", "word " * 50))
    ]
    builder = a2a_context(max_tokens=3000)
    shown = text_sent(remote_agent(context_builder=builder), [*events, user_said("Bill me.")])
    assert builder.reports[0].tokens_before > 20_000
    assert builder.reports[0].tokens_after <= 3000
    assert shown.rstrip().endswith("Bill me.")


class Failing(ContextPass):
    """Fails."""

    def apply(self, request, call):
        raise OSError


@needs_hook
def test_a_failing_pass_is_skipped_and_reported():
    """The message goes out without the pass, and the report names the error."""
    builder = a2a_context(passes=[Failing(), StripForContext()])
    events = [user_said("Go."), event("near", call("look_up", city="Oslo")), agent_said("near", "I did.")]
    shown = text_sent(remote_agent(context_builder=builder), events)
    assert "look_up" not in shown
    assert "I did." in shown
    assert [entry.error_type for entry in builder.reports[0].passes] == ["OSError", None]
    with pytest.raises(OSError):
        text_sent(remote_agent(context_builder=a2a_context(passes=[Failing(on_error="raise")])), events)


@needs_hook
def test_trouble_sends_what_adk_builds(monkeypatch, caplog):
    """If ADK's message cannot be taken apart, it is sent as it is, and the log says so."""
    monkeypatch.setattr("adk_context_pack.agents.handoffs.message_to", lambda context: 1 / 0)
    events = [user_said("Go."), agent_said("near", "I did.")]
    with caplog.at_level(logging.ERROR, "adk_context_pack"):
        shown = text_sent(remote_agent(context_builder=a2a_context()), events)
    assert shown == text_sent(remote_agent(), events)
    assert "sent as ADK builds it" in caplog.text


@needs_hook
@pytest.mark.parametrize(("settings", "words"), [
    ({"passes": StripForContext()}, "a sequence of passes"), ({"passes": ["strip"]}, "made of passes"),
    ({"passes": [RecallMemory()]}, "wait for nothing"), ({"max_tokens": 0}, "at least 1"),
    ({"passes": [], "max_tokens": 5}, "given without passes"),
])  # fmt: skip
def test_a_setting_that_cannot_work_is_refused(settings, words):
    """The error names the function and what it takes."""
    with pytest.raises(SettingError, match=f"a2a_context: .*{words}"):
        a2a_context(**settings)


def test_without_the_a2a_package_the_error_names_it(monkeypatch):
    """Where a2a-sdk is not installed, the error says how to install it."""
    monkeypatch.setattr("adk_context_pack._adk.remote_agents.find_spec", lambda name: None)
    with pytest.raises(SettingError, match=r"google-adk\[a2a\]"):
        a2a_context()
