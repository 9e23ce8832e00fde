"""Measures whether an agent could still make its recorded calls from the requests that passes leave it.

Fewer tokens are worth nothing if the next call needs a value that is gone. So before each recorded tool call, every
value of its arguments that the whole request shows is looked for in the reduced one.

    for result in answerability(conversations, {"mine": [MyPass()]}):
        print(result.strategy, result.visible_share, result.reachable_share)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest

from adk_context_pack.conversation.account import event_text
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.passes.context_pass import ContextPass
from adk_context_pack.testing.conversation import Conversation
from adk_context_pack.testing.laws import characters
from adk_context_pack.testing.request_values import leaves, request_text
from adk_context_pack.tools.read_back import offer_read_back
from adk_context_pack.tools.search_history import SearchHistory

Strategy = Sequence[ContextPass] | Callable[[LlmRequest, ModelCall], LlmRequest]
"""Passes in their order, or a function from request to request."""

_READ_EVENT = re.compile(r"read_event='([^']+)'")
_MAX_LOST = 1000
_SEARCH = SearchHistory()


class LostValue(NamedTuple):
    """A value that a recorded call needed, and that its request neither shows nor leads to.

    Attributes:
        conversation: the number of the conversation, from 0 on.
        event: the id of the event that holds the call.
        tool: the tool that was called.
        value: the value, as text.
    """

    conversation: int
    event: str
    tool: str
    value: str


@dataclass(kw_only=True, slots=True)
class Answerability:
    """The share of the values needed by the next calls that a strategy leaves.

    Attributes:
        strategy: its name.
        calls: recorded tool calls with at least one value that the whole request shows.
        values: those values.
        visible: how many of them the reduced request shows.
        reachable: how many it shows or leads to within two read-backs.
        last_fifth: how many of those that it shows are in the last fifth of its text.
        characters: characters of the contents of all reduced requests.
        characters_whole: the same for the whole requests.
        lost: the values that are neither visible nor reachable, the first thousand.
    """

    strategy: str
    calls: int = 0
    values: int = 0
    visible: int = 0
    reachable: int = 0
    last_fifth: int = 0
    characters: int = 0
    characters_whole: int = 0
    lost: list[LostValue] = field(default_factory=list)

    @property
    def visible_share(self) -> float:
        """The share of the values that the reduced requests show; 1.0 where no call needs any."""
        return self.visible / self.values if self.values else 1.0

    @property
    def reachable_share(self) -> float:
        """The share of the values that the reduced requests show or lead to; 1.0 where no call needs any."""
        return self.reachable / self.values if self.values else 1.0

    @property
    def characters_share(self) -> float:
        """The characters sent, as a share of those of the whole requests; 1.0 where there are none."""
        return self.characters / self.characters_whole if self.characters_whole else 1.0


def answerability(conversations: Iterable[Conversation], strategies: Mapping[str, Strategy]) -> list[Answerability]:
    """Replays the model calls of recorded conversations and measures what each strategy leaves of what they need.

    A value is a text of three and more characters or a number of three and more digits among a call's arguments. It is
    reachable if `search_history` is offered, the request names it, and one of these gives the value: an event that the
    request names; a search by the user's newest message, by what the user said, or by a tool that the request names; an
    event that such a search lists. A request is built by ADK's own code from the events before the call.

    Args:
        conversations: sessions, each with the agent whose calls are replayed.
        strategies: what is measured, by name. `{"everything": []}` sends the whole requests.

    Returns:
        One result for each strategy, in their order.
    """
    results = {name: Answerability(strategy=name) for name in strategies}
    for number, conversation in enumerate(conversations):
        for moment, event in _calls(conversation):
            _replay(number, moment, event, strategies, results)
    return list(results.values())


def _calls(conversation: Conversation) -> Iterator[tuple[Conversation, Event]]:
    for index, event in enumerate(conversation.events):
        if index and event.author == conversation.agent and event.get_function_calls():
            yield replace(conversation, events=conversation.events[:index]), event


def _replay(
    number: int,
    moment: Conversation,
    event: Event,
    strategies: Mapping[str, Strategy],
    results: Mapping[str, Answerability],
) -> None:
    try:
        whole = moment.request()
    except ValueError:
        # Older releases of ADK refuse a result without a call.
        return
    seen = request_text(whole)
    needed = [(call.name or "?", value) for call in event.get_function_calls() for value in leaves(call.args)]
    needed = [(tool, value) for tool, value in needed if value in seen]
    for name, strategy in strategies.items():
        result = results[name]
        request, call = moment.built()
        reduced = _reduced(strategy, request, call)
        result.characters_whole += characters(whole.contents)
        result.characters += characters(reduced.contents)
        result.calls += bool(needed)
        text = request_text(reduced)
        behind = ""
        for tool, value in needed:
            result.values += 1
            if value in text:
                result.visible += 1
                result.reachable += 1
                result.last_fifth += text.rfind(value) >= len(text) * 4 / 5
                continue
            behind = behind or read_backs(reduced, text, call)
            if value in behind:
                result.reachable += 1
            elif len(result.lost) < _MAX_LOST:
                result.lost.append(LostValue(number, event.id, tool, value))


def _reduced(strategy: Strategy, request: LlmRequest, call: ModelCall) -> LlmRequest:
    if callable(strategy):
        return strategy(request, call)
    # As the plugin does it: the tool is there before the passes run.
    history = any(entry.leaves_history(request, call) for entry in strategy)
    offer_read_back(request, call.state, history=history)
    for entry in strategy:
        request = entry.apply(request, call)
    return request


def read_backs(request: LlmRequest, text: str, call: ModelCall) -> str:
    """Returns what the read-backs that a request names would give, within two of them.

    Args:
        request: the reduced request.
        text: what it says.
        call: its model call, whose session holds what was left out.
    """
    context: Any = call.context
    named = {"search_history", "read_event"} & _words(text)
    if context is None or not named or "search_history" not in (request.tools_dict or {}):
        return ""
    events = {event.id: event for event in call.events}
    found = [event_text(events[name]) for name in _READ_EVENT.findall(text) if name in events]
    tools = {each.name for event in call.events for each in event.get_function_calls() if each.name}
    message = " ".join(part.text or "" for part in (call.user_content.parts if call.user_content else None) or ())
    searches: list[dict[str, Any]] = [{"query": message}, {"agent": "user"}]
    searches += [{"tool": tool} for tool in sorted(tools) if tool in text]
    for search in searches:
        reply = _now(_SEARCH.search_history(context, **search))
        for entry in reply.get("found", ()):
            found.append(entry["text"])
            if entry["event"] in events:
                found.append(event_text(events[entry["event"]]))
    return "\n".join(found)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def _now(coroutine: Coroutine[Any, Any, dict[str, Any]]) -> dict[str, Any]:
    # The session is in memory, so that the search waits for nothing, and works within a running loop as well.
    try:
        coroutine.send(None)
    except StopIteration as stop:
        found: dict[str, Any] = stop.value
        return found
    finally:
        coroutine.close()
    return {}
