"""Where the names of what was left out should be: at the cut, before the user's message, or at the end.

    python -m tests.benchmarks.bench_placement [--sessions N]

For each place, on tau-bench: the share of the values needed by the next calls that are in the last fifth of a request,
and the cost of all model calls of all sessions. A token that the provider read in the call before, within the same
prefix, costs a tenth. Tokens are estimated.
"""

from __future__ import annotations

import argparse
import logging
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack import ModelCall, default_passes
from adk_context_pack.conversation.contents import same_texts, text_part, user_content
from adk_context_pack.conversation.tokens import TokenMeter
from adk_context_pack.passes.pipeline import attempt
from adk_context_pack.testing.answers import answerability
from adk_context_pack.testing.conversation import Conversation
from adk_context_pack.testing.picture import picture
from adk_context_pack.tools.read_back import offer_read_back
from tests.benchmarks.bench_answerability import tau_bench

CACHED = 0.10
BUDGETS = (4000, 2000)
_LEDGER = re.compile(r"(?s)^(\[Earlier conversation left out .*?)( Named there: .*)\]$")
Place = Callable[[list[types.Content], ModelCall], int]


def before_the_question(contents: list[types.Content], call: ModelCall) -> int:
    """The index of the user's current message."""
    message = call.user_content
    found = [index for index, content in enumerate(contents) if message and same_texts(content, message)]
    return found[-1] if found else len(contents)


def at_the_end(contents: list[types.Content], _: ModelCall) -> int:
    """The index behind the newest content."""
    return len(contents)


PLACES: dict[str, Place | None] = {
    "at the cut": None,
    "before the question": before_the_question,
    "at the end": at_the_end,
}


def packed(max_tokens: int, place: Place | None) -> Callable[[LlmRequest, ModelCall], LlmRequest]:
    """The default passes, with the names of what the budget left out put elsewhere."""
    passes = default_passes(max_tokens=max_tokens)

    def strategy(request: LlmRequest, call: ModelCall) -> LlmRequest:
        offer_read_back(request, call.state, history=any(each.leaves_history(request, call) for each in passes))
        for each in passes:
            request, *_ = attempt(each, request, call)
        contents = _moved(request.contents, call, place) if place else request.contents
        return request.model_copy(update={"contents": contents})

    return strategy


def _moved(contents: list[types.Content], call: ModelCall, place: Place) -> list[types.Content]:
    for index, content in enumerate(contents):
        text = (content.parts or [types.Part()])[0].text or ""
        if match := _LEDGER.match(text):
            marker, names = user_content([text_part(match[1] + "]")]), user_content([text_part(match[2].strip())])
            left = [*contents[:index], marker, *contents[index + 1 :]]
            at = place(left, call)
            return [*left[:at], names, *left[at:]]
    return contents


def cost(sessions: Sequence[Conversation], strategy: Callable[[LlmRequest, ModelCall], LlmRequest]) -> float:
    """Tokens of the contents of all model calls, those of a repeated prefix at a tenth."""
    meter, total = TokenMeter(), 0.0
    for number, session in enumerate(sessions):
        before: list[object] = []
        for moment in _moments(replace(session, session_id=f"cost {number}")):
            contents = strategy(*moment.built()).contents
            pictures = [picture(content) for content in contents]
            same = next((i for i, pair in enumerate(zip(before, pictures, strict=False)) if pair[0] != pair[1]), None)
            known = min(len(before), len(pictures)) if same is None else same
            sizes = meter.sizes(contents)
            total += CACHED * sum(sizes[:known]) + sum(sizes[known:])
            before = pictures
    return total


def _moments(session: Conversation) -> Iterator[Conversation]:
    for index, event in enumerate(session.events):
        if index and event.author == session.agent and event.content and event.content.role == "model":
            yield session.upto(index)


def main() -> None:
    """Prints a line for each budget and place."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sessions", type=int, help="how many sessions")
    sessions = list(tau_bench(parser.parse_args().sessions))
    logging.disable(logging.ERROR)
    print(f"{'budget and place of the names':36}{'visible':>9}{'last fifth':>12}{'tokens at cached 0.10':>23}")
    for budget in BUDGETS:
        for name, place in PLACES.items():
            strategy = packed(budget, place)
            (result,) = answerability(sessions, {name: strategy})
            shares = f"{result.visible_share:>9.1%}{result.last_fifth_share:>12.1%}"
            print(f"{f'{budget}, {name}':36}{shares}{cost(sessions, strategy):>23,.0f}", flush=True)


if __name__ == "__main__":
    main()
