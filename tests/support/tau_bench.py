"""The 70 tau-bench conversations as ADK events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from google.adk.events.event import Event
from google.genai import types

from tests.support.events import event, user_said
from tests.support.shared_data import shared_file

FILE = "tau_bench/gpt-4o-airline.dev.json"


def conversations(agent: str = "airline") -> Iterator[list[Event]]:
    """Each conversation as the events of a session in which `agent` spoke; skips the test without the data."""
    for record in json.loads(shared_file(FILE).read_text(encoding="utf-8")):
        yield list(_events(record["traj"], agent))


def _events(messages: list[dict[str, Any]], agent: str) -> Iterator[Event]:
    names: dict[str, str] = {}
    for number, message in enumerate(messages):
        settings = {"timestamp": 1000.0 + number, "invocation_id": "run"}
        if message["role"] == "user":
            yield user_said(message["content"], **settings)
        elif message["role"] == "assistant":
            calls = [_call(item) for item in message.get("tool_calls") or ()]
            names.update((part.function_call.id, part.function_call.name) for part in calls)
            words = [types.Part(text=message["content"])] if message.get("content") else []
            yield event(agent, *words, *calls, **settings)
        elif message["role"] == "tool":
            yield event(agent, _result(message, names), role="user", **settings)


def _call(item: dict[str, Any]) -> types.Part:
    function = item["function"]
    args = json.loads(function["arguments"])
    return types.Part(function_call=types.FunctionCall(id=item["id"], name=function["name"], args=args))


def _result(message: dict[str, Any], names: dict[str, str]) -> types.Part:
    call_id = message["tool_call_id"]
    try:
        value = json.loads(message["content"])
    except ValueError:
        value = message["content"]
    response = value if isinstance(value, dict) else {"result": value}
    return types.Part(
        function_response=types.FunctionResponse(
            id=call_id, name=message.get("name") or names[call_id], response=response
        )
    )
