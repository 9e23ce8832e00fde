"""Each law is seen red on a pass that breaks it, and green on a pass that does nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.laws import laws
from tests.laws.built_once import BuiltOnce
from tests.laws.passes import PASSES, case, pairs_of
from tests.support import breakers
from tests.support.breakers import Bad
from tests.support.conversation import Conversation
from tests.support.conversations import conversations
from tests.support.laws_settings import LAWS_SEED

pytestmark = [pytest.mark.laws, pytest.mark.filterwarnings("ignore")]
BREAKERS = [
    (laws.pure, breakers.writes_into_an_event), (laws.pure, breakers.swaps_the_requests_list),
    (laws.pure, breakers.swaps_an_equal_copy_into_an_event), (laws.idle_is_identity, breakers.copies_for_nothing),
    (laws.settled, breakers.drops_one_each_time), (laws.comes_to_rest, breakers.drops_one_each_time),
    (laws.never_grows, breakers.adds_a_note), (laws.paired, breakers.drops_results),
    (laws.paired, breakers.cuts_a_window), (laws.heard, breakers.forgets_the_user),
    (laws.heard, breakers.trims_the_users_words), (laws.heard, breakers.drops_all_blocks),
    (laws.keeps_what_users_typed, breakers.drops_all_blocks), (laws.steady, breakers.cuts_a_window),
    (laws.steady, breakers.counts_what_it_dropped), (laws.no_new_problem, breakers.drops_results),
    (laws.no_new_problem, breakers.cuts_a_window), (laws.no_new_problem, breakers.loses_signatures),
    (laws.settled, breakers.raises),
]  # fmt: skip


def looked_at(check: Callable[[Conversation], None]) -> None:
    """Calls `check` with conversations until it raises."""

    @seed(LAWS_SEED)
    @settings(
        max_examples=400, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )
    @given(conversations())
    def look(conversation: Conversation) -> None:
        check(conversation)

    look()


@pytest.mark.parametrize(("law", "apply"), BREAKERS, ids=lambda value: value.__name__)
def test_a_bad_pass_breaks_its_law(law, apply):
    """The generator finds a conversation on which the bad pass is caught."""
    with pytest.raises((AssertionError, TypeError)):
        looked_at(lambda conversation: law(apply, conversation))


def test_every_law_has_a_pass_that_breaks_it():
    """No law stands there that nothing was ever seen to break."""
    assert {law for law, _ in BREAKERS} == set(laws.LAWS)


def test_a_pair_that_breaks_a_law_is_noticed_where_neither_of_its_members_does():
    """Each of two passes is settled; one after the other they never are."""
    even, odd = case("even", Bad(breakers.makes_lengths_even)), case("odd", Bad(breakers.makes_lengths_odd))
    both = case("even, odd", *even.passes, *odd.passes)
    looked_at(lambda conversation: [laws.settled(made, conversation) for made in (even, odd)])
    with pytest.raises(AssertionError, match="second time"):
        looked_at(lambda conversation: laws.settled(both, conversation))


@pytest.mark.parametrize("other", PASSES, ids=lambda made: made.name)
def test_a_broken_pass_is_noticed_in_every_pair(other):
    """The pairs that the list of passes makes are tried among sound ones, and the error names the pair that is not."""
    pairs = pairs_of((case("broken", Bad(breakers.drops_results)), other))
    assert [pair.name for pair in pairs] == [f"broken, {other.name}", f"{other.name}, broken"]
    for pair in pairs:
        with pytest.raises(AssertionError) as error:
            looked_at(lambda conversation, pair=pair: laws.check_cases([*PASSES[:2], pair], BuiltOnce(conversation)))
        assert f"case: {pair.name}" in error.value.__notes__


def test_what_writes_is_noticed_among_passes_that_do_not():
    """Whether anything was written into is looked at once for several cases, and all of them are named."""
    cases = [*PASSES[:2], case("writes", Bad(breakers.writes_into_an_event))]
    with pytest.raises(AssertionError) as error:
        looked_at(lambda conversation: laws.check_cases(cases, BuiltOnce(conversation)))
    assert {"law: pure", "case: one of strip; strip all; writes"} <= set(error.value.__notes__)


@seed(LAWS_SEED)
@settings(max_examples=100, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(conversation=conversations())
def test_the_pass_that_does_nothing_keeps_every_law(conversation):
    """The laws ask nothing that ADK's own requests do not fulfil."""
    laws.check(breakers.does_nothing, conversation)
