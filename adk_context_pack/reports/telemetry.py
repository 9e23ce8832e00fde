"""Sends reports as attributes of spans, span events and metrics, in the GenAI conventions that ADK follows.

The span of each model call, which the Traces of `adk web` show, carries the report as attributes. Names that begin
with `gen_ai` follow https://opentelemetry.io/docs/specs/semconv/gen-ai/, the pack's own begin with `adk_context_pack`.
The guide lists them (`samples/guide/settings.md`, attributes of spans).

The same figures are span events on the span that is current in the callback, one for the request, one for each pass
and one for the provider's figures, and metrics without session and run. Without an SDK nothing is sent. `replaced` is
on no other span or event, and obeys `ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS`, which `adk deploy` turns off.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from opentelemetry import metrics, trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import Span, SpanProcessor
from opentelemetry.util.types import AttributeValue

from adk_context_pack.conversation.model_call import NAME
from adk_context_pack.reports.call_report import CallReport, PassReport, present


class ModelSpans(SpanProcessor):
    """Hands attributes over to the span of the model call that comes next.

    Some releases of ADK run the callbacks of a model call within its span, `call_llm`. Others begin that span after
    the callbacks, or have only `generate_content MODEL`, which begins after them too. So the attributes wait for a span
    with one of these names whose parent is the span of the callback, and are forgotten with that parent.
    """

    def __init__(self) -> None:
        # Another plugin may answer in the model's stead, and then no span comes.
        self._waiting: WeakKeyDictionary[trace.Span, Mapping[str, AttributeValue]] = WeakKeyDictionary()
        self._providers: WeakSet[Any] = WeakSet()
        self._lock = Lock()

    def attach(self, attributes: Mapping[str, AttributeValue]) -> None:
        """Puts attributes on the span of the model call whose `before_model_callback` is running."""
        span = trace.get_current_span()
        if not span.is_recording():
            return
        if is_model_span(span):
            span.set_attributes(attributes)
        provider = trace.get_tracer_provider()
        # A provider without the method is not the SDK's, and its spans cannot be followed.
        add = getattr(provider, "add_span_processor", None)
        with self._lock:
            self._waiting[span] = attributes
            if add is None or provider in self._providers:
                return
            self._providers.add(provider)
        add(self)

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """OpenTelemetry's hook: gives the attributes that wait to the span of a model call."""
        if not is_model_span(span):
            return
        with self._lock:
            attributes = self._waiting.pop(trace.get_current_span(parent_context), {})
        span.set_attributes(attributes)


def is_model_span(span: trace.Span) -> bool:
    """Tells whether a span is that of one model call, by the name that ADK gives it."""
    name = getattr(span, "name", "")
    return name == "call_llm" or name.startswith("generate_content")


MODEL_SPANS = ModelSpans()
"""The one that all pipelines share, since each span processor is asked about each span of the process."""


class Telemetry:
    """Sends reports as attributes of spans, span events and metrics.

    Args:
        meter_provider: OpenTelemetry's meter provider. The default is the global one, even if it is set later.
    """

    def __init__(self, meter_provider: metrics.MeterProvider | None = None) -> None:
        meter = metrics.get_meter(NAME, meter_provider=meter_provider)
        histogram, counter = meter.create_histogram, meter.create_counter
        self._tokens = histogram(f"{NAME}.request.tokens", "{token}", "Tokens of a model request, at each stage.")
        self._kept_out = counter(f"{NAME}.result.tokens_saved", "{token}", "Tokens that smaller results kept out.")
        self._removed = counter(f"{NAME}.pass.tokens_removed", "{token}", "Tokens that a pass took out.")
        self._duration = histogram(f"{NAME}.pass.duration", "s", "Time of one pass over one model request.")
        self._prefix = histogram(f"{NAME}.prefix.share", "1", "Share of the last request that the next begins with.")

    def sent(self, report: CallReport) -> None:
        """Reports a request that is about to be sent: on the model call's span, as span events, and as metrics."""
        common = {"gen_ai.agent.name": report.agent, "gen_ai.request.model": report.model}
        span = trace.get_current_span()
        if span.is_recording():
            attributes = {**common, **_attributes(report)}
            MODEL_SPANS.attach({**attributes, **_effects(report)})
            span.add_event(f"{NAME}.request", attributes)
        # No session or run among the attributes of metrics: each value would be a time series of its own.
        for stage in ("without_pack", "before", "after"):
            labels = {**common, "gen_ai.token.type": "input", f"{NAME}.stage": stage}
            self._tokens.record(getattr(report, f"tokens_{stage}"), labels)
        for tool, saved in report.results.items():
            self._kept_out.add(max(saved, 0), {**common, "gen_ai.tool.name": tool})
        if report.prefix.previous_tokens:
            self._prefix.record(report.prefix.share, common)
        for each in report.passes:
            labels = {**common, f"{NAME}.pass": each.name}
            error: dict[str, Any] = {"error.type": each.error_type} if each.error else {}
            self._removed.add(max(each.tokens_saved, 0), labels)
            self._duration.record(each.seconds, {**labels, **error})
            if span.is_recording():
                told = _figures(each, "tokens_before", "tokens_after") | {f"{NAME}.duration": each.seconds}
                span.add_event(f"{NAME}.pass", {**labels, **told, **present({f"{NAME}.note": each.note}), **error})

    def heard(self, report: CallReport) -> None:
        """Reports the provider's figures beside the pack's, as a span event. ADK itself counts them as metrics."""
        span = trace.get_current_span()
        if span.is_recording() and report.prompt_tokens is not None:
            cached = {"gen_ai.usage.cache_read.input_tokens": report.cached_tokens or 0}
            told: dict[str, Any] = {"gen_ai.agent.name": report.agent, "gen_ai.request.model": report.model}
            told |= {"gen_ai.conversation.id": report.session_id, "gen_ai.usage.input_tokens": report.prompt_tokens}
            told |= cached | _figures(report, "tokens_after", "tokens_without_pack")
            span.add_event(f"{NAME}.usage", told)
            if is_model_span(span):
                # Older releases of ADK leave the cached share out.
                span.set_attributes(cached)


def _figures(report: CallReport | PassReport, *names: str) -> dict[str, Any]:
    return {f"{NAME}.{name}": getattr(report, name) for name in names}


def _attributes(report: CallReport) -> dict[str, Any]:
    return {
        "gen_ai.conversation.id": report.session_id,
        **_figures(report, "invocation_id", "tokens_without_pack", "tokens_before", "tokens_after", "pack_tools"),
        **{f"{NAME}.result.{tool}": saved for tool, saved in report.results.items()},
        **({f"{NAME}.shadow": True} if report.shadow else {}),
        f"{NAME}.prefix.tokens": report.prefix.tokens,
        f"{NAME}.prefix.share": report.prefix.share,
        **{f"{NAME}.category.{name}": tokens for name, tokens in present(report.categories).items()},
    }


def _effects(report: CallReport) -> dict[str, Any]:
    failed = [each.name for each in report.passes if each.error]
    sent = {*(report.request_after or ())}
    replaced = "\n\n".join(f"{part.label}\n{part.text}" for part in report.request_before or () if part not in sent)
    if os.environ.get("ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS", "").strip().lower() in {"0", "false"}:
        replaced = ""
    return {
        f"{NAME}.tokens_saved": report.tokens_saved,
        **{f"{NAME}.pass.{each.name}": each.tokens_saved for each in report.passes},
        **present({f"{NAME}.failed": failed, f"{NAME}.replaced": replaced}),
    }
