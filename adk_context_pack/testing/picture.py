"""Takes deep pictures of contents, events and state, for comparisons that are exact where `==` is not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from google.genai import types
from pydantic import BaseModel

from adk_context_pack._adk.releases import QUOTE_END

Picture = tuple[Any, ...]


def picture(value: Any, *, identity: bool = False) -> Picture:
    """Returns `value` as nested tuples that are equal only if the values are the same, types, order and nan included.

    Args:
        value: any value. Pydantic models, mappings, lists, tuples and sets are looked into. Others are taken by `repr`.
        identity: compares mutable objects by identity, so that a swapped copy is noticed.
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


PENDING = " -> no result yet"
"""The end of a line whose call waits for its result, which takes its place."""


def account_goes_on(old: types.Content, new: types.Content) -> bool:
    """Tells whether `new` is the account `old` with more lines at its end, or with results that calls waited for."""
    said, says = account_lines(old), account_lines(new)
    if said is None or says is None or len(says) < len(said):
        return False
    return all(
        now == then or (then.endswith(PENDING) and now.startswith(then.removesuffix(PENDING)))
        for then, now in zip(said, says, strict=False)
    )


def account_lines(content: types.Content) -> list[str] | None:
    """Returns the actions of a fenced account, one string each with its lines, or None for any other content."""
    parts = content.parts or []
    if not parts or not (parts[-1].text or "").endswith(QUOTE_END):
        return None
    text = "\n".join(part.text if part.text is not None else f"[part] {picture(part)}" for part in parts)
    return re.split(r"\n(?=\[)", text.removesuffix(QUOTE_END).rstrip("\n"))


def blocks_wait(contents: Sequence[types.Content]) -> bool:
    """Tells whether `contents` are relayed blocks, the first with a call whose result is in none of them."""
    texts = ["\n".join(part.text or "" for part in content.parts or ()) for content in contents]
    called = re.findall(r"\] called tool `(.*?)` with parameters:", texts[0], re.DOTALL)
    returned = re.findall(r"\] `(.*?)` tool returned result:", "\n".join(texts), re.DOTALL)
    are_blocks = all(
        content.role == "user" and text.startswith("For context:")
        for content, text in zip(contents, texts, strict=True)
    )
    return are_blocks and bool(Counter(called) - Counter(returned))
