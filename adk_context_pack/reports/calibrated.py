"""Corrects the tokens of a report by the provider's own figures.

An estimate is on the high side, by a third and more for plain English. Once the provider has answered, its figure for
the request is known. The report's other figures are scaled with it. The factor joins the totals on the stored event, so
that the agent's next report begins with it, also in another process.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Any

from adk_context_pack.conversation.calibration import is_plausible
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.reports.call_report import CallReport
from adk_context_pack.reports.outlets import totals_on

_SEARCHED = 200


def calibrated(report: CallReport, call: ModelCall) -> CallReport:
    """Scales a report by what the provider's figure for the agent's last call was worth, and returns it.

    Args:
        report: the report of a request that is not sent yet, changed in place.
        call: its model call.
    """
    rescale(report, _known_scale(call))
    return report


def hear(report: CallReport, usage: Any, *, is_estimate: bool) -> None:
    """Takes over the provider's figures for the request that a report is about.

    Args:
        report: the report, changed in place.
        usage: the `usage_metadata` of a response.
        is_estimate: whether the report's tokens are an estimate, which is then scaled to the provider's figure.
    """
    report.heard(usage)
    # In shadow mode the provider counted the request that ADK alone built.
    counted = report.tokens_without_pack if report.shadow else report.tokens_after
    if is_estimate and report.prompt_tokens and counted > 0:
        rescale(report, report.prompt_tokens / counted)


def rescale(report: CallReport, factor: float) -> None:
    """Multiplies all tokens of a report, so that they still add up. A factor that nothing explains changes nothing.

    Args:
        report: the report, changed in place.
        factor: what one token of it is worth.
    """
    if factor == 1.0 or not is_plausible(report.scale * factor):
        return
    report.scale *= factor
    report.passes = tuple(
        replace(each, tokens_before=round(factor * each.tokens_before), tokens_after=round(factor * each.tokens_after))
        for each in report.passes
    )
    report.tokens_before, report.tokens_after = (
        round(factor * report.tokens_before),
        round(factor * report.tokens_after),
    )
    report.results = {name: round(factor * tokens) for name, tokens in report.results.items()}
    report.pack_tools = round(factor * report.pack_tools)
    report.breakdown_before = report.breakdown_before.scaled(report.tokens_before)
    report.breakdown = report.breakdown.scaled(report.tokens_after)
    report.prefix = report.prefix.scaled(factor)


def _known_scale(call: ModelCall) -> float:
    """Returns the factor on the newest of the agent's events that has a report, or 1.0."""
    for event in islice(reversed(call.events), _SEARCHED):
        if event.author == call.agent_name and (totals := totals_on(event)):
            scale = totals.get("scale", 1.0)
            return scale if isinstance(scale, float) and is_plausible(scale) else 1.0
    return 1.0
