"""The laws "reachable" and "active_stays" over every pass and every preset, on the kit's generated conversations."""

from __future__ import annotations

import logging

import pytest

from adk_context_pack.testing import generate
from adk_context_pack.testing.laws import active_stays, reachable
from tests.laws.passes import ORDERS, PASSES, Case

pytestmark = [pytest.mark.laws, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

COUNT = 40


@pytest.fixture(autouse=True)
def _quiet():
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("case", [*PASSES, *ORDERS], ids=lambda case: case.name)
def test_what_leaves_is_in_reach_and_active_instructions_stay(case: Case):
    """Whatever a pass or preset takes out can be read back by a tool that is named, and active skills stay whole."""
    for conversation in generate(COUNT, seed=8, state={"gaql_queries": [{"id": "q1"}]}):
        active_stays(case, conversation)
        if "reachable" not in case.except_for:
            reachable(case, conversation)
