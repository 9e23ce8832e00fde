"""Each law is seen red on a pass that breaks it, and green on a pass that does nothing."""

from __future__ import annotations

import copy
import logging

import pytest
from google.genai import types
from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.laws import laws
from tests.support.conversations import Conversation, conversations
from tests.support.laws_settings import LAWS_SEED

pytestmark = [pytest.mark.laws, pytest.mark.filterwarnings("ignore")]


def does_nothing(request, call):
    """The pass that keeps every law."""
    return request


def with_contents(request, contents):
    return request.model_copy(update={"contents": contents})


def writes_into_an_event(request, call):
    """Marks results as seen in the session's own dict."""
    for event in call.events:
        for response in event.get_function_responses():
            response.response["seen"] = True
    return request


def swaps_the_requests_list(request, call):
    """Assigns to the request instead of building a new one."""
    request.contents = list(request.contents)
    return request


def swaps_an_equal_copy_into_an_event(request, call):
    """Leaves values alike, but objects of the session are others than before."""
    for event in call.events:
        if event.content and event.content.parts:
            event.content.parts = copy.deepcopy(event.content.parts)
    return request


def copies_for_nothing(request, call):
    """Gives back an equal list."""
    return with_contents(request, list(request.contents))


def drops_one_each_time(request, call):
    """Drops the first content that is not the user's current message, again and again."""
    for index, content in enumerate(request.contents):
        if content.role == "user" and content != call.user_content and len(request.contents) > 1:
            return with_contents(request, [*request.contents[:index], *request.contents[index + 1 :]])
    return request


def adds_a_note(request, call):
    """Says that it was there."""
    if not request.contents or any((p.text or "") == "was here" for c in request.contents for p in c.parts or ()):
        return request
    note = types.Content(role="user", parts=[types.Part(text="was here")])
    return with_contents(request, [note, *request.contents])


def drops_results(request, call):
    """Drops contents with results, and leaves their calls."""
    kept = [content for content in request.contents if not any(p.function_response for p in content.parts or ())]
    return request if len(kept) == len(request.contents) else with_contents(request, kept)


def cuts_a_window(request, call):
    """A sliding window of the last three contents, as `contents[-3:]`."""
    return request if len(request.contents) <= 3 else with_contents(request, request.contents[-3:])


def forgets_the_user(request, call):
    """Drops the user's current message."""
    kept = [content for content in request.contents if content != call.user_content]
    return request if len(kept) == len(request.contents) else with_contents(request, kept)


def trims_the_users_words(request, call):
    """Takes the user's spaces away."""
    if not any((p.text or "") != (p.text or "").strip() for c in request.contents for p in c.parts or ()):
        return request
    contents = copy.deepcopy(request.contents)
    for content in contents:
        for part in content.parts or ():
            part.text = part.text and part.text.strip()
    return with_contents(request, contents)


def drops_all_blocks(request, call):
    """The circulating recipe: everything whose first part reads like a relay, whoever wrote it."""
    kept = [c for c in request.contents if not (c.parts and (c.parts[0].text or "").startswith("For context"))]
    return request if len(kept) == len(request.contents) else with_contents(request, kept)


def counts_what_it_dropped(request, call):
    """Replaces the first content by a number that changes with every event."""
    if not request.contents or not call.events or len((request.contents[0].parts or [types.Part()])[0].text or "") < 3:
        return request
    number = types.Content(role=request.contents[0].role, parts=[types.Part(text=str(len(call.events) % 100))])
    return with_contents(request, [number, *request.contents[1:]])


def loses_signatures(request, call):
    """Builds call parts anew, without their thought signatures."""
    if not any(part.thought_signature for content in request.contents for part in content.parts or ()):
        return request
    contents = [
        content.model_copy(
            update={"parts": [part.model_copy(update={"thought_signature": None}) for part in content.parts or ()]}
        )
        for content in request.contents
    ]
    return with_contents(request, contents)


def raises(request, call):
    """Meets something that it did not expect."""
    if any(not content.parts for content in request.contents) or len(request.contents) > 4:
        raise TypeError
    return request


BREAKERS = [
    (laws.pure, writes_into_an_event),
    (laws.pure, swaps_the_requests_list),
    (laws.pure, swaps_an_equal_copy_into_an_event),
    (laws.idle_is_identity, copies_for_nothing),
    (laws.settled, drops_one_each_time),
    (laws.never_grows, adds_a_note),
    (laws.paired, drops_results),
    (laws.paired, cuts_a_window),
    (laws.heard, forgets_the_user),
    (laws.heard, trims_the_users_words),
    (laws.heard, drops_all_blocks),
    (laws.keeps_what_users_typed, drops_all_blocks),
    (laws.steady, cuts_a_window),
    (laws.steady, counts_what_it_dropped),
    (laws.no_new_problem, drops_results),
    (laws.no_new_problem, cuts_a_window),
    (laws.no_new_problem, loses_signatures),
    (laws.settled, raises),
]


@pytest.fixture(autouse=True)
def _quiet():
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


def tried(apply, law=None) -> None:
    """Tries one law, or all, on conversations until one breaks it."""

    @seed(LAWS_SEED)
    @settings(
        max_examples=400,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(conversations())
    def look(conversation: Conversation) -> None:
        if law:
            law(apply, conversation)
        else:
            laws.check(apply, conversation)

    look()


@pytest.mark.parametrize(("law", "apply"), BREAKERS, ids=lambda value: value.__name__)
def test_a_bad_pass_breaks_its_law(law, apply):
    """The generator finds a conversation on which the bad pass is caught."""
    with pytest.raises((AssertionError, TypeError)):
        tried(apply, law)


def test_every_law_has_a_pass_that_breaks_it():
    """No law stands there that nothing was ever seen to break."""
    assert {law for law, _ in BREAKERS} == set(laws.LAWS)


@seed(LAWS_SEED)
@settings(max_examples=100, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(conversation=conversations())
def test_the_pass_that_does_nothing_keeps_every_law(conversation):
    """The laws ask nothing that ADK's own requests do not fulfil."""
    laws.check(does_nothing, conversation)
