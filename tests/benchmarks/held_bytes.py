"""Weighs what objects hold, down to the last one that they alone or others refer to."""

from __future__ import annotations

import gc
import sys
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from tests.benchmarks.process_memory import MB

_SHARED = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType, CodeType)


def held(*owners: type) -> dict[str, float]:
    """Returns the megabytes that all objects of each class hold, by the name of the class.

    What two classes share counts for the first. Classes, functions and modules belong to nobody.
    """
    found: dict[type, list[Any]] = {owner: [] for owner in owners}
    for each in gc.get_objects():
        if type(each) in found:
            found[type(each)].append(each)
    seen: set[int] = set()
    return {owner.__name__: _bytes_below(found[owner], seen) / MB for owner in owners}


def _bytes_below(roots: list[Any], seen: set[int]) -> int:
    total, waiting = 0, list(roots)
    while waiting:
        each = waiting.pop()
        if id(each) in seen or isinstance(each, _SHARED):
            continue
        seen.add(id(each))
        total += sys.getsizeof(each)
        waiting += gc.get_referents(each)
    return total
