"""Caches what earlier model calls of a run or session computed, and lends it to one call at a time.

Runs of one session may overlap: in the threads of ADK's synchronous `Runner.run`, in several event loops, or because
the user sends a second message early. Each of them sees a history of its own, so a memo that two of them changed at
once would hold a mixture of both. A call therefore takes its memos out and puts them back when it is done. A call that
finds them taken out starts with empty ones, which costs time and changes no result.

Most of what is kept was made of a sequence that only grows: a session's events, or the contents of a request. ADK
rebuilds a request for each model call and loads the session again for each run, but both usually begin with what they
held before. A value made of the items (token counts, the pairing of calls and results, a running total) therefore only
has to take in the new ones. This saves most of the time before a model call: `bench_defaults` of the benchmarks shows
it, in the columns "unknown session" (without what is kept) and "later call".
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from sys import getsizeof
from typing import Any, Generic, NamedTuple, TypeVar

from google.adk.sessions.session import Session
from google.adk.tools.base_tool import BaseTool

from adk_context_pack.stores.byte_cache import CACHE, ByteCache, owner_of

Item = TypeVar("Item")
Value = TypeVar("Value")

_LIST_ITEM = 32
"""Bytes of an integer above 256, which the lists of counts and hashes hold."""
_DICT_ITEM = 64


class GrowingCache(Generic[Item]):
    """Values made of one growing sequence, by name.

    The owner of the sequence compares it with `keys` before it asks for a value, and calls `forget` when the sequence
    does not begin with what was read before.

    Attributes:
        keys: what the owner recognises the sequence by.
    """

    __slots__ = ("_values", "keys")

    def __init__(self) -> None:
        self.keys: Sequence[Any] = ()
        self._values: dict[Hashable, tuple[Any, int]] = {}

    def grow(
        self,
        name: Hashable,
        make: Callable[[], Value],
        items: Sequence[Item],
        take: Callable[[Value, Sequence[Item]], object],
    ) -> Value:
        """Returns the value under `name` after it has taken in the items that are new to it.

            lengths = cache.grow("lengths", list[int], texts, lambda found, new: found.extend(map(len, new)))

        Args:
            name: the same name always goes with the same `make` and the same `take`.
            make: makes the value for an empty sequence.
            items: the sequence, or one derived from it that only grows when it does.
            take: takes the new items into the value. If it raises, the cache forgets the value.
        """
        # Out of the cache until it is done: a value that took in a part of the items would take it in again.
        value, count = self._values.pop(name, None) or (make(), 0)
        if count < len(items):
            take(value, items[count:] if count else items)
        self._values[name] = value, len(items)
        return value

    def kept(self, name: Hashable, make: Callable[[], Value]) -> Value:
        """Returns the value under `name`, which whoever asks may change, and makes it at first."""
        if name not in self._values:
            self.keep(name, make())
        value: Value = self.peek(name)
        return value

    def peek(self, name: Hashable) -> Any:
        """Returns the value under `name` as it is, or None."""
        found = self._values.get(name)
        return None if found is None else found[0]

    def keep(self, name: Hashable, value: object) -> None:
        """Keeps a value that grows by other means than `grow`."""
        self._values[name] = value, 0

    def forget(self) -> None:
        """Forgets all values."""
        self._values.clear()

    @property
    def bytes(self) -> int:
        """The memory that the cache takes, in bytes, within a quarter."""
        values = sum([bytes_of(value) + _DICT_ITEM + 2 * _LIST_ITEM for value, _ in self._values.values()])
        return bytes_of(self.keys) + getsizeof(self._values) + values


def bytes_of(value: Any) -> int:
    """Returns about how many bytes of memory a value of plain numbers takes. It may say so itself in `bytes`."""
    own = getattr(value, "bytes", None)
    if own is not None:
        return int(own)
    if isinstance(value, dict):
        return getsizeof(value) + len(value) * _DICT_ITEM
    if isinstance(value, list | set | tuple):
        return getsizeof(value) + len(value) * _LIST_ITEM
    return getsizeof(value)


Memo = dict[Hashable, Any]


class ToolRun(NamedTuple):
    """Holds the tool that answers a call.

    Attributes:
        tool: the tool.
        shortened_later: whether a pass over the agent's requests makes results of this tool smaller there.
    """

    tool: BaseTool
    shortened_later: bool


class RunMemos:
    """Keeps a memo for each run: ADK loads a session for each run, and the calls of a run share the object."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[weakref.ref[Session], Memo]] = {}

    @contextmanager
    def lent(self, session: Session) -> Iterator[Memo]:
        """Lends the memo of the run that `session` belongs to. The memo disappears with that object."""
        key = id(session)
        # Single operations on the dictionary, since a weak reference may call back in the middle of anything.
        found = self._kept.pop(key, None)
        memo: Memo = found[1] if found is not None and found[0]() is session else {}
        try:
            yield memo
        finally:
            self._kept[key] = weakref.ref(session, lambda gone: self._forget(key, gone)), memo

    def tools(self, session: Session) -> dict[str, ToolRun]:
        """Returns what answers a run's calls, by their ids, since an event gives no more of a tool than its name."""
        with self.lent(session) as memo:
            tools: dict[str, ToolRun] = memo.setdefault("tools", {})
            return tools

    def _forget(self, key: int, gone: weakref.ref[Session]) -> None:
        found = self._kept.get(key)
        if found is not None and found[0] is gone:
            self._kept.pop(key, None)

    def __len__(self) -> int:
        return len(self._kept)


class SessionMemos:
    """Keeps a memo for each session that called lately, in the cache of this process.

    Most runs are a call or two. With memos of runs alone, each turn would read the whole history again. A memo is
    weighed when it is put back.
    """

    def __init__(self, cache: ByteCache[Any] = CACHE) -> None:
        self._cache = cache

    @contextmanager
    def lent(self, session: Session) -> Iterator[Memo]:
        """Lends the memo of `session`, whichever object ADK holds the session in."""
        key = *owner_of(session), "memo"
        memo: Memo = self._cache.take(key) or {}
        try:
            yield memo
        finally:
            # A session's key and its place among the others take about 1,000 bytes.
            self._cache.put(key, memo, 1_000 + bytes_of(memo) + sum(map(bytes_of, memo.values())))


RUNS = RunMemos()
SESSIONS = SessionMemos()
