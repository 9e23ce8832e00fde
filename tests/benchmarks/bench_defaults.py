"""Time of the default passes with their report, as a share of ADK's own assembly of the same request.

    python -m tests.benchmarks.bench_defaults [--events 74 4000] [--baseline none]

Processor time, the best of several rounds, on an agent's own history and on one that ADK relays from another agent. ADK
builds the request of each call again. Each round has a new copy of all events, as ADK's services give them. "no passes"
is the pipeline's report alone. Three calls are measured: one of a session that this process knows nothing of, the first
of a run in a session that it knows, and a later one of that run's tool loop.
"""

from __future__ import annotations

import copy
import gc
from collections.abc import Iterator
from time import process_time

from google.adk.events.event import Event

from adk_context_pack import ContextPipeline, ModelCall, default_passes
from tests.benchmarks.baseline import Row, parser_of, print_rows
from tests.benchmarks.workload import session
from tests.support.adk_contents import contents_of, request_of

ROUNDS = 7
GOALS = {"unknown session": 0.4, "first of a run": 0.2, "later call": 0.08}
HISTORIES = {"own": "worker", "relayed": "writer"}


def main() -> None:
    """Prints the table."""
    parser = parser_of(__doc__)
    parser.add_argument("--events", type=int, nargs="+", default=[74, 4000])
    asked = parser.parse_args()
    rows = (
        Row(f"{size:,} events, {history}, {passes}", shares, (size, history, default), GOALS if default else {})
        for size in asked.events
        for history in HISTORIES
        for default, passes in ((False, "no passes"), (True, "default passes"))
    )
    print_rows(rows, asked.baseline)


def shares(size: int, history: str, default: bool) -> dict[str, float]:  # noqa: FBT001 - as JSON has it
    """Returns the time of the pipeline for each of the three calls, as a share of the time of ADK's assembly."""
    events, agent = list(session(size)), HISTORIES[history]
    pipeline = ContextPipeline(default_passes(max_tokens=100_000) if default else ())
    rounds = [list(times(events, agent, pipeline)) for _ in range(ROUNDS)]
    adk = min(seconds for each in rounds for seconds, _ in each)
    return {name: min(each[number][1] for each in rounds) / adk for number, name in enumerate(GOALS)}


def times(events: list[Event], agent: str, pipeline: ContextPipeline) -> Iterator[tuple[float, float]]:
    """The time of ADK's assembly and of the pipeline, for each of the three calls."""
    session_memo: dict = {}
    run(pipeline, agent, copy.deepcopy(events), {}, session_memo)
    loaded, run_memo = copy.deepcopy(events), {}
    yield run(pipeline, agent, copy.deepcopy(events), {}, {})
    yield run(pipeline, agent, loaded, run_memo, session_memo)
    yield run(pipeline, agent, loaded, run_memo, session_memo)


def run(
    pipeline: ContextPipeline, agent: str, events: list[Event], run_memo: dict, session_memo: dict
) -> tuple[float, float]:
    """One call: the time of ADK's assembly, and that of the pipeline."""
    # A full collection takes longer than a call, and would fall to whichever side happens to trigger it.
    gc.collect()
    start = process_time()
    contents = contents_of(events, agent)
    adk = process_time() - start
    request = request_of(contents)
    call = ModelCall(agent_name=agent, session_id="s", events=events, run_memo=run_memo, session_memo=session_memo)
    gc.collect()
    start = process_time()
    pipeline.run(request, call)
    return adk, process_time() - start


if __name__ == "__main__":
    main()
