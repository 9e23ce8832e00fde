"""The laws that every pass of this package is held to, each a check that raises AssertionError.

The seven of `adk_context_pack.testing`, which anybody can try on a pass of their own, and three more: nothing that
users typed is lost, no provider finds more to refuse, and what is not settled at once is settled soon.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Protocol

from google.adk.models.llm_request import LlmRequest

from adk_context_pack import ModelCall
from adk_context_pack.testing import laws as seven
from adk_context_pack.testing.laws import heard, idle_is_identity, never_grows, paired, picture, pure, settled
from tests.laws.built_once import BuiltOnce
from tests.support.conversation import Conversation
from tests.support.provider_rules import new_problems

Apply = Callable[[LlmRequest, ModelCall], LlmRequest]
Told = Conversation | BuiltOnce


class Tried(Protocol):
    """What the laws are tried on: passes with a name, as `Case`."""

    name: str
    except_for: frozenset[str]

    def __call__(self, request: LlmRequest, call: ModelCall) -> LlmRequest:
        """The request after the passes."""


def steady(apply: Apply, conversation: Told) -> None:
    """What was already sent stays a prefix, save where ADK itself starts a request anew."""
    for stretch in (conversation if isinstance(conversation, BuiltOnce) else BuiltOnce(conversation)).stretches():
        seven.steady(apply, stretch)


def keeps_what_users_typed(apply: Apply, conversation: Told) -> None:
    """Every message of a user stands in the result as often as it stood in the request; for passes that cut nothing."""
    request, call = conversation.built()
    result = apply(request, call)
    typed = Counter(picture(e.content) for e in call.events if e.author == "user" and not e.get_function_responses())
    before, after = (Counter(map(picture, contents)) for contents in (request.contents, result.contents))
    lost = [content for content, count in typed.items() if after[content] < min(count, before[content])]
    assert not lost, f"{len(lost)} messages of a user are gone"


def comes_to_rest(apply: Apply, conversation: Told) -> None:
    """Asked again and again, nothing changes from the fourth time on; for passes that need not be settled at once."""
    request, call = conversation.built()
    for _ in range(3):
        request = apply(request, call)
    again = apply(request, call)
    assert picture(again.contents) == picture(request.contents), "the fourth time changed contents"


def no_new_problem(apply: Apply, conversation: Told) -> None:
    """No provider has more to refuse than before."""
    request, call = conversation.built()
    result = apply(request, call)
    problems = new_problems(request.contents, result.contents)
    assert not problems, problems


LAWS: tuple[Callable[[Apply, Conversation], None], ...] = (
    pure, idle_is_identity, settled, comes_to_rest, never_grows, paired, heard, keeps_what_users_typed, steady,
    no_new_problem,
)  # fmt: skip
"""All of them; `keeps_what_users_typed` is for passes that cut nothing."""


def check(apply: Apply, conversation: Told, *, except_for: Collection[str] = ()) -> None:
    """All laws, save those named in `except_for`; the law that is broken is named in the error."""
    for law in LAWS:
        # What is settled at once has come to rest.
        implied = law is comes_to_rest and settled.__name__ not in except_for
        if law.__name__ not in except_for and not implied:
            try:
                law(apply, conversation)
            except Exception as error:
                error.add_note(f"law: {law.__name__}")
                raise


def check_cases(cases: Sequence[Tried], conversation: Told) -> None:
    """All laws on several cases; the case and the law that is broken are named in the error.

    Whether anything was written into is looked at once for all of them, since that takes as long as the other laws
    together. Afterwards it cannot be told which of them it was: what is written a second time changes nothing.
    """

    def all_of_them(request: LlmRequest, call: ModelCall) -> LlmRequest:
        for case in cases:
            case(request, replace(call, memo={}, notes=[]))
        return request

    _named(f"one of {'; '.join(case.name for case in cases)}", all_of_them, conversation, {pure.__name__})
    for case in cases:
        _named(case.name, case, conversation, _NAMES - case.except_for - {pure.__name__})


def _named(name: str, apply: Apply, conversation: Told, wanted: Collection[str]) -> None:
    try:
        check(apply, conversation, except_for=_NAMES - wanted)
    except Exception as error:
        error.add_note(f"case: {name}")
        raise


_NAMES = frozenset(law.__name__ for law in LAWS)
