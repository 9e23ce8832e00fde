"""ModelSpans: attributes find the model call's own span, whenever it begins, and no other one."""

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

from adk_context_pack._adk import model_spans
from adk_context_pack._adk.model_spans import ModelSpans, is_model_span
from tests.support.spans import exported_spans

NAME = "adk_context_pack.test"


@pytest.fixture
def spans():
    with exported_spans() as exporter:
        yield exporter


def ended(exporter):
    return {span.name: dict(span.attributes) for span in exporter.get_finished_spans()}


def test_a_call_of_another_agent_has_none(spans):
    """A model call within the span of another agent does not take what waits for this agent's call."""
    tracer, ours = trace.get_tracer("test"), ModelSpans()
    with tracer.start_as_current_span("invoke_agent a"):
        ours.attach({NAME: 1})
        with tracer.start_as_current_span("invoke_agent b"), tracer.start_as_current_span("generate_content b"):
            pass
        with tracer.start_as_current_span("generate_content a"):
            pass
    assert ended(spans)["generate_content b"] == {}
    assert ended(spans)["generate_content a"] == {NAME: 1}


def test_the_span_of_the_callback_may_be_that_of_the_call(spans):
    """Where the callback runs within the model call's span, that span has them, as has the one within it."""
    tracer, ours = trace.get_tracer("test"), ModelSpans()
    with tracer.start_as_current_span("call_llm"):
        ours.attach({NAME: 1})
        with tracer.start_as_current_span("generate_content m"):
            pass
    assert ended(spans) == {"call_llm": {NAME: 1}, "generate_content m": {NAME: 1}}


def test_calls_that_never_come_are_forgotten(spans, monkeypatch):
    """What waits is bounded, and nothing waits where no span is recorded."""
    monkeypatch.setattr(model_spans, "_MAX_WAITING", 2)
    tracer, ours = trace.get_tracer("test"), ModelSpans()
    ours.attach({NAME: 0})
    assert not ours._waiting
    for number in range(5):
        with tracer.start_as_current_span(f"invoke_agent {number}"):
            ours.attach({NAME: number})
    assert [each[NAME] for each in ours._waiting.values()] == [3, 4]
    assert len(ours._providers) == 1
    assert isinstance(next(iter(ours._providers)), TracerProvider)
    assert not is_model_span(trace.INVALID_SPAN)
