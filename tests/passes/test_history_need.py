"""history_leaves: whether an agent needs to search what left its requests."""

import pytest

from adk_context_pack import ClearToolResults, FitTokenBudget, StripForContext
from adk_context_pack.conversation.tokens import TokenMeter
from adk_context_pack.passes.history_need import history_leaves
from tests.support.events import user_said
from tests.support.histories import long_turn, many_turns
from tests.support.requests import call_for, request_for

CLEAR = ClearToolResults(keep_results=0, keep_in_turn=8)


def leaves(events, *passes) -> bool:
    return history_leaves(request_for("a", events), call_for("a", events), passes, TokenMeter())


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


def test_it_stays_so_while_a_session_grows():
    """Once the tool is needed it is needed at each later call, so that an agent's tools change once."""
    events = many_turns(6)
    needed = [leaves(events[:count], CLEAR, FitTokenBudget(max_tokens=20_000)) for count in range(1, len(events) + 1)]
    assert needed == sorted(needed)
    assert needed[-1]


def test_whatever_the_passes_clear_the_agent_could_search():
    """No note is ever left in a request whose agent was not given the tool."""
    events = many_turns(4, calls=3)
    for count in range(1, len(events) + 1):
        request, call = request_for("a", events[:count]), call_for("a", events[:count])
        if CLEAR.apply(request, call) is not request:
            assert leaves(events[:count], CLEAR)
