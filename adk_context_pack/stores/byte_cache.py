"""A cache that is bounded by the size of its values."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from adk_context_pack.errors import positive

T = TypeVar("T")


class ByteCache(Generic[T]):
    """Keeps the values used last, up to a number of bytes. Several threads may use it.

    Args:
        max_bytes: bytes that all values together may take. A single larger value is handed out and not kept.

    Raises:
        SettingError: `max_bytes` is not a positive integer.
    """

    def __init__(self, *, max_bytes: int) -> None:
        self._max_bytes = positive(self, "max_bytes", max_bytes)
        self._items: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()
        self._making: dict[Hashable, threading.Lock] = {}

    @property
    def kept_bytes(self) -> int:
        """Returns the bytes of all values that it keeps."""
        return self._bytes

    def get(self, key: Hashable) -> T | None:
        """Returns the value kept under `key`, which counts as used now, or None if there is none."""
        with self._lock:
            if (found := self._items.get(key)) is None:
                return None
            self._items.move_to_end(key)
            return found[0]

    def get_or_make(self, key: Hashable, make: Callable[[], tuple[T, int]]) -> T:
        """Returns the value kept under `key`, or a new one. Of several threads that ask at once, one makes it.

        Args:
            key: names the value and its owner, since all owners share the cache.
            make: returns the value and its size in bytes.
        """
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        with making:
            if (found := self.get(key)) is not None:
                return found
            try:
                value, size = make()
            finally:
                with self._lock:
                    self._making.pop(key, None)
            self.put(key, value, size)
            return value

    def take(self, key: Hashable) -> T | None:
        """Returns the value kept under `key` and forgets it, so that its taker alone may change it."""
        with self._lock:
            found = self._items.pop(key, None)
            if found is None:
                return None
            self._bytes -= found[1]
            return found[0]

    def put(self, key: Hashable, value: T, size: int) -> None:
        """Keeps a value.

        Args:
            key: what the value belongs to.
            value: the value, in the place of one kept under the same key.
            size: its weight in bytes. A value above `max_bytes` is not kept.
        """
        if size > self._max_bytes:
            return
        with self._lock:
            if (former := self._items.pop(key, None)) is not None:
                self._bytes -= former[1]
            self._items[key] = (value, size)
            self._bytes += size
            while self._bytes > self._max_bytes:
                self._bytes -= self._items.popitem(last=False)[1][1]
