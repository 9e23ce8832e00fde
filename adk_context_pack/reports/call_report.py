"""The record of one model call that went through a pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from adk_context_pack.reports.breakdown import Breakdown
from adk_context_pack.reports.pass_report import PassReport, PrefixReport
from adk_context_pack.reports.request_view import RequestView
from adk_context_pack.reports.text_table import report_table


@dataclass(kw_only=True, slots=True)
class CallReport:
    """The record of one model call's request on its way through a pipeline. `print(report)` shows it as a table.

    The tokens add up: `categories_before` to `tokens_before`, `categories` to `tokens_after`. Each pass starts with the
    tokens that the previous pass left. They are the pipeline's own count. Without a counter of the app's own that is an
    estimate, which is scaled to the provider's figure as soon as there is one, and to the figure for the agent's last
    call before that.

    `tokens_without_pack` is what the same request would weigh had no result been made smaller, no tool been declared by
    the plugin and no pass run. ADK alone sends the full history with each call, so a request saves the tokens of each
    smaller result that it shows, also those of earlier calls and turns, and those that ADK wrote into it as text of
    another agent. `tokens_without_pack` counts the full result in its place. What an agent reads back with a tool of
    the pack stays in the sum, since nobody knows what the agent would have done without that tool.

    Attributes:
        agent: the agent's name.
        model: the model's name, where ADK had set one.
        invocation_id: ADK's id of the run.
        session_id: the session's id.
        passes: one record for each pass, in the order in which they ran.
        tokens_before: tokens of the whole request before the first pass, with smaller results and the plugin's tools.
        tokens_after: tokens of the whole request after the last pass.
        categories: `tokens_after` by category, in the order of `CATEGORIES`, empty ones included.
        categories_before: `tokens_before` by category.
        tools: the tokens of this agent's calls and results by tool. They add up to `tool_calls_and_results` of
            `categories`.
        tools_before: the same for `categories_before`.
        results: the tokens that smaller results keep out of this request, by tool.
        unknown_results: smaller results in this request that an earlier process made. Their saving is not counted, so
            `tokens_without_pack` is then a lower bound.
        pack_tools: tokens of the declarations that the plugin added to this request.
        shadow: whether the figures are what the pack would have done to a request that went out as ADK built it.
        prefix: the share of the agent's previous request in this session that this one still begins with.
        prompt_tokens: the provider's own count, cached tokens included. None until it has answered, or if its answer
            has no count.
        cached_tokens: the tokens among them that the provider read from its cache.
        scale: what the pipeline's own count was multiplied by.
        request_before: the request as ADK had built it, if the user asked for requests to be kept, otherwise None.
        request_after: the request as the model received it, under the same condition.
    """

    agent: str
    model: str
    invocation_id: str
    session_id: str
    passes: tuple[PassReport, ...]
    tokens_before: int
    tokens_after: int
    categories: Mapping[str, int] = field(default_factory=dict)
    categories_before: Mapping[str, int] = field(default_factory=dict)
    tools: Mapping[str, int] = field(default_factory=dict)
    tools_before: Mapping[str, int] = field(default_factory=dict)
    results: Mapping[str, int] = field(default_factory=dict)
    unknown_results: int = 0
    pack_tools: int = 0
    shadow: bool = False
    prefix: PrefixReport = field(default_factory=PrefixReport)
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    scale: float = 1.0
    # Payloads: kept out of repr, and so out of every log that prints a report.
    request_before: RequestView | None = field(default=None, repr=False, compare=False)
    request_after: RequestView | None = field(default=None, repr=False, compare=False)

    @property
    def tokens_saved(self) -> int:
        """`tokens_without_pack` less `tokens_after`. Negative if more was added than taken away."""
        return self.tokens_without_pack - self.tokens_after

    @property
    def tokens_without_pack(self) -> int:
        """Tokens of the request that ADK alone would have sent, as the class describes it."""
        return self.tokens_before + sum(self.results.values()) - self.pack_tools

    @property
    def breakdown(self) -> Breakdown:
        """`categories` and `tools`, which are set together so that they add up."""
        return Breakdown(self.categories, self.tools)

    @breakdown.setter
    def breakdown(self, found: Breakdown) -> None:
        self.categories, self.tools = found

    @property
    def breakdown_before(self) -> Breakdown:
        """`categories_before` and `tools_before`, which are set together so that they add up."""
        return Breakdown(self.categories_before, self.tools_before)

    @breakdown_before.setter
    def breakdown_before(self, found: Breakdown) -> None:
        self.categories_before, self.tools_before = found

    @property
    def seconds(self) -> float:
        """The time of all passes, in seconds."""
        return sum(each.seconds for each in self.passes)

    def heard(self, usage: Any) -> None:
        """Takes over the provider's figures.

        Args:
            usage: the `usage_metadata` of a response. Partial responses of a stream may have none.
        """
        prompt = getattr(usage, "prompt_token_count", None)
        if prompt is not None:
            self.prompt_tokens = prompt
            self.cached_tokens = getattr(usage, "cached_content_token_count", None) or 0

    def to_totals(self) -> dict[str, Any]:
        """Returns the totals of the report as plain JSON values, as ADK stores them on the event of the answer."""
        totals: dict[str, Any] = {
            "tokens_without_pack": self.tokens_without_pack,
            "tokens_before": self.tokens_before,
            "tokens_after": self.tokens_after,
            "prompt_tokens": self.prompt_tokens,
            "cached_tokens": self.cached_tokens,
            "prefix_share": round(self.prefix.share, 4),
        }
        if self.scale != 1.0:
            totals["scale"] = round(self.scale, 4)
        if self.pack_tools:
            totals["pack_tools"] = self.pack_tools
        if failed := [each.name for each in self.passes if each.error]:
            totals["failed"] = failed
        return totals

    def to_dict(self) -> dict[str, Any]:
        """Returns the report as plain JSON values without payload."""
        return {
            "agent": self.agent,
            "model": self.model,
            "invocation_id": self.invocation_id,
            "session_id": self.session_id,
            "tokens_without_pack": self.tokens_without_pack,
            "tokens_before": self.tokens_before,
            "tokens_after": self.tokens_after,
            "results": dict(self.results),
            "unknown_results": self.unknown_results,
            "pack_tools": self.pack_tools,
            "shadow": self.shadow,
            "passes": [each.to_dict() for each in self.passes],
            "categories": {name: tokens for name, tokens in self.categories.items() if tokens},
            "categories_before": {name: tokens for name, tokens in self.categories_before.items() if tokens},
            "tools": dict(self.tools),
            "tools_before": dict(self.tools_before),
            "prefix": {"tokens": self.prefix.tokens, "share": round(self.prefix.share, 4)},
            "prompt_tokens": self.prompt_tokens,
            "cached_tokens": self.cached_tokens,
            "scale": round(self.scale, 4),
        }

    def __str__(self) -> str:
        return report_table(self)
