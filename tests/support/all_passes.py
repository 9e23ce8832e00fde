"""The whole pack attached to agents, with thresholds so small that every part of it bites."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from google.adk.plugins.base_plugin import BasePlugin

import adk_context_pack as p
from adk_context_pack.conversation.token_estimate import TokenMeter
from adk_context_pack.passes.context_pass import ContextPass


@dataclass(kw_only=True)
class Attached:
    """How the pack is attached.

    Attributes:
        passes: for each agent's `before_model_callback`.
        plugins: for the app.
    """

    passes: Sequence[ContextPass] = ()
    plugins: Sequence[BasePlugin] = ()
    _taken: list[int] = field(default_factory=list)

    @property
    def callbacks(self) -> list[Any]:
        """The passes, weighed."""
        return [self._weighed(entry) for entry in self.passes]

    def taken_away(self) -> int:
        """The tokens that passes took away, as far as the requests have been sent."""
        reports = [report for plugin in self.plugins for report in plugin.reports]
        passes = [entry for report in reports for entry in report.passes]
        assert [entry.error for entry in passes if entry.error] == []
        return sum(self._taken) + sum(entry.tokens_before - entry.tokens_after for entry in passes)

    def _weighed(self, entry: ContextPass) -> Callable[..., None]:
        def callback(callback_context, llm_request):
            before = TokenMeter().request(llm_request)
            entry(callback_context, llm_request)
            self._taken.append(before - TokenMeter().request(llm_request))

        return callback


def every_pass(max_tokens: int, relays: ContextPass) -> list[ContextPass]:
    """All passes that need no key of state, in the order in which they are recommended, as greedy as they get."""
    return [
        relays,
        p.DropOldMedia(min_bytes=0, on_error="raise"),
        p.DropOldThoughts(on_error="raise"),
        p.KeepNewestResult(min_tokens=1, on_error="raise"),
        p.ClearToolResults(keep_results=0, min_tokens=1, clear_args=True, on_error="raise"),
        p.FitTokenBudget(max_tokens=max_tokens, keep_turns=1, on_error="raise"),
    ]


def plugin(**settings: Any) -> p.ContextPackPlugin:
    """The plugin with small limits for tool results."""
    rows = p.CapRows(max_rows=3, max_tokens=200)
    return p.ContextPackPlugin(rows=rows, payloads=p.OffloadPayload(max_tokens=100, preview_tokens=40), **settings)


WAYS: dict[str, Callable[[int], Attached]] = {
    "plugin": lambda max_tokens: Attached(plugins=[plugin(max_tokens=max_tokens)]),
    "plugin with every pass": lambda max_tokens: Attached(
        plugins=[plugin(passes=every_pass(max_tokens, p.CastNarrative(on_error="raise")))]
    ),
    "callbacks": lambda max_tokens: Attached(passes=p.default_passes(max_tokens=max_tokens)),
    "every pass as callbacks": lambda max_tokens: Attached(
        passes=every_pass(max_tokens, p.StripForContext(on_error="raise"))
    ),
}
"""The ways to attach the pack, each from the budget of a request in tokens."""
