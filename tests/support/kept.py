"""Reads what a session's state keeps of a result, by the documented form alone and not by the pack's own code."""

from __future__ import annotations

import base64
import json
import lzma
import zlib
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote


class Shelf:
    """A store of the user's own, in a dict."""

    name = "shelf"

    def __init__(self):
        self.kept = {}

    def place(self, scope, name):
        return scope.app_name, scope.user_id, scope.session_id, name

    async def put(self, scope, name, data):
        self.kept[self.place(scope, name)] = data

    async def open(self, scope, name, kept):
        return self.kept.get(self.place(scope, name))

    async def delete(self, scope, name, kept):
        self.kept.pop(self.place(scope, name), None)


def kept_in_state(entry: Any, run: Any = None) -> Any:
    """Returns the result that a state entry holds as text, or names in the artifact service in memory of `run`."""
    assert isinstance(entry, Mapping), "no entry"
    if entry["stored"] == "store":
        assert run is not None, "an artifact"
        found = [versions for path, versions in run.artifact_service.artifacts.items() if path.endswith(entry["name"])]
        part = getattr(found[0][-1], "data", found[0][-1])
        return json.loads(part.inline_data.data)
    if entry["stored"] == "text":
        return json.loads(entry["text"])
    if entry["stored"] == "rows1":
        return _rows_of(entry["packed"])
    length, text = entry["zlib"].split(":")
    data = zlib.decompress(base64.b64decode(text))
    assert len(data) == int(length)
    return json.loads(data)


async def kept_artifacts(context: Any) -> list[str]:
    """Returns the names of what the pack keeps for the session of a tool's context with the app's artifact service."""
    session = context.session
    return await context._invocation_context.artifact_service.list_artifact_keys(
        app_name=session.app_name, user_id=session.user_id, session_id="adk_context_pack." + quote(session.id, safe="")
    )


def _rows_of(packed: str) -> Any:
    length, text = packed.split(":")
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 2**20}]
    data = lzma.decompress(base64.b64decode(text), lzma.FORMAT_RAW, filters=filters)
    assert len(data) == int(length)
    return _value_of(json.loads(data))


def _value_of(node: Any) -> Any:
    if isinstance(node, Mapping):
        return {key: _value_of(item) for key, item in node.items()}
    order, *sets = node
    if not sets:
        return order
    tables = [(keys, [_value_of(column) for column in columns]) for keys, columns in sets]
    rows, used = [], [0] * len(sets)
    for number in order if order is not None else [0] * len(tables[0][1][0]):
        keys, columns = tables[number]
        rows.append({key: column[used[number]] for key, column in zip(keys, columns, strict=True)})
        used[number] += 1
    return rows
