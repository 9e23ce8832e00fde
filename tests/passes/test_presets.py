"""default_passes: the recommended order."""

from adk_context_pack import (
    CastNarrative,
    ClearToolResults,
    FitTokenBudget,
    StripForContext,
    default_passes,
)


def test_the_order_is_relays_then_results_then_the_budget():
    """One visible tuple, in the order that its comments give reasons for."""
    assert [type(entry) for entry in default_passes(max_tokens=1000)] == [
        CastNarrative,
        ClearToolResults,
        FitTokenBudget,
    ]
    assert isinstance(default_passes(max_tokens=1000, relays="strip")[0], StripForContext)
