"""Compares, measures and builds contents and their texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from operator import is_not
from typing import Any, TypeVar

from google.genai import types
from pydantic import BaseModel

from adk_context_pack._json import json_text, shorten

# Copying a prototype takes a quarter of the time of validating a new one, and there is nothing to check.
_PART = types.Part(text="")
_CONTENT = types.Content(role="user", parts=[])

Texts = tuple[str | None, ...]

MEDIA_REMOVED = "[Removed after its turn: "
"""The beginning of what `DropOldMedia` writes in the place of a part."""


def texts_of(content: types.Content) -> Texts:
    """Returns the text of each part, None for parts of another kind."""
    return tuple([part.text for part in content.parts or ()])


def same_texts(one: types.Content, other: types.Content) -> bool:
    """Tells whether two contents, of which one may be ADK's copy of the other, hold the same texts in order."""
    return one is other or (len(one.parts or ()) == len(other.parts or ()) and texts_of(one) == texts_of(other))


def copies_of(contents: Sequence[types.Content], message: types.Content) -> Iterator[int]:
    """Yields the indexes of copies of a user's message, newest first, and then of contents that share its texts alone.

    A relay has the texts of a message that a user forged, and may differ from it in media alone.
    """
    alike = []
    for index in range(len(contents) - 1, -1, -1):
        content = contents[index]
        if content.role != "model" and same_texts(content, message):
            if content.parts == message.parts:
                yield index
            else:
                alike.append(index)
    yield from alike


def text_length(content: types.Content) -> int:
    """Returns the characters of all texts in a content."""
    return sum([len(part.text or "") for part in content.parts or ()])


def text_part(text: str) -> types.Part:
    """Returns a part that holds a text alone."""
    return changed(_PART, "text", text)


def user_content(parts: list[types.Part]) -> types.Content:
    """Returns a content of the user role."""
    return changed(_CONTENT, "parts", parts)


Model = TypeVar("Model", bound=BaseModel)
_new, _set = object.__new__, object.__setattr__


def copied(model: Model) -> Model:
    """Returns a shallow copy. `model.model_copy()` takes twice as long (`tests.benchmarks.bench_defaults`)."""
    copy: Model = _new(type(model))
    _set(copy, "__dict__", model.__dict__.copy())
    _set(copy, "__pydantic_fields_set__", model.__pydantic_fields_set__.copy())
    _set(copy, "__pydantic_extra__", model.__pydantic_extra__)
    _set(copy, "__pydantic_private__", model.__pydantic_private__)
    return copy


def changed(model: Model, name: str, value: Any) -> Model:
    """Returns a shallow copy of `model` in which one field has another value. Nothing is validated."""
    copy = copied(model)
    copy.__dict__[name] = value
    copy.__pydantic_fields_set__.add(name)
    return copy


def mapped(content: types.Content, change: Callable[[types.Part], types.Part]) -> types.Content:
    """Returns a content with its parts as `change` makes them, or the same object if it changes none."""
    parts = [change(part) for part in content.parts or ()]
    return changed(content, "parts", parts) if any(map(is_not, parts, content.parts or ())) else content


def media_reference(media: Any, saved: Collection[str], *, can_load: bool) -> str:
    """Returns what stands in the place of media: their type, bytes and name, and how to load them from artifacts."""
    mime_type = str(media.mime_type or "")
    told = [mime_type if re.fullmatch(r"[\w.+-]{1,60}/[\w.+-]{1,60}", mime_type) else "a file"]
    if (data := getattr(media, "data", None)) is not None:
        told.append(f"{len(data):,} bytes")
    # The query of an address may hold a signature.
    address = str(getattr(media, "file_uri", None) or "").partition("?")[0].rstrip("/")
    stored = re.fullmatch(r"artifact://.+/artifacts/(.+)/versions/\d+", address)
    name = getattr(media, "display_name", None) or (stored[1] if stored else address.rpartition("/")[2])
    again = ""
    if name in saved:
        told.append(f"artifact {json_text(name)}")
        again = " load_artifacts shows its newest version." if can_load else ""
    elif name:
        told.append(json_text(shorten(name, 100)))
    return f"{MEDIA_REMOVED}{', '.join(told)}.{again}]"
