"""The recommended order of passes, with the reason for each place."""

from __future__ import annotations

from typing import Literal

from adk_context_pack.conversation.tokens import Counter
from adk_context_pack.errors import one_of
from adk_context_pack.passes.cast_narrative import CastNarrative
from adk_context_pack.passes.clear_tool_results import ClearToolResults
from adk_context_pack.passes.context_pass import ContextPass
from adk_context_pack.passes.fit_token_budget import FitTokenBudget
from adk_context_pack.passes.strip_for_context import StripForContext

Relays = Literal["cast", "strip"]


def default_passes(
    *, max_tokens: int, relays: Relays = "cast", counter: Counter | None = None
) -> tuple[ContextPass, ...]:
    """Passes that are safe for any agent, in the order in which they work best.

    `CompactState` belongs first, since it fills in what later passes must count. `DropOldThoughts` and
    `KeepNewestResult` belong before `ClearToolResults`: what they take away need not be weighed there.

    Args:
        max_tokens: the budget of a whole request, in tokens; the model's window less what it may answer.
        relays: "cast" retells what other agents did, "strip" keeps what they said and nothing else of it.
        counter: a tokenizer of one's own, from text to tokens; without one, tokens are estimated and calibrated.

    Raises:
        SettingError: a setting that cannot work.
    """
    one_of("default_passes", "relays", relays, ("cast", "strip"))
    return (
        # First, since it needs ADK's blocks as they came to tie them to the session's events.
        CastNarrative() if relays == "cast" else StripForContext(),
        # Second: what it clears need not be dropped. Results of finished turns go at once, when little stands behind
        # them and the cache loses next to nothing; the running turn keeps what its answer needs. What was capped where
        # it was made, or is small anyway, stays: a note would save less than the cache loses.
        ClearToolResults(keep_results=0, keep_in_turn=8, min_tokens=1000, counter=counter),
        # Last, since it counts what is really sent.
        FitTokenBudget(max_tokens=max_tokens, counter=counter),
    )
