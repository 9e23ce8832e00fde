"""Corrects token estimates by the figures that the provider gave for the session's own calls.

The event of a model's answer carries `usage_metadata.prompt_token_count`, the size of the request that it answers. The
difference between two calls in a row is what was added in between, counted by the provider's own tokenizer. The session
holds all of these figures, so they survive a restart, and each call finds the same figures for the calls before it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import takewhile
from typing import Any, NamedTuple

from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack.conversation.known_contents import KnownContents, known_contents, read_events, said_in, whole_of
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.conversation.token_estimate import Counter, cached_from
from adk_context_pack.conversation.tokens import TokenMeter

HIGHEST_FACTOR = 5.0
_PLAUSIBLE = (0.2, HIGHEST_FACTOR)
"""No tokenizer explains a figure outside: another callback rewrote that request, or the model counts nothing."""
_TYPICAL = (0.5, 2.0)
"""The same relative to the factor already known. The lower bound is strict, since a step that also removed something
looks like cheap tokens, and would let a request grow over its budget."""
_MEANINGFUL = 100
_FALL = 0.9
"""A prompt that is smaller by more than a tenth began a new chain. A shorter instruction explains less."""
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
        new: the contents that the provider does not have.
        whole: the contents that another model would be sent.
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
    figures = [event.usage_metadata for event in _answers(call).events if event.usage_metadata]
    prompts = [figure.prompt_token_count or 0 for figure in figures] or [0]
    place = len(prompts) - 1
    while place and prompts[place] >= _FALL * prompts[place - 1]:
        place -= 1
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

    Ask `scale` for the history's calls in order. `factor` is then what was known at that call.

    Attributes:
        factor: the provider's tokens for each estimated one, from the last few figures. 1.0 before the first.
    """

    def __init__(self, figures: dict[int, tuple[int, int]], start: float | None = None) -> None:
        self.factor = start or 1.0
        self._figures = figures
        self._recent: deque[tuple[float, float]] = deque(maxlen=8)

    @classmethod
    def of(cls, call: ModelCall, request: LlmRequest, calls: Sequence[int], meter: TokenMeter) -> Calibration:
        """Returns the calibration for the request of `call`.

        Args:
            call: whose request it is.
            request: the request. Figures of other models than its own do not count.
            calls: the indexes of the agent's own turns among its contents. See `Outline.calls`.
            meter: makes the estimates.
        """
        own = _answers(call).events
        if not own:
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
        lowest, highest = _TYPICAL if self._recent else _PLAUSIBLE
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


class _Answers:
    """Collects the answers of one agent's model, and whether a provider counted any of its calls."""

    def __init__(self, agent: str) -> None:
        self.events: list[Event] = []
        self.counted = False
        self._agent = agent

    def take(self, events: Iterable[Event]) -> None:
        for event in events:
            # Fields are read from the dict of the model, since this runs for each event of a session.
            fields = event.__dict__
            if fields["author"] == self._agent:
                self.counted = self.counted or bool(fields["usage_metadata"])
                # Results of the agent's tools are the agent's events as well.
                if (content := fields["content"]) is not None and content.role == "model":
                    self.events.append(event)


def _answers(call: ModelCall) -> _Answers:
    agent = call.agent_name
    return read_events(call, ("answers", agent), lambda: _Answers(agent), _Answers.take, holds_events=True)


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
    found: dict[int, tuple[int, int]] = known.cache.kept(("figures", model), dict)
    marks: dict[int, int] = known.cache.kept(("answers", model), dict)
    number = len(own)
    for index in reversed(calls):
        mark = hash((number, own[number - 1].id, own[number - 1].timestamp))
        if marks.get(index) == mark:
            break
        marks[index] = mark
        found.pop(index, None)
        for candidate in range(number - 1, max(number - 50, 0) - 1, -1):
            event = own[candidate]
            if event.content is not None and _same(known.contents[index], event.content):
                number = candidate
                if tokens := _prompt_tokens(event, model):
                    found[index] = candidate, tokens
                break
    return found


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
    from adk_context_pack.conversation.clearing import is_note  # noqa: PLC0415 - loads with the passes

    return mine[:2] == theirs[:2] and (mine[3] is theirs[3] or mine[3] == theirs[3] or is_note(mine[3]))


def _said(content: types.Content) -> tuple[Any, ...] | None:
    """Returns what the first part says that is not a thought, since a pass may have dropped those."""
    parts = (part for part in content.parts or () if not part.thought and (part.text or part.function_call))
    return next(map(said_in, parts), None)
