"""Turns a model's `use_tool` calls into calls of the real tool, and back where the model reads its own history."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from google.genai import types

from adk_context_pack._json import json_text
from adk_context_pack.conversation.contents import changed
from adk_context_pack.tools.check_args import AnyValue, check_args
from adk_context_pack.tools.references import replaced
from adk_context_pack.tools.tool_index import ToolIndex

FIND_TOOLS, USE_TOOL = "find_tools", "use_tool"


class Asked(NamedTuple):
    """A call that a model asks for by `use_tool`.

    Attributes:
        name: the tool's name.
        args: its arguments.
        error: the answer for a call that cannot be made. None for one that can.
    """

    name: str
    args: dict[str, Any]
    error: dict[str, Any] | None = None


def asked(arguments: Mapping[str, Any] | None, index: ToolIndex) -> Asked:
    """Returns what the arguments of a `use_tool` call ask for, checked against the tool's own schema.

    Args:
        arguments: the arguments of the call.
        index: the tools.
    """
    name = str((arguments or {}).get("name") or "")
    tool = index.tools.get(name)
    if tool is None:
        near = index.nearest(name)
        known = index.tools[near].shown() if near else None
        note = f"There is no tool {name[:80]!r}." + (f" {near} is the nearest name." if near else " Use find_tools.")
        return Asked(name, {}, {"error": note} | ({"tool": known} if known else {}))
    try:
        args = _args((arguments or {}).get("args"))
        # The tool checks a value that is only referred to.
        checked = replaced(args, AnyValue, whole_only=True) if tool.takes_references else args
    except (ValueError, RecursionError) as error:
        return Asked(name, {}, {"error": str(error), "parameters": tool.parameters})
    problems, nearest = check_args(tool.parameters, checked)
    if not problems:
        return Asked(name, args)
    answer: dict[str, Any] = {"error": "; ".join(problems)[:1000], "parameters": tool.parameters}
    if not check_args(tool.parameters, nearest).problems:
        answer["nearest_valid_args"] = nearest
    return Asked(name, args, answer)


def _args(given: Any) -> dict[str, Any]:
    if given is None or given == "":
        return {}
    if isinstance(given, str):
        try:
            given = json.loads(given, parse_constant=_no_number)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"args is not a JSON object: {error}") from None
    if not isinstance(given, dict):
        raise ValueError("args must be a JSON object with the tool's arguments.")  # noqa: TRY004 - worded for a model
    return given


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is not JSON")


def as_real_calls(content: types.Content, index: ToolIndex) -> types.Content:
    """Returns `content` with each valid `use_tool` call as a call of the tool itself, or `content` itself."""

    def real(part: types.Part) -> types.Part:
        call = part.function_call
        if call is None or call.name != USE_TOOL:
            return part
        wanted = asked(call.args, index)
        if wanted.error is not None:
            return part
        return changed(part, "function_call", call.model_copy(update={"name": wanted.name, "args": wanted.args}))

    return _mapped(content, real)


def as_model_wrote(content: types.Content, deferred: Collection[str]) -> types.Content:
    """Returns `content` with each call of a deferred tool, and its result, under the name that the model knows."""

    def shown(part: types.Part) -> types.Part:
        if (call := part.function_call) is not None and call.name in deferred:
            args = {"name": call.name, "args": json_text(call.args or {})}
            return changed(part, "function_call", call.model_copy(update={"name": USE_TOOL, "args": args}))
        if (result := part.function_response) is not None and result.name in deferred:
            return changed(part, "function_response", changed(result, "name", USE_TOOL))
        return part

    return _mapped(content, shown)


def _mapped(content: types.Content, change: Callable[[types.Part], types.Part]) -> types.Content:
    parts = content.parts or []
    new = [change(part) for part in parts]
    same = all(one is other for one, other in zip(new, parts, strict=True))
    return content if same else changed(content, "parts", new)
