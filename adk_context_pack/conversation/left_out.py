"""Builds the contents that remain after a cut, with a marker that says what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from google.genai import types

from adk_context_pack._text import shorten
from adk_context_pack.conversation.contents import text_part, user_content
from adk_context_pack.conversation.outline import Group
from adk_context_pack.conversation.pairing import Pairing

MAX_TOKENS = 100
"""The most tokens of a marker. The estimate of the longest one is below."""

_NAMES = 4
_NAME_LENGTH = 30
_AGAIN = "[Something else was left out here.]"


def without(
    contents: Sequence[types.Content], groups: Sequence[Group], dropped: Collection[int], marker: str
) -> list[types.Content]:
    """Returns `contents` without the dropped groups.

    `marker` takes the place of the first gap. A short one fills each gap that would leave a turn of the model first, or
    right after another one, since Gemini accepts a call only after a turn of the user's role.
    """
    left: list[types.Content] = []
    first = gap = False
    for index, one in enumerate(groups):
        if index in dropped:
            gap = True
            continue
        if gap:
            needed = contents[one.start].role == "model" and (not left or left[-1].role == "model")
            if needed or not first:
                left.append(user_content([text_part(_AGAIN if first else marker)]))
            first, gap = True, False
        left.extend(contents[one.start : one.stop])
    return left


def marker_text(
    groups: Sequence[Group], dropped: Collection[int], pairing: Pairing, *, findable: bool, ledger: str = ""
) -> str:
    """Returns a few words that say what was left out, how to find it, and which identifiers were in it.

    It depends only on what was left out, so that it stays the same until the next cut.
    """
    stays = {index for number, one in enumerate(groups) if number not in dropped for index in range(one[0], one[1])}
    turns = sum([groups[number].kind == "user" for number in dropped])
    called = Counter([call.name for (content, _), call in pairing.calls.items() if content not in stays])
    calls: Counter[str] = Counter()
    for name, count in called.items():
        calls[_short(name)] += count
    what = ", ".join(_parts(turns, calls)) or f"{groups[-1].stop - len(stays)} messages"
    found = " Use search_history to find what was said, called or returned there." if findable else ""
    names = f" Named there: {ledger}." if ledger else ""
    return f"[Earlier conversation left out to save space: {what}.{found}{names}]"


def _parts(turns: int, calls: Counter[str]) -> Iterator[str]:
    if turns:
        yield f"{turns} user {'turn' if turns == 1 else 'turns'}"
    if calls:
        names = ", ".join(sorted(calls)[:_NAMES]) + (", …" if len(calls) > _NAMES else "")
        yield f"{calls.total()} tool {'call' if calls.total() == 1 else 'calls'} ({names})"


def _short(name: str | None) -> str:
    return shorten((name or "?").replace("\n", " "), _NAME_LENGTH)
