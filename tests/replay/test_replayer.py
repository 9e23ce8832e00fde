"""Replayer: the requests of a recorded session are those that its models received, and what the pack makes of them."""

import asyncio

import pytest
from google.genai import types

from adk_context_pack import (
    CapRows,
    CastNarrative,
    ClearToolResults,
    ContextPass,
    ContextPipeline,
    OffloadPayload,
    PackSettings,
    PayloadStore,
    PrefixReport,
    StripForContext,
)
from adk_context_pack.replay.command import ReplaySums, replay_text
from adk_context_pack.replay.recordings import RecordedSession
from adk_context_pack.replay.replayer import Replayed, Replayer, Scale, capped
from adk_context_pack.reports.token_use import RESULTS, AgentUse, TokenUse, Use, percent
from adk_context_pack.tools.result_pass import ResultReducer
from adk_context_pack.tools.shadow import UnkeptStore
from tests.reports.test_calibrated import adds_up, report
from tests.support.events import agent_called, agent_said, tool_returned, user_said
from tests.support.reported import reported_run


class Watch(ContextPass):
    seen = []  # noqa: RUF012 - one list for the whole test

    def apply(self, request, call):
        self.seen.append((call.agent_name, call.user_content, dict(call.state), request.contents))
        return request


@pytest.fixture
def watch():
    Watch.seen.clear()
    return Watch()


def recorded(session):
    return RecordedSession(id=session.id, state=dict(session.state), events=session.events, source="test")


def replayer(*passes, max_rows=None, **settings):
    """A replayer with these passes alone, and with caps where a number of rows is given."""
    caps = {"rows": None, "payloads": None}
    if max_rows is not None:
        caps = {"rows": CapRows(max_rows=max_rows, max_tokens=2000), "payloads": OffloadPayload(max_tokens=2000)}
    pack = PackSettings(passes=passes, read_back=False, **caps)
    return Replayer(lambda _: pack, **settings)


def replayed(session, *passes, **settings):
    return list(replayer(*passes, **settings).replay(recorded(session)))


async def test_rebuilds_what_the_models_received(watch):
    """The contents of each rebuilt request are exactly those that the model received in the run."""
    run, _ = await reported_run("Where is Oslo?", "And now?", pipeline=ContextPipeline([]))
    replayed(run.session, watch)
    assert [name for name, *_ in watch.seen] == ["scout", "scout", "writer", "scout", "writer"]
    assert [contents for *_, contents in watch.seen] == [request.contents for request in run.requests]
    assert {user.parts[0].text for _, user, *_ in watch.seen} == {"Where is Oslo?", "And now?"}


def long_session(reader="scout"):
    rows = [{"city": "Oslo", "number": number, "name": f"street {number}"} for number in range(400)]
    return RecordedSession(
        id="long",
        events=[
            user_said("Where is Oslo?"),
            agent_called("scout", "look_up", "call_1", city="Oslo"),
            tool_returned("scout", "look_up", {"rows": rows}, "call_1"),
            agent_said("scout", "There."),
            user_said("And now?"),
            agent_called("scout", "look_up", "call_2", city="Bergen"),
            tool_returned("scout", "look_up", {"rows": rows[:3]}, "call_2"),
            agent_said(reader, "Here."),
            user_said("Thanks."),
            agent_said(reader, "Welcome."),
        ],
    )


@pytest.mark.parametrize("reader", ["scout", "writer"])
def test_caps_stand_before_the_passes(reader, watch):
    """A result over the limits is capped as ADK builds it, relayed or not, and is counted as the first pass."""
    session = long_session(reader)
    calls = list(replayer(watch, max_rows=10).replay(session))
    assert [[each.name for each in call_.report.passes] for call_ in calls] == [["watch"], *[[RESULTS, "watch"]] * 4]
    for call_ in calls[1:]:
        report = call_.report
        assert report.passes[0].tokens_before == report.tokens_before
        assert report.passes[0].tokens_after == report.passes[1].tokens_before
        assert report.tokens_after < report.tokens_before / 3
    made = [contents for *_, contents in watch.seen]
    watch.seen.clear()
    given = {"max_rows": 10, "max_tokens": 2000}
    caps = [(each, CapRows(**given, store=UnkeptStore(event_id=each.id))) for each in session.events]
    events = [capped(event, ResultReducer(passes=(rows,))) for event, rows in caps]
    recording = RecordedSession(id="long", events=events)
    list(replayer(watch).replay(recording))
    assert made == [contents for *_, contents in watch.seen]


def test_prefixes_are_told_for_both_sides():
    """Without the pack an agent's request is the prefix of its next one; not so with a pass that moves its front."""

    class MoveTheFront(ContextPass):
        def apply(self, request, call):
            front = types.Content(role="user", parts=[types.Part(text=f"{len(call.events)} events")])
            return request.model_copy(update={"contents": [front, *request.contents]})

    calls = list(replayer(MoveTheFront()).replay(long_session()))
    assert [call_.prefix_without.share for call_ in calls] == [0.0, 1.0, 1.0, 1.0, 1.0]
    assert [call_.report.prefix.tokens for call_ in calls] == [0] * 5


def test_a_history_that_the_provider_keeps_is_replayed_whole():
    """Once the provider has named an interaction, a pass that clears old results stands aside as it does in a run."""
    session, clear = long_session(), replayer(ClearToolResults(keep_results=0, min_tokens=10))
    assert list(clear.replay(session))[-1].report.tokens_saved > 1_000
    session.events[1].interaction_id = "first"
    assert [each.report.tokens_saved for each in clear.replay(session)] == [0] * 5


class SlowStore(PayloadStore):
    async def put(self, *_, **__):
        await asyncio.sleep(0)
        return "0" * 12


def test_settings_for_single_tools_count_in_a_replay():
    """A tool that the plugin leaves alone, or gives limits of its own, has the same results in a replay."""
    found = {}
    for name, setting in {"alone": "whole", "fewer": CapRows(max_rows=2, max_tokens=2000)}.items():
        pack = PackSettings(passes=(), read_back=False, rows=CapRows(max_rows=10), tools={"look_up": setting})
        found[name] = list(Replayer(lambda _, pack=pack: pack).replay(long_session()))[-1].report
    assert found["alone"].tokens_after == found["alone"].tokens_before
    assert 0 < found["fewer"].tokens_after < found["alone"].tokens_after / 10


def test_a_store_that_waits_cannot_cap_a_recording():
    """A recording is capped at once; a store that has to wait is an error, and no result half capped."""
    event = tool_returned("scout", "query", {"rows": [{"a": number} for number in range(500)]}, "c1")
    with pytest.raises(RuntimeError, match="waited"):
        capped(event, ResultReducer(passes=(CapRows(store=SlowStore()),)))


def test_nothing_of_the_session_is_changed():
    """The recorded events are the same after a replay, down to their payloads."""
    session = long_session("writer")
    before = [event.model_dump_json() for event in session.events]
    list(replayer(StripForContext(), CastNarrative(), max_rows=100).replay(session))
    assert [event.model_dump_json() for event in session.events] == before


@pytest.mark.parametrize("tokens", [(2000, 1000), (777, 333), (10, 9), (500, 500)])
def test_all_figures_are_scaled_and_add_up(tokens):
    """Passes, categories, tools and prefixes are scaled with the request, with the pack and without it."""
    call = Replayed(report(), PrefixReport(tokens=500, previous_tokens=800)).corrected(tokens)
    assert (call.report.tokens_before, call.report.tokens_after) == tokens
    assert call.report.tokens_without_pack == tokens[0]
    assert call.prefix_without.tokens == pytest.approx(tokens[0] / 2, abs=1)
    assert call.report.prefix.share == pytest.approx(0.5, abs=0.1)
    adds_up(call.report)


def counted(without, with_pack, figure):
    return Replayed(report(tokens_before=without, tokens_after=with_pack), PrefixReport(), figure)


def test_the_figure_is_the_request_without_the_pack():
    """What the provider counted is not estimated, and the saving is subtracted at the worth of a token."""
    assert Scale.by(3_000, 2_000, whole=False) == (1.0, 1_000)
    assert Scale(0.5, 1_000).of(counted(10_000, 5_000, 6_000)) == (6_000, 3_500)


def test_a_saving_is_never_more_than_the_request():
    """A request with the pack is not told as negative."""
    assert Scale.by(900, 4_000, whole=True).of(counted(4_000, 10, 900)) == (900, 2)
    assert Scale.by(90, 400, whole=True).of(counted(4_000, 10, 90)) == (90, 0)


def some():
    """Sums of three sessions with one agent."""
    entry = AgentUse(
        calls=4, tokens_without=120_000, tokens_with=480, cost_without=2.5, cost_with=0.01, largest_with=200
    )
    named = [{"id": f"session-{n}", "app_name": "a", "user_id": "u", "source": "f.db"} for n in range(3)]
    use = TokenUse(total=entry, agents={"writer": entry}, passes={RESULTS: Use(tokens_without=119_520)})
    return ReplaySums(use=use, sessions=[(each, entry) for each in named])


@pytest.mark.parametrize(("before", "after", "text"), [
    (1000, 4, "-99.6 %"), (1000, 0, "-100 %"), (1000, 999, "-0.1 %"), (1000, 500, "-50 %"), (1000, 1000, "0 %"),
    (0, 0, "0 %"), (100, 125, "+25 %"),
])  # fmt: skip
def test_rounding_hides_nothing(before, after, text):
    """A saving that is not all of it is not shown as all of it, and a small one not as none."""
    assert percent(before, after) == text


def test_the_headline_is_last():
    """The saving in tokens and in money is the last line, behind the tables."""
    lines = replay_text(some()).splitlines()
    ending = "saves 119,520 of 120,000 tokens (-99.6 %). The cost is 0.010000 in place of 2.50 (-99.6 %)."
    assert lines[-2:] == ["4 model calls in 3 sessions", f"The pack {ending}"]
    kinds = [line.split()[0] for line in lines if line.startswith(("session ", "pass ", "agent "))]
    assert kinds == ["session", "pass", "agent"]
