"""Caches values that are made of a sequence which only grows.

A session's events and the contents of a request are such sequences. ADK rebuilds a request for each model call and
loads the session again for each run, but both usually begin with what they held before. A value made of the items (a
list of token counts, the pairing of calls and results, a running total) therefore only has to take in the new ones.

This saves most of the time before a model call. `python -m tests.benchmarks.bench_defaults` shows it: its column
"unknown session" is the time without what is cached here, "later call" the time with it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from sys import getsizeof
from types import TracebackType
from typing import Any, Generic, TypeVar

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

    def growing(self, name: Hashable, make: Callable[[], Value], items: Sequence[Item]) -> _Growing[Value, Item]:
        """Returns a context that holds the value under `name` and the items that it has yet to take in.

            with cache.growing("lengths", list, texts) as (lengths, new):
                lengths.extend(map(len, new))

        If the body raises, the cache forgets the value, since it may have taken in a part of the new items.

        Args:
            name: the same name always goes with the same `make` and the same body.
            make: makes the value for an empty sequence.
            items: the sequence, or one derived from it that only grows when it does.
        """
        return _Growing(self._values, name, make, items)

    def peek(self, name: Hashable) -> Any:
        """Returns the value under `name` as it is, or None."""
        found = self._values.get(name)
        return None if found is None else found[0]

    def keep(self, name: Hashable, value: object) -> None:
        """Keeps a value that grows by other means than `growing`."""
        self._values[name] = value, 0

    def forget(self) -> None:
        """Forgets all values."""
        self._values.clear()

    @property
    def bytes(self) -> int:
        """The memory that the cache takes, in bytes, within a quarter."""
        values = sum([bytes_of(value) + _DICT_ITEM + 2 * _LIST_ITEM for value, _ in self._values.values()])
        return bytes_of(self.keys) + getsizeof(self._values) + values


class _Growing(Generic[Value, Item]):
    """The context of `GrowingCache.growing`; a class, since a generator takes four times as long to enter."""

    __slots__ = ("_items", "_make", "_name", "_value", "_values")

    def __init__(
        self,
        values: dict[Hashable, tuple[Any, int]],
        name: Hashable,
        make: Callable[[], Value],
        items: Sequence[Item],
    ) -> None:
        self._values = values
        self._name = name
        self._make = make
        self._items = items

    def __enter__(self) -> tuple[Value, Sequence[Item]]:
        # Taken out until the body is done: a value that took in a part of the items would take it in again.
        value, count = self._values.pop(self._name, None) or (self._make(), 0)
        self._value = value
        items = self._items
        return value, items if not count else items[count:] if count < len(items) else ()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._values[self._name] = self._value, len(self._items)


def bytes_of(value: Any) -> int:
    """Returns about how many bytes of memory a value of plain numbers takes; it may say so itself in `bytes`."""
    own = getattr(value, "bytes", None)
    if own is not None:
        return int(own)
    if isinstance(value, dict):
        return getsizeof(value) + len(value) * _DICT_ITEM
    if isinstance(value, list | set | tuple):
        return getsizeof(value) + len(value) * _LIST_ITEM
    return getsizeof(value)
