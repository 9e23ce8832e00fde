"""The fewest characters in which recorded calls could have been made, for comparison with what strategies send."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from google.genai import types

from adk_context_pack.testing.answers import recorded_calls
from adk_context_pack.testing.conversation import Conversation
from adk_context_pack.testing.laws import characters
from adk_context_pack.testing.request_values import leaves, request_text

NEWEST = 2


def floors(conversations: Iterable[Conversation]) -> dict[str, float]:
    """Characters by whoever could do with them, as shares of those of the whole requests.

    Both keep what the users said, and the calls of the running turn. The oracle knows the next call: of results it
    keeps no more than the values that the call needs and that nothing else shows. The other one keeps the newest two
    results of the turn whole, and not a word of any other.
    """
    whole = oracle = newest = 0
    for moment, event in chain.from_iterable(map(recorded_calls, conversations)):
        request = moment.request()
        whole += characters(request.contents)
        seen = request_text(request)
        said = [content for content in request.contents if _is_said(content)]
        turn = request.contents[request.contents.index(said[-1]) :] if said else request.contents
        parts = [part for content in turn for part in content.parts or ()]
        calls = [part for part in parts if part.function_call]
        results = [part for part in parts if part.function_response]
        kept = [*said, types.Content(parts=calls)]
        shown = request_text(request.model_copy(update={"contents": kept}))
        needed = {value for call in event.get_function_calls() for value in leaves(call.args) if value in seen}
        shells = sum(len(part.function_response.name or "") + len("{}") for part in results)
        oracle += characters(kept) + shells + sum(len(value) for value in needed if value not in shown)
        newest += characters([*kept, types.Content(parts=results[-NEWEST:])])
    return {"an oracle": oracle / whole, f"the newest {NEWEST} results whole": newest / whole}


def _is_said(content: types.Content) -> bool:
    return content.role == "user" and any(part.text for part in content.parts or ())
