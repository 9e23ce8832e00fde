"""Weighs tool results before and after passes made them smaller, and remembers what that saves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from google.genai import types

from adk_context_pack._json import json_text
from adk_context_pack.conversation.token_estimate import Counter, TokenMeter, estimate_payload
from adk_context_pack.errors import logger
from adk_context_pack.reports.result_sizes import SIZES, SmallerResult
from adk_context_pack.tables.columns import without_frames

_MAX_READ = 200_000
"""The characters of one result that an app's own tokenizer reads. The tokens of the rest are in proportion."""
_SAMPLED_TEXT, _SAMPLED_ITEMS = 10_000, 200
_PLAIN = frozenset((str, int, float, bool, type(None), dict, list))


class ResultWeigher:
    """Weighs one tool result on its way through the passes. A failure to count it gives 0 and a line in the log."""

    def __init__(self, counter: Counter | None = None) -> None:
        self._counter = counter
        self._meter = TokenMeter(counter=counter)
        # With the results themselves, so that no other object gets the identity of one.
        self._known: dict[int, tuple[Any, int]] = {}

    def of(self, result: Any) -> int:
        """Returns the tokens of a result as the response that ADK makes of it."""
        known = self._known.get(id(result))
        if known is None:
            try:
                count = self._count(as_response(result))
            except Exception as exception:
                # A result may be an object of any class. The type only: a message may quote it.
                logger.warning("the tokens of a result could not be counted: %s", type(exception).__name__)
                count = 0
            self._known[id(result)] = known = result, count
        return known[1]

    def text_share(self, result: Any) -> float:
        """Returns the tokens of a result written as Python writes it, as a share of those as JSON.

        ADK writes it so for other agents. A sample of the result tells.
        """
        sample = _sample(without_frames(_sample(as_response(result))))
        return self._meter.text(str(sample)) / max(self._meter.payload(sample), 1)

    def _count(self, response: Mapping[str, Any]) -> int:
        if self._counter is None:
            # Lists and texts make nearly all results long, and looking into all of them takes longer than counting.
            is_plain = all(type(_first(value)) in _PLAIN for value in response.values())
            return estimate_payload(response if is_plain else without_frames(response))
        text = json_text(without_frames(response))
        read = text[:_MAX_READ]
        return round(self._counter(read) * len(text) / len(read))


def _first(value: Any) -> Any:
    while isinstance(value, dict | list) and value:
        value = next(iter(value.values())) if isinstance(value, dict) else value[0]
    return value


def _sample(value: Any) -> Any:
    if isinstance(value, str):
        return value[:_SAMPLED_TEXT]
    if isinstance(value, Mapping):
        return {key: _sample(item) for key, item in islice(value.items(), _SAMPLED_ITEMS)}
    if isinstance(value, list | tuple):
        return [_sample(item) for item in value[:: -(-len(value) // _SAMPLED_ITEMS) or 1]]
    return value


def as_response(result: Any) -> dict[str, Any]:
    """Returns a tool's result as ADK puts it into a response, without media."""
    whole = result if isinstance(result, dict) else {"result": result}
    if any(isinstance(value, types.Part) for value in whole.values()):
        return {name: value for name, value in whole.items() if not isinstance(value, types.Part)}
    return whole


def remember_result(
    session_id: str, tool: str, results: tuple[Any, Any], handles: Iterable[str], weigher: ResultWeigher
) -> None:
    """Remembers in `SIZES` that passes made a result smaller."""
    full, shown = results
    try:
        saved = weigher.of(full) - weigher.of(shown)
        result = SmallerResult(tool=tool, saved=saved, saved_in_text=round(saved * weigher.text_share(full)))
        SIZES.add(session_id, as_response(shown), handles, result)
    except Exception as exception:
        logger.warning("the saving of a result of %s is not known: %s", tool, type(exception).__name__)
