"""A value made of a growing sequence takes in each item once."""

from __future__ import annotations

import tracemalloc

import pytest

from adk_context_pack.conversation.memos import GrowingCache, bytes_of


def add(cache: GrowingCache, numbers: list[int], fail_at: int | None = None) -> list[int]:
    with cache.growing("all", list[int], numbers) as (found, new):
        for number in new:
            if number == fail_at:
                raise ValueError(number)
            found.append(number)
    return found


def test_a_value_that_failed_halfway_is_forgotten() -> None:
    """Where the body raises, the next call starts over, and takes in no item twice."""
    cache: GrowingCache = GrowingCache()
    add(cache, [1])
    with pytest.raises(ValueError, match="3"):
        add(cache, [1, 2, 3], fail_at=3)
    assert cache.peek("all") is None
    assert add(cache, [1, 2, 3]) == [1, 2, 3]


def test_what_is_kept_and_forgotten() -> None:
    """A value may be kept as it is, and forgetting leaves nothing."""
    cache: GrowingCache = GrowingCache()
    cache.keep("one", 7)
    assert cache.peek("one") == 7
    cache.forget()
    assert cache.peek("one") is None


@pytest.mark.parametrize("make", [list, lambda numbers: dict.fromkeys(numbers, 1), set])
def test_the_stated_bytes_are_those_of_memory(make) -> None:
    """The weight of a list, dictionary or set of numbers is within a third of what Python allocates for it."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        value = make(list(range(10**6, 10**6 + 5_000)))
        taken = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert taken * 2 / 3 < bytes_of(value) < taken * 1.6
