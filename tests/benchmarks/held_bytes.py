"""Weighs what objects hold, down to the last one within their reach, and so what the pack keeps in a process."""

from __future__ import annotations

import gc
import sys
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from adk_context_pack.reports.call_report import PrefixMemory, ResultSizes
from adk_context_pack.reports.token_use import ReportLog
from adk_context_pack.stores.byte_cache import ByteCache
from tests.benchmarks.process_memory import MB, measured

MEMORY = ("resident", "app", "pack", "unused")
OWNERS = (ByteCache, ResultSizes, PrefixMemory, ReportLog)
"""Whatever the pack keeps from turn to turn in a process. Each has a bound, up to which it fills."""
_SHARED = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType, CodeType)


def memory() -> dict[str, Any] | None:
    """Returns megabytes: resident, in use outside of the pack, held by the pack, freed but kept. None without glibc."""
    if (process := measured()) is None:
        return None
    by_owner = held(*OWNERS)
    pack = sum(by_owner.values())
    figures = (process.resident, process.used - pack, pack, process.unused)
    return {**dict(zip(MEMORY, figures, strict=True)), "by_owner": by_owner}


def bound_caches(megabytes: float) -> None:
    """Gives the cache of this process a smaller bound."""
    for each in gc.get_objects():
        if type(each) is ByteCache:
            each._max_bytes = int(megabytes * MB)


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
