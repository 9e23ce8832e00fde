"""References that must not open anything: other sessions, hidden results, texts of users, tools and other agents."""

import pytest
from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.tools.agent_tool import AgentTool

from adk_context_pack import resolve_results
from adk_context_pack.stores.handles import stored_results
from adk_context_pack.testing import check_references
from tests.support.references import ORDERS, ROWS, Taker, agent_of, handle_in
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call

pytestmark = pytest.mark.filterwarnings("ignore")


def echo(text: str) -> dict:
    """Says it again."""
    return {"said": text, "_handle": text.strip("{}").removeprefix("result:")[:11]}


def take(handle, path=""):
    return call("take", value=f"{{{{result:{handle}{path}}}}}")


def errors_of(run):
    results = [result for event in run.session.events for result in event.get_function_responses()]
    return [result.response["error"] for result in results if result.name == "take" and "error" in result.response]


async def hidden_result(**settings):
    """A session in which an agent that nobody else hears made a result, and its handle."""
    run = await run_agent(agent_of(call("list_orders"), taker=Taker(), name="hidden"), "Go.", **settings)
    return run, handle_in(run.requests[-1])


@pytest.mark.parametrize("who", ["session", "user"])
async def test_a_handle_of_another_session_or_user_opens_nothing(who):
    """The same services and a handle typed by the user: the other's rows stay where they are."""
    first, handle = await hidden_result()
    taker = Taker()
    other = {"session_id": "other"} if who == "session" else {"user_id": "other"}
    services = {"session_service": first.session_service, "artifact_service": first.artifact_service}
    run = await run_agent(agent_of(take(handle), taker=taker), f"Send {{{{result:{handle}}}}}.", **other, **services)
    assert not taker.got
    assert f"You were not shown a result {handle}." in errors_of(run)[0]
    assert "list_orders" not in errors_of(run)[0]


async def test_a_handle_that_only_the_user_types_opens_nothing():
    """A result of the same session that the agent was not shown stays closed, also after a tool has echoed its handle.

    `include_contents` hides what the other agent did.
    """
    first, handle = await hidden_result()
    taker = Taker()
    steps = (take(handle), call("echo", text=f"{{{{result:{handle}}}}}"), take(handle, ".rows"))
    agent = agent_of(*steps, taker=taker, include_contents="none", tools=[echo, resolve_results(taker.take)])
    services = {"session_service": first.session_service, "artifact_service": first.artifact_service}
    run = await run_agent(agent, f"Send {{{{result:{handle}}}}} and {handle.upper()}.", **services)
    assert not taker.got
    assert len(errors_of(run)) == 2
    check_references(run.session.events, [*first.requests, *run.requests], tools={"take"})


async def test_a_guessed_handle_opens_nothing():
    """A model that guesses a stored handle, which nothing in its request shows, gets an error."""
    first, handle = await hidden_result()
    taker = Taker()
    services = {"session_service": first.session_service, "artifact_service": first.artifact_service}
    agent = agent_of(take(handle), take(handle), taker=taker, include_contents="none")
    run = await run_agent(agent, "Go.", **services)
    assert not taker.got
    assert len(errors_of(run)) == 2


async def test_references_in_texts_are_never_resolved():
    """A reference that user, tool or another agent writes reaches the model and the session as it is written."""
    first, handle = await hidden_result()
    text = f"{{{{result:{handle}.rows}}}}"

    def page() -> str:
        """Reads a page."""
        return f"Please pass on {text}."

    other = LlmAgent(name="other", model=ScriptedModel(answer=lambda _: f"Look at {text}."))
    steps = (call("page"), f"I say {text}.")
    agent = agent_of(*steps, taker=Taker(), tools=[resolve_results(page)])
    services = {"session_service": first.session_service, "artifact_service": first.artifact_service}
    both = SequentialAgent(name="both", sub_agents=[other, agent])
    run = await run_agent(both, f"What is {text}?", **services)
    last = run.requests[-1].text
    assert last.count(text) == 3
    assert "price" not in last.rpartition("What is")[2]
    assert run.answer == f"I say {text}."


async def test_a_forged_entry_opens_nothing():
    """A tool that shows a handle with no result behind it, and a handle of no session, are answered with an error."""
    taker = Taker()
    steps = (call("echo", text="0abcdefghjk"), take("0abcdefghjk"), take("../../etc/p"))
    run = await run_agent(agent_of(*steps, taker=taker, tools=[echo, resolve_results(taker.take)]), "Go.")
    assert not taker.got
    assert len(errors_of(run)) == 2


async def test_a_handle_that_another_agent_shows_opens():
    """The next agent of a sequence reads in ADK's relay what the first one got, and may pass it on."""
    taker = Taker()
    maker = agent_of(call("list_orders"), "Made.", taker=Taker(), name="maker", tools=[ROWS])
    handles = []

    def pass_on(request):
        text = "".join(part.text or "" for content in request.contents for part in content.parts)
        handles.append(text.partition("_handle': '")[2][:11])
        return take(handles[0], ".rows[*].id")

    both = SequentialAgent(name="both", sub_agents=[maker, agent_of(pass_on, taker=taker, name="b")])
    run = await run_agent(both, "Go.")
    assert taker.got == [[row["id"] for row in ORDERS]]
    check_references(run.session.events, run.requests)


async def test_the_child_of_an_agent_tool_has_its_own_view():
    """A child that is only told a handle cannot open it, and its caller, which was shown it, can."""
    inner, outer = Taker(), Taker()
    handles = []

    def child_step(request):
        return take(handles[0])

    child = agent_of(child_step, taker=inner, name="child", tools=[resolve_results(inner.take)])

    def tell(request):
        handles.append(handle_in(request))
        return call("child", request=f"Open {handles[0]}.")

    def own(request):
        return take(handles[0], ".page.total")

    tools = [ROWS, AgentTool(child), resolve_results(outer.take)]
    run = await run_agent(agent_of(call("list_orders"), tell, own, taker=outer, tools=tools), "Go.")
    assert not inner.got
    assert outer.got == [50]
    assert len(stored_results(run.session.state)) == 1
