"""Sends reports as OpenTelemetry span events and metrics, in the GenAI conventions that ADK follows.

The attributes `gen_ai.agent.name`, `gen_ai.request.model`, `gen_ai.conversation.id` (ADK's session id),
`gen_ai.tool.name`, `gen_ai.usage.*` and `error.type` follow https://opentelemetry.io/docs/specs/semconv/gen-ai/. The
pack's own names begin with `adk_context_pack`. The attribute `adk_context_pack.result.TOOL` of a request holds the
tokens that smaller results of that tool kept out of it, and `adk_context_pack.shadow` is true in shadow mode.

By default, callbacks see only the agent's span, which all its calls share, so each call is an event on it. Only
OpenTelemetry's API is used. Without an SDK nothing is sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opentelemetry import metrics, trace

from adk_context_pack.reports.call_report import CallReport

NAME = "adk_context_pack"


class Telemetry:
    """Sends reports as span events and metrics.

    Args:
        meter_provider: OpenTelemetry's meter provider. The default is the global one, even if it is set later.
    """

    def __init__(self, meter_provider: metrics.MeterProvider | None = None) -> None:
        meter = metrics.get_meter(NAME, meter_provider=meter_provider)
        self._tokens = meter.create_histogram(
            f"{NAME}.request.tokens",
            unit="{token}",
            description="Tokens of a model request: without the pack, before and after the passes.",
        )
        self._kept_out = meter.create_counter(
            f"{NAME}.result.tokens_saved",
            unit="{token}",
            description="Tokens that smaller results of a tool kept out of model requests.",
        )
        self._removed = meter.create_counter(
            f"{NAME}.pass.tokens_removed", unit="{token}", description="Tokens that a pass took out of model requests."
        )
        self._duration = meter.create_histogram(
            f"{NAME}.pass.duration", unit="s", description="Time of one pass over one model request."
        )
        self._prefix = meter.create_histogram(
            f"{NAME}.prefix.share",
            unit="1",
            description="Share of the agent's previous request that is still its prefix.",
        )

    def sent(self, report: CallReport) -> None:
        """Reports a request that is about to be sent: a span event for it, one for each pass, and the metrics."""
        common = {"gen_ai.agent.name": report.agent, "gen_ai.request.model": report.model}
        span = trace.get_current_span()
        if span.is_recording():
            span.add_event(f"{NAME}.request", {**common, **_attributes(report)})
            for each in report.passes:
                span.add_event(f"{NAME}.pass", {**common, **_pass_attributes(each)})
        self._measure(report, common)

    def heard(self, report: CallReport) -> None:
        """Reports the provider's figures beside the pack's, as a span event. ADK itself counts them as metrics."""
        span = trace.get_current_span()
        if span.is_recording() and report.prompt_tokens is not None:
            attributes: dict[str, str | int] = {
                "gen_ai.agent.name": report.agent,
                "gen_ai.request.model": report.model,
                "gen_ai.conversation.id": report.session_id,
                "gen_ai.usage.input_tokens": report.prompt_tokens,
                "gen_ai.usage.cache_read.input_tokens": report.cached_tokens or 0,
                f"{NAME}.tokens_after": report.tokens_after,
                f"{NAME}.tokens_without_pack": report.tokens_without_pack,
            }
            span.add_event(f"{NAME}.usage", attributes)

    def _measure(self, report: CallReport, common: Mapping[str, str]) -> None:
        # No session or run among the attributes of metrics: each value would be a time series of its own.
        typed = {**common, "gen_ai.token.type": "input"}
        self._tokens.record(report.tokens_without_pack, {**typed, f"{NAME}.stage": "without_pack"})
        for tool, saved in report.results.items():
            self._kept_out.add(max(saved, 0), {**common, "gen_ai.tool.name": tool})
        self._tokens.record(report.tokens_before, {**typed, f"{NAME}.stage": "before"})
        self._tokens.record(report.tokens_after, {**typed, f"{NAME}.stage": "after"})
        if report.prefix.previous_tokens:
            self._prefix.record(report.prefix.share, common)
        for each in report.passes:
            labels = {**common, f"{NAME}.pass": each.name}
            self._removed.add(max(each.tokens_saved, 0), labels)
            error = {"error.type": each.error_type} if each.error_type else {}
            self._duration.record(each.seconds, {**labels, **error})


def _attributes(report: CallReport) -> dict[str, Any]:
    return {
        "gen_ai.conversation.id": report.session_id,
        f"{NAME}.invocation_id": report.invocation_id,
        f"{NAME}.tokens_without_pack": report.tokens_without_pack,
        f"{NAME}.tokens_before": report.tokens_before,
        f"{NAME}.tokens_after": report.tokens_after,
        f"{NAME}.pack_tools": report.pack_tools,
        **{f"{NAME}.result.{tool}": saved for tool, saved in report.results.items()},
        **({f"{NAME}.shadow": True} if report.shadow else {}),
        f"{NAME}.prefix.tokens": report.prefix.tokens,
        f"{NAME}.prefix.share": report.prefix.share,
        **{f"{NAME}.category.{name}": tokens for name, tokens in report.categories.items() if tokens},
    }


def _pass_attributes(each: Any) -> dict[str, Any]:
    attributes = {
        f"{NAME}.pass": each.name,
        f"{NAME}.tokens_before": each.tokens_before,
        f"{NAME}.tokens_after": each.tokens_after,
        f"{NAME}.duration": each.seconds,
    }
    if each.note:
        attributes[f"{NAME}.note"] = each.note
    if each.error_type:
        attributes["error.type"] = each.error_type
    return attributes
