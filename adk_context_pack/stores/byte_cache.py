"""One cache for what is kept of sessions in this process, bounded by the size of its values."""

from __future__ import annotations

import os
import sys
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar
from weakref import WeakSet

T = TypeVar("T")

KEEPERS: WeakSet[Any] = WeakSet()
"""Whatever keeps something of sessions in this process. Each has a method `drop`, which takes `Theirs`."""


class Theirs(NamedTuple):
    """The sessions of a user that are to be forgotten."""

    app_name: str
    user_id: str
    sessions: frozenset[str]
    is_all: bool

    def hold(self, key: Sequence[Any]) -> bool:
        """Returns whether a key that begins with an app, a user and a session is of one of these sessions."""
        return tuple(key[:2]) == self[:2] and (self.is_all or key[2] in self.sessions)


def owner_of(session: Any) -> tuple[str, str, str]:
    """Returns what each key of a session begins with. Two users may have sessions of one id."""
    return session.app_name, session.user_id, session.id


def drop_everywhere(theirs: Theirs) -> None:
    """Removes what this process keeps of some sessions, and the words that are kept of any text."""
    for keeper in tuple(KEEPERS):
        keeper.drop(theirs)
    modules = [vars(module) for name, module in sys.modules.items() if name.startswith("adk_context_pack.")]
    for value in [value for module in modules for value in module.values() if hasattr(value, "cache_parameters")]:
        # Memos of thousands of entries are of words that people wrote.
        if (value.cache_parameters()["maxsize"] or 0) >= 4_096:  # noqa: PLR2004 - entries
            value.cache_clear()


CacheKey = tuple[Any, ...]
"""The app, the user and the session that a value belongs to, and what it is."""


class ByteCache(Generic[T]):
    """Keeps the values used last, up to `max_bytes` with what is kept beside them. Several threads may use it."""

    def __init__(self, *, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._items: OrderedDict[CacheKey, tuple[T, int]] = OrderedDict()
        self._bytes = self._beside = 0
        self._lock = threading.Lock()
        KEEPERS.add(self)

    def limit(self, max_bytes: int) -> None:
        """Sets what all values together may take, and lets go of those that exceed it."""
        with self._lock:
            self.max_bytes = max_bytes
            self._make_room()

    def leave_room(self, beside: int) -> None:
        """Says how many bytes are kept beside the values, by child processes, and lets go of what exceeds the rest."""
        with self._lock:
            self._beside = beside
            self._make_room()

    def _make_room(self) -> None:
        while self._items and self._bytes + self._beside > self.max_bytes:
            self._bytes -= self._items.popitem(last=False)[1][1]

    @property
    def kept_bytes(self) -> int:
        """Returns the bytes of all values that it keeps, and of what is kept beside them."""
        return self._bytes + self._beside

    def get(self, key: CacheKey) -> T | None:
        """Returns the value kept under `key`, which counts as used now, or None if there is none."""
        with self._lock:
            if (found := self._items.get(key)) is None:
                return None
            self._items.move_to_end(key)
            return found[0]

    def take(self, key: CacheKey) -> T | None:
        """Returns the value kept under `key` and forgets it, so that its taker alone may change it."""
        with self._lock:
            value, size = self._items.pop(key, (None, 0))
            self._bytes -= size
            return value

    def put(self, key: CacheKey, value: T, size: int) -> None:
        """Keeps a value of at most `max_bytes`, in the place of one under the same key."""
        if size > self.max_bytes:
            return
        with self._lock:
            self._bytes -= self._items.pop(key, (None, 0))[1]
            self._items[key] = (value, size)
            self._bytes += size
            self._make_room()

    def sessions(self, app_name: str, user_id: str) -> set[str]:
        """Returns the ids of the sessions of a user of which something is kept."""
        with self._lock:
            return {key[2] for key in self._items if key[:2] == (app_name, user_id)}

    def drop(self, theirs: Theirs) -> None:
        """Removes the values of some sessions."""
        with self._lock:
            for key in [key for key in self._items if theirs.hold(key)]:
                self._bytes -= self._items.pop(key)[1]

    def renew_locks(self) -> None:
        """Makes new locks in a forked process, since the parent's may be held for ever there."""
        self._lock = threading.Lock()
        self._beside = 0


CACHE: ByteCache[Any] = ByteCache(max_bytes=256 * 2**20)
"""Holds what this process remembers of all sessions: memos, indexes, texts, tables and recalled passages."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=CACHE.renew_locks)
