"""How many tokens a request has: estimated fast, or counted by a tokenizer of the user's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from weakref import ref

from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack._json import json_text
from adk_context_pack.conversation.known_contents import KnownContents, known_contents
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.conversation.token_estimate import estimate_payload, estimate_tokens
from adk_context_pack.errors import SettingError

Found = TypeVar("Found")
State = TypeVar("State")
Counter = Callable[[str], int]
"""A tokenizer of one's own: from text to its number of tokens."""

_CONTENT_OVERHEAD = 4
_IMAGE_TOKENS = 258
"""What Gemini bills for one image tile; https://ai.google.dev/gemini-api/docs/tokens."""


def characters(contents: Sequence[types.Content]) -> int:
    """Characters of all texts and payloads; slow, since payloads are written out as JSON."""
    return sum(_characters(part) for content in contents for part in content.parts or ())


def _characters(part: types.Part) -> int:
    used = part.function_response or part.function_call
    if used is None:
        return len(part.text or "")
    payload = used.response if isinstance(used, types.FunctionResponse) else used.args
    return len(used.name or "") + len(json_text(payload))


def valid_counter(owner: object, counter: object) -> None:
    """Refuses a `counter` setting that cannot be called with a `SettingError`."""
    if counter is not None and not callable(counter):
        raise SettingError.of(owner, "counter", counter, "a function from text to its number of tokens")


def meter_of(call: ModelCall, counter: Counter | None = None) -> TokenMeter:
    """The meter that all passes of one model call share, so that each content is counted once.

    Args:
        call: the model call that is being prepared.
        counter: from text to tokens; without one, `estimate_tokens`. Each counter has a meter of its own.
    """
    meters: dict[Counter | None, TokenMeter] = call.memo.setdefault("meters", {})
    if counter not in meters:
        meters[counter] = TokenMeter(counter=counter, call=call)
    return meters[counter]


class TokenMeter:
    """Counts requests for one model call; what was counted once is not counted again.

    Args:
        counter: from text to tokens; without one, `estimate_tokens`.
        call: the model call whose requests are counted; texts that an earlier call of its run has counted are known by
            it, and contents that one of its session has.

    Attributes:
        name: the same for meters that count the same.

    A meter remembers contents and payloads by identity and keeps them alive, so it lives for one model call.
    """

    def __init__(self, *, counter: Counter | None = None, call: ModelCall | None = None) -> None:
        self.name = ("counter", id(counter))
        # Weakly, since the call's memo holds its meters: a cycle would keep the run's session, and each request, until
        # the collector comes by (a tenth of the collector's time in an app with 100 sessions at once).
        self._call: Callable[[], ModelCall | None] = _nothing if call is None else ref(call)
        self._count_text = counter or estimate_tokens
        self._count_payload = estimate_payload if counter is None else _counted(counter)
        self._texts: dict[str, int] = {} if call is None else call.run_memo.setdefault(("texts", self.name), {})
        self._seen: dict[int, tuple[object, int]] = {}

    def text(self, text: str) -> int:
        """Tokens of a text."""
        known = self._texts.get(text)
        if known is None:
            self._texts[text] = known = self._count_text(text)
        return known

    def payload(self, value: Any) -> int:
        """Tokens of call arguments or a tool's response (any JSON-like value)."""
        # By identity: ADK's copies of a content share the payload with the session's event.
        return self._remembered(value, self._count_payload) if value else 1

    def part(self, part: types.Part) -> int:
        """Tokens of one part, media included."""
        if part.text is not None:
            return self.text(part.text)
        if (response := part.function_response) is not None:
            return self.text(response.name or "") + self.payload(response.response)
        if (call := part.function_call) is not None:
            return self.text(call.name or "") + self.payload(call.args)
        return self._native(part)

    def content(self, content: types.Content) -> int:
        """Tokens of one content with what its envelope costs."""
        seen = self._seen.get(id(content))
        if seen is None:
            count = _CONTENT_OVERHEAD
            for part in content.parts or ():
                # Nearly all texts are known from the call before, and this is asked for each content of a request.
                known = self._texts.get(part.text) if part.text is not None else None
                count += self.part(part) if known is None else known
            self._seen[id(content)] = seen = (content, count)
        return seen[1]

    def contents(self, contents: Sequence[types.Content] | None) -> int:
        """Tokens of a request's contents."""
        return sum(self.sizes(contents or ()))

    def sizes(self, contents: Sequence[types.Content]) -> Sequence[int]:
        """Tokens of each of a request's contents; not the caller's to change."""
        return self.each(contents, "tokens", self.content)

    def each(
        self, contents: Sequence[types.Content], name: str, find: Callable[[types.Content], Found]
    ) -> Sequence[Found]:
        """What `find` finds for each content with this meter, asked once for each; not the caller's to change."""
        known = self._known(contents)
        return list(map(find, contents)) if known is None else known.column((name, *self.name), find)

    def folded(
        self,
        contents: Sequence[types.Content],
        name: str,
        make: Callable[[], State],
        take: Callable[[State, types.Content], object],
    ) -> State:
        """What `take` makes of the contents with this meter, one after another, each once; not the caller's to change.

        Args:
            contents: a request's contents.
            name: the same name always goes with the same `make` and `take`.
            make: what there is before the first content.
            take: takes one content in.
        """
        if (known := self._known(contents)) is not None:
            return known.folded((name, *self.name), make, take)
        state = make()
        for content in contents:
            take(state, content)
        return state

    def _known(self, contents: Sequence[types.Content]) -> KnownContents | None:
        call = self._call()
        return None if call is None else known_contents(call, contents)

    def request(self, request: LlmRequest) -> int:
        """Tokens of everything that is sent: system instruction, tool declarations, contents, media."""
        return self.system(request) + self.tools(request) + self.contents(request.contents)

    def system(self, request: LlmRequest) -> int:
        """Tokens of the system instruction."""
        instruction = request.config.system_instruction if request.config else None
        return self._instruction(instruction)

    def tools(self, request: LlmRequest) -> int:
        """Tokens of the tool declarations."""
        declared = (request.config.tools if request.config else None) or ()
        return sum(self._remembered(tool, self._tool) for tool in declared)

    def _remembered(self, value: object, count: Callable[[Any], int]) -> int:
        seen = self._seen.get(id(value))
        if seen is None:
            self._seen[id(value)] = seen = (value, count(value))
        return seen[1]

    def _instruction(self, instruction: Any) -> int:
        if instruction is None:
            return 0
        if isinstance(instruction, str):
            return self.text(instruction)
        if isinstance(instruction, types.Content):
            return self.content(instruction)
        if isinstance(instruction, types.Part):
            return self.part(instruction)
        if isinstance(instruction, list):
            return sum(map(self._instruction, instruction))
        return self.text(str(instruction))

    def _tool(self, tool: Any) -> int:
        if isinstance(tool, types.Tool):
            return self.text(tool.model_dump_json(exclude_none=True))
        return self.text(str(tool))

    def _native(self, part: types.Part) -> int:
        if part.inline_data is not None or part.file_data is not None:
            return _IMAGE_TOKENS
        if (code := part.executable_code) is not None:
            return self.text(code.code or "")
        if (outcome := part.code_execution_result) is not None:
            return self.text(outcome.output or "")
        return 0


def _nothing() -> None:
    return None


def _counted(counter: Counter) -> Callable[[Any], int]:
    return lambda value: counter(json_text(value))
