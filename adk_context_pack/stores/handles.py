"""Handles: short names of stored results, and the session state in which they are looked up."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from adk_context_pack.errors import HandleError
from adk_context_pack.stores.entries import is_entry


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredResult:
    """Names one full tool result and its key in the session's state.

    Attributes:
        handle: the short name by which tools open it.
        kind: "rows" for a result with tables, "payload" for anything else.
        tool_name: the tool that returned it.
        key: its key in the session's state. The value there is an entry that `adk_context_pack.load_payload` opens.
    """

    handle: str
    kind: str
    tool_name: str
    key: str


ResultKind = Literal["rows", "payload"]
KINDS: tuple[ResultKind, ...] = ("rows", "payload")
"""The kinds of stored results: with tables, or anything else. A kind is the first word of the state key."""

# Crockford's base 32: no letter that reads like a digit, one case. https://www.crockford.com/base32.html
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_EPOCH = 1_704_067_200
_TIME_LENGTH = 6
_RANDOM_LENGTH = 5
HANDLE_LENGTH = _TIME_LENGTH + _RANDOM_LENGTH
IN_TEXT = re.compile(rf"(?<![0-9A-Za-z])[{_ALPHABET}]{{{HANDLE_LENGTH}}}(?![0-9A-Za-z])")
"""Finds what may be a handle in a text."""
NO_HANDLE = "0" * HANDLE_LENGTH
"""Takes the place of a handle in what is weighed before anything is stored."""


def new_handle(now: float) -> str:
    """Returns a handle of 11 letters and digits: six for the second in which it is made, five at random.

    Each has as many digits (save in one of 300 seconds), so that no estimate of tokens depends on chance.

    It is independent of the call's id, which may be long and hold any characters. The time in it orders results and
    lets them expire without an index, which parallel calls would overwrite.
    """
    seconds = max(0, int(now) - _EPOCH)
    stamp = "".join(_ALPHABET[seconds >> shift & 31] for shift in range(5 * (_TIME_LENGTH - 1), -1, -5))
    digits = _RANDOM_LENGTH - sum(map(str.isdigit, stamp))
    signs = [_ALPHABET[:10] if place < digits else _ALPHABET[10:] for place in range(_RANDOM_LENGTH)]
    # In any order, which leaves at least a million handles for parallel calls.
    return stamp + "".join(map(secrets.choice, secrets.SystemRandom().sample(signs, _RANDOM_LENGTH)))


def made_at(handle: str) -> int:
    """Returns the second since 1970 in which a handle was made."""
    digits = enumerate(reversed(handle[:_TIME_LENGTH]))
    return _EPOCH + sum(_ALPHABET.index(letter) << 5 * place for place, letter in digits)


def is_handle(text: str) -> bool:
    """Returns whether `text` has the form of a handle."""
    return len(text) == HANDLE_LENGTH and all(letter in _ALPHABET for letter in text)


def handle_from(given: object) -> str:
    """Returns the handle in what a model gave for one, which it may copy with what is around it, or else the text."""
    text = str(given or "")
    found = IN_TEXT.search(text.lower())
    return found[0] if found else text.rpartition("=")[2].strip(" \n\t'\"`()[].,")


def state_key(kind: ResultKind, tool_name: str, handle: str) -> str:
    """Returns the state key of one stored result."""
    return f"{kind}:{tool_name}:{handle}"


def expiry_key(key: str) -> str:
    """Returns the state key of the second since 1970 after which a result expires, by its handle or its own key."""
    return f"stored_until:{key[-HANDLE_LENGTH:]}"


def is_result_key(key: object) -> bool:
    """Returns whether a state key is that of a stored result."""
    return stored_result(key) is not None


def stored_results(state: Mapping[str, Any], *, tool_name: str | None = None) -> list[StoredResult]:
    """Returns the results that a session holds, or those of one tool, oldest first, without expired ones."""
    found = [each for key in state if (each := stored_result(key)) and tool_name in {None, each.tool_name}]
    # Within one second the order of the state counts, which is the order of writing.
    found.sort(key=lambda each: each.handle[:_TIME_LENGTH])
    return [each for each in found if not why_gone(state, each.key)]


def find_result(state: Mapping[str, Any], handle: object) -> StoredResult:
    """Finds the stored result behind a handle, in this session's own state and nowhere else.

    Raises:
        HandleError: unknown in this session, or gone. The message says why, and names the handles that there are.
    """
    wanted = handle_from(handle)
    for key in state if is_handle(wanted) else ():
        if key.endswith(wanted) and (result := stored_result(key)):
            if reason := why_gone(state, key):
                raise HandleError(f"The stored result {wanted} {reason}. {_advice(state)}")
            return result
    raise unknown_handle(state, handle)


def unknown_handle(state: Mapping[str, Any], handle: object) -> HandleError:
    """Returns the error for a handle under which this session keeps nothing, in words for a model."""
    said = "Which result is meant? Give a handle."
    if handle:
        said = f"This session has no stored result {str(handle)[:40]!r}."
    return HandleError(f"{said} {_advice(state, handle)}")


def is_expired(state: Mapping[str, Any], key: str) -> bool:
    """Returns whether the result under a state key is past its time, or gone already."""
    # ADK has no way to remove a state key, so that a mark stays in its place, and None after a rewind.
    limit = state.get(expiry_key(key))
    is_gone = state[key] is None or is_entry(state[key], "expired")
    return is_gone or (isinstance(limit, int | float) and time.time() > limit)


def why_gone(state: Mapping[str, Any], key: str) -> str:
    """Returns why the result under a state key opens no longer, such as "has expired", or an empty text if it does."""
    if state[key] is None:
        return "was taken back when the conversation was rewound"
    if is_expired(state, key):
        return "has expired"
    entry = state[key]
    # The name of a form has its version.
    form = entry.get("stored") if isinstance(entry, dict) and not is_entry(entry) else None
    return f"was stored by another version of adk_context_pack, as {form[:20]!r}" if isinstance(form, str) else ""


def _advice(state: Mapping[str, Any], refused: object = None) -> str:
    there = [result for result in stored_results(state) if result.handle != refused][-10:]
    if not there:
        return "No results are stored. Call the tool again to get one."
    names = ", ".join(f"{result.handle} ({result.tool_name})" for result in reversed(there))
    return f"Stored results, newest first: {names}. For another one, call its tool again."


def stored_result(key: object) -> StoredResult | None:
    """Returns the stored result that a state key is of, or None for any other key."""
    kind, _, rest = str(key).partition(":")
    tool_name, _, handle = rest.rpartition(":")
    if not isinstance(key, str) or kind not in KINDS or not is_handle(handle):
        return None
    return StoredResult(handle=handle, kind=kind, tool_name=tool_name, key=key)
