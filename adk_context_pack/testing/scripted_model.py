"""Answers as a model in a script, and records the requests that it gets."""

from __future__ import annotations

import copy
import inspect
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from google.adk.models.base_llm import BaseLlm
from pydantic import PrivateAttr

from adk_context_pack._adk import LlmRequest, LlmResponse, types
from adk_context_pack._adk.known_tools import declared_in
from adk_context_pack.conversation.contents import said_in
from adk_context_pack.conversation.token_estimate import TokenMeter
from adk_context_pack.reports.call_report import instruction_text


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
        config: Any = request.config
        try:
            config = copy.deepcopy(config)
        except (TypeError, ValueError):
            # A live client within http_options cannot be copied. Its settings are not what a test looks at.
            config = config.model_copy()
        # So ADK tells the provider whose request it is.
        agent = ((config.labels if config else None) or {}).get("adk_agent_name", "")
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
        return [name for name, _ in _declarations(self)]


def text_of(request: LlmRequest | RecordedRequest | Sequence[types.Content] | None) -> str:
    """Returns all readable parts of the contents: texts, calls with arguments, results and code, one part a line."""
    contents: Any = getattr(request, "contents", request)
    said = [said_in(part) for content in contents or () for part in content.parts or ()]
    forms = {"call": "{}({})", "result": "{} -> {}"}
    return "\n".join(
        forms[kind].format(name, value) if kind in forms else value or "" if kind in ("text", "code") else ""
        for kind, name, _, value in said
    )


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


def _declarations(request: RecordedRequest) -> list[tuple[str, str]]:
    functions = (each for each in declared_in(request) if isinstance(each, types.FunctionDeclaration))
    return [(each.name or "", each.model_dump_json(exclude_none=True)) for each in functions]


class ScriptedModel(BaseLlm):
    """Answers with `answer(request)`, so that what did not reach the model cannot appear in its answer.

        agent = LlmAgent(name="guide", model=ScriptedModel(answer=lambda request: call("look_up", city="Oslo")))

    Args:
        answer: from the request to a text, a part such as `call(…)` returns, a list of both, a `Content`, an
            `LlmResponse`, an exception to raise, or an awaitable of any of these. It must not change the request.
        usage: from the request to the prompt tokens that the model reports, or to a whole usage record. By default
            these are an estimate of what the model received.
    """

    model: str = "scripted"
    answer: Callable[[LlmRequest], Any]
    usage: Callable[[LlmRequest], Any] | None = lambda request: TokenMeter().request(request)
    _requests: list[RecordedRequest] = PrivateAttr(default_factory=list)

    @property
    def requests(self) -> list[RecordedRequest]:
        """A copy of each request that the model received, oldest first."""
        return self._requests

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: FBT001, FBT002, ARG002 - ADK's signature
    ) -> AsyncGenerator[LlmResponse, None]:
        """Yields one answer."""
        self.record(RecordedRequest.of(llm_request))
        value = self.answer(llm_request)
        if inspect.isawaitable(value):
            value = await value
        if isinstance(value, BaseException):
            raise value
        usage = self.usage(llm_request) if self.usage else None
        if isinstance(usage, int):
            usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=usage)
        response = response_of(value)
        yield response.model_copy(update={"usage_metadata": usage}) if usage else response

    def record(self, request: RecordedRequest) -> None:
        """Keeps a request that the model received."""
        self._requests.append(request)


def call(name: str, call_id: str | None = None, /, **args: Any) -> types.Part:
    """Returns a call of one tool, with an id of the model's own or without one."""
    return types.Part(function_call=types.FunctionCall(name=name, args=args, id=call_id))


def response_of(value: Any) -> LlmResponse:
    """Returns what an `answer` function returned as the response that ADK expects."""
    if isinstance(value, LlmResponse):
        return value
    if isinstance(value, types.Content):
        return LlmResponse(content=value)
    values = value if isinstance(value, list | tuple) else [value]
    parts = [part if isinstance(part, types.Part) else types.Part(text=str(part)) for part in values]
    return LlmResponse(content=types.Content(role="model", parts=parts))


def results_in(request: LlmRequest, name: str) -> list[Any]:
    """Returns the results of the tool called `name` as the model is shown them, oldest first."""
    parts = [part for content in request.contents for part in content.parts or ()]
    return [p.function_response.response for p in parts if p.function_response and p.function_response.name == name]


def text_in(request: LlmRequest) -> str:
    """Returns all texts of a request's contents, one a line."""
    return "\n".join(part.text for content in request.contents for part in content.parts or () if part.text)
