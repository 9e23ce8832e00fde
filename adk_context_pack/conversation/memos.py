"""Caches what earlier model calls of a run or session computed, and lends it to one call at a time.

Runs of one session may overlap: in the threads of ADK's synchronous `Runner.run`, in several event loops, or because
the user sends a second message early. Each of them sees a history of its own, so a memo that two of them changed at
once would hold a mixture of both. A call therefore takes its memos out and puts them back when it is done. A call that
finds them taken out starts with empty ones, which costs time and changes no result.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, NamedTuple

from google.adk.sessions.session import Session
from google.adk.tools.base_tool import BaseTool

from adk_context_pack.conversation.growing_cache import bytes_of

Memo = dict[Hashable, Any]

MAX_BYTES = 32 * 2**20
_NEW_SHARE = 4
"""Sessions that called once may take one part in this many, so that those that come back are not driven out."""
_EMPTY_BYTES = 1_000
"""Bytes of a session's key and of its place among the others."""


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


class _Kept(NamedTuple):
    memo: Memo
    bytes: int


_Key = tuple[str, str, str]


class SessionMemos:
    """Keeps a memo for each session that called lately, in bounded memory.

    Most runs are a call or two. With memos of runs alone, each turn would read the whole history again
    (`python -m tests.benchmarks.bench_defaults`, column "unknown session").

    A memo is weighed when it is put back. If all of them together weigh too much, sessions that called once go
    first, then those that called longest ago.

    Args:
        max_bytes: the most that all memos may weigh. The newest one stays even if it alone weighs more.
    """

    def __init__(self, *, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._lock = Lock()
        self._once: OrderedDict[_Key, _Kept] = OrderedDict()
        self._often: OrderedDict[_Key, _Kept] = OrderedDict()
        self._bytes = self._once_bytes = 0

    @contextmanager
    def lent(self, session: Session) -> Iterator[Memo]:
        """Lends the memo of `session`, whichever object ADK holds the session in."""
        key = session.app_name, session.user_id, session.id
        with self._lock:
            found = self._take(key)
        memo: Memo = {} if found is None else found.memo
        try:
            yield memo
        finally:
            kept = _Kept(memo, _EMPTY_BYTES + bytes_of(memo) + sum(map(bytes_of, memo.values())))
            with self._lock:
                # Another call of the session may have put back one of its own.
                again = self._take(key)
                self._put(key, kept, often=found is not None or again is not None)

    @property
    def bytes(self) -> int:
        """The weight of all memos that are not lent at the moment."""
        return self._bytes

    def clear(self) -> None:
        """Forgets all sessions."""
        with self._lock:
            self._once.clear()
            self._often.clear()
            self._bytes = self._once_bytes = 0

    def __len__(self) -> int:
        return len(self._once) + len(self._often)

    def _take(self, key: _Key) -> _Kept | None:
        found = self._once.pop(key, None)
        if found is not None:
            self._once_bytes -= found.bytes
        else:
            found = self._often.pop(key, None)
        if found is not None:
            self._bytes -= found.bytes
        return found

    def _put(self, key: _Key, kept: _Kept, *, often: bool) -> None:
        (self._often if often else self._once)[key] = kept
        self._bytes += kept.bytes
        if not often:
            self._once_bytes += kept.bytes
        while self._bytes > self._max_bytes and len(self) > 1:
            self._drop_one(key)

    def _drop_one(self, newest: _Key) -> None:
        new_first = self._once and (not self._often or self._once_bytes > self._max_bytes // _NEW_SHARE)
        group = self._once if new_first else self._often
        if next(iter(group)) == newest:
            group = self._often if group is self._once else self._once
        self._take(next(iter(group)))


RUNS = RunMemos()
SESSIONS = SessionMemos()
