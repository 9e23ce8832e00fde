"""Holds one replayed model call: its figures, corrected by what was recorded, and what the pack did to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from google.adk.events.event import Event

from adk_context_pack._adk.requests import contents_for, is_model_call
from adk_context_pack.conversation.calibration import HIGHEST_FACTOR, is_plausible
from adk_context_pack.conversation.tokens import TokenMeter
from adk_context_pack.reports.call_report import CallReport, PassReport, PrefixReport, spread
from adk_context_pack.reports.outlets import totals_on

_MEANINGFUL = 100
_SUSPICIOUS = 0.6
"""An agent of whose full history the provider counted a smaller share was not shown all of it."""


class Counted(NamedTuple):
    """Holds the tokens of one call's requests.

    Attributes:
        without: tokens of the request without the pack, as the replay counts it.
        with_pack: the same with the pack.
        figure: the provider's count of the request without the pack, or None.
    """

    without: int
    with_pack: int
    figure: int | None


class Scale(NamedTuple):
    """Tells what a counted token of an agent is worth, and what the provider counts beside them.

    Attributes:
        factor: the provider's tokens for each counted one.
        fixed: the provider's tokens for what the replay cannot see: instructions and tool declarations.
    """

    factor: float = 1.0
    fixed: int = 0

    def of(self, call: Counted) -> tuple[int, int]:
        """Returns the tokens of a call without the pack and with it. The provider's own figure counts where it is.

        The rest of a request shrinks by the share that the replay counts. A saving of so many counted tokens would
        leave the error of all that was saved in the little that is left.
        """
        without = call.figure or round(self.fixed + self.factor * call.without)
        fixed = min(self.fixed, without)
        share = call.with_pack / call.without if call.without else 1.0
        return without, round(fixed + (without - fixed) * share)


def scale_of(calls: Sequence[Counted], *, whole: bool) -> Scale:
    """Returns the scale of one agent's calls in one session."""
    known = [call for call in calls if call.figure and call.without]
    if not known:
        return Scale()
    factor = 0.0
    if not whole:
        steps = [(two.figure - one.figure, two.without - one.without) for one, two in pairwise(known)]  # type: ignore[operator]
        plausible = [
            (actual, counted) for actual, counted in steps if counted >= _MEANINGFUL and is_plausible(actual / counted)
        ]
        factor = _ratio(plausible)
    # A single call does not tell how much of it the replay cannot see.
    factor = factor or min(
        _ratio([(call.figure or 0, call.without) for call in known]), HIGHEST_FACTOR if whole else 1.0
    )
    fixed = round(median((call.figure or 0) - factor * call.without for call in known))
    return Scale(factor, max(fixed, 0))


def _ratio(pairs: Sequence[tuple[int, int]]) -> float:
    counted = sum(count for _, count in pairs)
    return sum(actual for actual, _ in pairs) / counted if counted else 0.0


def recorded_with_pack(event: Event) -> tuple[int, int] | None:
    """Returns the tokens without the pack and with it of a call that was recorded with the pack, or None."""
    totals = totals_on(event)
    without, after = totals.get("tokens_without_pack"), totals.get("tokens_after")
    if not isinstance(without, int) or not isinstance(after, int) or not after:
        return None
    figure = _figure(event) or after
    return round(without * figure / after), figure


def recorded_as_capped(event: Event) -> int | None:
    """Returns the tokens of a request as ADK had built it with capped results, or None if the pack did not report."""
    totals = totals_on(event)
    before, after = totals.get("tokens_before"), totals.get("tokens_after")
    if not isinstance(before, int) or not isinstance(after, int) or not after:
        return None
    tools = totals.get("pack_tools", 0)
    return round((before - (tools if isinstance(tools, int) else 0)) * (_figure(event) or after) / after)


def silent_agents(events: Sequence[Event]) -> frozenset[str]:
    """Returns the authors that call no model: other events of the session have the provider's figures, theirs none."""
    counted = {event.author for event in events if _figure(event) is not None}
    if not counted:
        return frozenset()
    named = {event.author for event in events if getattr(event, "model_version", None)}
    return frozenset(event.author for event in events) - counted - named


def agents_without_history(events: Sequence[Event], meter: TokenMeter) -> frozenset[str]:
    """Returns the agents that are shown the current turn alone, as far as the provider's figures tell."""
    last = {event.author: (place, event) for place, event in enumerate(events) if _figure(event)}
    found = set()
    for agent, (place, event) in last.items():
        figure = _figure(event) or 0
        if not is_model_call(event) or totals_on(event):
            continue
        try:
            full, turn = (meter.contents(contents_for(event, events[:place], turn_only=only)) for only in (False, True))
        except ValueError:
            continue
        if figure < _SUSPICIOUS * full and abs(figure - turn) < abs(figure - full):
            found.add(agent)
    return frozenset(found)


def _figure(event: Event) -> int | None:
    return event.usage_metadata.prompt_token_count if event.usage_metadata else None


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
        told.add_up()
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
