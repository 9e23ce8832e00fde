"""Time of the default passes with their report against ADK's own assembly; `python -m tests.benchmarks.bench_defaults`.

Processor time, the best of several rounds, on an agent's own history of 74 and of 4,000 events; "no passes" is the
pipeline's report alone.
"""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

from adk_context_pack import ContextPipeline, ModelCall, default_passes
from tests.benchmarks.bench_passes import session
from tests.support.adk_contents import contents_of, request_of

ROUNDS = 5


def main() -> None:
    print("events  passes           ms  of ADK's assembly")
    for size in (74, 4000):
        events = list(session(size))
        request = request_of(contents_of(events, "worker"))
        adk = best(lambda events=events: contents_of(events, "worker"))
        for name, passes in (("no passes", ()), ("default passes", default_passes(max_tokens=100_000))):
            pipeline = ContextPipeline(passes)

            def run(pipeline=pipeline, request=request, events=events) -> None:
                call = ModelCall(agent_name="worker", session_id="s", events=events, user_content=events[-4].content)
                pipeline.run(request, call)

            spent = best(run)
            print(f"{size:6}  {name:14}  {spent * 1000:5.2f}  {spent / adk:8.2f}")


def best(run: Callable[[], object]) -> float:
    times = []
    for _ in range(ROUNDS):
        start = process_time()
        run()
        times.append(process_time() - start)
    return min(times)


if __name__ == "__main__":
    main()
