"""Reports hold nothing on to: after warm-up, memory is the same however many calls and sessions come."""

import gc

import pytest

from adk_context_pack.passes.cast_narrative import CastNarrative
from adk_context_pack.passes.pipeline import ContextPipeline
from adk_context_pack.passes.strip_for_context import StripForContext
from tests.benchmarks.bench_report import drive, report_ratio


@pytest.mark.slow
def test_memory_is_flat_over_10000_calls_and_1000_sessions():
    """Between 5,000 and 10,000 calls in 1,000 sessions the number of living objects does not grow."""
    pipeline = ContextPipeline([StripForContext(), CastNarrative()], max_reports=100, keep_requests=3)
    drive(pipeline, 5_000, 1_000)
    gc.collect()
    before = len(gc.get_objects())
    drive(pipeline, 5_000, 1_000)
    gc.collect()
    assert len(gc.get_objects()) - before < 200
    assert len(pipeline.reports) == 100
    assert sum(report.request_after is not None for report in pipeline.reports) == 3


def test_reports_cost_less_than_the_passes():
    """On the 127,000-token history the default passes with their reports take at most twice the time of themselves."""
    alone, reported = report_ratio(rounds=15)
    assert reported <= 2 * alone
