"""What stands in session state in place of a result that lives elsewhere, or no longer."""

from __future__ import annotations

import hashlib
import re
from typing import Any, Final

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
