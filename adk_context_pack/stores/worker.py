"""Runs long work beside the event loop, in a few threads of the pack's own."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import lru_cache
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

OFF_LOOP_BYTES = 65_536
"""Work over fewer bytes stays on the event loop, where it takes less time than a change of threads."""
OFF_LOOP_EVENTS = 256
"""The same for work over events or contents."""

# One for each process: threads die in a fork, and work given to those of the parent would never end.
# asyncio's default executor also resolves host names, so that work of ours in it could hold up every connection.
# Large work has one thread, and small work another, so that a small result never waits for large ones.
_threads = lru_cache(maxsize=2)(lambda *_: ThreadPoolExecutor(max_workers=1, thread_name_prefix="adk_context_pack"))


async def off_loop(size: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Returns `work(*args, **kwargs)`, run in a thread where it is long.

    The caller can be cancelled at once. Work that has begun then ends by itself, and its result is dropped.

    Args:
        size: bytes, or characters, that the work goes over. A rough figure is enough. Large work is done one after the
            other, and small work beside it.
        work: a function that touches nothing of the event loop.
        args: its arguments.
        kwargs: its arguments by name.
    """
    if size < OFF_LOOP_BYTES:
        return work(*args, **kwargs)
    context = copy_context()
    return await asyncio.get_running_loop().run_in_executor(
        _threads(os.getpid(), size > 16 * OFF_LOOP_BYTES), lambda: context.run(work, *args, **kwargs)
    )
