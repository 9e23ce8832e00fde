"""Describes the model call that a pass serves, and lends it what earlier calls of its run and session computed.

Runs of one session may overlap: in the threads of ADK's synchronous `Runner.run`, in several event loops, or because
the user sends a second message early. Each of them sees a history of its own, so a memo that two of them changed at
once would hold a mixture of both. A call therefore takes its memos out and puts them back when it is done. A call that
finds them taken out starts with empty ones, which costs time and changes no result.

Most of what is kept was made of a sequence that only grows: a session's events, or the contents of a request. ADK
rebuilds a request for each model call and loads the session again for each run, but both usually begin with what they
held before. A value made of the items (token counts, the pairing of calls and results, a running total) therefore only
has to take in the new ones.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from sys import getsizeof
from typing import Any, Generic, NamedTuple, TypeVar

from adk_context_pack._adk import BaseTool, CallbackContext, Event, Session, types
from adk_context_pack.stores.byte_cache import CACHE, ByteCache, owner_of

Item = TypeVar("Item")
Value = TypeVar("Value")
Take = Callable[[Value, Sequence[Item]], object]
"""Takes new items into a value."""


class GrowingCache(Generic[Item]):
    """Values made of one growing sequence, by name, each with the number of items that it has taken in.

    The owner of the sequence compares it with `keys` before it asks for a value, and clears `values` if the sequence
    does not begin with what was read before.
    """

    __slots__ = ("keys", "values")

    def __init__(self) -> None:
        self.keys: Sequence[Any] = []
        self.values: dict[Hashable, tuple[Any, int]] = {}

    def grow(self, name: Hashable, make: Callable[[], Value], items: Sequence[Item], take: Take[Value, Item]) -> Value:
        """Returns the value under `name` after it has taken in the items that are new to it.

            lengths = cache.grow("lengths", list[int], texts, lambda found, new: found.extend(map(len, new)))

        Args:
            name: the same name always goes with the same `make` and the same `take`.
            make: makes the value for an empty sequence.
            items: the sequence, or one derived from it that only grows when it does.
            take: the cache forgets the value if it raises.
        """
        # Out of the cache until it is done: a value that took in a part of the items would take it in again.
        value, count = self.values.pop(name, None) or (make(), 0)
        if count < len(items):
            take(value, items[count:] if count else items)
        self.values[name] = value, len(items)
        return value

    def kept(self, name: Hashable, make: Callable[[], Value]) -> Value:
        """Returns the value under `name`, which whoever asks may change, and makes it at first."""
        value: Value = self.values.setdefault(name, (make(), 0))[0]
        return value

    def peek(self, name: Hashable) -> Any:
        """Returns the value under `name` as it is, or None."""
        return self.values.get(name, (None, 0))[0]

    def keep(self, name: Hashable, value: object) -> None:
        """Keeps a value that grows by other means than `grow`."""
        self.values[name] = value, 0


Memo = dict[Hashable, Any]


class Weighed(dict[Hashable, Any]):
    """Holds values of a session, and says in `bytes` about how many bytes of memory they take."""

    bytes = 0


def bytes_of(memo: Memo) -> int:
    """Returns about how many bytes of memory a memo takes. A value in it may say how many it takes in `bytes`.

    Numbers, texts and tuples in a list, a set or a dictionary weigh what the first of them does.
    """
    total, waiting, seen = 0, list[Any]([memo]), set[int]()
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if (own := getattr(value, "bytes", None)) is not None:
            total += int(own)
            continue
        total += getsizeof(value)
        if isinstance(value, tuple | GrowingCache):
            waiting += value if isinstance(value, tuple) else (value.keys, *value.values.values())
        elif type(value).__module__.startswith("adk_context_pack."):
            names = getattr(value, "__dict__", getattr(value, "__slots__", ()))
            waiting += map(partial(getattr, value), names)
        elif isinstance(value, dict | list | set | frozenset) and value:
            first = next(iter(value))
            members = (first, value[first]) if isinstance(value, dict) else (first,)
            if not isinstance(members[-1], int | float | str | tuple):
                waiting += value.values() if isinstance(value, dict) else value
                continue
            for member in members:
                # Texts are names of speakers and tools, which many share.
                total += 0 if isinstance(member, str) else len(value) * getsizeof(member)
    return total


class ToolRun(NamedTuple):
    """Holds the tool that answers a call, and whether a pass over the agent's requests makes its results smaller."""

    tool: BaseTool
    shortened_later: bool


class RunMemos:
    """Keeps a memo for each run: ADK loads a session for each run, and the calls of a run share the object."""

    def __init__(self) -> None:
        self._kept: dict[int, Memo] = {}

    @contextmanager
    def lent(self, session: Session) -> Iterator[Memo]:
        """Lends the memo of the run that `session` belongs to. The memo disappears with that object."""
        # Single operations on the dictionary, since the session's end may come in the middle of anything.
        if (memo := self._kept.pop(key := id(session), None)) is None:
            memo = {}
            weakref.finalize(session, self._kept.pop, key, None)
        try:
            yield memo
        finally:
            self._kept[key] = memo

    def tools(self, session: Session) -> dict[str, ToolRun]:
        """Returns what answers a run's calls, by their ids, since an event gives no more of a tool than its name."""
        with self.lent(session) as memo:
            tools: dict[str, ToolRun] = memo.setdefault("tools", {})
            return tools


RUNS = RunMemos()


OFFERED = "offered"
"""The key in a call's memo of the names of tools that its agent is given if its request shows what they open."""


@dataclass(frozen=True, kw_only=True, slots=True, weakref_slot=True)
class ModelCall:
    """Describes one model call as ADK is about to make it: the agent, the session, and the user's message.

    It holds the session's own objects, not copies. Read them, and never write into them.

    Attributes:
        agent_name: the agent whose request this is.
        invocation_id: ADK's id of the run that the call belongs to.
        session_id: the session's id.
        user_content: the message that started the invocation, if there is one.
        events: the session's events, oldest first.
        state: the session's state at this call (`app:`, `user:` and `temp:` keys included).
        context: ADK's callback context, for what the fields above do not cover. None in a test of a pure pass.
        memo: what the passes of this call share, by name.
        run_memo: what all calls of a run share. It lives as long as ADK's session object does, and may hold payloads.
        session_memo: what all calls of a session share while the process remembers the session. It holds hashes,
            counts, notes and compact forms of results. An object of your own states its weight in `bytes`.
        notes: short sentences of the running pass for the report. See `note`.
        is_shadow: whether the request is only made for the report and never sent, so that a pass must not write to
            state or to any service.
    """

    agent_name: str = ""
    invocation_id: str = ""
    session_id: str = ""
    user_content: types.Content | None = None
    events: Sequence[Event] = ()
    state: Mapping[str, Any] = field(default_factory=dict)
    context: CallbackContext | None = None
    memo: dict[str, Any] = field(default_factory=dict)
    run_memo: dict[Hashable, Any] = field(default_factory=dict)
    session_memo: dict[Hashable, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    is_shadow: bool = False

    @classmethod
    def of(cls, context: CallbackContext) -> ModelCall:
        """Returns the call behind an ADK callback context, without copying an event or a value of the state.

        Its memos are empty. Use `remembering` in a callback that runs before each model call.
        """
        # The raw session, since `context.state[...]` makes a deep copy of a value at each read.
        session = context.session
        return cls(
            agent_name=context.agent_name,
            invocation_id=context.invocation_id,
            session_id=session.id,
            user_content=context.user_content,
            # Of the moment: passes over a long history run in a thread while others append to the session.
            events=list(session.events),
            state=dict(session.state),
            context=context,
        )

    @classmethod
    def remembering(cls, context: CallbackContext) -> AbstractContextManager[ModelCall]:
        """Returns a context with the call behind an ADK callback context, and what earlier calls computed.

        No other call has the memos of this run and session until the context ends. Overlapping runs of one session
        therefore do not disturb each other.
        """
        return lent(cls.of(context), context.session)

    def note(self, text: str) -> None:
        """Adds one short sentence about this call to the report. Never pass a payload."""
        self.notes.append(text)


@contextmanager
def lent(call: ModelCall, session: Session, cache: ByteCache[Any] = CACHE) -> Iterator[ModelCall]:
    """Lends a call the memos of its run and session. What is kept of the session is weighed when it is put back.

    Most runs are a call or two. With memos of runs alone, each turn would read the whole history again.
    """
    key = *owner_of(session), "memo"
    with RUNS.lent(session) as run_memo:
        session_memo = cache.take(key) or {}
        try:
            yield replace(call, run_memo=run_memo, session_memo=session_memo)
        finally:
            # A session's key and its place among the others take about 1,000 bytes.
            cache.put(key, session_memo, 1_000 + bytes_of(session_memo))


NAME = "adk_context_pack"


def totals_on(event: Event) -> Mapping[str, Any]:
    """Returns the totals of the report that an event carries, or an empty mapping."""
    found = (event.custom_metadata or {}).get(NAME)
    return found if isinstance(found, Mapping) else {}
