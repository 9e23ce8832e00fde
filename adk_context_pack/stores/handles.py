"""Names stored results by handles, and defines the state entries that stand for them.

An entry also holds the proof that it may open what it names.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from adk_context_pack._json import json_text
from adk_context_pack.errors import HandleError

# The form "artifact" is that of version 0.2.0, for an artifact of the session itself, and a bare "key" that of 0.1.0.
_FORMS: Final[Mapping[str, Collection[frozenset[str]]]] = {
    form: [frozenset(("stored", *names.split())) for names in fields.split("|")]
    for form, fields in {
        "zlib1": "zlib", "rows1": "packed", "text": "text", "expired": "", "key": "key print|key",
        "artifact": "artifact bytes sha256", "store": "store name kept bytes sha256|store name bytes sha256",
    }.items()
}  # fmt: skip
# The mark of an expired result may hold those of its former entry, since some services merge the two.
_FIELDS = frozenset[str]().union(*(names for forms in _FORMS.values() for names in forms))
_ENDS, _MAX_TEXT = 8, 1_000


def expired_entry(entry: Any) -> dict[str, Any]:
    """Returns the entry that replaces that of an expired result."""
    # SQLite's `json_patch`, with which ADK up to 2.7 stores state, keeps a field that the new entry does not name, and
    # removes one that is null there.
    return {"stored": "expired"} | {name: None for name in (entry if is_entry(entry) else ()) if name != "stored"}


def is_entry(value: Any, *forms: str) -> bool:
    """Returns whether a state value is an entry for a result, of one of `forms` if any are given."""
    if not isinstance(value, dict) or not isinstance(form := value.get("stored"), str) or form not in (forms or _FORMS):
        return False
    return value.keys() <= _FIELDS if form == "expired" else value.keys() in _FORMS[form]


def seal(data: bytes) -> dict[str, Any]:
    """Returns the fields by which an entry tells whether `data` are what it was made for."""
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def is_our_name(name: object) -> bool:
    """Returns whether this package could have given `name` to a stored result."""
    # A forged entry must not open a user's own files or another scope (`user:…`).
    return isinstance(name, str) and re.fullmatch(r"(rows|payload)-[A-Za-z0-9._-]+\.json", name) is not None


def is_scoped(key: object) -> bool:
    """Returns whether a state key belongs to the app, the user or the invocation, and not to the session alone."""
    return isinstance(key, str) and key.startswith(("app:", "user:", "temp:"))


def fingerprint(value: Any) -> str:
    """Returns a short hash that only someone who has seen `value` can make: of its ends, its keys and its lengths.

    It is the same before and after any session service has stored the value, also where that reorders keys.
    """
    plain = json.loads(json_text(_sample(value)))
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def state_bytes(entry: Any) -> int:
    """Returns about how many bytes of JSON an entry, or a result that 0.1.0 stored as it is, takes in state."""
    if not is_entry(entry):
        return len(json_text(entry))
    # Compressed texts are long, and hold nothing that JSON escapes.
    texts = [str(entry[name]) if name in ("zlib", "packed") else json.dumps(entry[name])[1:-1] for name in entry]
    # Beside each of them are quotes, colon, comma and two spaces.
    return 2 + sum(map(len, (*entry, *texts))) + 8 * len(texts)


def _sample(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= _MAX_TEXT else [len(value), value[:_MAX_TEXT], value[-_MAX_TEXT:]]
    if isinstance(value, Mapping):
        return [len(value), {key: _sample(value[key]) for key in _ends(sorted(value, key=str))}]
    return [len(value), [_sample(item) for item in _ends(value)]] if isinstance(value, list | tuple) else value


def _ends(items: Sequence[Any]) -> Sequence[Any]:
    return items if len(items) <= 2 * _ENDS else [*items[:_ENDS], *items[-_ENDS:]]


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredResult:
    """Names one full tool result: by the handle with which tools open it, and by its key in the session's state."""

    handle: str
    kind: str
    tool_name: str
    key: str


ResultKind = Literal["rows", "payload"]
"""The kinds of stored results: with tables, or anything else. A kind is the first word of the state key."""

# Crockford's base 32: no letter that reads like a digit, one case. https://www.crockford.com/base32.html
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_TIME_LENGTH, _RANDOM_LENGTH = 6, 5
HANDLE_LENGTH = _TIME_LENGTH + _RANDOM_LENGTH
IN_TEXT = re.compile(rf"(?<![0-9A-Za-z])[{_ALPHABET}]{{{HANDLE_LENGTH}}}(?![0-9A-Za-z])")
"""Finds what may be a handle in a text."""
NO_HANDLE = "0" * HANDLE_LENGTH
"""Takes the place of a handle in what is weighed before anything is stored."""


def new_handle(now: float) -> str:
    """Returns a handle of 11 letters and digits: six for the second in which it is made, five at random."""
    # Each has as many digits (save in one of 300 seconds), so that no estimate of tokens depends on chance. The time,
    # since 2024, orders results without an index, which parallel calls would overwrite.
    seconds = max(0, int(now) - 1_704_067_200)
    stamp = "".join(_ALPHABET[seconds >> shift & 31] for shift in range(5 * (_TIME_LENGTH - 1), -1, -5))
    digits = _RANDOM_LENGTH - sum(map(str.isdigit, stamp))
    signs = [_ALPHABET[:10] if place < digits else _ALPHABET[10:] for place in range(_RANDOM_LENGTH)]
    # In any order, which leaves at least a million handles for parallel calls.
    return stamp + "".join(map(secrets.choice, secrets.SystemRandom().sample(signs, _RANDOM_LENGTH)))


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


def stored_results(state: Mapping[str, Any], *, tool_name: str | None = None) -> list[StoredResult]:
    """Returns the results that a session holds, or those of one tool, oldest first, without expired ones."""
    found = [each for key in state if (each := stored_result(key)) and tool_name in {None, each.tool_name}]
    # Within one second the order of the state counts, which is the order of writing.
    found.sort(key=lambda each: each.handle[:_TIME_LENGTH])
    return [each for each in found if not why_gone(state, each.key)]


def find_result(state: Mapping[str, Any], handle: object) -> StoredResult:
    """Finds the stored result behind a handle, in this session's own state and nowhere else.

    A `HandleError` for one that is unknown or gone says why, and names the handles that there are.
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
    unknown = f"This session has no stored result {str(handle)[:40]!r}."
    return HandleError(f"{unknown if handle else 'Which result is meant? Give a handle.'} {_advice(state, handle)}")


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
    if not isinstance(key, str) or kind not in ("rows", "payload") or not is_handle(handle):
        return None
    return StoredResult(handle=handle, kind=kind, tool_name=tool_name, key=key)
