"""Estimates set right by the figures that the provider gave for this session's own calls.

An event that a model call made carries `usage_metadata.prompt_token_count`: the size of the request that it answers.
The difference between two calls in a row is what came in between, measured by the provider's own tokenizer. All of it
stands in the session, so it survives a restart, and what is known at one call is known the same way ever after.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack.conversation.clearing import is_note
from adk_context_pack.conversation.event_fold import fold_events
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.conversation.tokens import TokenMeter

HIGHEST_FACTOR = 5.0
_PLAUSIBLE = (0.2, HIGHEST_FACTOR)
"""Figures outside are no matter of tokenizers: another callback rewrote that request, or the model counts nothing."""
_TYPICAL = (0.5, 2.0)
"""The same against the factor already known. Strict below, since a step in which something was taken out as well looks
like cheap tokens, and would let a request grow over its budget."""
_WINDOW = 8
_MEANINGFUL = 100
_SEARCHED = 50


def has_figures(call: ModelCall) -> bool:
    """Whether the provider has said anything about this agent's calls."""
    return _answers(call).counted


class Figure(NamedTuple):
    """What the provider said about one call: its number among the agent's events, and the prompt's tokens."""

    number: int
    tokens: int


class Calibration:
    """What one token of the estimate is worth, for one agent and model, as known at each call of a history.

    Go through the history's calls in order with `scale`; `factor` is then what was known at that call.

    Attributes:
        factor: provider's tokens for each estimated one, from the last few figures; 1.0 before the first.
    """

    def __init__(self, figures: dict[int, Figure], start: float | None = None) -> None:
        self.factor = start or 1.0
        self._known = start is not None
        self._figures = figures
        self._recent: deque[tuple[float, float]] = deque(maxlen=_WINDOW)

    @classmethod
    def of(
        cls, call: ModelCall, request: LlmRequest, calls: Sequence[int], fixed: int, meter: TokenMeter
    ) -> Calibration:
        """The calibration for the request of `call`.

        Args:
            call: whose request it is.
            request: the request; figures of other models than its own do not count.
            calls: the indexes of the agent's own turns among its contents (`_contents.model_calls`).
            fixed: estimated tokens of system instruction and tool declarations.
            meter: what the estimates are made with.
        """
        own = _answers(call).events
        if not own:
            return cls({})
        start = _start(call, own, request.model, fixed, meter)
        return cls(_figures(own, request.contents, calls, request.model), start)

    @property
    def is_settled(self) -> bool:
        """Whether no figure can change `factor`."""
        return not self._figures

    def scale(self, previous: int, index: int, estimate: float, *, steady: bool) -> float:
        """What to multiply the estimate of some contents with, once the call behind them has been answered.

        Args:
            previous: index of the agent's turn before.
            index: index of the agent's turn that answers them.
            estimate: the estimated tokens of the contents from `previous` up to `index`.
            steady: whether the call at `index` sent all that the call before it had sent.
        """
        before, now = self._figures.get(previous), self._figures.get(index)
        if not before or not now or now.number != before.number + 1 or not steady or estimate <= 0:
            return self.factor
        ratio = (now.tokens - before.tokens) / estimate
        lowest, highest = _TYPICAL if self._known and self._recent else _PLAUSIBLE
        if not lowest * self.factor <= ratio <= highest * self.factor:
            return self.factor
        self._recent.append((now.tokens - before.tokens, estimate))
        self.factor = sum(actual for actual, _ in self._recent) / sum(guess for _, guess in self._recent)
        self._known = True
        return ratio


class _Answers:
    """The answers of one agent's model, and whether a provider counted any of its calls."""

    def __init__(self, agent: str) -> None:
        self.events: list[Event] = []
        self.counted = False
        self._agent = agent

    def take(self, events: Iterable[Event]) -> None:
        for event in events:
            if event.author == self._agent:
                self.counted = self.counted or bool(event.usage_metadata)
                if _is_answer(event):
                    self.events.append(event)


def _answers(call: ModelCall) -> _Answers:
    return fold_events(
        call, ("answers", call.agent_name), lambda: _Answers(call.agent_name), _Answers.take, holds_events=True
    )


def _is_answer(event: Event) -> bool:
    # Results of the agent's tools are the agent's events as well.
    return event.content is not None and event.content.role == "model"


def _start(call: ModelCall, own: Sequence[Event], model: str | None, fixed: int, meter: TokenMeter) -> float | None:
    """The first figure against all that was sent then, where that is sure: the user's words and nothing else."""
    first = own[0]
    actual = _prompt_tokens(first, model)
    guess = fixed
    for event in call.events:
        if event is first:
            break
        if event.author != "user" or event.content is None:
            return None
        guess += meter.content(event.content)
    # A short prompt is mostly what the provider puts around it, and says little about words.
    ratio = actual / guess if guess >= _MEANINGFUL else 0.0
    return ratio if _PLAUSIBLE[0] <= ratio <= _PLAUSIBLE[1] else None


def _figures(
    own: Sequence[Event], contents: Sequence[types.Content], calls: Sequence[int], model: str | None
) -> dict[int, Figure]:
    """The figure behind each of the agent's turns in a request, found from the newest backwards."""
    found = {}
    number = len(own)
    for index in reversed(calls):
        for candidate in range(number - 1, max(number - _SEARCHED, 0) - 1, -1):
            event = own[candidate]
            if event.content is not None and _same(contents[index], event.content):
                number = candidate
                if tokens := _prompt_tokens(event, model):
                    found[index] = Figure(candidate, tokens)
                break
    return found


def _prompt_tokens(event: Event, model: str | None) -> int:
    usage = event.usage_metadata
    if usage is None or not _is_model(getattr(event, "model_version", None), model):
        return 0
    return usage.prompt_token_count or 0


def _is_model(version: str | None, model: str | None) -> bool:
    """Whether a model's version ("gemini-2.5-flash-001") belongs to the name in the request ("gemini-2.5-flash")."""
    if not version or not model:
        return True
    name = model.rsplit("/", 1)[-1]
    return name in version or version in name


def _same(one: types.Content, other: types.Content) -> bool:
    mine, theirs = _said(one), _said(other)
    if mine is None or theirs is None:
        return mine is theirs
    if mine.text is not None or theirs.text is not None:
        return mine.text == theirs.text
    left, right = mine.function_call, theirs.function_call
    if left is None or right is None:
        return left is right
    return left.name == right.name and (left.args is right.args or left.args == right.args or is_note(left.args))


def _said(content: types.Content) -> types.Part | None:
    """The first part that is no thought; a pass may have dropped those."""
    return next((part for part in content.parts or () if not part.thought and (part.text or part.function_call)), None)
