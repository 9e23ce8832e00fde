"""Time of the default passes with their report against ADK's own assembly; `python -m tests.benchmarks.bench_defaults`.

Processor time, the best of several rounds, on an agent's own history of 74 and of 4,000 events, whose requests ADK
builds anew for each call. "no passes" is the pipeline's report alone. The first call of a run meets the history for the
first time, the later calls of its tool loop know what they have in common with it.
"""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import Any

from adk_context_pack import ContextPipeline, ModelCall, default_passes
from tests.benchmarks.bench_passes import session
from tests.support.adk_contents import contents_of, request_of

ROUNDS = 9
WIDTHS = (23, 21, 19, 21)


def main() -> None:
    print("events  passes          a run's first call: ms, of ADK's assembly    later calls: ms, of ADK's assembly")
    for size in (74, 4000):
        events = list(session(size))
        for name, passes in (("no passes", ()), ("default passes", default_passes(max_tokens=100_000))):
            pipeline = ContextPipeline(passes)
            adk, first = times(events, pipeline, dict)
            run_memo: dict[Any, Any] = {}
            again, later = times(events, pipeline, lambda memo=run_memo: memo)
            spent = (first * 1000, first / adk, later * 1000, later / again)
            print(
                f"{size:6}  {name:14} " + " ".join(f"{one:{wide}.2f}" for one, wide in zip(spent, WIDTHS, strict=True))
            )


def times(events: list, pipeline: ContextPipeline, memo: Callable[[], dict[Any, Any]]) -> tuple[float, float]:
    """The best times of ADK's assembly and of the pipeline, which take turns."""
    adk, ours = [], []
    for _ in range(ROUNDS):
        start = process_time()
        contents = contents_of(events, "worker")
        adk.append(process_time() - start)
        request = request_of(contents)
        call = ModelCall(agent_name="worker", session_id="s", events=events, run_memo=memo())
        start = process_time()
        pipeline.run(request, call)
        ours.append(process_time() - start)
    return min(adk), min(ours)


if __name__ == "__main__":
    main()
