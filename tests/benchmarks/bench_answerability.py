"""Whether recorded agents could still make their next calls from smaller requests.

    python -m tests.benchmarks.bench_answerability [--sessions N] [--lost] [--peers FOLDER]

For each strategy: the share of the values that the next calls need and that the whole request shows, which the smaller
one shows (visible), shows or leads to within two read-backs (reachable), and shows in its last fifth; and the
characters sent. The floors below are what the next calls could do with. The data are tau-bench and the long-context
sessions of the Berkeley function-calling leaderboard. `--peers` names the folder in which
`python -m tests.benchmarks.peers FOLDER` built the environments of other libraries.
"""

from __future__ import annotations

import argparse
import json
import logging
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from google.adk.events.event import Event
from google.genai import types

from adk_context_pack import (
    CapRows,
    ClearToolResults,
    ContextPass,
    FitTokenBudget,
    OffloadPayload,
    PackSettings,
    default_passes,
)
from adk_context_pack.conversation.token_estimate import characters
from adk_context_pack.replay.replayer import packed
from adk_context_pack.testing.answers import (
    Answerability,
    Strategy,
    answerability,
    leaves,
    recorded_calls,
    request_text,
)
from adk_context_pack.testing.conversation import Conversation
from tests.benchmarks.adk_strategies import adk_strategies
from tests.benchmarks.peers import peer_strategies
from tests.support.events import agent_called, agent_said, tool_returned, user_said
from tests.support.shared_data import FOLDER
from tests.support.tau_bench import conversations

AGENT = "agent"
BFCL = FOLDER / "bfcl" / "long_context.dev.jsonl"


def _capped(tokens: int, passes: Sequence[ContextPass]) -> Strategy:
    rows, payloads = CapRows(max_rows=20, max_tokens=tokens), OffloadPayload(max_tokens=tokens, preview_tokens=100)
    return packed(PackSettings(passes=passes, result_passes=(rows, payloads)))


def _newest(max_tokens: int) -> tuple[ContextPass, ...]:
    """The newest two results whole, and whatever else the budget has room for."""
    clear = ClearToolResults(keep_results=2, keep_in_turn=2, min_tokens=50)
    return clear, FitTokenBudget(max_tokens=max_tokens)


STRATEGIES: Mapping[str, Strategy] = {
    "everything": [],
    **adk_strategies(),
    "the last 6 contents": lambda request, _: request.model_copy(update={"contents": request.contents[-6:]}),
    "ContextPackPlugin()": packed(PackSettings()),
    "ClearToolResults()": [ClearToolResults()],
    "default_passes(8000)": default_passes(max_tokens=8000),
    "default_passes(4000)": default_passes(max_tokens=4000),
    "default_passes(2000)": default_passes(max_tokens=2000),
    "FitTokenBudget(4000)": [FitTokenBudget(max_tokens=4000)],
    "FitTokenBudget(2000)": [FitTokenBudget(max_tokens=2000)],
    "caps of 1000, default_passes(2000)": _capped(1000, default_passes(max_tokens=2000)),
    "caps of 2600, newest 2 results, 900": _capped(2600, _newest(900)),
}


def tau_bench(count: int | None = None) -> Iterator[Conversation]:
    """The tau-bench conversations."""
    for events in list(conversations(AGENT))[:count]:
        yield Conversation(agent=AGENT, events=events, keep_ids=True)


def bfcl(count: int | None = None) -> Iterator[Conversation]:
    """The long-context sessions of the Berkeley function-calling leaderboard."""
    for line in BFCL.read_text(encoding="utf-8").splitlines()[:count]:
        events = [_event(each) for each in json.loads(line)["events"]]
        yield Conversation(agent=AGENT, events=events, keep_ids=True)


def _event(each: dict[str, Any]) -> Event:
    settings = {"invocation_id": each["turn"]}
    if call := each.get("call"):
        called = agent_called(AGENT, call["name"], call["id"], **call["args"])
        return called.model_copy(update=settings)
    if result := each.get("result"):
        return tool_returned(AGENT, result["name"], result["response"], result["id"], **settings)
    said = user_said(each["text"]) if each["author"] == "user" else agent_said(AGENT, each["text"])
    return said.model_copy(update=settings)


def line_of(result: Answerability) -> str:
    """One strategy as a line of the table."""
    last = result.last_fifth_share
    shares = f"{result.visible_share:>9.1%}{result.reachable_share:>11.1%}{last:>12.1%}{result.characters_share:>8.1%}"
    return f"{result.strategy:48}{result.calls:>7}{result.values:>8}{shares}"


def main() -> None:
    """Prints a table for each set of sessions."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sessions", type=int, help="how many sessions of each set")
    parser.add_argument("--lost", action="store_true", help="name what was lost")
    parser.add_argument("--peers", type=Path, help="the folder of the peers' environments")
    options = parser.parse_args()
    strategies = {**STRATEGIES, **(peer_strategies(options.peers) if options.peers else {})}
    logging.disable(logging.ERROR)
    warnings.simplefilter("ignore")
    for name, sessions in {"tau-bench": tau_bench, "BFCL long context": bfcl}.items():
        head = f"{'calls':>7}{'values':>8}{'visible':>9}{'reachable':>11}{'last fifth':>12}{'sent':>8}"
        print(f"\n{name:48}{head}")
        recorded = list(sessions(options.sessions))
        for result in answerability(recorded, strategies):
            print(line_of(result), flush=True)
            for lost in result.lost[:20] if options.lost else ():
                print(f"    {lost.tool}: {lost.value[:60]!r}")
        for floor, share in floors(recorded).items():
            print(f"{f'floor: {floor}':48}{share:>55.1%}")


NEWEST = 2


def floors(conversations: Iterable[Conversation]) -> dict[str, float]:
    """Characters by whoever could do with them, as shares of those of the whole requests.

    Both keep what the users said, and the calls of the running turn. The oracle knows the next call: of results it
    keeps no more than the values that the call needs and that nothing else shows. The other one keeps the newest two
    results of the turn whole, and not a word of any other.
    """
    whole = oracle = newest = 0
    for moment, event in chain.from_iterable(map(recorded_calls, conversations)):
        request = moment.request()
        whole += characters(request.contents)
        seen = request_text(request)
        users = (content for content in request.contents if content.role == "user")
        said = [content for content in users if any(part.text for part in content.parts or ())]
        turn = request.contents[request.contents.index(said[-1]) :] if said else request.contents
        parts = [part for content in turn for part in content.parts or ()]
        calls = [part for part in parts if part.function_call]
        results = [part for part in parts if part.function_response]
        kept = [*said, types.Content(parts=calls)]
        shown = request_text(request.model_copy(update={"contents": kept}))
        needed = {value for call in event.get_function_calls() for value in leaves(call.args) if value in seen}
        shells = sum(len(part.function_response.name or "") + len("{}") for part in results)
        oracle += characters(kept) + shells + sum(len(value) for value in needed if value not in shown)
        newest += characters([*kept, types.Content(parts=results[-NEWEST:])])
    return {"an oracle": oracle / whole, f"the newest {NEWEST} results whole": newest / whole}


if __name__ == "__main__":
    main()
