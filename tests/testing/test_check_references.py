"""The law of references: nothing is resolved that the agent was not shown."""

import pytest

from adk_context_pack import resolve_results
from adk_context_pack.testing import check_references
from tests.support.references import ROWS, Taker, agent_of, handle_in
from tests.support.run import run_agent
from tests.support.scripted_model import call


def take(handle, path=""):
    return call("take", value=f"{{{{result:{handle}{path}}}}}")


async def test_the_law_notices_what_was_not_shown():
    """`check_references` fails for a session whose tool was given a result that no request shows."""
    taker = Taker()
    agent = agent_of(call("list_orders"), lambda request: take(handle_in(request), ".page"), taker=taker)
    run = await run_agent(agent, "Go.")
    check_references(run.session.events, run.requests)
    with pytest.raises(AssertionError, match="which a was not shown"):
        check_references(run.session.events, run.requests[:1])


async def test_tools_that_resolve_nothing_do_not_count():
    """A tool that gets the reference as a text is left out by naming the others."""
    taker = Taker()
    agent = agent_of(call("list_orders"), lambda request: take(handle_in(request)), taker=taker)
    run = await run_agent(agent, "Go.")
    check_references(run.session.events, [], tools={"other"})
    with pytest.raises(AssertionError, match="take was given"):
        check_references(run.session.events, [], tools={"take"})


async def test_the_law_holds_for_answers():
    """A handle that an event lists for its answer needs a request that shows it."""

    def answer(request):
        return f"All of {{{{result:{handle_in(request)}.page.total}}}}."

    tools = [resolve_results(ROWS, in_answers=True)]
    run = await run_agent(agent_of(call("list_orders"), answer, taker=Taker(), tools=tools), "Go.")
    check_references(run.session.events, run.requests)
    with pytest.raises(AssertionError, match="an answer may refer to"):
        check_references(run.session.events, run.requests[:1])
