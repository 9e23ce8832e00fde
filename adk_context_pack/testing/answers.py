"""Measures whether an agent could still make its recorded calls from the requests that passes leave it.

Fewer tokens are worth nothing if the next call needs a value that is gone. So before each recorded tool call, every
value of its arguments that the whole request shows is looked for in the reduced one.

    for result in answerability(conversations, {"mine": [MyPass()]}):
        print(result.strategy, result.visible_share, result.reachable_share)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest

from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.passes.context_pass import ContextPass
from adk_context_pack.passes.pipeline import attempt, leave_history
from adk_context_pack.testing.conversation import Conversation
from adk_context_pack.testing.read_backs import characters, leaves, read_backs, request_text
from adk_context_pack.tools.read_back import offer_read_back


@dataclass(frozen=True, kw_only=True)
class Packed:
    """Passes over requests, where tool results were already reduced as they were made.

    Args:
        passes: the passes, in their order.
        reduced: returns an event with its results reduced, or the same event.
        stored: what each handle in a reduced result opens, as text. Whoever sees a handle can open it, since the plugin
            offers the tool.
    """

    passes: Sequence[ContextPass]
    reduced: Callable[[Event], Event] = lambda event: event
    stored: Mapping[str, str] = field(default_factory=dict)


Strategy = Sequence[ContextPass] | Packed | Callable[[LlmRequest, ModelCall], LlmRequest]
"""Passes in their order, with reduced results or without, or a function from request to request."""

_MAX_LOST = 1000


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
        """The share of the values that the reduced requests show. 1.0 if no call needs any."""
        return self.visible / self.values if self.values else 1.0

    @property
    def reachable_share(self) -> float:
        """The share of the values that the reduced requests show or lead to. 1.0 if no call needs any."""
        return self.reachable / self.values if self.values else 1.0

    @property
    def last_fifth_share(self) -> float:
        """The share of the visible values that are in the last fifth of their request. 1.0 if none is visible."""
        return self.last_fifth / self.visible if self.visible else 1.0

    @property
    def characters_share(self) -> float:
        """The characters sent, as a share of those of the whole requests. 1.0 if there are none."""
        return self.characters / self.characters_whole if self.characters_whole else 1.0

    def add(self, other: Answerability) -> None:
        """Adds the counts of another result of the same strategy."""
        for name in ("calls", "values", "visible", "reachable", "last_fifth", "characters", "characters_whole"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.lost = [*self.lost, *other.lost][:_MAX_LOST]


def answerability(conversations: Iterable[Conversation], strategies: Mapping[str, Strategy]) -> list[Answerability]:
    """Replays the model calls of recorded conversations and measures what each strategy leaves of what they need.

    A value is a text of three and more characters or a number of three and more digits among a call's arguments. It is
    reachable if the request shows a handle behind which it is. It also is if `read_back` is offered, the request
    names it, and one of these gives the value: an event that the request names, a search by the user's newest message,
    by what the user said, or by a tool that the request names, and an event that such a search lists. A request is
    built by ADK's own code from the events before the call.

    Args:
        conversations: sessions, each with the agent whose calls are replayed.
        strategies: what is measured, by name. `{"everything": []}` sends the whole requests.

    Returns:
        One result for each strategy, in their order.
    """
    results = {name: Answerability(strategy=name) for name in strategies}
    for number, conversation in enumerate(conversations):
        for moment, event in recorded_calls(conversation):
            _replay(number, moment, event, strategies, results)
    return list(results.values())


def recorded_calls(conversation: Conversation) -> Iterator[tuple[Conversation, Event]]:
    """Yields each event with tool calls of the conversation's agent, after the conversation as it was before it."""
    state = dict(conversation.state)
    for index, event in enumerate(conversation.events):
        if index and event.author == conversation.agent and event.get_function_calls():
            branch = conversation.branch or event.branch
            yield replace(conversation, events=conversation.events[:index], branch=branch, state=dict(state)), event
        state |= event.actions.state_delta


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
        given = moment
        stored: Mapping[str, str] = {}
        if isinstance(strategy, Packed):
            stored = strategy.stored
            given = replace(moment, events=[*map(strategy.reduced, moment.events)], session_id=f"session {name}")
        request, call = given.built()
        reduced = _reduced(strategy, request, call)
        result = results[name]
        result.characters_whole += characters(whole.contents)
        result.characters += characters(reduced.contents)
        result.calls += bool(needed)
        text = request_text(reduced)
        shown = [value for _, value in needed if value in text]
        hidden = [(tool, value) for tool, value in needed if value not in text]
        behind = read_backs(reduced, text, call, stored) if hidden else ""
        lost = [LostValue(number, event.id, tool, value) for tool, value in hidden if value not in behind]
        result.values += len(needed)
        result.visible += len(shown)
        result.reachable += len(needed) - len(lost)
        result.last_fifth += sum(text.rfind(value) >= len(text) * 4 / 5 for value in shown)
        result.lost = [*result.lost, *lost][:_MAX_LOST]


def _reduced(strategy: Strategy, request: LlmRequest, call: ModelCall) -> LlmRequest:
    if callable(strategy):
        return strategy(request, call)
    passes = strategy.passes if isinstance(strategy, Packed) else strategy
    # As the plugin does it: the tool is there before the passes run.
    offer_read_back(request, call.state, history=leave_history(passes, request, call))
    for entry in passes:
        request, *_ = attempt(entry, request, call)
    return request
