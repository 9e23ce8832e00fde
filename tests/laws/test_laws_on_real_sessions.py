"""The laws over conversations that really took place: all of tau-bench's, and the sessions of google/adk-samples.

Each session is seen as the agent saw it that spoke in it, and as another agent is shown it, at its last model call and
at an earlier one. The cases take turns, so that each session meets some and each case meets several sessions.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import cycle, islice

import pytest
from google.adk.events.event import Event

from adk_context_pack import ModelCall
from tests.laws import adk_sessions, laws
from tests.laws.built_once import BuiltOnce
from tests.laws.passes import CASES, ORDERS, PASSES, Case
from tests.support import relay, tau_bench
from tests.support.conversation import Conversation

pytestmark = [pytest.mark.laws, pytest.mark.filterwarnings("ignore")]
SESSIONS = {
    "tau_bench": ("airline", tau_bench.conversations, 70, 4),
    "adk_sessions": (adk_sessions.AGENT, adk_sessions.sessions, 2, 45),
}
"""For each source: the agent that spoke, how to read it, how many sessions it has, and how many cases each one meets
at a time. With `WHOLE_LOAD` each meets all of them."""
MOMENTS = 6
FORMATS = (None, *relay.FORMATS)
BITES = {
    "own": {"compact", "newest", "clear", "clear all", "fit", "fit some", "fit small", "fit turns"},
    "relayed": {"strip", "strip all", "strip some", "cast", "cast short", "compact", "fit", "fit some", "fit small"},
}
"""What there is something to do for: results to clear in an agent's own history, logs to leave out of another's."""


def moments(events: Sequence[Event], agent: str) -> list[int]:
    """How many events there were at some of the agent's model calls, the last one among them."""
    own = (count for count, event in enumerate(events) if count and event.author == agent and event.content)
    calls = [count for count in own if events[count].content.role == "model"]
    step = max(len(calls) // MOMENTS, 1)
    return calls[::-step][::-1]


def told(events: Sequence[Event], view: str, agent: str, number: int) -> list[BuiltOnce]:
    """The session at an earlier model call of the agent and at its last, as it sees it or as another agent would."""
    whole = Conversation(
        agent=agent if view == "own" else "reviewer",
        events=tuple(events),
        settings={"ids": number % 2 == 0, "relay_format": FORMATS[number % len(FORMATS)]},
        instruction="Review {compact:gaql_queries}.",
        state={"gaql_queries": [{"id": "q1", "status": "success", "rows": 3}]},
    )
    grown = [whole.upto(count) for count in moments(events, agent)]
    earlier = 1 + number % len(grown)
    return [BuiltOnce(grown[count - 1], grown[:count]) for count in (earlier, len(grown))]


def turns(count: int) -> Iterator[list[Case]]:
    """`count` cases after another, again and again, each time with one of the orders."""
    every, orders = cycle(CASES), cycle(ORDERS)
    while True:
        yield [*islice(every, count), next(orders)]


def bites(session: BuiltOnce) -> Iterator[str]:
    """The passes that change something in the session."""
    for case in PASSES:
        request, call = session.built()
        if _changes(case, request, call):
            yield case.name


def _changes(case: Case, request, call: ModelCall) -> bool:
    result = case(request, call)
    return result.contents is not request.contents or result.config is not request.config


@pytest.mark.parametrize("view", ["own", "relayed"])
@pytest.mark.parametrize("source", SESSIONS)
def test_the_laws_hold_on_every_real_session(source: str, view: str):
    """No pass, pair or order breaks a law on what users and agents really said."""
    agent, read, expected, at_a_time = SESSIONS[source]
    found: set[str] = set()
    whose_turn = turns(len(CASES) if os.environ.get("WHOLE_LOAD") else at_a_time)
    sessions = list(read())
    for number, events in enumerate(sessions):
        earlier, last = told(events, view, agent, number)
        laws.check_cases(next(whose_turn), earlier)
        laws.check_cases(next(whose_turn), last)
        found.update(bites(last))
    assert len(sessions) == expected
    assert found >= BITES[view]
