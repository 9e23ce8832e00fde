"""Time of the default passes with their report against ADK's own assembly; `python -m tests.benchmarks.bench_defaults`.

Processor time, the best of several rounds, on an agent's own history of 74 and of 4,000 events, whose requests ADK
builds anew for each call; each round has a new copy of all events, as ADK's services give them. "no passes" is the
pipeline's report alone. Three calls are measured: one of a session that this process knows nothing of, the first of
a run in a session that it knows, and a later one of that run's tool loop.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from time import process_time

from google.adk.events.event import Event

from adk_context_pack import ContextPipeline, ModelCall, default_passes
from tests.benchmarks.bench_passes import session
from tests.support.adk_contents import contents_of, request_of

ROUNDS = 7
CALLS = ("unknown session", "first of a run", "later call")


def main() -> None:
    """Prints the table."""
    print("events  passes          " + "  ".join(f"{name + ': ms, share':>28}" for name in CALLS))
    for size in (74, 4000):
        events = list(session(size))
        for name, passes in (("no passes", ()), ("default passes", default_passes(max_tokens=100_000))):
            pipeline = ContextPipeline(passes)
            rounds = [list(times(events, pipeline)) for _ in range(ROUNDS)]
            adk = min(seconds for each in rounds for seconds, _ in each)
            ours = [min(each[number][1] for each in rounds) for number in range(len(CALLS))]
            print(f"{size:6}  {name:14}  " + "  ".join(f"{one * 1000:20.2f} {one / adk:7.2f}" for one in ours))


def times(events: list[Event], pipeline: ContextPipeline) -> Iterator[tuple[float, float]]:
    """The time of ADK's assembly and of the pipeline, for each of the three calls."""
    session_memo: dict = {}
    run(pipeline, copy.deepcopy(events), {}, session_memo)
    loaded, run_memo = copy.deepcopy(events), {}
    yield run(pipeline, copy.deepcopy(events), {}, {})
    yield run(pipeline, loaded, run_memo, session_memo)
    yield run(pipeline, loaded, run_memo, session_memo)


def run(pipeline: ContextPipeline, events: list[Event], run_memo: dict, session_memo: dict) -> tuple[float, float]:
    """One call: the time of ADK's assembly, and that of the pipeline."""
    start = process_time()
    contents = contents_of(events, "worker")
    adk = process_time() - start
    request = request_of(contents)
    call = ModelCall(agent_name="worker", session_id="s", events=events, run_memo=run_memo, session_memo=session_memo)
    start = process_time()
    pipeline.run(request, call)
    return adk, process_time() - start


if __name__ == "__main__":
    main()
