"""ClearToolResults: older bodies give way to notes, in batches, and nothing else changes."""

import itertools

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.context_cache_config import ContextCacheConfig
from google.adk.agents.run_config import RunConfig

from adk_context_pack import (
    ClearToolResults,
    CompactResults,
    ContextPackPlugin,
    ContextPass,
    ContextPipeline,
    FitTokenBudget,
    KeepNewestResult,
    Prices,
    StripForContext,
)  # fmt: skip
from adk_context_pack.conversation.token_estimate import TokenMeter
from adk_context_pack.errors import counted
from adk_context_pack.passes.pipeline import leave_history
from tests.support.events import agent_called, agent_said, call_part, event, tool_returned, user_said
from tests.support.histories import is_prefix, long_turn, many_turns, results, rows
from tests.support.requests import applied, call_for, request_for, texts
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in


def cleared(contents):
    return ["left_out" in response for response in results(contents)]


def test_a_crowded_history_gives_up_the_cache_for_room_alone():
    """Above half a budget an old result goes at once if that makes room, and stays if it is small beside the others."""
    for first, most, goes in ((30, 90, False), (300, 90, True), (1500, 220, True), (1500, 280, False)):
        events = session(*(("look", {"n": n}, {"rows": rows(n, n or first)}) for n in (0, 900, 901, 902)))
        assert cleared(applied(ClearToolResults(max_tokens=1_000 * most), "a", events).contents)[0] is goes


@pytest.mark.parametrize("call_id", ["adk-7", "call_7"])
def test_results_of_waiting_calls_stay(call_id):
    """The receipt of a long-running call stays until the user's side has posted its result."""
    waiting = event("a", call_part("approve", {"x": 1}, call_id), long_running_tool_ids={call_id})
    receipt = tool_returned("a", "approve", {"status": "pending", "form": rows(1, 60)}, call_id)
    rest = many_turns(4)
    events = [user_said("Q"), waiting, receipt, *rest]
    assert results(applied(ClearToolResults(keep_results=0), "a", events).contents)[0]["status"] == "pending"
    done = tool_returned("user", "approve", {"status": "done", "form": rows(1, 60)}, call_id)
    events = [user_said("Q"), waiting, receipt, done, agent_said("a", "Thanks."), *rest]
    assert "left_out" in results(applied(ClearToolResults(keep_results=0), "a", events).contents)[0]


def test_arguments_go_on_request_unless_signed():
    """With clear_args the large arguments of cleared results go, save those with a thought signature."""
    big = {"text": "word " * 400, "path": "a.txt"}
    signed = call_part("write", big, "adk-2")
    signed.thought_signature = b"sig"
    events = [user_said("Q"), event("a", call_part("write", big, "adk-1"))]
    events += [tool_returned("a", "write", {"rows": rows(1, 60)}, "adk-1"), event("a", signed)]
    events += [tool_returned("a", "write", {"rows": rows(2, 60)}, "adk-2"), agent_said("a", "W."), user_said("Next")]
    contents = applied(ClearToolResults(keep_results=0, clear_args=True), "a", events).contents
    first, second = (part.function_call for c in contents for part in c.parts if part.function_call)
    assert "left_out" in first.args
    assert (first.args["path"], second.args) == ("a.txt", big)
    assert contents[3].parts[0].thought_signature == b"sig"


@pytest.mark.slow
@pytest.mark.parametrize("build", [long_turn, many_turns], ids=["loop", "turns"])
@pytest.mark.parametrize("entry", [ClearToolResults(), ClearToolResults(keep_results=0, keep_in_turn=4)])
def test_batches_stay_put(build, entry):
    """As a history grows by one model call at a time, most requests begin with the one before, and no note changes."""
    events = build(24)
    steps = [n for n in range(2, len(events) + 1) if events[n - 1].content.role == "user"]
    sent = [applied(entry, "a", events[:n]).contents for n in steps]
    busts = sum(not is_prefix(a, b) for a, b in itertools.pairwise(sent))
    assert 1 <= busts <= len(sent) / 2
    flags = [cleared(contents) for contents in sent]
    assert all(new[: len(old)] >= old for old, new in itertools.pairwise(flags))


@pytest.mark.parametrize("clear_args", [False, True])
@pytest.mark.parametrize("turns", [2, 5, 9])
def test_the_report_says_how_much_was_cleared(clear_args, turns):
    """The note's count is that of the results that became notes, and its tokens are what the request is smaller by."""
    events = []
    for n in range(turns):
        big = call_part("write", {"text": "word " * (200 + n), "path": f"{n}.txt"}, f"adk-{n}")
        events += [user_said(f"Q{n}"), event("a", big), tool_returned("a", "write", {"rows": rows(n, 60)}, f"adk-{n}")]
        events.append(agent_said("a", f"A{n}"))
    events.append(user_said("Next"))
    raw, model_call = request_for("a", events), call_for("a", events)
    result = ClearToolResults(keep_results=1, clear_args=clear_args, counter=len).apply(raw, model_call)
    meter = TokenMeter(counter=len)
    gone = meter.contents(raw.contents) - meter.contents(result.contents)
    assert model_call.notes == [f"cleared {counted(sum(cleared(result.contents)), 'tool result')}, {gone} tokens"]
    args = [part.function_call.args for content in result.contents for part in content.parts if part.function_call]
    assert sum("left_out" in each for each in args) == (sum(cleared(result.contents)) if clear_args else 0)


def test_clears_older_results_and_keeps_the_newest_and_signed_ones():
    """The newest results stay, and one with a thought signature, since a provider may check it. Others are notes."""
    events = many_turns(6)
    signed = next(event for event in events if event.get_function_responses())
    signed.content.parts[0].thought_signature = b"signature"
    found = cleared(applied(ClearToolResults(keep_results=2), "a", events).contents)
    assert found[1:8] == [True] * 7
    assert not any([found[0], *found[-2:]])


def session(*asked):
    events = [user_said("Q")]
    for number, (tool, args, response) in enumerate(asked):
        events += [
            agent_called("a", tool, f"adk-{number}", **args),
            tool_returned("a", tool, response, f"adk-{number}"),
        ]
    return [*events, agent_said("a", "So."), user_said("Next")]


def notes(events, entry=None):
    return ["left_out" in response for response in results(applied(entry or KeepNewestResult(), "a", events).contents)]


SAME = ("read", {"path": "a"}, {"rows": rows(1, 40)})


OTHER, TINY = ("read", {"path": "b"}, {"rows": rows(1, 40)}), ("read", {"path": "a"}, {"ok": 1})
DENSE = ("read", {"path": "a"}, {"at": "2025-01-02T03:04:05+00:00", "day": "20250102", "no": 7})


@pytest.mark.parametrize(("made", "settings", "expected"), [
    ((SAME, SAME, OTHER, SAME), {}, [True, True, False, False]), ((TINY, TINY), {}, [False, False]),
    ((SAME, TINY, SAME, TINY), {}, [True, False, False, False]), ((DENSE, DENSE), {"min_tokens": 1}, [False, False]),
    ((SAME, ("write", *SAME[1:]), SAME), {"exclude_tools": ["write"]}, [True, False, False]),
    ((SAME, SAME), {"exclude_tools": ["read"]}, [False, False]),
])  # fmt: skip
def test_only_the_newest_of_identical_results_stays(made, settings, expected):
    """Notes name the tool. What is small, excluded or shorter than its note stays, and keeps no other from it."""
    assert notes(session(*made), KeepNewestResult(**settings)) == expected
    found = results(applied(KeepNewestResult(**settings), "a", session(*made)).contents)[0]
    assert "read" in found.get("left_out", "") or not expected[0]


def test_repeated_results_of_waiting_calls_stay():
    """The receipt of a call that waits is left alone."""
    waiting = event("a", call_part("read", {"path": "a"}, "w"), long_running_tool_ids={"w"})
    receipt = tool_returned("a", "read", {"rows": rows(1, 40)}, "w")
    assert not any(notes([user_said("Q"), waiting, receipt, *session(SAME)]))


def test_the_report_says_how_much_was_left_out():
    """The note of the pass counts the results and what they weighed."""
    events = session(SAME, SAME, SAME)
    _, report = ContextPipeline([KeepNewestResult()]).run(request_for("a", events), call_for("a", events))
    (one,) = report.passes
    assert one.note == f"left out 2 repeated results, {one.tokens_saved} tokens"


CLEAR = ClearToolResults(keep_results=0, keep_in_turn=8)


@pytest.mark.parametrize(("events", "passes", "expected"), [
    ([user_said("hello")], (CLEAR, FitTokenBudget(max_tokens=1000)), False), (long_turn(3), (CLEAR,), False),
    (long_turn(9), (CLEAR,), False), (long_turn(30), (CLEAR,), False),
    (long_turn(30), (CompactResults(), CLEAR), True), (many_turns(1, size=2), (CompactResults(), CLEAR), False),
    (many_turns(1), (CompactResults(), CLEAR), True), (many_turns(1), (ClearToolResults(keep_results=2),), False),
    (many_turns(1), (ClearToolResults(keep_results=0, exclude_tools=["fetch"]),), False),
    (many_turns(1), (StripForContext(),), False), (many_turns(3), (FitTokenBudget(max_tokens=3_000),), True),
    (many_turns(3), (FitTokenBudget(max_tokens=500_000),), False),
])  # fmt: skip
def test_it_says_so_when_passes_leave_something_out(events, passes, expected):
    """Results of finished turns, of a long running turn, and a history near its budget; small ones do not count."""
    assert leave_history(passes, request_for("a", events), call_for("a", events)) is expected


@pytest.mark.parametrize(("pause", "lasting", "model", "words", "expected"), [
    (601, 0, "gpt-5", 900, True), (599, 0, "gpt-5", 900, False), (601, 1_800, "gpt-5", 900, False),
    (601, 0, "gemini-2.5", 2_500, True), (601, 0, "gemini-3", 2_500, False), (601, 0, "gemini-3", 900, False),
])  # fmt: skip
def test_a_long_pause_clears_at_no_cost(pause, lasting, model, words, expected):
    """The first results leave once no cache holds them, unless the provider caches nothing as small as what is left."""
    request, call = request_for("a", events := many_turns(2, size=20)), call_for("a", events)
    request.model, request.config.system_instruction = model, "word " * words
    request.cache_config = ContextCacheConfig(ttl_seconds=lasting) if lasting else None
    for number, each in enumerate(events):
        each.timestamp = 1e9 + number + (pause if each is events[-1] else 0)
    assert leave_history([CLEAR], request, call) is expected


@pytest.mark.parametrize(("plugin", "asked"), [
    (ContextPackPlugin(prices=Prices(cached=0.5)), ["abcdefghijklmnopqrst"]),
    (ContextPackPlugin(max_tokens=5_900), ["abcdefghij", "klmnopqrst"]),
])  # fmt: skip
async def test_an_agent_that_needs_all_results_of_its_turn_comes_to_an_end(plugin, asked):
    """Once it reads again what has left its turn, no more leaves it: each of twenty results is read at most twice."""

    def fetch(page: str) -> dict:
        return {"text": f"{'plain words ' * 90}({page}){' of no note' * 90}"}

    def answer(request):
        shown, (*_, pages) = str(results_in(request)), (each[0] for each in texts(request) if each[0] in asked)
        return next((call("fetch", page=page) for page in pages if f"({page})" not in shown), "Read.")

    agent, config = LlmAgent(name="a", model=ScriptedModel(answer=answer), tools=[fetch]), RunConfig(max_llm_calls=41)
    assert len((await run_agent(agent, *asked, plugins=[plugin], run_config=config)).requests) > 21


class DropOldest(ContextPass):
    """A user's own pass that keeps the newest contents only."""

    def apply(self, request, call):
        """Leaves out all but the newest three contents."""
        return request.model_copy(update={"contents": request.contents[-3:]}) if self.bites(request) else request

    def leaves_history(self, request, call):
        """Says so as soon as it bites."""
        return self.bites(request)

    def bites(self, request) -> bool:
        """Whether there is something to leave out."""
        return len(request.contents) > 3


class Confused(DropOldest):
    """A pass that cannot say what it needs."""

    def leaves_history(self, request, call):
        """Fails."""
        raise RuntimeError("no idea")


@pytest.mark.parametrize(("entry", "offered"), [(DropOldest(), True), (Confused(), False), (StripForContext(), False)])
async def test_a_pass_of_the_users_own_gets_the_tool_for_its_agent(entry, offered):
    """The plugin asks every pass, so a trimming pass that nobody here knows has read_back offered too."""

    def fetch() -> dict:
        return {"page": 1}

    def answer(request):
        return "done" if results_in(request) and request.contents[-1].role == "user" else call("fetch")

    agent = LlmAgent(name="a", model=ScriptedModel(answer=answer), tools=[fetch])
    run = await run_agent(agent, "one", "two", "three", plugins=[ContextPackPlugin(passes=[entry])])
    names = [("read_back" in request.tool_names) for request in run.requests]
    assert not names[0]
    assert names[-1] is offered
