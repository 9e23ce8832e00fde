"""Keeps the spans that ADK and the pack end, as an OpenTelemetry exporter receives them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from adk_context_pack import ContextPackWarning
from adk_context_pack.errors import warn_once


@contextmanager
def exported_spans() -> Iterator[InMemorySpanExporter]:
    """Yields an exporter that keeps the spans which end within the context."""
    # ADK's spans come from the global provider, which can be set only once.
    provider = trace.get_tracer_provider()
    if not isinstance(provider, TracerProvider):
        provider = TracerProvider()
        trace.set_tracer_provider(provider)
    exporter = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    try:
        yield exporter
    finally:
        exporter.shutdown()


@contextmanager
def warned() -> Iterator[list[str]]:
    """Yields the texts of the warnings within, as in a fresh process. The list is complete at the end."""
    warn_once.cache_clear()
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        yield texts
    texts += [str(entry.message) for entry in seen if issubclass(entry.category, ContextPackWarning)]
