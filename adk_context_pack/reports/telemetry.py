"""Sends reports as attributes of spans, span events and metrics, in the GenAI conventions that ADK follows.

The span of each model call, which the Traces of `adk web` show, carries the report as attributes. Names that begin
with `gen_ai` follow https://opentelemetry.io/docs/specs/semconv/gen-ai/, the pack's own begin with `adk_context_pack`.

| attribute | type | meaning |
| --- | --- | --- |
| `gen_ai.agent.name` | string | the agent |
| `gen_ai.request.model` | string | the model |
| `gen_ai.conversation.id` | string | ADK's id of the session |
| `gen_ai.usage.input_tokens` | int | the provider's own count, set by ADK |
| `gen_ai.usage.cache_read.input_tokens` | int | those of them from the provider's cache |
| `adk_context_pack.invocation_id` | string | ADK's id of the run |
| `adk_context_pack.tokens_without_pack` | int | tokens of the request that ADK alone would have sent |
| `adk_context_pack.tokens_before` | int | tokens before the first pass |
| `adk_context_pack.tokens_after` | int | tokens of the request that was sent |
| `adk_context_pack.tokens_saved` | int | `tokens_without_pack` less `tokens_after` |
| `adk_context_pack.pack_tools` | int | tokens of the declarations that the plugin added |
| `adk_context_pack.result.TOOL` | int | tokens that smaller results of this tool kept out of the request |
| `adk_context_pack.pass.PASS` | int | tokens that this pass took away |
| `adk_context_pack.failed` | string[] | the passes that failed and were skipped, if any |
| `adk_context_pack.category.NAME` | int | `tokens_after` by category |
| `adk_context_pack.prefix.tokens` | int | tokens of the agent's previous request that this one begins with |
| `adk_context_pack.prefix.share` | double | the same as a share of the previous request, from 0 to 1 |
| `adk_context_pack.shadow` | boolean | true in shadow mode, where ADK's own request was sent |

The same figures are span events on the span that is current in the callback, one for the request, one for each pass
and one for the provider's figures, and metrics without session and run. Without an SDK nothing is sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opentelemetry import metrics, trace

from adk_context_pack._adk.model_spans import MODEL_SPANS, is_model_span
from adk_context_pack.reports.call_report import NAME, CallReport


class Telemetry:
    """Sends reports as attributes of spans, span events and metrics.

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
        """Reports a request that is about to be sent: on the model call's span, as span events, and as metrics."""
        common = {"gen_ai.agent.name": report.agent, "gen_ai.request.model": report.model}
        span = trace.get_current_span()
        if span.is_recording():
            MODEL_SPANS.attach({**common, **_attributes(report), **_effects(report)})
            span.add_event(f"{NAME}.request", {**common, **_attributes(report)})
            for each in report.passes:
                attributes: dict[str, Any] = {
                    f"{NAME}.pass": each.name,
                    f"{NAME}.tokens_before": each.tokens_before,
                    f"{NAME}.tokens_after": each.tokens_after,
                    f"{NAME}.duration": each.seconds,
                    **({f"{NAME}.note": each.note} if each.note else {}),
                    **({"error.type": each.error_type} if each.error_type else {}),
                }
                span.add_event(f"{NAME}.pass", {**common, **attributes})
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
            if is_model_span(span):
                # Older releases of ADK leave the cached share out.
                span.set_attribute("gen_ai.usage.cache_read.input_tokens", report.cached_tokens or 0)

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


def _effects(report: CallReport) -> dict[str, Any]:
    failed = [each.name for each in report.passes if each.error]
    return {
        f"{NAME}.tokens_saved": report.tokens_saved,
        **{f"{NAME}.pass.{each.name}": each.tokens_saved for each in report.passes},
        **({f"{NAME}.failed": failed} if failed else {}),
    }
