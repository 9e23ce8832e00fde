"""Calls without a result and results without a call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from google.genai import types


def unpaired(contents: Sequence[types.Content]) -> Iterator[str]:
    """What stands alone: by id where there is one, else by name within its group.

    A group is a content with calls and the contents with results right after it. ADK takes its own ids out for Gemini,
    which pairs by position.
    """
    waiting: Counter[str] = Counter()
    nameless: Counter[str] = Counter()
    for content in contents:
        calls = [part.function_call for part in content.parts or () if part.function_call]
        results = [part.function_response for part in content.parts or () if part.function_response]
        if not results:
            yield from (f"call of {name}" for name in nameless.elements())
            nameless = Counter()
        for result in results:
            key, pool = (f"{result.id}", waiting) if result.id else (f"{result.name}", nameless)
            if pool[key]:
                pool[key] -= 1
            else:
                yield f"result of {result.name} {result.id}"
        for call in calls:
            (waiting if call.id else nameless)[f"{call.id or call.name}"] += 1
    yield from (f"call {key}" for key in waiting.elements())
    yield from (f"call of {name}" for name in nameless.elements())
