"""Handles: short names of stored results, and the session state in which they are looked up."""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from adk_context_pack.errors import HandleError


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredResult:
    """Where one full tool result is kept.

    Attributes:
        handle: the short name by which tools open it.
        kind: "rows" for a result with tables, "payload" for anything else.
        tool_name: the tool that returned it.
        key: its key in the session's state; the value there is the result itself, or a pointer that
            `adk_context_pack.stores.opening.resolve` follows.
    """

    handle: str
    kind: str
    tool_name: str
    key: str


EXPIRED: Final = {"stored": "expired"}
"""What remains of a result after its time."""

_FIELDS = {
    "artifact": {"stored", "artifact", "bytes", "sha256"},
    "text": {"stored", "text"},
    "key": {"stored", "key"},
    "expired": {"stored"},
}
# Only names that this package makes: a forged pointer must not open a user's own files or another scope (`user:…`).
_ARTIFACT_NAME = re.compile(r"(rows|payload)-[A-Za-z0-9._-]+\.json")


def artifact_pointer(name: str, data: bytes) -> dict[str, Any]:
    """The result is an artifact of this session with these bytes."""
    return {"stored": "artifact", "artifact": name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def text_pointer(data: bytes) -> dict[str, Any]:
    """The result stands here as JSON text."""
    return {"stored": "text", "text": data.decode()}


def key_pointer(key: str) -> dict[str, Any]:
    """The result stands under another state key."""
    return {"stored": "key", "key": key}


def is_pointer(entry: Any, *forms: str) -> bool:
    """Whether a state value stands for a result instead of being one; with `forms`, only in one of these."""
    if not isinstance(entry, dict) or not isinstance(form := entry.get("stored"), str):
        return False
    return entry.keys() == _FIELDS.get(form) and (not forms or form in forms)


def is_intact(pointer: dict[str, Any], data: bytes) -> bool:
    """Whether `data` is what an artifact pointer was made for."""
    return bool(len(data) == pointer["bytes"] and hashlib.sha256(data).hexdigest() == pointer["sha256"])


def names_our_artifact(pointer: dict[str, Any]) -> bool:
    """Whether an artifact pointer names a file that this package could have written."""
    name = pointer["artifact"]
    return isinstance(name, str) and _ARTIFACT_NAME.fullmatch(name) is not None


Kind = Literal["rows", "payload"]
KINDS: tuple[Kind, ...] = ("rows", "payload")
"""What is stored: a result with tables, or anything else. The first word of the state key."""

# Crockford's base 32: no letter that reads like a digit, one case. https://www.crockford.com/base32.html
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_PREFIXES = tuple(f"{kind}:" for kind in KINDS)
_EPOCH = 1_704_067_200
_TIME_LENGTH = 6
_RANDOM_LENGTH = 5
HANDLE_LENGTH = _TIME_LENGTH + _RANDOM_LENGTH
_MAX_LISTED = 10


def new_handle(now: float) -> str:
    """A handle of 11 letters and digits: six for the second it was made in, five at random.

    It says nothing of the call it belongs to, since call ids may hold any characters and be 1.5 KB long; the time in
    it lets results be ordered and expire without an index that parallel calls would overwrite.

    Args:
        now: seconds since 1970, UTC.
    """
    seconds = max(0, int(now) - _EPOCH)
    stamp = "".join(_ALPHABET[seconds >> shift & 31] for shift in range(5 * (_TIME_LENGTH - 1), -1, -5))
    return stamp + "".join(secrets.choice(_ALPHABET) for _ in range(_RANDOM_LENGTH))


def made_at(handle: str) -> int:
    """The second since 1970 in which a handle was made."""
    seconds = 0
    for letter in handle[:_TIME_LENGTH]:
        seconds = seconds * 32 + _ALPHABET.index(letter)
    return seconds + _EPOCH


def is_handle(text: str) -> bool:
    """Whether `text` has the form of a handle."""
    return len(text) == HANDLE_LENGTH and all(letter in _ALPHABET for letter in text)


def state_key(kind: Kind, tool_name: str, handle: str) -> str:
    """The state key of one stored result."""
    return f"{kind}:{tool_name}:{handle}"


def expiry_key(handle: str) -> str:
    """The state key that holds the second since 1970 after which a result has expired, where it has a limit."""
    return f"stored_until:{handle}"


def is_result_key(key: object) -> bool:
    """Whether a state key is that of a stored result."""
    return _parse(key) is not None


def stored_results(state: Mapping[str, Any], *, tool_name: str | None = None) -> list[StoredResult]:
    """The results that a session holds, oldest first, expired ones left out.

    Args:
        state: the session's state.
        tool_name: only those of this tool.
    """
    found = [result for key in state if (result := _parse(key)) and not is_expired(state, key)]
    if tool_name is not None:
        found = [result for result in found if result.tool_name == tool_name]
    # Within one second the order of the state counts, which is the order of writing.
    return sorted(found, key=lambda result: result.handle[:_TIME_LENGTH])


def find_result(state: Mapping[str, Any], handle: object) -> StoredResult:
    """The stored result behind a handle, looked up in this session's own state and nowhere else.

    Raises:
        HandleError: unknown in this session, or expired; the message names the handles that there are.
    """
    wanted = str(handle).strip().lower()
    for key in state if is_handle(wanted) else ():
        if key.endswith(wanted) and (result := _parse(key)):
            if is_expired(state, key):
                raise HandleError(f"The stored result {wanted} has expired. {_advice(state)}")
            return result
    raise HandleError(f"This session has no stored result {str(handle)[:40]!r}. {_advice(state)}")


def is_expired(state: Mapping[str, Any], key: str) -> bool:
    """Whether the result under a state key is past its time, or gone already; ADK cannot remove a state key."""
    limit = state.get(expiry_key(key[-HANDLE_LENGTH:]))
    return state[key] == EXPIRED or (isinstance(limit, int | float) and time.time() > limit)


def _advice(state: Mapping[str, Any]) -> str:
    there = stored_results(state)[-_MAX_LISTED:]
    if not there:
        return "There are no stored results; call the tool again to get one."
    names = ", ".join(f"{result.handle} ({result.tool_name})" for result in reversed(there))
    return f"Stored results, newest first: {names}. For another one, call its tool again."


def _parse(key: object) -> StoredResult | None:
    if not isinstance(key, str) or not key.startswith(_PREFIXES):
        return None
    head, colon, handle = key.rpartition(":")
    kind, _, tool_name = head.partition(":")
    if not colon or not is_handle(handle):
        return None
    return StoredResult(handle=handle, kind=kind, tool_name=tool_name, key=key)
