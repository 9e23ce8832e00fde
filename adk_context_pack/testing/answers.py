"""Measures whether an agent could still make its recorded calls from the requests that passes leave it.

Fewer tokens are worth nothing if the next call needs a value that is gone. So before each recorded tool call, every
value of its arguments that the whole request shows is looked for in the reduced one.

    for result in answerability(conversations, {"mine": [MyPass()]}):
        print(result.strategy, result.visible_share, result.reachable_share)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, NamedTuple

from adk_context_pack._adk import Event, LlmRequest, known_tools, releases, types
from adk_context_pack._json import is_number
from adk_context_pack.conversation import account, contents, ledger
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.conversation.token_estimate import characters
from adk_context_pack.passes.context_pass import ContextPass, attempt
from adk_context_pack.passes.pipeline import leave_history
from adk_context_pack.testing.conversation import Conversation
from adk_context_pack.tools.read_back import offer_read_back
from adk_context_pack.tools.search_history import ID_LENGTH, SearchHistory, Wanted, is_search


@dataclass(frozen=True, kw_only=True)
class Packed:
    """Passes over requests, where tool results were already reduced as they were made.

    Args:
        passes: the passes, in their order.
        reduced: returns an event with its results reduced, or the same event.
        stored: what each handle in a reduced result opens, as text. The plugin offers the tool that opens it.
    """

    passes: Sequence[ContextPass]
    reduced: Callable[[Event], Event] = lambda event: event
    stored: Mapping[str, str] = field(default_factory=dict)


Strategy = Sequence[ContextPass] | Packed | Callable[[LlmRequest, ModelCall], LlmRequest]
"""Passes in their order, with reduced results or without, or a function from request to request."""


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
        self.lost = [*self.lost, *other.lost][:1000]


def answerability(conversations: Iterable[Conversation], strategies: Mapping[str, Strategy]) -> list[Answerability]:
    """Replays the model calls of recorded conversations and returns what each strategy leaves of what they need.

    A value is a text of three and more characters or a number of three and more digits among a call's arguments. It is
    reachable if the request shows a handle behind which it is. It also is if `read_back` is offered, the request
    names it, and one of these gives the value: an event that the request names, a search by the user's newest message,
    by what the user said, or by a tool that the request names, and an event that such a search lists. A request is
    built by ADK's own code from the events before the call.

    Args:
        conversations: sessions, each with the agent whose calls are replayed.
        strategies: what is measured, by name, in the order of the results. `{"everything": []}` sends whole requests.
    """
    results = {name: Answerability(strategy=name) for name in strategies}
    for number, conversation in enumerate(conversations):
        for moment, event in recorded_calls(conversation):
            for found in _replayed(number, moment, event, strategies):
                results[found.strategy].add(found)
    return list(results.values())


def recorded_calls(conversation: Conversation) -> Iterator[tuple[Conversation, Event]]:
    """Yields each event with tool calls of the conversation's agent, after the conversation as it was before it."""
    state = dict(conversation.state)
    for index, event in enumerate(conversation.events):
        if index and event.author == conversation.agent and event.get_function_calls():
            branch = conversation.branch or event.branch
            yield replace(conversation, events=conversation.events[:index], branch=branch, state=dict(state)), event
        state |= event.actions.state_delta


def _replayed(number: int, moment: Conversation, event: Event, strategies: Mapping[str, Strategy]) -> Iterator[Any]:
    try:
        whole = moment.request()
    except ValueError:
        # Older releases of ADK refuse a result without a call.
        return
    calls, seen = event.get_function_calls(), request_text(whole)
    needed = [(each.name or "?", value) for each in calls for value in leaves(each.args) if value in seen]
    for name, strategy in strategies.items():
        packed = strategy if isinstance(strategy, Packed) else Packed(passes=() if callable(strategy) else strategy)
        given = replace(moment, events=[*map(packed.reduced, moment.events)], session_id=f"session {name}")
        request, call = given.built()
        request.model = event.model_version or request.model
        if callable(strategy):
            reduced = strategy(request, call)
        else:
            # As the plugin does it: the tool is there before the passes run.
            offer_read_back(request, call.state, history=leave_history(packed.passes, request, call))
            reduced = attempted(packed.passes, request, call)
        text = request_text(reduced)
        hidden = [(tool, value) for tool, value in needed if value not in text]
        behind = read_backs(reduced, text, call, packed.stored) if hidden else ""
        lost = [LostValue(number, event.id, tool, value) for tool, value in hidden if value not in behind]
        found = Answerability(strategy=name, calls=bool(needed), values=len(needed), lost=lost)
        found.visible, found.reachable = len(needed) - len(hidden), len(needed) - len(lost)
        found.last_fifth = sum(text.rfind(value) >= len(text) * 4 / 5 for _, value in needed)
        found.characters, found.characters_whole = characters(reduced.contents), characters(whole.contents)
        yield found


def attempted(passes: Iterable[ContextPass], request: LlmRequest, call: ModelCall) -> LlmRequest:
    """Returns a request after passes, of which one that fails is skipped."""
    for entry in passes:
        request, *_ = attempt(entry, request, call)
    return request


def leaves(value: Any) -> Iterator[str]:
    """Yields the texts of three and more characters and the numbers of three and more digits in a JSON-like value."""
    for item in ledger.scalars(value):
        signs = len(item) if isinstance(item, str) else is_number(item) and sum(map(str.isdigit, str(item)))
        if signs >= 3:  # noqa: PLR2004 - as the docstring says
            yield str(item)


def request_text(request: LlmRequest, *, without: Collection[str] = ()) -> str:
    """Returns all that a request says: instruction, texts, and the values of arguments and results, one a line."""
    instruction = request.config.system_instruction if request.config else None
    said = [instruction] if isinstance(instruction, str) else []
    said += [line for content in request.contents or () for part in content.parts or () for line in part_lines(part)]
    return "\n".join(line for line in said if line not in without)


def says(text: str, value: str) -> bool:
    """Tells whether a text holds a value, and not as a part of a longer word."""
    return value in text and re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None


def part_lines(part: types.Part) -> list[str]:
    """Returns what a part says: its text, or a tool's name with the keys and values of its arguments or result."""
    kind, name, _, value = contents.said_in(part)
    return [value] if kind == "text" else [name or "", *_all(value)] if kind in ("call", "result") else []


def _all(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping | list | tuple):
        items = chain.from_iterable(value.items()) if isinstance(value, Mapping) else value
        yield from chain.from_iterable(map(_all, items))
    elif value is not None:
        yield str(value)


def read_backs(request: LlmRequest, text: str, call: ModelCall, stored: Mapping[str, str]) -> str:
    """Returns what the read-backs that a request names would give, within two of them."""
    found = [whole for handle, whole in stored.items() if handle in text]
    if names_search(request, text) and call.context is not None:
        searched = "\n".join(_searched(text, call))
        found += [searched, *(whole for handle, whole in stored.items() if handle in searched)]
    return "\n".join(found)


def _searched(text: str, call: ModelCall) -> Iterator[str]:
    events = _by_id(call)
    named = re.findall(r"(?:read_event|handle)='([^']+)'", text)
    yield from (_event_values(events[name]) for name in named if name in events)
    tools = {each.name for event in call.events for each in event.get_function_calls() if each.name}
    message = " ".join(part.text or "" for part in (call.user_content.parts if call.user_content else None) or ())
    searches: list[dict[str, Any]] = [{"query": message}, {"agent": "user"}]
    searches += [{"tool": tool} for tool in sorted(tools) if tool in text]
    for search in searches:
        for known, line in _search(call, **search):
            yield line
            if known in events:
                yield _event_values(events[known])


def _by_id(call: ModelCall) -> dict[str, Event]:
    """Returns the events by their ids, and by what a search gives of these."""
    return {known: event for event in call.events for known in (event.id[:ID_LENGTH], event.id)}


def names_search(request: LlmRequest, text: str) -> bool:
    """Tells whether a request names a search of the session's past, and offers the tool for it."""
    opener = known_tools.openers_in(request).history
    return bool(opener) and any(word in text for word in (opener, "read_event", "handle=", contents.KEY))


def listed_events(call: ModelCall) -> Iterator[str]:
    """Yields the ids of all events that `search_history` lists and opens, page after page."""
    before, events = "", _by_id(call)
    while found := _search(call, before_event=before):
        yield from (events[known].id for known, _ in found)
        before = found[-1][0]


def said_values(event: Event) -> list[str]:
    """Returns the texts that an event says, and the values of its arguments and results."""
    # What earlier searches gave is not searched.
    said = [contents.said_in(entry.part) for entry in account.entries(event) if not is_search(entry)]
    return [word for kind, *_, value in said for word in ([value] if kind == "text" else leaves(value))]


def _event_values(event: Event) -> str:
    return "\n".join(line for entry in account.entries(event) for line in part_lines(entry.part))


def _search(call: ModelCall, *, query: str = "", **wanted: Any) -> list[tuple[str, str]]:
    """Returns the lines that a search finds, each after what it calls the event."""
    context: Any = call.context
    try:
        loaded = releases.SessionEvents(context.session.events, whole=True)
        found = SearchHistory().found(context, loaded, Wanted(**wanted), query=query.strip()[:1_000])["found"]
        return [(line.partition(",")[0], line) for line in chain.from_iterable(found.values())]
    except LookupError:
        return []
