"""The laws that every pass of this package is held to, each a check that raises AssertionError.

The seven of `adk_context_pack.testing`, which anybody can try on a pass of their own, and two more: nothing that users
typed is lost, and no provider finds more to refuse.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection

from google.adk.models.llm_request import LlmRequest

from adk_context_pack.model_call import ModelCall
from adk_context_pack.testing.laws import heard, idle_is_identity, never_grows, paired, pure, settled, steady
from adk_context_pack.testing.picture import picture
from tests.support.conversations import Conversation
from tests.support.provider_rules import new_problems

Apply = Callable[[LlmRequest, ModelCall], LlmRequest]


def keeps_what_users_typed(apply: Apply, conversation: Conversation) -> None:
    """Every message of a user stands in the result as often as it stood in the request; for passes that cut nothing."""
    request, call = conversation.built()
    result = apply(request, call)
    typed = Counter(picture(e.content) for e in call.events if e.author == "user" and not e.get_function_responses())
    before, after = (Counter(map(picture, contents)) for contents in (request.contents, result.contents))
    lost = [content for content, count in typed.items() if after[content] < min(count, before[content])]
    assert not lost, f"{len(lost)} messages of a user are gone"


def no_new_problem(apply: Apply, conversation: Conversation) -> None:
    """No provider has more to refuse than before."""
    request, call = conversation.built()
    result = apply(request, call)
    problems = new_problems(request.contents, result.contents)
    assert not problems, problems


LAWS: tuple[Callable[[Apply, Conversation], None], ...] = (
    pure,
    idle_is_identity,
    settled,
    never_grows,
    paired,
    heard,
    keeps_what_users_typed,
    steady,
    no_new_problem,
)
"""All of them; `keeps_what_users_typed` is for passes that cut nothing."""


def check(apply: Apply, conversation: Conversation, *, except_for: Collection[str] = ()) -> None:
    """All laws, save those named in `except_for`; the law that is broken is named in the error."""
    for law in LAWS:
        if law.__name__ not in except_for:
            try:
                law(apply, conversation)
            except Exception as error:
                error.add_note(f"law: {law.__name__}")
                raise
