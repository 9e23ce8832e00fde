"""What stands in a request: the only source of everything that the offline model says."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

from google.adk.models.llm_request import LlmRequest
from google.genai import types

_FIELD = re.compile(r"^- ([\w.]+) \((INT64|DOUBLE|STRING|ENUM|DATE)\): (.*)$", re.MULTILINE)
_RESOURCE = re.compile(r"^- resource (\w+):", re.MULTILINE)
# ADK relays a result as the repr of a dict: on the same line, or from 2.8.0 on between two markers.
_RELAYED_RESULT = re.compile(r"\[\w+\] `(\w+)` tool returned result:\s+(?:<<<\w+>>>\s+)?(\{.*\})")


def tool_names(request: LlmRequest) -> set[str]:
    """The tools that the request declares."""
    declared = (request.config.tools if request.config else None) or ()
    functions = [entry for tool in declared for entry in getattr(tool, "function_declarations", None) or ()]
    return {entry.name for entry in functions if entry.name}


def texts(request: LlmRequest) -> Iterator[str]:
    """Every text in the request: the system instruction, then the parts in order."""
    instruction = request.config.system_instruction if request.config else None
    if isinstance(instruction, str):
        yield instruction
    for content in request.contents:
        yield from (part.text for part in content.parts or () if part.text)


def fields(request: LlmRequest) -> dict[str, str]:
    """The fields of the field reference with what it says of each; empty where the reference is not in the request."""
    return {name: about for text in texts(request) for name, _, about in _FIELD.findall(text)}


def dates(request: LlmRequest) -> list[str]:
    """The fields that hold a date."""
    return [name for text in texts(request) for name, kind, _ in _FIELD.findall(text) if kind == "DATE"]


def resources(request: LlmRequest) -> list[str]:
    """The resources of the field reference."""
    return [name for text in texts(request) for name in _RESOURCE.findall(text)]


def queries(request: LlmRequest) -> list[dict[str, Any]]:
    """The list of queries as the instruction shows it, compact or raw; empty where it does not stand there."""
    found = _after_label(request, "Queries: ")
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def pasted_results(request: LlmRequest) -> dict[str, Any]:
    """Full results by query id where an instruction has them pasted in."""
    found = _after_label(request, "Results: ")
    return found if isinstance(found, dict) else {}


def latest_responses(request: LlmRequest, tool: str) -> list[dict[str, Any]]:
    """What a tool returned to this agent since it, or another agent, last spoke; oldest first."""
    found: list[dict[str, Any]] = []
    for content in reversed(request.contents):
        parts = content.parts or []
        spoke = content.role == "model" and not any(part.function_call for part in parts)
        if spoke or any((part.text or "").startswith("For context") for part in parts):
            break
        responses = [part.function_response for part in parts if part.function_response]
        found[:0] = [entry.response for entry in responses if entry.name == tool and entry.response is not None]
    return found


def statuses(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What came of each query that ran; one whose result gave way to a note has its status in the instruction."""
    return [{"id": entry["query_id"], "status": entry.get("status")} for entry in results if "query_id" in entry]


def seen_results(request: LlmRequest, tool: str) -> Iterator[dict[str, Any]]:
    """Every result of a tool in the request, the agent's own and those relayed from other agents, oldest first."""
    for content in request.contents:
        for part in content.parts or ():
            if (response := part.function_response) is not None and response.name == tool and response.response:
                yield response.response
            for name, payload in _RELAYED_RESULT.findall(part.text or ""):
                if name == tool and isinstance(value := _value(payload), dict):
                    yield value


def _after_label(request: LlmRequest, label: str) -> Any:
    lines = [line for text in texts(request) for line in text.splitlines() if line.startswith(label)]
    return _value(lines[-1].removeprefix(label)) if lines else None


def _value(text: str) -> Any:
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError):
            continue
    return None


def said(text: str) -> types.Content:
    """The model says something."""
    return types.Content(role="model", parts=[types.Part(text=text)])


def called(*calls: tuple[str, dict[str, Any]], text: str = "") -> types.Content:
    """The model says something and calls tools, in parallel where there are several."""
    parts = [types.Part(text=text)] if text else []
    parts += [types.Part(function_call=types.FunctionCall(name=name, args=args)) for name, args in calls]
    return types.Content(role="model", parts=parts)
