"""Contents that may grow at their end: an account of what other agents did, within a fence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from google.genai import types

from adk_context_pack._adk.releases import QUOTE_END
from adk_context_pack.testing.picture import picture

PENDING = " -> no result yet"
"""What stands at the end of a line whose call waits for its result, and gives way to the result."""


def account_goes_on(old: types.Content, new: types.Content) -> bool:
    """Whether `new` is the account `old` with lines added at its end, or with results where calls waited for them."""
    said, says = account_lines(old), account_lines(new)
    if said is None or says is None or len(says) < len(said):
        return False
    return all(
        now == then or (then.endswith(PENDING) and now.startswith(then.removesuffix(PENDING)))
        for then, now in zip(said, says, strict=False)
    )


def account_lines(content: types.Content) -> list[str] | None:
    """The actions of a fenced account, one string each with its further lines; None for any other content."""
    parts = content.parts or []
    if not parts or not (parts[-1].text or "").endswith(QUOTE_END):
        return None
    text = "\n".join(part.text if part.text is not None else f"[part] {picture(part)}" for part in parts)
    return re.split(r"\n(?=\[)", text.removesuffix(QUOTE_END).rstrip("\n"))


def blocks_wait(contents: Sequence[types.Content]) -> bool:
    """Whether `contents` are relayed blocks, the first with a call whose result none of them has."""
    texts = ["\n".join(part.text or "" for part in content.parts or ()) for content in contents]
    called = re.findall(r"\] called tool `(.*?)` with parameters:", texts[0], re.DOTALL)
    returned = re.findall(r"\] `(.*?)` tool returned result:", "\n".join(texts), re.DOTALL)
    are_blocks = all(
        content.role == "user" and text.startswith("For context:")
        for content, text in zip(contents, texts, strict=True)
    )
    return are_blocks and bool(Counter(called) - Counter(returned))
