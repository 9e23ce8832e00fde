"""Time of the relay passes against ADK's own assembly of the same request; `python -m tests.benchmarks.bench_passes`.

Sessions of 40, 400 and 4,000 events, once as the agent's own history and once relayed to a second agent. Every figure
is a ratio to ADK's own content builder, taken in the same run; the goal is 0.20 for stripping and casting together.
"first" is the first call of a process on a session, which has to prove each relayed block by rendering its event;
later calls know it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from time import perf_counter

from google.adk.events.event import Event

from adk_context_pack import CastNarrative, ModelCall, StripForContext
from adk_context_pack.relays import proof as _relay_proof
from tests.support.adk_contents import contents_of, request_of
from tests.support.events import agent_called, agent_said, tool_returned, user_said

SIZES = (40, 400, 4000)
REPEATS = 7


def main() -> None:
    print("events  history  ADK (ms)   strip    cast  strip then cast  first")
    for size in SIZES:
        events = list(session(size))
        for history, agent in (("own", "worker"), ("relayed", "writer")):
            print_row(size, history, agent, events)


def print_row(size: int, history: str, agent: str, events: list[Event]) -> None:
    request = request_of(contents_of(events, agent))

    def run(*passes) -> Callable[[], None]:
        def once() -> None:
            call, current = ModelCall(agent_name=agent, events=events), request
            for entry in passes:
                current = entry.apply(current, call)

        return once

    strip, cast = StripForContext(), CastNarrative()
    adk = best(lambda: contents_of(events, agent))
    ratios = [best(run(*passes)) / adk for passes in ((strip,), (cast,), (strip, cast))]
    ratios.append(best(lambda: (_relay_proof._proved.clear(), run(strip, cast)())) / adk)
    print(
        f"{size:6}  {history:7}  {adk * 1000:8.2f}  "
        + "  ".join(f"{ratio:{width}.3f}" for ratio, width in zip(ratios, (6, 6, 15, 5), strict=True))
    )


def session(size: int) -> Iterator[Event]:
    """Turns of four events: a question, a call, a result of about 2,000 characters, an answer."""
    source = random.Random(20)
    for number in range(size // 4):
        rows = [{"id": source.randrange(10**6), "city": "Oslo", "delay": source.random()} for _ in range(35)]
        yield user_said(f"Question {number}?")
        yield agent_called("worker", "search", f"call-{number}", query=f"question {number}", limit=source.randrange(9))
        yield tool_returned("worker", "search", {"status": "ok", "rows": rows}, f"call-{number}")
        yield agent_said("worker", f"Answer {number}: " + "words that say something " * 8)


def best(run: Callable[[], object]) -> float:
    times = []
    for _ in range(REPEATS):
        start = perf_counter()
        run()
        times.append(perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    main()
