"""Deep pictures of contents, events and state, for comparing before and after; exact where `==` is not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

Picture = tuple[Any, ...]


def picture(value: Any, *, identity: bool = False) -> Picture:
    """`value` as nested tuples that are equal exactly where the values are the same, types, order and nan included.

    Args:
        value: anything; pydantic models, mappings, lists, tuples and sets are looked into, the rest is taken by `repr`.
        identity: whether every object that could be written into counts as itself, so that a swapped copy is noticed.
    """
    inner: Picture
    if isinstance(value, str | bytes | bool | int | None.__class__):
        return (type(value).__name__, value)
    if isinstance(value, BaseModel):
        inner = tuple((name, picture(field, identity=identity)) for name, field in value.__dict__.items())
    elif isinstance(value, Mapping):
        inner = tuple((picture(key), picture(item, identity=identity)) for key, item in value.items())
    elif isinstance(value, list | tuple):
        inner = tuple(picture(item, identity=identity) for item in value)
    elif isinstance(value, set | frozenset):
        inner = tuple(sorted(map(repr, value)))
    else:
        inner = (repr(value),)
    return (type(value).__name__, id(value) if identity else 0, inner)
