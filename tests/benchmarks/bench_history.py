"""The replay of a tool-heavy session, call by call: tokens, cache busts, cost, answers kept, time.

    python -m tests.benchmarks.bench_history [--peers FOLDER]

The first table is the seeded workload of `workload.py`, the second the tau-bench conversations where the data is
there. `--peers` names the folder in which `make_peers` built the environments of other libraries.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import re
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest

from adk_context_pack import (
    ClearToolResults,
    ContextPipeline,
    FitTokenBudget,
    ModelCall,
    OffloadPayload,
    default_passes,
    read_payload,
)
from tests.benchmarks.adk_strategies import filtered
from tests.benchmarks.peers import peer_scores
from tests.benchmarks.replay import Score, score, table
from tests.benchmarks.workload import AGENT, Workload, workload
from tests.support.adk_contents import contents_of, request_of
from tests.support.breakers import does_nothing
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in
from tests.support.shared_data import FOLDER
from tests.support.tau_bench import FILE, conversations

Strategy = Callable[[LlmRequest, ModelCall], LlmRequest]


def pipeline(*passes) -> Strategy:
    """Our passes, with their report."""
    whole = ContextPipeline(passes)
    return lambda request, call: whole.run(request, call)[0]


STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "send everything": lambda: does_nothing,
    "ADK ContextFilterPlugin, keep 3": lambda: filtered(3),
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
            replay(f"OffloadPayload{suffix}", does_nothing, small),
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
    table([*scores(work), *(one for one, _ in (peer_scores(peers, work) if peers else ())), *together(work)], print)
    if (FOLDER / FILE).exists():
        print("\ntau-bench: all conversations together")
        table(tau_scores(STRATEGIES, replay), print)


_HANDLE = re.compile(r"read_payload\(handle='([^']+)'")


async def capped(
    work: Workload, *, max_tokens: int = 400, preview_tokens: int = 32, read_backs: bool = False
) -> Workload:
    """`work`, run through a real agent whose tool results over `max_tokens` become previews with a handle.

    The agent says what it said in `work`, so that both sessions have the same answers.

    Args:
        work: the session without the pack.
        max_tokens: from where on a result becomes a preview.
        preview_tokens: the size of a preview.
        read_backs: whether the agent looks up, in each result whose preview does not show it, the fact that it needs:
            one more call, one more result and one more request each.
    """
    bodies = [
        part.function_response.response
        for event in work.events
        for part in event.content.parts
        if part.function_response
    ]

    def read_source(source: int) -> dict:
        """Reads a source."""
        return bodies[source]

    model = ScriptedModel(answer=_answer(work, read_backs=read_backs))
    agent = LlmAgent(
        name=AGENT,
        model=model,
        tools=[read_source, read_payload] if read_backs else [read_source],
        after_tool_callback=OffloadPayload(max_tokens=max_tokens, preview_tokens=preview_tokens),
    )
    run = await run_agent(agent, *[event.content.parts[0].text for event in work.events if event.author == "user"])
    events = run.session.events
    calls = [index for index, event in enumerate(events) if event.content.role == "model"]
    return Workload(events[: calls[-1]], calls, work.facts)


def _answer(work: Workload, *, read_backs: bool) -> Callable[[LlmRequest], Any]:
    said = [event.content.parts[0].model_copy(deep=True) for event in work.events if event.author == AGENT]
    script = [part for part in said if not part.function_response]
    for part in script:
        if part.function_call:
            part.function_call.id = None

    def answer(request: LlmRequest) -> Any:
        newest = request.contents[-1].parts[-1].function_response
        if read_backs and newest and newest.name == "read_source":
            shown = str(newest.response)
            number = len(results_in(request, "read_source")) - 1
            if work.facts[number] not in shown and (handle := _HANDLE.search(shown)):
                return call("read_payload", handle=handle[1], search="FACT-")
        return script.pop(0) if script else "All of them."

    return answer


def sessions() -> Iterator[Workload]:
    """Each conversation with its model calls; what its agent said to the user counts as the answers."""
    for events in conversations(AGENT):
        calls = [number for number, event in enumerate(events) if number and event.content.role == "model"]
        said = [p.text for event in events[: calls[-1]] if event.author == AGENT for p in event.content.parts if p.text]
        if calls:
            yield Workload(
                events, calls, [text.split("\n")[0][:60].replace('"', "") for text in said if text.isascii()]
            )


def tau_scores(strategies: Mapping[str, Callable], replay: Callable[..., Score]) -> list[Score]:
    """One score for each strategy, over all conversations together."""
    found = []
    for name, make in strategies.items():
        parts = [replay(name, make(), work) for work in sessions()]
        found.append(
            Score(
                name=name,
                tokens=sum(part.tokens for part in parts),
                cached=sum(part.cached for part in parts),
                busts=sum(part.busts for part in parts),
                answers=(sum(part.answers[0] for part in parts), sum(part.answers[1] for part in parts)),
                milliseconds=sum(part.milliseconds for part in parts) / len(parts),
            )
        )
    return found


if __name__ == "__main__":
    main()
