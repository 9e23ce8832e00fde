"""Whether recorded agents could still make their next calls from smaller requests.

    python -m tests.benchmarks.bench_answerability [--sessions N] [--lost]

For each strategy: the share of the values that the next calls need and that the whole request shows, which the smaller
one shows (visible), shows or leads to within two read-backs (reachable), and shows in its last fifth; and the
characters sent. The data are tau-bench and the long-context sessions of the Berkeley function-calling leaderboard.
"""

from __future__ import annotations

import argparse
import json
import logging
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.context_filter_plugin import ContextFilterPlugin

from adk_context_pack import CapRows, ClearToolResults, FitTokenBudget, ModelCall, OffloadPayload, default_passes
from adk_context_pack.replay.answering import packed
from adk_context_pack.replay.tool_caps import REPLAYED, ToolCaps
from adk_context_pack.testing.answerability import Answerability, Strategy, answerability
from adk_context_pack.testing.conversation import Conversation
from tests.support.events import agent_called, agent_said, tool_returned, user_said
from tests.support.shared_data import FOLDER
from tests.support.tau_bench import conversations

AGENT = "agent"
BFCL = FOLDER / "bfcl" / "long_context.dev.jsonl"
_FILTER = ContextFilterPlugin(num_invocations_to_keep=1)


def adk_filter(request: LlmRequest, call: ModelCall) -> LlmRequest:
    """ADK's own filter, which keeps the newest invocation."""
    filtered = request.model_copy()
    coroutine = _FILTER.before_model_callback(callback_context=call.context, llm_request=filtered)
    try:
        coroutine.send(None)
    except StopIteration:
        return filtered
    raise RuntimeError("ADK's filter waits for something")


def last_six(request: LlmRequest, _: ModelCall) -> LlmRequest:
    """The newest six contents."""
    return request.model_copy(update={"contents": request.contents[-6:]})


_CAPS = ToolCaps(
    passes=(
        CapRows(max_rows=20, max_tokens=1000, store=REPLAYED),
        OffloadPayload(max_tokens=1000, preview_tokens=100, store=REPLAYED),
    )
)
_SMALLEST = (ClearToolResults(keep_results=0, keep_in_turn=2), FitTokenBudget(max_tokens=2000))

STRATEGIES: Mapping[str, Strategy] = {
    "everything": [],
    "ADK's ContextFilterPlugin(1)": adk_filter,
    "the last 6 contents": last_six,
    "ClearToolResults()": [ClearToolResults()],
    "default_passes(8000)": default_passes(max_tokens=8000),
    "default_passes(4000)": default_passes(max_tokens=4000),
    "default_passes(2000)": default_passes(max_tokens=2000),
    "FitTokenBudget(4000)": [FitTokenBudget(max_tokens=4000)],
    "FitTokenBudget(2000)": [FitTokenBudget(max_tokens=2000)],
    "caps of 1000, default_passes(2000)": packed(default_passes(max_tokens=2000), _CAPS),
    "caps of 1000, results cleared": packed(_SMALLEST, _CAPS),
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
    return f"{result.strategy:36}{result.calls:>7}{result.values:>8}{shares}"


def main() -> None:
    """Prints a table for each set of sessions."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sessions", type=int, help="how many sessions of each set")
    parser.add_argument("--lost", action="store_true", help="name what was lost")
    options = parser.parse_args()
    logging.disable(logging.ERROR)
    warnings.simplefilter("ignore")
    for name, sessions in {"tau-bench": tau_bench, "BFCL long context": bfcl}.items():
        head = f"{'calls':>7}{'values':>8}{'visible':>9}{'reachable':>11}{'last fifth':>12}{'sent':>8}"
        print(f"\n{name:36}{head}")
        for result in answerability(list(sessions(options.sessions)), STRATEGIES):
            print(line_of(result), flush=True)
            for lost in result.lost[:20] if options.lost else ():
                print(f"    {lost.tool}: {lost.value[:60]!r}")


if __name__ == "__main__":
    main()
