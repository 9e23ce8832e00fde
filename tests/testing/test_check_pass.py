"""check_pass: good passes pass, and each bad one is named by the law that it breaks."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from google.genai import types

from adk_context_pack import (
    CastNarrative,
    ClearToolResults,
    CompactState,
    ContextPass,
    DropOldThoughts,
    FitTokenBudget,
    KeepNewestResult,
    SettingError,
    StripForContext,
)
from adk_context_pack.testing import LAWS, Conversation, check_pass
from tests.support.events import agent_said, user_said
from tests.support.histories import many_turns
from tests.support.requests import call_for, request_for

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def with_contents(request, contents):
    return request.model_copy(update={"contents": contents})


def writes_into_events(request, call):
    for event in call.events:
        for response in event.get_function_responses():
            response.response["seen"] = True
    return request


def assigns_to_the_request(request, call):
    request.contents = list(request.contents)
    return request


def copies_for_nothing(request, call):
    return with_contents(request, list(request.contents))


def drops_one_each_time(request, call):
    for index, content in enumerate(request.contents):
        if content.role == "user" and content != call.user_content and not content.parts[0].function_response:
            return with_contents(request, [*request.contents[:index], *request.contents[index + 1 :]])
    return request


def adds_a_note(request, call):
    if any(part.text == "was here" for content in request.contents for part in content.parts or ()):
        return request
    note = types.Content(role="user", parts=[types.Part(text="was here")])
    return with_contents(request, [note, *request.contents])


def drops_results(request, call):
    kept = [content for content in request.contents if not any(p.function_response for p in content.parts or ())]
    return request if len(kept) == len(request.contents) else with_contents(request, kept)


def forgets_the_user(request, call):
    kept = [content for content in request.contents if content != call.user_content]
    return request if len(kept) == len(request.contents) else with_contents(request, kept)


def cuts_a_window(request, call):
    return request if len(request.contents) <= 3 else with_contents(request, request.contents[-3:])


def raises(request, call):
    raise KeyError("odd")


BAD = [
    (writes_into_events, "pure"),
    (assigns_to_the_request, "pure"),
    (copies_for_nothing, "idle_is_identity"),
    (drops_one_each_time, "settled"),
    (adds_a_note, "never_grows"),
    (drops_results, "paired"),
    (forgets_the_user, "heard"),
    (cuts_a_window, "steady"),
]


@pytest.mark.parametrize(("bad", "law"), BAD, ids=lambda value: getattr(value, "__name__", value))
def test_a_bad_pass_is_named_by_its_law(bad, law):
    """Tried on that law alone the pass is caught, and the message names pass and law and shows the conversation."""
    with pytest.raises(AssertionError, match=f'{bad.__name__} breaks the law "{law}"') as caught:
        check_pass(bad, except_for=LAWS.keys() - {law})
    assert "Conversation for agent" in str(caught.value)


def test_every_law_has_a_pass_that_breaks_it():
    """No law stands there that nothing was ever seen to break."""
    assert {law for _, law in BAD} == set(LAWS)


def test_a_pass_that_raises_is_said_to_raise():
    """The error is not taken for a broken law, and its cause is attached."""
    with pytest.raises(AssertionError, match="raises raises KeyError") as caught:
        check_pass(raises)
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize(
    ("good", "except_for"),
    [
        (StripForContext(), ()),
        (CastNarrative(), ()),
        (ClearToolResults(), {"steady"}),
        (FitTokenBudget(max_tokens=300), {"steady"}),
        (DropOldThoughts(), {"steady"}),
        (KeepNewestResult(min_tokens=1), {"steady"}),
        (CompactState(key="queries"), {"never_grows"}),
        (lambda request, call: request, ()),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_good_passes_pass(good, except_for):
    """The pack's own passes keep the laws on the kit's conversations, and so does one that does nothing."""
    check_pass(good, examples=30, state={"queries": [{"id": 1}]}, except_for=except_for)


def test_sessions_of_ones_own_are_tried_too():
    """A conversation that only an own session has is enough to catch a pass."""

    @dataclass(frozen=True, kw_only=True)
    class HidesMagicWord(ContextPass):
        """Drops what the user says after a magic word."""

        def apply(self, request, call):
            kept = [c for c in request.contents if "abracadabra" not in (c.parts[0].text or "")]
            return request if len(kept) == len(request.contents) else with_contents(request, kept)

    check_pass(HidesMagicWord(), examples=50)
    own = Conversation(agent="a", events=[user_said("hi"), agent_said("a", "yes?"), user_said("abracadabra")])
    with pytest.raises(AssertionError, match='hides_magic_word breaks the law "heard"'):
        check_pass(HidesMagicWord(), conversations=[own], examples=0)


def test_requests_of_ones_own_are_tried_on_all_laws_but_steady():
    """Pairs of request and call, where there is no session; the request itself is not written into."""
    events = many_turns(2)
    pairs = [(request_for("a", events), call_for("a", events))]
    before = pairs[0][0].model_copy(deep=True)
    check_pass(cuts_a_window, requests=pairs, examples=0, except_for={"paired", "heard", "settled"})
    with pytest.raises(AssertionError, match='assigns_to_the_request breaks the law "pure"'):
        check_pass(assigns_to_the_request, requests=pairs, examples=0)
    assert pairs[0][0] == before


@pytest.mark.parametrize("setting", [{"except_for": {"stedy"}}, {"except_for": "steady"}])
def test_a_law_that_does_not_exist_is_refused(setting):
    """A slip in a name would otherwise spare nothing, or everything."""
    with pytest.raises(SettingError, match="ste"):
        check_pass(StripForContext(), **setting)


def test_what_cannot_be_called_is_refused():
    """The error holds the value."""
    with pytest.raises(SettingError, match="'strip'"):
        check_pass("strip")
