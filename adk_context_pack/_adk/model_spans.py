"""Puts attributes on the span of a model call, which ADK begins at a different time in each release."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock
from typing import Any
from weakref import WeakSet

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import Span, SpanProcessor
from opentelemetry.util.types import AttributeValue

_MAX_WAITING = 1024


class ModelSpans(SpanProcessor):
    """Hands attributes over to the span of the model call that comes next.

    Some releases of ADK run the callbacks of a model call within its span, `call_llm`. Others begin that span after
    the callbacks, or have only `generate_content MODEL`, which begins after them too. So the attributes wait for a span
    with one of these names whose parent is the span of the callback.
    """

    def __init__(self) -> None:
        self._waiting: OrderedDict[tuple[int, int], Mapping[str, AttributeValue]] = OrderedDict()
        self._providers: WeakSet[Any] = WeakSet()
        self._lock = Lock()

    def attach(self, attributes: Mapping[str, AttributeValue]) -> None:
        """Puts attributes on the span of the model call whose `before_model_callback` is running."""
        span = trace.get_current_span()
        if not span.is_recording():
            return
        if is_model_span(span):
            span.set_attributes(attributes)
        self._join(trace.get_tracer_provider())
        context = span.get_span_context()
        with self._lock:
            self._waiting[context.trace_id, context.span_id] = attributes
            # Another plugin may answer in the model's stead, and then no span comes.
            if len(self._waiting) > _MAX_WAITING:
                self._waiting.popitem(last=False)

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:  # noqa: ARG002 - its signature
        """OpenTelemetry's hook: gives the attributes that wait to the span of a model call."""
        parent = span.parent
        if parent is None or not is_model_span(span):
            return
        with self._lock:
            attributes = self._waiting.pop((parent.trace_id, parent.span_id), None)
        if attributes is not None:
            span.set_attributes(attributes)

    def _join(self, provider: Any) -> None:
        # A provider without the method is not the SDK's, and its spans cannot be followed.
        add = getattr(provider, "add_span_processor", None)
        if add is None:
            return
        with self._lock:
            if provider in self._providers:
                return
            self._providers.add(provider)
        add(self)


def is_model_span(span: trace.Span) -> bool:
    """Tells whether a span is that of one model call, by the name that ADK gives it."""
    name = getattr(span, "name", "")
    return name == "call_llm" or name.startswith("generate_content")


MODEL_SPANS = ModelSpans()
"""The one that all pipelines share, since each span processor is asked about each span of the process."""
