"""Counts a request: its tokens by a fast estimate or by a tokenizer of the user's, and its characters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar
from weakref import ref

from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack._json import json_text
from adk_context_pack.conversation.known_contents import known_contents, said_in
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.conversation.token_estimate import Counter, estimate_payload, estimate_tokens

Value = TypeVar("Value")
_IMAGE_TOKENS = 258
"""The tokens that Gemini bills for one image tile. Source: https://ai.google.dev/gemini-api/docs/tokens."""


def meter_of(call: ModelCall, counter: Counter | None = None) -> TokenMeter:
    """Returns the meter that all passes of one model call share, so that each content is counted once.

    Args:
        call: the model call that is being prepared.
        counter: from text to tokens. Without one, tokens are estimated. Each counter has a meter of its own.
    """
    meters: dict[Counter | None, TokenMeter] = call.memo.setdefault("meters", {})
    if counter not in meters:
        meters[counter] = TokenMeter(counter=counter, call=call, unseen=call.memo.get("unseen", 0))
    return meters[counter]


class TokenMeter:
    """Counts requests for one model call. A text that was counted once is not counted again.

    It recognises contents and payloads by identity and keeps them alive, so it lives for one model call.

    Args:
        counter: from text to tokens. Without one, tokens are estimated.
        call: the model call whose requests are counted. Earlier calls of its run share the counts of texts, and earlier
            calls of its session those of contents.
        unseen: tokens that each request has beside what is counted, such as an instruction that a recording lacks.

    Attributes:
        name: equal for meters that count alike.
    """

    def __init__(self, *, counter: Counter | None = None, call: ModelCall | None = None, unseen: int = 0) -> None:
        self._unseen = unseen
        self.name = ("counter", id(counter))
        # A weak reference, since the call's memo holds its meters. A cycle would keep the session and each request of
        # the run until Python's garbage collector finds it.
        self._call: Callable[[], ModelCall | None] = (lambda: None) if call is None else ref(call)
        self._counter = counter
        self._texts: dict[str, int] = {} if call is None else call.run_memo.setdefault(("texts", self.name), {})
        # By identity. What was counted is held, so that no other object gets its identity, and held apart: a pair for
        # each content and payload would be one more object for Python's garbage collector to visit.
        self._seen: dict[int, int] = {}
        self._held: list[object] = []
        self._tools: dict[int, tuple[object, int]] = {}
        self._last: tuple[Sequence[types.Content], list[types.Content], list[int]] = ((), [], [])

    def text(self, text: str) -> int:
        """Returns the tokens of a text."""
        if (known := self._texts.get(text)) is None:
            known = self._texts[text] = estimate_tokens(text) if self._counter is None else self._counter(text)
        return known

    def payload(self, value: Any) -> int:
        """Returns the tokens of call arguments or a tool's response (any JSON-like value)."""
        if not value:
            return 1
        # ADK's copies of a content share the payload with the session's event.
        if (count := self._seen.get(id(value))) is None:
            count = estimate_payload(value) if self._counter is None else self._counter(json_text(value))
            self._held.append(value)
            self._seen[id(value)] = count
        return count

    def part(self, part: types.Part) -> int:
        """Returns the tokens of one part, media included."""
        kind, name, _, value = said_in(part)
        if kind in ("call", "result"):
            return self.text(name or "") + self.payload(value)
        return _IMAGE_TOKENS if kind in ("media", "file") else self.text(value or "") if kind else 0

    def content(self, content: types.Content) -> int:
        """Returns the tokens of one content, its envelope included."""
        if (known := self._seen.get(id(content))) is None:
            known = self._seen[id(content)] = 4 + sum(map(self.part, content.parts or ()))
            self._held.append(content)
        return known

    def contents(self, contents: Sequence[types.Content] | None) -> int:
        """Returns the tokens of a request's contents."""
        return sum(self.sizes(contents or ()))

    def sizes(self, contents: Sequence[types.Content]) -> Sequence[int]:
        """Returns the tokens of each of a request's contents. Do not change the list."""
        last, taken, counted = self._last
        # The passes of a call and its report ask for the same list again and again.
        if last is contents and len(counted) == len(contents):
            return counted
        # A pass made it of what the list before held, and left most of that as it was.
        self._held.append(taken)
        self._seen.update(zip(map(id, taken), counted, strict=False))
        sizes = self.grow(contents, "tokens", list[int], lambda found, new: found.extend(map(self.content, new)))
        self._last = contents, list(contents), sizes
        return sizes

    def grow(
        self,
        contents: Sequence[types.Content],
        name: str,
        make: Callable[[], Value],
        take: Callable[[Value, Sequence[types.Content]], object],
    ) -> Value:
        """Returns a value as `GrowingCache.grow` does: one of a request's contents that depends on this meter."""
        call = self._call()
        if call is None:
            take(value := make(), contents)
            return value
        return known_contents(call, contents).cache.grow((name, *self.name), make, contents, take)

    def request(self, request: LlmRequest) -> int:
        """Returns the tokens of all that is sent: system instruction, tool declarations, contents, media."""
        return sum(self.fixed(request)) + sum(self.sizes(request.contents or ()))

    def fixed(self, request: LlmRequest) -> tuple[int, int]:
        """Returns the tokens of what is sent with every call: the system instruction, and the tool declarations.

        Declarations count as they are now, since ADK and the pack add to a tool object.
        """
        total, config = 0, request.config
        for tool in (config.tools if config else None) or ():
            # Writing out a tool takes long, so it is recognised by its functions. Comparing those is fast as long as
            # they are the same objects.
            known = tool, *(getattr(tool, "function_declarations", None) or ())
            seen = self._tools.get(id(tool))
            if seen is None or seen[0] != known:
                text = tool.model_dump_json(exclude_none=True) if isinstance(tool, types.Tool) else str(tool)
                self._tools[id(tool)] = seen = known, self.text(text)
            total += seen[1]
        instruction = config.system_instruction if config else None
        own = self.text(instruction) if isinstance(instruction, str) else self._instruction(instruction)
        return own + self._unseen, total

    def _instruction(self, instruction: Any) -> int:
        if isinstance(instruction, types.Content):
            return self.content(instruction)
        if isinstance(instruction, types.Part):
            return self.part(instruction)
        if isinstance(instruction, list):
            return sum(map(self._instruction, instruction))
        return 0 if instruction is None else self.text(str(instruction))


def characters(contents: Iterable[types.Content]) -> int:
    """Returns the characters of all texts and payloads, media and code included. It is slow, since it writes JSON."""
    said = ((said_in(part), part) for content in contents for part in content.parts or ())
    return sum(
        len(name or "") + len(json_text(value))
        if kind in {"call", "result"}
        else len(value if kind == "text" else repr(part.model_dump(exclude_none=True)))
        for (kind, name, _, value), part in said
    )
