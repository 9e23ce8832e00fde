"""Long tool-using conversations of one agent, and what may be asked of their requests."""

from __future__ import annotations

import importlib.util
import json
import os
import random
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from google.adk.events.event import Event
from google.genai import types

from adk_context_pack.conversation.token_estimate import TokenMeter
from tests.support.events import agent_called, agent_said, tool_returned, user_said


def rows(seed: int, count: int) -> list[dict[str, Any]]:
    """Rows of a table, always the same for a seed."""
    rnd = random.Random(seed)
    return [
        {"id": rnd.randint(1, 10**6), "name": f"customer {i}", "amount": round(rnd.random() * 10**4, 2)}
        for i in range(count)
    ]


def fetch(page: int) -> dict[str, Any]:
    """Fetches a page."""
    return {"rows": rows(page, 40)}


def long_turn(calls: int, size: int = 60) -> list[Event]:
    """One question and a loop of `calls` calls, each with a table of `size` rows."""
    return [user_said("Go through all pages."), *_calls(0, calls, size)]


def many_turns(turns: int, calls: int = 2, size: int = 60) -> list[Event]:
    """`turns` questions, each with `calls` calls and an answer; a last question stands at the end."""
    events: list[Event] = []
    for turn in range(turns):
        events.append(user_said(f"Question {turn}: what is on the pages?"))
        events += _calls(turn, calls, size)
        events.append(agent_said("a", f"Answer {turn}: nothing unusual."))
    return [*events, user_said("The last question.")]


def _calls(turn: int, calls: int, size: int) -> list[Event]:
    events = []
    for number in range(calls):
        call_id = f"adk-{turn}-{number}"
        events.append(agent_called("a", "fetch", call_id, turn=turn, page=number))
        events.append(tool_returned("a", "fetch", {"rows": rows(turn * 1000 + number, size)}, call_id))
    return events


def results(contents: Sequence[types.Content]) -> list[Any]:
    """The responses in a request, in order."""
    return [part.function_response.response for c in contents for part in c.parts or () if part.function_response]


def is_prefix(old: Sequence[types.Content], new: Sequence[types.Content]) -> bool:
    """Whether a request begins with another one, content by content."""
    return len(old) <= len(new) and all(a == b for a, b in zip(old, new, strict=False))


@cache
def o200k() -> Callable[[str], int]:
    """The o200k tokenizer, from the file in litellm's wheel; skips where it is not installed."""
    tiktoken = pytest.importorskip("tiktoken")
    found = importlib.util.find_spec("litellm")
    folder = Path(found.origin).parent / "litellm_core_utils" / "tokenizers" if found and found.origin else None
    if folder is None or not any(folder.glob("*")):
        pytest.skip("needs litellm's copy of the o200k tokenizer")
    os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(folder))
    encoding = tiktoken.get_encoding("o200k_base")
    return lambda text: len(encoding.encode(text, disallowed_special=()))


def real_tokens(request: Any) -> int:
    """Tokens of a whole request by o200k."""
    return TokenMeter(counter=o200k()).request(request)


def as_text(contents: Sequence[types.Content]) -> str:
    """Everything readable in contents, as JSON text."""
    return json.dumps([content.model_dump(mode="json", exclude_none=True) for content in contents], ensure_ascii=False)
