"""State entries that stand for a stored result: their forms, and the proof that an entry may open what it names."""

from __future__ import annotations

import hashlib
import json
import marshal
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from adk_context_pack._json import json_text

_EXPIRED: Final = {"stored": "expired"}

_FORMS: Final[Mapping[str, Collection[frozenset[str]]]] = {
    form: [frozenset(("stored", *names.split())) for names in fields]
    for form, fields in {
        "zlib1": ["zlib"],
        "rows1": ["packed"],
        "text": ["text"],
        # That of version 0.2.0, for an artifact of the session itself.
        "artifact": ["artifact bytes sha256"],
        "store": ["store name kept bytes sha256", "store name bytes sha256"],
        # The second form is that of version 0.1.0.
        "key": ["key print", "key"],
        "expired": [""],
    }.items()
}
# The mark of an expired result may hold those of its former entry, since some services merge the two.
_FIELDS = frozenset[str]().union(*(names for forms in _FORMS.values() for names in forms))
_ENDS = 8
_MAX_TEXT = 1_000


def store_entry(store: str, name: str, kept: str | None, data: bytes) -> dict[str, Any]:
    """Returns the entry of a result that a store keeps under `name`."""
    # `json_patch` removes what is null.
    text = {} if kept is None else {"kept": kept}
    return {"stored": "store", "store": store, "name": name, **text, **_seal(data)}


def key_entry(key: str, value: Any) -> dict[str, Any]:
    """Returns the entry of a result that another state key holds as `value`."""
    return {"stored": "key", "key": key, "print": fingerprint(value)}


def expired_entry(entry: Any) -> dict[str, Any]:
    """Returns the entry that replaces that of an expired result."""
    # SQLite's `json_patch`, with which ADK up to 2.7 stores state, keeps a field that the new entry does not name, and
    # removes one that is null there.
    return _EXPIRED | {name: None for name in entry if name != "stored"} if is_entry(entry) else dict(_EXPIRED)


def is_entry(value: Any, *forms: str) -> bool:
    """Returns whether a state value is an entry for a result, of one of `forms` if any are given."""
    if not isinstance(value, dict) or not isinstance(form := value.get("stored"), str):
        return False
    is_known = value.keys() <= _FIELDS if form == "expired" else value.keys() in _FORMS.get(form, ())
    return is_known and (not forms or form in forms)


def is_intact(entry: Mapping[str, Any], data: bytes) -> bool:
    """Returns whether `data` are what an entry was made for."""
    return {"bytes": entry["bytes"], "sha256": entry["sha256"]} == _seal(data)


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
    if is_entry(entry):
        # Compressed texts are long, and hold nothing that JSON escapes.
        texts = [str(entry[name]) if name in ("zlib", "packed") else json.dumps(entry[name])[1:-1] for name in entry]
        # Beside each of them are quotes, colon, comma and two spaces.
        return 2 + sum(map(len, (*entry, *texts))) + 8 * len(texts)
    try:
        return len(marshal.dumps(entry))
    except ValueError:
        return len(json_text(entry))


def _seal(data: bytes) -> dict[str, Any]:
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _sample(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= _MAX_TEXT else [len(value), value[:_MAX_TEXT], value[-_MAX_TEXT:]]
    if isinstance(value, Mapping):
        ends = _ends(sorted(value, key=str))
        return [len(value), {key: _sample(value[key]) for key in ends}]
    if isinstance(value, list | tuple):
        return [len(value), [_sample(item) for item in _ends(value)]]
    return value


def _ends(items: Sequence[Any]) -> Sequence[Any]:
    return items if len(items) <= 2 * _ENDS else [*items[:_ENDS], *items[-_ENDS:]]
