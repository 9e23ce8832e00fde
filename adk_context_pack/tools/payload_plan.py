"""Chooses the parts of a result that have to go for it to fit: the largest texts and branches, as few as possible."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from google.genai import types
from pydantic import BaseModel

from adk_context_pack._json import settled

Path = tuple[Any, ...]
_MAX_DEPTH = 5
_MAX_OPENED = 100
# A branch is opened if most of it is in large texts. Otherwise it is replaced as a whole.
_MOST = 0.5


@dataclass(frozen=True, slots=True)
class Branch:
    """A part of a result that a preview may replace.

    Attributes:
        path: keys and indexes that lead to it, empty for the whole result.
        value: the text, dict or list.
        tokens: its tokens.
    """

    path: Path
    value: Any
    tokens: int


def plan(result: Any, *, max_tokens: int, preview_tokens: int, measure: Callable[[Any], int]) -> list[Branch]:
    """Chooses the branches to replace so that the result has at most `max_tokens`, largest first.

    Args:
        result: a tool's result.
        max_tokens: the budget of the whole result.
        preview_tokens: the tokens of a preview. Replacing a branch that is hardly larger would save nothing.
        measure: tokens of a text, dict or list.
    """
    if not isinstance(result, str | Mapping | list | tuple):
        return []
    media = sum(map(measure, _media(result)))
    total = measure(result) - media
    if total <= max_tokens:
        return []
    chosen = []
    whole = Branch((), result, total)
    for branch in sorted(_branches(whole, preview_tokens, measure), key=lambda branch: -branch.tokens):
        chosen.append(branch)
        total -= branch.tokens - preview_tokens
        if total <= max_tokens:
            return chosen
    # A long text costs more within JSON than by itself, because of its escapes. The rest can be measured.
    rest = result
    for branch in chosen:
        rest = replaced(rest, branch.path, "")
    fits = bool(chosen) and measure(rest) - media + preview_tokens * len(chosen) <= max_tokens
    return chosen if fits or media or holds_media(result) else [whole]


def replaced(value: Any, path: Path, new: Any) -> Any:
    """Returns `value` with `new` at `path`. Containers on the way are copied, and everything else is shared."""
    if not path:
        return new
    key, rest = path[0], path[1:]
    if isinstance(value, Mapping):
        return {**value, key: replaced(value[key], rest, new)}
    return [replaced(item, rest, new) if index == key else item for index, item in enumerate(value)]


def as_plain(result: Any) -> Any:
    """Returns a pydantic model or dataclass as a dict, and anything else unchanged."""
    if isinstance(result, types.Part):
        return result
    is_record = isinstance(result, BaseModel) or dataclasses.is_dataclass(result)
    return settled(result) if is_record and not isinstance(result, type) else result


def holds_media(value: Any) -> bool:
    """Tells whether a result holds a part (a picture, a file) directly, which ADK shows beside it."""
    items = value.values() if isinstance(value, Mapping) else value
    return any(isinstance(item, types.Part) for item in items) if isinstance(value, Mapping | list | tuple) else False


def _branches(branch: Branch, floor: int, measure: Callable[[Any], int]) -> Iterator[Branch]:
    if isinstance(branch.value, str) or len(branch.path) > _MAX_DEPTH:
        yield branch
        return
    inner = [found for child in _children(branch, floor, measure) for found in _branches(child, floor, measure)]
    if branch.path and sum(found.tokens for found in inner) < _MOST * branch.tokens:
        yield branch
    else:
        yield from inner


def _children(branch: Branch, floor: int, measure: Callable[[Any], int]) -> Iterator[Branch]:
    value = branch.value
    if not isinstance(value, Mapping) and len(value) > _MAX_OPENED:
        return
    for key, item in value.items() if isinstance(value, Mapping) else enumerate(value):
        if isinstance(item, str | Mapping | list | tuple) and not _is_media(item):
            tokens = measure(item)
            if tokens > 2 * floor:
                yield Branch((*branch.path, key), item, tokens)


def _media(result: Any) -> list[Any]:
    content = result.get("content") if isinstance(result, Mapping) else None
    return [item for item in content if _is_media(item)] if isinstance(content, list | tuple) else []


def _is_media(item: Any) -> bool:
    # A picture in base64 is a text to a store and media to a model: MCP says which by its type.
    return isinstance(item, Mapping) and item.get("type") in ("image", "audio") and "data" in item
