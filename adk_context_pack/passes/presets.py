"""The recommended order of passes, with the reason for each place."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from adk_context_pack.conversation.tokens import Counter
from adk_context_pack.errors import one_of
from adk_context_pack.passes.context_pass import ContextPass

Relays = Literal["cast", "strip"]


def default_passes(
    *,
    max_tokens: int,
    relays: Relays = "cast",
    keep_tools: Collection[str] = (),
    counter: Counter | None = None,
    cached_price: float = 0.1,
) -> tuple[ContextPass, ...]:
    """Returns passes that are safe for any agent with `search_history`, in the order in which they work best.

    `CompactState` belongs first, since later passes must count what it fills in. `DropOldMedia`,
    `DropOldThoughts` and `KeepNewestResult` belong before `ClearToolResults`, which then has less to weigh.

    Args:
        max_tokens: the budget of a whole request, in tokens: the model's window less its answer.
        relays: "cast" retells what other agents did. "strip" keeps only what they said.
        keep_tools: tools whose results stay whole, such as one that loads a plan. ADK's active skills stay anyway.
        counter: a tokenizer, from text to its number of tokens. Without one, tokens are estimated and calibrated.
        cached_price: the price of a cached token as a share of another one, which decides when results are cleared.

    Raises:
        SettingError: a setting that cannot work.
    """
    # The passes load with the first request. An app with passes of its own never needs them.
    from adk_context_pack.passes.cast_narrative import CastNarrative  # noqa: PLC0415
    from adk_context_pack.passes.clear_tool_results import ClearToolResults  # noqa: PLC0415
    from adk_context_pack.passes.fit_token_budget import FitTokenBudget  # noqa: PLC0415
    from adk_context_pack.passes.strip_for_context import StripForContext  # noqa: PLC0415

    one_of("default_passes", "relays", relays, ("cast", "strip"))
    return (
        # First, since it needs ADK's blocks as they came to tie them to the session's events.
        CastNarrative() if relays == "cast" else StripForContext(),
        # Second, since a cleared result need not be dropped. Results of finished turns are cleared while little follows
        # them, once that costs less than to send them again. The running turn keeps what its answer needs.
        ClearToolResults(
            keep_results=0,
            keep_in_turn=8,
            min_tokens=100,
            max_ledger_tokens=100,
            exclude_tools=keep_tools,
            counter=counter,
            max_tokens=max_tokens,
            cached_price=cached_price,
        ),
        # Last, since it counts what is really sent.
        FitTokenBudget(max_tokens=max_tokens, keep_tools=keep_tools, counter=counter),
    )
