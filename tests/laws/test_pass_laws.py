"""The laws of `laws.py`, over every pass of `passes.py`, on generated conversations.

`LAWS_EXAMPLES` sets how many conversations each pass is tried on, `LAWS_SEED` the seed ("random" for a new one), and
`LAWS_SHRINK=0` shows the first conversation that breaks a law, not the smallest. Examples and seed are
printed at the end of the run.
"""

from __future__ import annotations

import logging

import pytest
from hypothesis import given, seed

from tests.laws import laws
from tests.laws.passes import CASES, Case
from tests.support.conversations import Conversation, conversations
from tests.support.laws_settings import LAWS_SEED, laws_settings

pytestmark = [pytest.mark.laws, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True)
def _quiet():
    """ADK and the passes say a lot about conversations like these."""
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@seed(LAWS_SEED)
@laws_settings()
@given(conversation=conversations())
def test_the_laws_hold(case: Case, conversation: Conversation):
    """Every law holds for the pass on any conversation, save those that the pass is declared to be an exception of."""
    laws.check(case, conversation, except_for=case.except_for)
