"""The weight of what objects hold."""

import pytest

from tests.benchmarks.held_bytes import held
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
