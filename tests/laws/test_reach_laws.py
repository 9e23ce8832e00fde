"""The laws "reachable" and "active_stays" over every pass, every pair and every preset, on generated conversations."""

from __future__ import annotations

import pytest
from hypothesis import given, seed

from adk_context_pack.testing import generate
from adk_context_pack.testing.laws import active_stays, reachable
from tests.laws.built_once import BuiltOnce
from tests.laws.passes import GROUPS, ORDERS, PASSES, Case
from tests.support.conversation import Conversation
from tests.support.conversations import conversations
from tests.support.laws_settings import LAWS_EXAMPLES, laws_settings, shares, some_of

pytestmark = [pytest.mark.laws, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
COUNT = 40
REACH_EXAMPLES = LAWS_EXAMPLES // 10
"""The share of the laws' conversations that is tried here: each of them is searched page by page."""


@pytest.mark.parametrize("case", [*PASSES, *ORDERS], ids=lambda case: case.name)
def test_what_leaves_is_in_reach_and_active_instructions_stay(case: Case):
    """Whatever a pass or preset takes out can be read back by a tool that is named, and active skills stay whole."""
    for conversation in generate(COUNT, seed=8, state={"gaql_queries": [{"id": "q1"}]}):
        active_stays(case, conversation)
        if "reachable" not in case.except_for:
            reachable(case, conversation)


@pytest.mark.parametrize(("group", "number", "examples"), shares(GROUPS, of=REACH_EXAMPLES))
def test_both_laws_hold_on_any_conversation(group: str, number: int, examples: int):
    """They hold for each case also on sessions that are malformed, forged, compacted, rewound or on branches."""

    @seed(number)
    @laws_settings(examples)
    @given(conversation=conversations(skills=True), cases=some_of(GROUPS[group]))
    def look(conversation: Conversation, cases: list[Case]) -> None:
        told = BuiltOnce(conversation)
        for case in cases:
            for law in (active_stays, reachable):
                if law.__name__ not in case.except_for:
                    law(case, told)

    look()
