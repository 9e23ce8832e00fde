"""Holds one replayed model call, and the names of what the pack did to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from adk_context_pack.replay.figures import Counted
from adk_context_pack.reports.call_report import CallReport, PassReport, PrefixReport, spread

CAPS = "tool_caps"
"""The name of capped tool results among the passes."""

READ_BACK_TOOLS = "read_back_tools"
"""The name of the tools that the plugin declares among the passes. They cost tokens."""

OWN_PASSES = "agents_own_passes"
"""The name of the passes among an agent's own callbacks."""

PACKED_BEFORE = "recorded_with_the_pack"
"""The name under which calls that were recorded with the pack stand among the passes."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """One model call, replayed.

    Attributes:
        report: the report, with the caps on tool results as its first pass. Its `tokens_before` are those of the
            request without the pack.
        prefix_without: how much of the agent's previous request would have been this one's prefix without the pack.
        figure: the request without the pack as the provider counted it, or None.
        packed_before: the tokens without the pack and with it that the pack reported when the call was recorded, if it
            had made results smaller then.
    """

    report: CallReport
    prefix_without: PrefixReport
    figure: int | None = None
    packed_before: tuple[int, int] | None = None

    @property
    def counted(self) -> Counted:
        """The tokens of both requests."""
        return Counted(self.report.tokens_before, self.report.tokens_after, self.figure)

    def corrected(self, tokens: tuple[int, int]) -> Replayed:
        """Returns the same call with other figures.

        Args:
            tokens: those of the request without the pack, and with it. Everything else is scaled to them.
        """
        report, (without, with_pack) = self.report, tokens
        if (without, with_pack) == (report.tokens_before, report.tokens_after):
            return self
        told = replace(
            report,
            tokens_before=without,
            tokens_after=with_pack,
            passes=tuple(self._passes(without, with_pack)),
            results={},
            pack_tools=0,
            prefix=report.prefix.scaled(with_pack / max(report.tokens_after, 1)),
        )
        told.breakdown = report.breakdown.scaled(with_pack)
        told.breakdown_before = report.breakdown_before.scaled(without)
        return replace(
            self, report=told, prefix_without=self.prefix_without.scaled(without / max(report.tokens_before, 1))
        )

    def _passes(self, without: int, with_pack: int) -> Iterator[PassReport]:
        if self.packed_before is not None:
            yield PassReport(name=PACKED_BEFORE, tokens_before=without, tokens_after=with_pack)
            return
        saved = {str(place): each.tokens_saved for place, each in enumerate(self.report.passes)}
        left = without
        for each, tokens in zip(self.report.passes, spread(saved, without - with_pack).values(), strict=False):
            yield replace(each, tokens_before=left, tokens_after=left - tokens)
            left -= tokens
