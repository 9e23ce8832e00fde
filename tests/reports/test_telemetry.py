"""Telemetry: span events and metrics, as a real in-memory exporter receives them."""

import re

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from adk_context_pack import CastNarrative, ContextPipeline, PassReport, StripForContext, estimate_tokens
from adk_context_pack.reports import telemetry
from adk_context_pack.reports.call_report import ViewPart
from adk_context_pack.reports.telemetry import Telemetry
from samples.reference import GUIDE
from tests.reports.test_call_report import FailOnPurpose
from tests.reports.test_report_log import report as plain_report
from tests.support.reported import SECRET, reported_run


def points_of(reader):
    """Returns the labels and the points of each metric, by its name."""
    metrics = reader.get_metrics_data().resource_metrics[0].scope_metrics[0].metrics
    return {each.name: [(dict(point.attributes), point) for point in each.data.data_points] for each in metrics}


async def test_metrics_say_what_passes_took_away():
    """Metrics hold what each pass took from an agent's requests, by agent and model, and an error by its type alone."""
    reader = InMemoryMetricReader()
    passes = [StripForContext(), FailOnPurpose(), CastNarrative()]
    pipeline = ContextPipeline(passes, telemetry=Telemetry(MeterProvider(metric_readers=[reader])))
    await reported_run(pipeline=pipeline)
    points = points_of(reader)
    removed = {
        labels["adk_context_pack.pass"]: point.value
        for labels, point in points["adk_context_pack.pass.tokens_removed"]
        if (labels["gen_ai.agent.name"], labels["gen_ai.request.model"]) == ("writer", "scripted-model")
    }
    assert removed == pipeline.reports.by_agent()["writer"].passes
    assert [point.count for _, point in points["adk_context_pack.prefix.share"]] == [1]
    times = [labels for labels, _ in points["adk_context_pack.pass.duration"]]
    errors = {(each["adk_context_pack.pass"], each["error.type"]) for each in times if "error.type" in each}
    assert errors == {("fail_on_purpose", "ValueError")}
    assert SECRET not in repr(points)


async def test_span_events_tell_each_call(spans):
    """Each call is an event on ADK's own span, with one for each pass and one for the provider's figures."""
    spans.clear()
    # With a counter the figures of a call are the same before and after the provider has answered.
    pipeline = ContextPipeline([StripForContext(), FailOnPurpose()], counter=estimate_tokens)
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


def test_the_documented_attributes_are_those_that_are_sent():
    """Each attribute of a report is in the table of the guide, and each of the table is sent."""
    report = plain_report(
        passes=(PassReport(name="PASS", tokens_before=3, tokens_after=2, error="ValueError: no"),),
        categories={"NAME": 2},
        results={"TOOL": 1},
        shadow=True,
        request_before=(ViewPart("user · text", "Hi."),),
    )
    page = (GUIDE / "settings.md").read_text(encoding="utf-8").partition("## Attributes of spans")[2]
    named = re.findall(r"`([\w.]+)`", "".join(line.split(" | ")[0] for line in page.splitlines() if line[:3] == "| `"))
    sent = {*telemetry._attributes(report), *telemetry._effects(report)} - {"gen_ai.conversation.id"}
    assert sent == {f"adk_context_pack.{name}" for name in named}


@pytest.mark.parametrize(("setting", "kept", "shown"), [("true", True, 1), ("False", True, 0), ("true", False, 0)])
async def test_a_span_shows_what_the_passes_replaced(spans, monkeypatch, setting, kept, shown):
    """What a pass took away is on a span of the call only if requests are kept, and ADK may put content on spans."""
    monkeypatch.setenv("ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS", setting)
    spans.clear()
    await reported_run("Where is Oslo?", pipeline=ContextPipeline([StripForContext()], keep_requests=kept))
    told = [each.attributes.get("adk_context_pack.replaced", "") for each in spans.get_finished_spans()]
    assert any(SECRET in each and "Where is Oslo?" not in each for each in told) == shown
