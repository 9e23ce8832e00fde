"""The cache that is bounded by weight."""

import threading

import pytest

from adk_context_pack import SettingError
from adk_context_pack.stores.byte_cache import ByteCache


def test_what_was_used_last_stays():
    """Above the limit the value that was not used for longest goes."""
    cache = ByteCache(max_bytes=100)
    for key in "abc":
        cache.get_or_make(key, lambda key=key: (key.upper(), 33))
    assert cache.get("a") == "A"
    cache.get_or_make("d", lambda: ("D", 33))
    assert [cache.get(key) for key in "abcd"] == ["A", None, "C", "D"]


def test_what_is_too_large_is_handed_out_and_not_kept():
    """A value above the limit is given once and pushes nothing out."""
    cache = ByteCache(max_bytes=10)
    cache.get_or_make("a", lambda: ("A", 10))
    assert cache.get_or_make("big", lambda: ("BIG", 11)) == "BIG"
    assert (cache.get("big"), cache.get("a")) == (None, "A")
    assert cache.kept_bytes == 10


def test_of_many_threads_one_makes_the_value():
    """Threads that ask at once wait for the one that makes it."""
    cache = ByteCache(max_bytes=100)
    started, go, made = threading.Barrier(9), threading.Event(), []

    def make():
        go.wait(5)
        made.append(1)
        return "value", 1

    def ask(found):
        started.wait()
        found.append(cache.get_or_make("key", make))

    found: list = []
    threads = [threading.Thread(target=ask, args=(found,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    started.wait()
    go.set()
    for thread in threads:
        thread.join()
    assert found == ["value"] * 8
    assert made == [1]


def test_a_limit_that_cannot_work_names_its_value():
    """No bytes at all are refused."""
    with pytest.raises(SettingError, match="0"):
        ByteCache(max_bytes=0)


def test_a_second_value_takes_the_place_of_the_first():
    """Where two threads made a value after a third had failed, only the later one is kept and weighs."""
    cache = ByteCache(max_bytes=100)
    cache.get_or_make("other", lambda: ("O", 40))
    for value in ("one", "two"):
        cache.put("key", value, 60)
    assert [cache.get(key) for key in ("key", "other")] == ["two", "O"]
