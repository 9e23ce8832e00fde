"""The weight of what objects hold."""

import gc

import pytest

from adk_context_pack.conversation.memos import SessionMemos
from adk_context_pack.stores.byte_cache import ByteCache
from tests.benchmarks.held_bytes import bound_caches, held, memory
from tests.benchmarks.process_memory import MB


class _Keeper:
    def __init__(self, *kept):
        self.kept = {"in": [kept]}


class _Other(_Keeper):
    pass


def test_all_objects_of_a_class_are_weighed_with_what_they_hold():
    """What two objects hold adds up, however deep it is, and no other object's counts."""
    keepers = [_Keeper(b"x" * (MB + number)) for number in range(3)]
    others = _Other(b"y" * (4 * MB))
    assert held(_Keeper, _Other) == {"_Keeper": pytest.approx(3, rel=0.01), "_Other": pytest.approx(4, rel=0.01)}
    del keepers[0]
    assert held(_Keeper) == {"_Keeper": pytest.approx(2, rel=0.01)}
    assert len(others.kept["in"]) == 1


def test_what_two_share_is_weighed_once():
    """An object within reach of two counts for the first class, and a class for none."""
    shared = b"z" * MB
    kept = _Keeper(shared, _Keeper, len), _Keeper(shared), _Other(shared)
    assert held(_Keeper, _Other) == {"_Keeper": pytest.approx(1, rel=0.01), "_Other": pytest.approx(0, abs=0.01)}
    assert len(kept) == 3


def test_memory_of_the_pack_is_told_from_that_of_the_app():
    """What a cache of the pack holds counts as the pack's, what anything else holds as the app's."""
    if (before := memory()) is None:
        pytest.skip("the C library is not glibc 2.33 or newer")
    cache = ByteCache[bytes](max_bytes=8 * MB)
    cache.put("key", b"x" * (3 * MB), 3 * MB)
    others = b"y" * (5 * MB)
    after = memory()
    assert after["pack"] - before["pack"] == pytest.approx(3, abs=0.5)
    assert after["app"] - before["app"] == pytest.approx(len(others) / MB, abs=0.5)
    assert after["by_owner"]["ByteCache"] - before["by_owner"]["ByteCache"] == pytest.approx(3, abs=0.5)


def test_caches_get_a_smaller_bound(monkeypatch):
    """Each cache of the process keeps no more than the bound from then on."""
    monkeypatch.setattr(gc, "get_objects", lambda: [cache, memos])
    cache, memos = ByteCache[bytes](max_bytes=8 * MB), SessionMemos()
    bound_caches(0.5)
    cache.put("key", b"x" * MB, MB)
    assert cache.kept_bytes == 0
    assert memos._max_bytes == MB // 2
