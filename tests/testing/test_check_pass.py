"""check_pass: good passes pass, and each bad one is named by the law that it breaks."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from adk_context_pack import (
    CastNarrative,
    ClearToolResults,
    CompactState,
    ContextPass,
    DropOldMedia,
    DropOldThoughts,
    FitTokenBudget,
    KeepNewestResult,
    SettingError,
    StripForContext,
)
from adk_context_pack.testing import LAWS, Conversation, check_pass
from tests.support.breakers import (
    adds_a_note,
    copies_for_nothing,
    cuts_a_window,
    drops_one_each_time,
    drops_results,
    empties_results,
    forgets_the_user,
    swaps_the_requests_list,
    with_contents,
    writes_into_an_event,
)
from tests.support.events import agent_said, user_said
from tests.support.histories import many_turns
from tests.support.requests import call_for, request_for

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def raises(request, call):
    raise KeyError("odd")


BAD = [
    (writes_into_an_event, "pure"),
    (swaps_the_requests_list, "pure"),
    (copies_for_nothing, "idle_is_identity"),
    (drops_one_each_time, "settled"),
    (adds_a_note, "never_grows"),
    (drops_results, "paired"),
    (forgets_the_user, "heard"),
    (cuts_a_window, "steady"),
    (empties_results, "reachable"),
    (empties_results, "active_stays"),
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("good", "except_for"),
    [
        (StripForContext(), {"reachable"}),
        (CastNarrative(), ()),
        (ClearToolResults(), {"steady"}),
        (FitTokenBudget(max_tokens=300), {"steady"}),
        (DropOldMedia(min_bytes=0), {"steady", "never_grows"}),
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


@pytest.mark.slow
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
    with pytest.raises(AssertionError, match='swaps_the_requests_list breaks the law "pure"'):
        check_pass(swaps_the_requests_list, requests=pairs, examples=0)
    assert pairs[0][0] == before


@pytest.mark.parametrize("setting", [{"except_for": {"stedy"}}, {"except_for": "steady"}])
def test_a_law_that_does_not_exist_is_refused(setting):
    """A slip in a name would otherwise spare nothing, or everything."""
    with pytest.raises(SettingError, match="ste"):
        check_pass(StripForContext(), **setting)
