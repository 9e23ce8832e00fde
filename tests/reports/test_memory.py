"""Reports hold nothing on to: after warm-up, memory is the same however many calls and sessions come."""

import gc

import pytest

from adk_context_pack import CastNarrative, ContextPipeline, ModelCall, StripForContext
from tests.support.adk_contents import contents_of, request_of
from tests.support.events import agent_called, agent_said, tool_returned, user_said


def drive(pipeline, calls, sessions):
    """So many model calls in so many sessions, taking turns."""
    events = [
        user_said("Where is Oslo?"),
        agent_called("a", "look_up", "c1", city="Oslo"),
        tool_returned("a", "look_up", {"rows": list(range(50))}, "c1"),
        agent_said("other", "I have seen it."),
    ]
    contents = contents_of(events, "a")
    for number in range(calls):
        call = ModelCall(agent_name="a", session_id=f"s{number % sessions}", invocation_id=str(number), events=events)
        pipeline.reports.add(pipeline.run(request_of(contents), call)[1])


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
