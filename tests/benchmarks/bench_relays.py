"""How much of what other agents' tools returned a second agent sees or can read back, and what it costs.

    python -m tests.benchmarks.bench_relays

Each recorded conversation is relayed to a second agent by ADK's own builder. A fact is a string of three and more
characters or a number of three and more digits in a tool's result. It is visible if the request shows it, and named if
the request names the event that holds it and the agent has `search_history`. Tokens are those of the contents, as
estimated, in the fenced format.
"""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Iterator, Sequence

from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.function_tool import FunctionTool

from adk_context_pack import CastNarrative, ContextPass, StripForContext, search_history
from adk_context_pack.conversation.account import event_text
from adk_context_pack.conversation.token_estimate import TokenMeter
from adk_context_pack.testing.answers import leaves
from tests.support import relay
from tests.support.requests import call_for, everything, request_for
from tests.support.shared_data import FOLDER
from tests.support.tau_bench import conversations

READER = "second_agent"
STRATEGIES: dict[str, ContextPass | None] = {
    "ADK's own relays": None,
    "StripForContext()": StripForContext(),
    "CastNarrative(max_result_tokens=0)": CastNarrative(max_result_tokens=0),
    "CastNarrative(max_result_tokens=100)": CastNarrative(max_result_tokens=100),
    "CastNarrative(max_result_tokens=250)": CastNarrative(max_result_tokens=250),
    "CastNarrative()": CastNarrative(),
    "CastNarrative(max_result_tokens=500)": CastNarrative(max_result_tokens=500),
}


def adk_sessions() -> Iterator[list[Event]]:
    """The recorded ADK sessions as their events."""
    for path in sorted((FOLDER / "adk_sessions").glob("*.session.json")):
        yield [Event.model_validate(event) for event in json.loads(path.read_text(encoding="utf-8"))["events"]]


def offered(request: LlmRequest) -> LlmRequest:
    """The request with `search_history`, as the plugin offers it."""
    request.append_tools([FunctionTool(search_history)])
    return request


def counted(entry: ContextPass | None, sessions: Sequence[list[Event]]) -> tuple[int, int, int, int]:
    """Tokens, facts, visible ones, and those that are visible or named."""
    tokens = facts = visible = reached = 0
    for events in sessions:
        request = offered(request_for(READER, events, relay_format=relay.FENCED))
        before = _words(everything(request))
        after = request if entry is None else entry.apply(request, call_for(READER, events))
        shown = everything(after)
        words, named = _words(shown), ""
        named = _words("\n".join(event_text(event) for event in events if f"read_event='{event.id}'" in shown))
        tokens += TokenMeter().contents(after.contents)
        for event in events:
            for response in event.get_function_responses():
                for fact in filter(before.__contains__, map(_words, leaves(response.response))):
                    facts += 1
                    visible += fact in words
                    reached += fact in words or fact in named
    return tokens, facts, visible, reached


def _words(text: str) -> str:
    # A repr, JSON and a text with marked lines write the same string with other escapes.
    for old in ("\\n", "\\t", "\\", "\n| "):
        text = text.replace(old, " ")
    return "".join(text.split())


def main() -> None:
    """Prints a line for each strategy and set of sessions."""
    logging.disable(logging.ERROR)
    warnings.simplefilter("ignore")
    sets = {"tau-bench": list(conversations("first_agent")), "recorded ADK sessions": list(adk_sessions())}
    for name, sessions in sets.items():
        print(
            f"\n{name}: {len(sessions)} sessions\n{'':40}{'tokens':>9}{'share':>8}{'facts':>8}{'seen':>8}{'reached':>9}"
        )
        whole = counted(None, sessions)[0]
        for label, entry in STRATEGIES.items():
            tokens, facts, visible, reached = counted(entry, sessions)
            shares = f"{visible / facts:>8.1%}{reached / facts:>9.1%}"
            print(f"{label:40}{tokens:>9}{tokens / whole:>8.1%}{facts:>8}{shares}")


if __name__ == "__main__":
    main()
