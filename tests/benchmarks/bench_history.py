"""The replay of a tool-heavy session, call by call: tokens, cache busts, cost, answers kept, time.

    python -m tests.benchmarks.bench_history [--peers FOLDER]

The first table is the seeded workload of `workload.py`, the second the tau-bench conversations where the data is
there. `--peers` names the folder in which `make_peers` built the environments of other libraries.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace

from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest

from adk_context_pack import ClearToolResults, ContextPipeline, FitTokenBudget, ModelCall, default_passes
from tests.benchmarks import tau_replay
from tests.benchmarks.capped_workload import capped
from tests.benchmarks.peers import peer_scores
from tests.benchmarks.replay import Score, score, table
from tests.benchmarks.workload import AGENT, Workload, workload
from tests.support.adk_contents import contents_of, request_of

Strategy = Callable[[LlmRequest, ModelCall], LlmRequest]


def everything(request: LlmRequest, call: ModelCall) -> LlmRequest:
    """Sends all."""
    return request


def pipeline(*passes) -> Strategy:
    """Our passes, with their report."""
    whole = ContextPipeline(passes)
    return lambda request, call: whole.run(request, call)[0]


def adk_filter(keep: int) -> Strategy:
    """ADK's own filter."""
    from google.adk.plugins.context_filter_plugin import ContextFilterPlugin  # noqa: PLC0415 - not in every release

    plugin = ContextFilterPlugin(num_invocations_to_keep=keep)

    def run(request: LlmRequest, call: ModelCall) -> LlmRequest:
        asyncio.run(plugin.before_model_callback(callback_context=SimpleNamespace(), llm_request=request))
        return request

    return run


STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "send everything": lambda: everything,
    "ADK ContextFilterPlugin, keep 3": lambda: adk_filter(3),
    "ClearToolResults(), defaults": lambda: pipeline(ClearToolResults()),
    "FitTokenBudget(max_tokens=40_000)": lambda: pipeline(FitTokenBudget(max_tokens=40_000)),
    "default_passes(max_tokens=100_000)": lambda: pipeline(*default_passes(max_tokens=100_000)),
}


def replay(name: str, strategy: Strategy, work: Workload) -> Score:
    """Runs one strategy over every model call of a session."""
    requests, times = [], []
    message, run_memo, session_memo = None, {}, {}
    for count in work.calls:
        events = work.events[:count]
        request = request_of(contents_of(events, AGENT))
        if message is not (message := _message(events)):
            # ADK loads the session anew for each message.
            run_memo = {}
        call = ModelCall(
            agent_name=AGENT, events=events, user_content=message, run_memo=run_memo, session_memo=session_memo
        )
        start = time.process_time()
        result = strategy(request, call)
        times.append(time.process_time() - start)
        requests.append([content.model_dump_json(exclude_none=True) for content in result.contents])
    return score(name, requests, work.facts, statistics.median(times[-12:]) * 1000)


def together(work: Workload) -> list[Score]:
    """Capping at the tool boundary, alone and with the default passes, without and with every fact looked up."""
    found = []
    for suffix, read_backs in (("", False), (", each fact read back", True)):
        small = asyncio.run(capped(work, read_backs=read_backs))
        passes = pipeline(*default_passes(max_tokens=100_000))
        found += [
            replay(f"OffloadPayload{suffix}", everything, small),
            replay(f"OffloadPayload + default_passes{suffix}", passes, small),
        ]
    return found


def scores(work: Workload) -> list[Score]:
    """Every strategy of this package and of ADK over one session."""
    return [replay(name, make(), work) for name, make in STRATEGIES.items()]


def _message(events: Sequence[Event]):
    return next(event.content for event in reversed(events) if event.author == "user")


def main() -> None:
    """Prints the tables."""
    logging.disable(logging.ERROR)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", type=Path, help="the folder of the peers' environments")
    peers = parser.parse_args().peers
    work = workload()
    print("Seeded workload: 37 model calls")
    table([*scores(work), *(peer_scores(peers, work) if peers else []), *together(work)], print)
    if tau_replay.available():
        print("\ntau-bench: all conversations together")
        table(tau_replay.scores(STRATEGIES, replay), print)


if __name__ == "__main__":
    main()
