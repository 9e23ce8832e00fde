"""A model whose answers are computed from the request that it received, and which remembers every request.

The answer is a function of the request, so a fact that did not reach the model cannot appear in what it says:

    def answer(request):
        return call("look_up", city="Oslo") if "Oslo" in text_of(request) else "I was told of no city."

    agent = LlmAgent(name="guide", model=ScriptedModel(answer=answer), tools=[look_up])
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import PrivateAttr

AGENT_LABEL = "adk_agent_name"
"""The label by which ADK itself tells the provider whose request it is."""


@dataclass(frozen=True, kw_only=True)
class RecordedRequest:
    """A request as the model received it, detached from the session."""

    agent: str
    model: str
    contents: list[types.Content]
    config: types.GenerateContentConfig

    @property
    def text(self) -> str:
        """Everything readable in the contents; see `text_of`."""
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


_listeners: ContextVar[tuple[list[RecordedRequest], ...]] = ContextVar("listeners", default=())


@contextmanager
def recording():
    """Collects the requests that any scripted model receives within the block, in order."""
    seen: list[RecordedRequest] = []
    token = _listeners.set((*_listeners.get(), seen))
    try:
        yield seen
    finally:
        _listeners.reset(token)


class ScriptedModel(BaseLlm):
    """A model that answers with `answer(request)` and keeps a copy of every request in `requests`.

    Args:
        answer: from the LlmRequest to a text, a Part, a list of both, a Content, an LlmResponse, an exception to
            raise, or an awaitable of any of these. It sees the request itself; do not change it.
        usage: from the LlmRequest to the prompt tokens that the model claims, or to a whole usage record.
    """

    model: str = "scripted-model"
    answer: Callable[[LlmRequest], Any] = lambda request: "done"
    usage: Callable[[LlmRequest], Any] | None = None
    _requests: list[RecordedRequest] = PrivateAttr(default_factory=list)

    @property
    def requests(self) -> list[RecordedRequest]:
        return self._requests

    @classmethod
    def supported_models(cls) -> list[str]:
        return ["scripted-.*"]

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: FBT001, FBT002 - ADK's signature
    ) -> AsyncGenerator[LlmResponse, None]:
        record = record_of(llm_request)
        for seen in (self._requests, *_listeners.get()):
            seen.append(record)
        value = self.answer(llm_request)
        if inspect.isawaitable(value):
            value = await value
        if isinstance(value, BaseException):
            raise value
        yield self._with_usage(response_of(value), llm_request)

    def _with_usage(self, response: LlmResponse, request: LlmRequest) -> LlmResponse:
        claimed = self.usage(request) if self.usage else None
        if isinstance(claimed, int):
            claimed = types.GenerateContentResponseUsageMetadata(prompt_token_count=claimed)
        return response.model_copy(update={"usage_metadata": claimed}) if claimed else response


def answers(*values: Any) -> Callable[[LlmRequest], Any]:
    """Answers one after the other, the last one for ever; for tests in which the request decides nothing."""
    left = list(values)
    return lambda request: left.pop(0) if len(left) > 1 else left[0]


def call(name: str, call_id: str | None = None, /, **args: Any) -> types.Part:
    """A function call part, with an id of the model's own or without one."""
    return types.Part(function_call=types.FunctionCall(name=name, args=args, id=call_id))


def record_of(request: LlmRequest) -> RecordedRequest:
    """A detached copy of `request`."""
    config = _copied(request.config)
    labels = (config.labels if config else None) or {}
    return RecordedRequest(
        agent=labels.get(AGENT_LABEL, ""),
        model=request.model or "",
        contents=copy.deepcopy(request.contents),
        config=config,
    )


def response_of(value: Any) -> LlmResponse:
    """What `answer` gave, as the response that ADK expects."""
    if isinstance(value, LlmResponse):
        return value
    if isinstance(value, types.Content):
        return LlmResponse(content=value)
    values = value if isinstance(value, list | tuple) else [value]
    parts = [part if isinstance(part, types.Part) else types.Part(text=str(part)) for part in values]
    return LlmResponse(content=types.Content(role="model", parts=parts))


def text_of(request: LlmRequest | RecordedRequest | Sequence[types.Content] | None) -> str:
    """Everything readable in the contents: texts, calls with their arguments, results, code, one part a line."""
    contents = getattr(request, "contents", request)
    return "\n".join(_part_text(part) for content in contents or () for part in content.parts or ())


def instruction_text(instruction: Any) -> str:
    """A system instruction of any of its forms as text."""
    if instruction is None:
        return ""
    if isinstance(instruction, str):
        return instruction
    if isinstance(instruction, types.Content):
        return text_of([instruction])
    if isinstance(instruction, types.Part):
        return _part_text(instruction)
    return "\n".join(map(instruction_text, instruction)) if isinstance(instruction, Iterable) else str(instruction)


def results_in(request: LlmRequest | RecordedRequest, name: str | None = None) -> list[types.FunctionResponse]:
    """The function responses that the model was shown, oldest first, of one tool or of all."""
    parts = [part for content in request.contents or () for part in content.parts or ()]
    found = [part.function_response for part in parts if part.function_response]
    return [response for response in found if name is None or response.name == name]


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
        # A live client within http_options cannot be copied; its settings are not what a test looks at.
        return config.model_copy()
