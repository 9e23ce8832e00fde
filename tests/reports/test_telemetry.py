"""Telemetry: span events and metrics, as a real in-memory exporter receives them."""

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from adk_context_pack.passes.cast_narrative import CastNarrative
from adk_context_pack.passes.pipeline import ContextPipeline
from adk_context_pack.passes.strip_for_context import StripForContext
from adk_context_pack.reports.telemetry import Telemetry
from tests.reports.test_call_report import FailOnPurpose
from tests.support.reported import SECRET, reported_run
from tests.support.spans import exported_spans


@pytest.fixture(scope="module")
def spans():
    with exported_spans() as exporter:
        yield exporter


async def measured(*passes):
    reader = InMemoryMetricReader()
    pipeline = ContextPipeline(passes, telemetry=Telemetry(MeterProvider(metric_readers=[reader])))
    await reported_run(pipeline=pipeline)
    points = {}
    for metric in reader.get_metrics_data().resource_metrics[0].scope_metrics[0].metrics:
        points[metric.name] = [(dict(point.attributes), point) for point in metric.data.data_points]
    return pipeline, points


async def test_metrics_say_tokens_before_and_after():
    """The metrics hold each agent's tokens before and after, and what each pass took away."""
    pipeline, points = await measured(StripForContext(), CastNarrative())
    tokens = {
        (labels["gen_ai.agent.name"], labels["adk_context_pack.stage"]): point.sum
        for labels, point in points["adk_context_pack.request.tokens"]
    }
    writer = pipeline.reports.by_agent()["writer"]
    assert tokens["writer", "before"] == writer.tokens_before
    assert tokens["writer", "after"] == writer.tokens_after
    removed = {
        labels["adk_context_pack.pass"]: point.value
        for labels, point in points["adk_context_pack.pass.tokens_removed"]
        if labels["gen_ai.agent.name"] == "writer"
    }
    assert removed == writer.passes
    assert {labels["gen_ai.request.model"] for labels, _ in points["adk_context_pack.request.tokens"]} == {
        "scripted-model"
    }
    assert [point.count for _, point in points["adk_context_pack.prefix.share"]] == [1]


async def test_metrics_name_the_error_of_a_pass_by_type():
    """A pass that fails is counted under `error.type`, without its message."""
    _, points = await measured(FailOnPurpose())
    assert {labels["error.type"] for labels, _ in points["adk_context_pack.pass.duration"]} == {"ValueError"}
    assert SECRET not in repr(points)


async def test_span_events_tell_each_call(spans):
    """Each call is an event on ADK's own span, with one for each pass and one for the provider's figures."""
    spans.clear()
    pipeline = ContextPipeline([StripForContext(), FailOnPurpose()])
    await reported_run(pipeline=pipeline)
    found = [(span, event) for span in spans.get_finished_spans() for event in span.events]
    calls = [dict(event.attributes) for _, event in found if event.name == "adk_context_pack.request"]
    assert sorted(each["adk_context_pack.tokens_after"] for each in calls) == sorted(
        report.tokens_after for report in pipeline.reports
    )
    for span, event in found:
        if event.name == "adk_context_pack.request":
            # The agent's span, or that of the one call where the release has such.
            assert span.name in {"call_llm", f"invoke_agent {event.attributes['gen_ai.agent.name']}"}
            categories = [value for name, value in event.attributes.items() if ".category." in name]
            assert sum(categories) == event.attributes["adk_context_pack.tokens_after"]
    assert calls[0]["gen_ai.conversation.id"] == "session"
    passes = [dict(event.attributes) for _, event in found if event.name == "adk_context_pack.pass"]
    assert [each["adk_context_pack.pass"] for each in passes] == ["strip_for_context", "fail_on_purpose"] * 3
    assert [each.get("error.type") for each in passes] == [None, "ValueError"] * 3
    usage = [event for _, event in found if event.name == "adk_context_pack.usage"]
    assert [event.attributes["gen_ai.usage.cache_read.input_tokens"] for event in usage] == [300] * 3
    ours = [event for _, event in found if event.name.startswith("adk_context_pack.")]
    assert SECRET not in repr([dict(event.attributes) for event in ours])
