"""What a report costs: the default passes alone, and as a pipeline with reports, on the 74-message history.

    python -m tests.benchmarks.bench_report

Ratios of one run; the memory figures are what is still held after that many calls.
"""

from __future__ import annotations

import gc
import logging
import time
import tracemalloc
from collections.abc import Callable

from google.adk.events.event import Event

from adk_context_pack import ContextPipeline, ModelCall, default_passes
from tests.benchmarks.workload import AGENT, workload
from tests.support.adk_contents import contents_of, request_of
from tests.support.events import agent_called, agent_said, tool_returned, user_said

BUDGET = 200_000
ROUNDS = 40


def report_ratio(events: list[Event] | None = None, rounds: int = ROUNDS) -> tuple[float, float]:
    """Milliseconds of the default passes alone, and with their reports, for the newest call of a history."""
    events = events or workload().events
    request = request_of(contents_of(events, AGENT))
    passes = default_passes(max_tokens=BUDGET)
    pipeline = ContextPipeline(passes)

    def call() -> ModelCall:
        message = next(event.content for event in reversed(events) if event.author == "user")
        return ModelCall(agent_name=AGENT, session_id="s", events=events, user_content=message)

    def alone() -> None:
        sent, this = request, call()
        for entry in passes:
            sent = entry.apply(sent, this)

    def reported() -> None:
        pipeline.run(request, call())

    pairs = [(_milliseconds(alone), _milliseconds(reported)) for _ in range(rounds)]
    return min(first for first, _ in pairs), min(second for _, second in pairs)


def drive(pipeline: ContextPipeline, calls: int, sessions: int) -> None:
    """So many model calls in so many sessions, taking turns."""
    events = [
        user_said("Where is Oslo?"),
        agent_called(AGENT, "look_up", "c1", city="Oslo"),
        tool_returned(AGENT, "look_up", {"rows": list(range(50))}, "c1"),
        agent_said("other", "I have seen it."),
    ]
    contents = contents_of(events, AGENT)
    for number in range(calls):
        call = ModelCall(agent_name=AGENT, session_id=f"s{number % sessions}", invocation_id=str(number), events=events)
        pipeline.reports.add(pipeline.run(request_of(contents), call)[1])


def held_after(calls: int, sessions: int) -> int:
    """Bytes that a pipeline still holds after so many calls in so many sessions."""
    pipeline = ContextPipeline(default_passes(max_tokens=BUDGET))
    gc.collect()
    tracemalloc.start()
    drive(pipeline, calls, sessions)
    gc.collect()
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return held


def _milliseconds(work: Callable[[], None]) -> float:
    start = time.process_time()
    work()
    return (time.process_time() - start) * 1000


def main() -> None:
    """Prints the figures."""
    logging.disable(logging.ERROR)
    alone, reported = report_ratio()
    print(f"default passes alone {alone:.2f} ms, with reports {reported:.2f} ms: {reported / alone:.2f} times")
    for calls, sessions in ((2_000, 200), (10_000, 1_000), (20_000, 1_000)):
        print(f"{calls:,} calls in {sessions:,} sessions: {held_after(calls, sessions) / 1024:,.0f} KiB held")


if __name__ == "__main__":
    main()
