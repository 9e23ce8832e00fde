"""Estimates the tokens of texts, payloads and requests, and corrects the estimates by the provider's figures.

The event of a model's answer carries `usage_metadata.prompt_token_count`, the size of the request that it answers. The
difference between two calls in a row is what was added in between, counted by the provider's own tokenizer. The session
holds all of these figures, so they survive a restart, and each call finds the same figures for the calls before it.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from importlib.resources import files
from itertools import takewhile
from typing import Any, NamedTuple
from weakref import ref

from pydantic_core import to_json

from adk_context_pack._adk import Event, LlmRequest, types
from adk_context_pack._json import json_text
from adk_context_pack.conversation.contents import (
    KnownContents,
    is_note,
    known_contents,
    read_events,
    said_in,
    whole_of,
)
from adk_context_pack.conversation.model_call import ModelCall, Take, Value
from adk_context_pack.stores.codec import parts

Counter = Callable[[str], int]
"""A tokenizer that the user provides: from text to its number of tokens."""

_LETTERS = bytes(range(ord("a"), ord("z") + 1)) + bytes(range(ord("A"), ord("Z") + 1)) + b" "
_HIGH = bytes(range(128, 256))
_SAMPLED, _PIECES, _PIECE = 12_288, 12, 256


def estimate_tokens(text: str) -> int:
    """Returns an estimate of the tokens in `text`, on the high side.

    The time is linear in the length, with a small constant.

    Args:
        text: any text. Lone surrogates are counted, not refused.
    """
    data = text.encode("utf-8", "surrogatepass")
    size = len(data)
    if size > _SAMPLED:
        # A part of a long text, taken evenly in pieces longer than a row, shows well enough which characters it has.
        # Its length is exact.
        step = size / _PIECES
        data = b"".join([data[int(n * step) : int(n * step) + _PIECE] for n in range(_PIECES)])
    # Fitted on o200k, on the high side: prose has 4 to 5 characters a token, dense JSON 2.4, CJK one to two. Letters
    # and spaces are cheap, digits and punctuation make a text dense, and a CJK character has three UTF-8 bytes. Random
    # letters (base64) are undercounted until the provider's first figure.
    others = data.translate(None, _LETTERS)
    low = len(others if others.isascii() else others.translate(None, _HIGH))
    tokens = (len(data) - len(others)) / 4.2 + (low / 1.4 + (len(others) - low) / 3.0)
    return round(tokens if size == len(data) else tokens * size / len(data))


def estimate_payload(value: Any) -> int:
    """Returns an estimate of the tokens in call arguments or a tool's response (any JSON-like value)."""
    return sum(map(estimate_tokens, parts(value, payload_text)))


def payload_text(value: Any) -> str:
    """Returns what `payload_bytes` does as text."""
    return payload_bytes(value).decode("utf-8", "surrogatepass")


def payload_bytes(value: Any) -> bytes:
    """Returns a payload as compact JSON, or as what stands for it where JSON has no form for a value."""
    # It takes a tenth of the time of Python's own encoder.
    try:
        return to_json(value)
    except (TypeError, ValueError):
        return json_text(value).encode("utf-8", "surrogatepass")


DEFAULT_WINDOW = 128_000
"""For a model that no rule names: what current models take at least."""

_RULES = files(__package__).joinpath("windows.txt").read_text("utf-8").splitlines()[3:]


def window_of(model: str | None) -> int:
    """Returns the tokens that a model takes in, input and output together if the provider counts them together.

    Args:
        model: the name as it stands in the request, a provider's prefix included (`anthropic/claude-…`).
    """
    return _limits_of(model)[0]


def cached_from(model: str | None) -> int:
    """Returns the fewest tokens of a request that the provider of a model caches, 0 if that is not known."""
    return _limits_of(model)[1]


@lru_cache(maxsize=256)
def _limits_of(model: str | None) -> tuple[int, int]:
    rules = (rule.split() for rule in _RULES if re.search(rule.split()[-1], (model or "").lower()))
    return next(((int(window), int(least)) for window, least, _ in rules), (DEFAULT_WINDOW, 0))


def meter_of(call: ModelCall, counter: Counter | None = None) -> TokenMeter:
    """Returns the meter that all passes of one model call share, so that each content is counted once.

    Without a counter, tokens are estimated. Each counter has a meter of its own.
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
        # Gemini bills 258 tokens for one image tile. Source: https://ai.google.dev/gemini-api/docs/tokens.
        return 258 if kind in ("media", "file") else self.text(value or "") if kind else 0

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
        self, contents: Sequence[types.Content], name: str, make: Callable[[], Value], take: Take[Value, types.Content]
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


HIGHEST_FACTOR = 5.0
_PLAUSIBLE = (0.2, HIGHEST_FACTOR)
"""No tokenizer explains a figure outside: another callback rewrote that request, or the model counts nothing."""
_MEANINGFUL = 100
CHAIN = "chain"
"""The key in a call's memo of its `Chain`, or of None if that cannot be told."""


def is_plausible(factor: float) -> bool:
    """Tells whether a provider's tokenizer may explain what one estimated token is worth."""
    return _PLAUSIBLE[0] <= factor <= _PLAUSIBLE[1]


def is_heard(call: ModelCall, counter: Counter | None) -> bool:
    """Tells whether the provider has given a figure for any of this agent's calls that corrects what was counted.

    The figures of a counter that the app provides are taken as they are.
    """
    return counter is None and _answers(call).counted


class ProviderChain(NamedTuple):
    """Describes a call of an agent whose provider keeps the history.

    Attributes:
        kept: tokens of the newest request and its answer, by the provider's figure. 0 without one.
        began: tokens of the request that began the chain.
        has_left: whether something was left out when a chain began.
        new, whole: the contents that the provider does not have, and those that another model would be sent.
        is_new: whether the request begins a new chain, with all contents that fit.
    """

    kept: int
    began: int
    has_left: bool
    new: list[types.Content]
    whole: list[types.Content]
    is_new: bool = False


def chain_of(call: ModelCall, new: list[types.Content], whole: list[types.Content]) -> ProviderChain:
    """Returns the chain that a call goes on with. An older one ends if a prompt is much smaller than the last."""
    figures = [event.usage_metadata for event in _answers(call) if event.usage_metadata]
    prompts = [figure.prompt_token_count or 0 for figure in figures] or [0]
    # A prompt that is smaller by more than a tenth began a new chain. A shorter instruction explains less.
    falls = (place for place in range(len(prompts) - 1, 0, -1) if prompts[place] < 0.9 * prompts[place - 1])
    place = next(falls, 0)
    said = (figures[-1].candidates_token_count or 0) if prompts[-1] else 0
    return ProviderChain(prompts[-1] + said, prompts[place], place > 0, new, whole)


def is_broken(key: str | None, new: Sequence[types.Content], events: Sequence[Event]) -> bool:
    """Returns whether what is new leaves calls of the chain's last answer without results, which a provider refuses.

    A run that ends before the model is asked again, as one at a limit does, leaves such calls.
    """
    last = next((event for event in reversed(events) if event.interaction_id == key), None)
    if last is None:
        return False
    parts = (part for content in new for part in content.parts or ())
    answered = {part.function_response.id for part in parts if part.function_response}
    return any(call.id not in answered for call in last.get_function_calls())


class Calibration:
    """Tells what one estimated token is worth, for one agent and model, at each call of a history.

    Ask `scale` for the history's calls in order. `factor` is then what was known at that call: the provider's tokens
    for each estimated one, from the last few figures, and 1.0 before the first.
    """

    def __init__(self, figures: dict[int, tuple[int, int]], start: float | None = None) -> None:
        self.factor = start or 1.0
        self._figures = figures
        self._recent: deque[tuple[float, float]] = deque(maxlen=8)

    @classmethod
    def of(cls, call: ModelCall, request: LlmRequest, calls: Sequence[int], meter: TokenMeter) -> Calibration:
        """Returns the calibration for the request of `call`, of whose contents `calls` are the agent's own turns.

        Figures of other models than the request's own do not count.
        """
        if not (own := _answers(call)):
            return cls({})
        start = _start(call, own, request, meter)
        return cls(_figures(own, known_contents(call, whole_of(call, request.contents)), calls, request.model), start)

    def scale(self, previous: int, index: int, estimate: float, *, steady: bool) -> float:
        """Returns what to multiply the estimate of some contents by, once the model has answered them.

        Args:
            previous: index of the agent's turn before.
            index: index of the agent's turn that answers them.
            estimate: the estimated tokens of the contents from `previous` up to `index`.
            steady: whether the call at `index` sent all that the call before it had sent.
        """
        before, now = self._figures.get(previous), self._figures.get(index)
        if not before or not now or now[0] != before[0] + 1 or not steady or estimate <= 0:
            return self.factor
        ratio = (tokens := now[1] - before[1]) / estimate
        # The lower bound is strict, since a step that also removed something looks like cheap tokens, and would let a
        # request grow over its budget.
        lowest, highest = (0.5, 2.0) if self._recent else _PLAUSIBLE
        if not lowest * self.factor <= ratio <= highest * self.factor:
            return self.factor
        self._recent.append((tokens, estimate))
        self.factor = sum(actual for actual, _ in self._recent) / sum(guess for _, guess in self._recent)
        return ratio


def least_cached(request: LlmRequest, call: ModelCall, meter: TokenMeter) -> int:
    """Returns the fewest tokens that the provider caches, as estimated in steps, by its count of the first request."""
    least = cached_from(request.model)
    factor = Calibration.of(call, request, (), meter).factor if least else 1
    return -int(-least / factor // 256) * 256


class _Answers(list[Event]):
    """Holds the answers of one agent's model, and whether a provider counted any of its calls."""

    counted = False

    def take(self, events: Iterable[Event], agent: str) -> None:
        for event in events:
            # Fields are read from the dict of the model, since this runs for each event of a session.
            fields = event.__dict__
            if fields["author"] == agent:
                self.counted = self.counted or bool(fields["usage_metadata"])
                # Results of the agent's tools are the agent's events as well.
                if (content := fields["content"]) is not None and content.role == "model":
                    self.append(event)


def _answers(call: ModelCall) -> _Answers:
    agent = call.agent_name
    return read_events(call, ("answers", agent), _Answers, lambda own, new: own.take(new, agent), holds_events=True)


def _start(call: ModelCall, own: Sequence[Event], request: LlmRequest, meter: TokenMeter) -> float | None:
    """Returns the first figure divided by the estimate of what was sent, where only the user's words were sent."""
    first = own[0]
    before = partial(takewhile, lambda event: event is not first, call.events)
    if not all(event.author == "user" and event.content for event in before()):
        return None
    guess = sum(meter.fixed(request)) + sum(meter.content(event.content) for event in before() if event.content)
    # A short prompt is mostly what the provider adds to it, and says little about words.
    ratio = _prompt_tokens(first, request.model) / guess if guess >= _MEANINGFUL else 0.0
    return ratio if is_plausible(ratio) else None


def _figures(
    own: Sequence[Event], known: KnownContents, calls: Sequence[int], model: str | None
) -> dict[int, tuple[int, int]]:
    """Returns the number and the figure of each of the agent's answers in a request, by the index of its turn.

    Turns that an earlier call has looked at are not read again, since the answers that were left for them are the same.
    """
    found: dict[int, tuple[int, int, int]] = known.cache.kept(("figures", model), dict)
    number = len(own)
    for index in reversed(calls):
        mark = hash((number, own[number - 1].id, own[number - 1].timestamp))
        if index in found and found[index][0] == mark:
            break
        found[index] = mark, 0, 0
        for candidate in range(number - 1, max(number - 50, 0) - 1, -1):
            event = own[candidate]
            if event.content is not None and _same(known.contents[index], event.content):
                number, found[index] = candidate, (mark, candidate, _prompt_tokens(event, model))
                break
    return {index: (candidate, tokens) for index, (_, candidate, tokens) in found.items() if tokens}


def _prompt_tokens(event: Event, model: str | None) -> int:
    """Returns the provider's figure for a request to a model, or 0 without one."""
    usage, version, name = event.usage_metadata, event.model_version, (model or "").rsplit("/", 1)[-1]
    # A version such as "gemini-2.5-flash-001" belongs to the name "gemini-2.5-flash".
    is_other = version and name and name not in version and version not in name
    return 0 if usage is None or is_other else usage.prompt_token_count or 0


def _same(one: types.Content, other: types.Content) -> bool:
    mine, theirs = _said(one), _said(other)
    if mine is None or theirs is None:
        return mine is theirs
    return mine[:2] == theirs[:2] and (mine[3] is theirs[3] or mine[3] == theirs[3] or is_note(mine[3]))


def _said(content: types.Content) -> tuple[Any, ...] | None:
    """Returns what the first part says that is not a thought, since a pass may have dropped those."""
    parts = (part for part in content.parts or () if not part.thought and (part.text or part.function_call))
    return next(map(said_in, parts), None)
