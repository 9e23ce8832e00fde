"""leaves_history: each pass says whether its agent needs to search what left the requests."""

import pytest
from google.adk.agents import LlmAgent

from adk_context_pack import ClearToolResults, ContextPackPlugin, ContextPass, FitTokenBudget, StripForContext
from tests.support.events import user_said
from tests.support.histories import long_turn, many_turns
from tests.support.requests import call_for, request_for
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in

CLEAR = ClearToolResults(keep_results=0, keep_in_turn=8)


def leaves(events, *passes) -> bool:
    request, call = request_for("a", events), call_for("a", events)
    return any(entry.leaves_history(request, call) for entry in passes)


@pytest.mark.parametrize(
    ("events", "passes", "expected"),
    [
        ([user_said("hello")], (CLEAR, FitTokenBudget(max_tokens=1000)), False),
        (long_turn(3), (CLEAR,), False),
        (long_turn(9), (CLEAR,), True),
        (many_turns(1, size=2), (CLEAR,), False),
        (many_turns(1), (CLEAR,), True),
        (many_turns(1), (ClearToolResults(keep_results=2),), False),
        (many_turns(1), (ClearToolResults(keep_results=0, exclude_tools=["fetch"]),), False),
        (many_turns(1), (StripForContext(),), False),
        (many_turns(3), (FitTokenBudget(max_tokens=3_000),), True),
        (many_turns(3), (FitTokenBudget(max_tokens=500_000),), False),
    ],
)
def test_it_says_so_when_passes_leave_something_out(events, passes, expected):
    """Results of finished turns, of a long running turn, and a history near its budget; small ones do not count."""
    assert leaves(events, *passes) is expected


def test_whatever_the_passes_clear_the_agent_could_search():
    """No note is ever left in a request whose agent was not given the tool."""
    events = many_turns(4, calls=3)
    for count in range(1, len(events) + 1):
        request, call = request_for("a", events[:count]), call_for("a", events[:count])
        if CLEAR.apply(request, call) is not request:
            assert leaves(events[:count], CLEAR)


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
    """The plugin asks every pass, so a trimming pass that nobody here knows has search_history offered too."""

    def fetch() -> dict:
        return {"page": 1}

    def answer(request):
        return "done" if results_in(request) and request.contents[-1].role == "user" else call("fetch")

    agent = LlmAgent(name="a", model=ScriptedModel(answer=answer), tools=[fetch])
    run = await run_agent(agent, "one", "two", "three", plugins=[ContextPackPlugin(passes=[entry])])
    names = [("search_history" in request.tool_names) for request in run.requests]
    assert not names[0]
    assert names[-1] is offered
