"""Reads the references to stored results that a model writes into the arguments of a call, and puts values in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from adk_context_pack._json import json_text
from adk_context_pack.conversation.ledger import scalars
from adk_context_pack.errors import QueryError
from adk_context_pack.stores.handles import HANDLE_LENGTH, is_handle

EACH = "[*]"
"""The step that takes all items of a list."""

_REFERENCE = re.compile(r"\{\{\s*result:([^{}]*)\}\}")
_STEP = re.compile(r'\.([^.\[\]"{}]+)|\[(-?\d{1,9})\]|(\[\*\])|\["([^"{}]*)"\]')


class Key(NamedTuple):
    """A step of a path by name. At a list, a name of digits is an index."""

    name: str


Step = Key | int | str


class Reference(NamedTuple):
    """One reference, as the model wrote it."""

    text: str
    handle: str
    steps: tuple[Step, ...]


def references_in(value: Any) -> Iterator[str]:
    """Yields the references in `value`, braces included: in texts, and in lists and dicts at any depth."""
    texts = (leaf for leaf in scalars(value) if isinstance(leaf, str))
    yield from (found[0] for text in texts for found in _REFERENCE.finditer(text))


def parsed(text: str) -> Reference:
    """Returns a reference in its parts.

    Raises:
        QueryError: it is not written as the grammar of `resolve_results` says. The message is for a model.
    """
    inner = text[2:-2].strip().removeprefix("result:").strip()
    handle, path = inner[:HANDLE_LENGTH].lower(), inner[HANDLE_LENGTH:]
    steps: list[Step] = []
    end = 0
    while is_handle(handle) and (found := _STEP.match(path, end)):
        name, index, each, quoted = found.groups()
        steps.append(each or (int(index) if index else Key(name if quoted is None else quoted)))
        end = found.end()
    if not is_handle(handle) or end < len(path):
        how = "Write {{result:HANDLE}}, or with a path such as {{result:HANDLE.rows[0].id}}."
        raise QueryError(f"{text[:80]} is not a reference. {how}")
    return Reference(text, handle, tuple(steps))


def replaced(value: Any, value_of: Callable[[str], Any], *, whole_only: bool = False) -> Any:
    """Returns a copy of `value` with each reference replaced. What is put in is not searched again.

    A text that is one reference becomes the value itself. Within a longer text it becomes the value's text: a text as
    it is, anything else as compact JSON.
    """
    if isinstance(value, str):
        if _REFERENCE.fullmatch(value):
            return value_of(value)
        return value if whole_only else _REFERENCE.sub(lambda found: as_text(value_of(found[0])), value)
    if isinstance(value, Mapping):
        return {key: replaced(item, value_of, whole_only=whole_only) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [replaced(item, value_of, whole_only=whole_only) for item in value]
    return value


def as_text(value: Any) -> str:
    """Returns the text of a value within a longer text."""
    return value if isinstance(value, str) else json_text(value)
