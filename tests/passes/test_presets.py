"""default_passes: the recommended order."""

from adk_context_pack import (
    CastNarrative,
    ClearToolResults,
    ContextPipeline,
    FitTokenBudget,
    StripForContext,
    default_passes,
)
from tests.support.events import agent_said, user_said
from tests.support.histories import many_turns
from tests.support.requests import call_for, request_for


def test_the_order_is_relays_then_results_then_the_budget():
    """One visible tuple, in the order that its comments give reasons for."""
    assert [type(entry) for entry in default_passes(max_tokens=1000)] == [
        CastNarrative,
        ClearToolResults,
        FitTokenBudget,
    ]
    assert isinstance(default_passes(max_tokens=1000, relays="strip")[0], StripForContext)


def test_a_conversation_that_needs_nothing_is_untouched():
    """Prose and small results go through all of them as the same contents."""
    events = [*many_turns(6, size=1), agent_said("a", "Long prose. " * 300), user_said("Thanks. And?")]
    request = request_for("a", events)
    result, _ = ContextPipeline(default_passes(max_tokens=100_000)).run(request, call_for("a", events))
    assert result is request
