"""Adds up what the requests of one agent are made of, and how often their prefix broke."""

from __future__ import annotations

from dataclasses import dataclass

from adk_context_pack.reports.call_report import CallReport

_FIXED = ("system_instruction", "tool_declarations", "state_views")
_KEPT = 0.995
"""A smaller share of the previous request is a broken prefix. The rest is for rounding."""


@dataclass(kw_only=True, slots=True)
class AgentUse:
    """The requests of one agent.

    Attributes:
        model: the model of the largest request.
        largest: the tokens of the largest request.
        instruction: the tokens of its system instructions and state views, over all requests.
        largest_instruction: the most that one request had.
        declared: the tokens of its tool declarations, over all requests.
        breaks: how often a request did not begin with the whole of the previous one.
        lost: the tokens of previous requests that were not reused for that reason.
        breaks_in_fixed: the breaks within the system instruction or the tool declarations.
        lost_in_fixed: the tokens that these lost.
    """

    model: str = ""
    largest: int = 0
    instruction: int = 0
    largest_instruction: int = 0
    declared: int = 0
    breaks: int = 0
    lost: int = 0
    breaks_in_fixed: int = 0
    lost_in_fixed: int = 0

    def add(self, report: CallReport) -> None:
        """Adds one call of the agent."""
        if report.tokens_after >= self.largest:
            self.model, self.largest = report.model, report.tokens_after
        sizes = report.categories
        instruction = sizes.get("system_instruction", 0) + sizes.get("state_views", 0)
        self.instruction += instruction
        self.largest_instruction = max(self.largest_instruction, instruction)
        self.declared += sizes.get("tool_declarations", 0)
        prefix = report.prefix
        if prefix.previous_tokens and prefix.share < _KEPT:
            lost, fixed = prefix.previous_tokens - prefix.tokens, broke_in_fixed(report)
            self.breaks += 1
            self.lost += lost
            self.breaks_in_fixed += fixed
            self.lost_in_fixed += lost * fixed


def broke_in_fixed(report: CallReport) -> bool:
    """Tells whether the prefix of a request ends within the instruction or the tool declarations."""
    fixed = sum(report.categories.get(name, 0) for name in _FIXED)
    return bool(report.prefix.previous_tokens) and report.prefix.tokens < fixed
