"""Reads what a session's state keeps of a result, by the documented form alone and not by the pack's own code."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from typing import Any


def kept_in_state(entry: Any, run: Any = None) -> Any:
    """Returns the result that a state entry holds as text, or names in the artifact service in memory of `run`."""
    assert isinstance(entry, Mapping), "no entry"
    if entry["stored"] == "artifact":
        assert run is not None, "an artifact"
        found = [
            versions for path, versions in run.artifact_service.artifacts.items() if path.endswith(entry["artifact"])
        ]
        part = getattr(found[0][-1], "data", found[0][-1])
        return json.loads(part.inline_data.data)
    if entry["stored"] == "text":
        return json.loads(entry["text"])
    length, text = entry["zlib"].split(":")
    data = zlib.decompress(base64.b64decode(text))
    assert len(data) == int(length)
    return json.loads(data)
