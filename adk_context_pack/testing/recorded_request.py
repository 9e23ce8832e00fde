"""A request as a model received it, its readable text, and what holds from one request to the next."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from google.adk.models.llm_request import LlmRequest
from google.genai import types

_AGENT_LABEL = "adk_agent_name"
"""The label by which ADK tells the provider whose request it is."""


@dataclass(frozen=True, kw_only=True)
class RecordedRequest:
    """A request as a model received it, detached from the session.

    Attributes:
        agent: the name of the agent that sent it, or "" if ADK does not say.
        model: the model's name.
        contents: a deep copy of the contents.
        config: a copy of the config, with instruction and tool declarations.
    """

    agent: str
    model: str
    contents: list[types.Content]
    config: types.GenerateContentConfig

    @classmethod
    def of(cls, request: LlmRequest) -> RecordedRequest:
        """Copies `request`."""
        config = _copied(request.config)
        labels = (config.labels if config else None) or {}
        agent = labels.get(_AGENT_LABEL, "")
        return cls(agent=agent, model=request.model or "", contents=copy.deepcopy(request.contents), config=config)

    @property
    def text(self) -> str:
        """All readable parts of the contents, as `text_of` returns them."""
        return text_of(self)

    @property
    def system(self) -> str:
        """The system instruction as text."""
        return instruction_text(self.config.system_instruction)

    @property
    def tool_names(self) -> list[str]:
        """The names of the functions that the model was offered."""
        tools = self.config.tools or []
        return [f.name or "" for tool in tools for f in getattr(tool, "function_declarations", None) or []]


def text_of(request: LlmRequest | RecordedRequest | Sequence[types.Content] | None) -> str:
    """Returns all readable parts of the contents: texts, calls with arguments, results and code, one part a line."""
    contents: Any = getattr(request, "contents", request)
    return "\n".join(_part_text(part) for content in contents or () for part in content.parts or ())


def instruction_text(instruction: Any) -> str:
    """Returns a system instruction of any form as text."""
    if instruction is None:
        return ""
    if isinstance(instruction, str):
        return instruction
    if isinstance(instruction, types.Content):
        return text_of([instruction])
    if isinstance(instruction, types.Part):
        return _part_text(instruction)
    return "\n".join(map(instruction_text, instruction)) if isinstance(instruction, Iterable) else str(instruction)


def _part_text(part: types.Part) -> str:
    if part.text is not None:
        return part.text
    if part.function_call:
        return f"{part.function_call.name}({part.function_call.args})"
    if part.function_response:
        return f"{part.function_response.name} -> {part.function_response.response}"
    if part.executable_code:
        return part.executable_code.code or ""
    if part.code_execution_result:
        return part.code_execution_result.output or ""
    return ""


def _copied(config: Any) -> Any:
    try:
        return copy.deepcopy(config)
    except (TypeError, ValueError):
        # A live client within http_options cannot be copied. Its settings are not what a test looks at.
        return config.model_copy()


def check_declared_tools(requests: Sequence[RecordedRequest]) -> None:
    """Requires that no agent loses, changes or moves a tool declaration from one of its requests to the next.

    Providers cache declarations before everything else of a request (platform.claude.com/docs, prompt caching), so that
    one that changes makes them read the whole request again. New declarations may follow those there were.

    Args:
        requests: the requests of all agents as their models received them, oldest first. `ScriptedModel` records them.

    Raises:
        AssertionError: a declaration went, changed or moved.
    """
    for agent in {request.agent for request in requests}:
        declared = [_declarations(request) for request in requests if request.agent == agent]
        for before, after in pairwise(declared):
            for place, (name, text) in enumerate(before):
                if place >= len(after) or after[place] != (name, text):
                    raise AssertionError(f"{agent} is shown another declaration than before in the place of {name}")


def _declarations(request: RecordedRequest) -> list[tuple[str | None, str]]:
    tools = (request.config.tools if request.config else None) or ()
    functions = [function for tool in tools for function in getattr(tool, "function_declarations", None) or ()]
    return [(function.name, function.model_dump_json(exclude_none=True)) for function in functions]
