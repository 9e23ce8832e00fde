"""References in an answer: the app's user reads the values, and the session keeps what the model wrote."""

import copy
import json

import pytest
from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from adk_context_pack import PayloadStore, SettingError, cap_rows, defer_tools, resolve_answer, resolve_results
from adk_context_pack.testing import check_references
from tests.support.references import LETTER, ORDERS, ROWS, TEXT, Taker, agent_of, handle_in, list_orders
from tests.support.run import run_agent, said, session_service
from tests.support.scripted_model import ScriptedModel, call

LISTED = "context_pack_answer_references"


def answering(*paths, text=None, tool="list_orders"):
    """A step that answers with references to the newest result of a tool, at each `{}` of a text."""

    def step(request):
        references = [f"{{{{result:{handle_in(request, tool)}{path}}}}}" for path in paths]
        return (text or "{}").replace("{}", "%s") % tuple(references)

    return step


def agent_with(*steps, tools=(ROWS, TEXT), in_answers=True, **settings):
    taker = Taker()
    given = [*tools, resolve_results(taker.take, in_answers=in_answers)]
    return agent_of(*steps, taker=taker, tools=given, **settings)


async def resolved(run, event=None, **settings):
    return await resolve_answer(event or run.events[-1], run.session, run.artifact_service, **settings)


@pytest.mark.parametrize("place", ["state", "artifacts"])
@pytest.mark.parametrize("service", ["memory", "sqlite"])
async def test_the_user_reads_values_and_the_session_keeps_references(service, place, tmp_path):
    """Texts come as they are and other values as JSON, from either store, also for the event as it was stored."""
    rows = cap_rows(list_orders, max_rows=2, store=PayloadStore(place=place))
    step = answering(".rows[3].id", ".rows[7].tags", ".rows[7].name", text="No {}: {}, {}.")
    async with session_service(service, tmp_path) as sessions:
        run = await run_agent(agent_with(call("list_orders"), step, tools=[rows]), "Go.", session_service=sessions)
    stored = run.session.events[-1]
    before = copy.deepcopy((run.events[-1], run.session))
    for event in (run.events[-1], stored):
        assert await resolved(run, event) == (answer := await resolved(run))
        assert event.custom_metadata[LISTED] == [handle_in(run.requests[-1])]
    assert answer.text == f'No 3: ["a",null], {ORDERS[7]["name"]}.'
    assert not answer.unresolved
    assert stored.content.parts[0].text == run.answer
    assert run.answer.count("{{result:") == 3
    assert (run.events[-1], run.session) == before
    check_references(run.session.events, run.requests)


async def test_a_stored_text_is_byte_for_byte():
    """A text that one reference names alone is the answer, and another within it is not searched for."""
    run = await run_agent(agent_with(call("read_letter"), answering("", tool="read_letter")), "Go.")
    assert (await resolved(run)).text == LETTER
    run = await run_agent(agent_with(call("list_orders"), answering(".rows[0].name", text="{}")), "Go.")
    assert (await resolved(run)).text == ORDERS[0]["name"]


async def test_an_answer_in_json_stays_json():
    """In an answer that is a JSON object, a whole text becomes the value, and quotes in a longer one are escaped."""
    text = '{"ids": "{}", "said": "It is {}.", "page": "{}"}'
    step = answering(".rows[*].id", ".rows[0].name", '[\\"page\\"]', text=text)
    run = await run_agent(agent_with(call("list_orders"), step), "Go.")
    answer = json.loads((await resolved(run)).text)
    page = {"total": 50, "next": None}
    assert answer == {"ids": list(range(50)), "said": f"It is {ORDERS[0]['name']}.", "page": page}


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        (".rowz", "There is no 'rowz' in it. There are: rows, page."),
        (".rows[x]", "is not a reference"),
        (".rows", "bytes in the answer, and 98 of max_bytes are left"),
    ],
)
async def test_what_cannot_be_resolved_stays_and_is_listed(path, reason):
    """The other references are resolved, and the reason names what is there or how large the value is."""
    run = await run_agent(agent_with(call("list_orders"), answering(".page.total", path, text="{} of {}")), "Go.")
    answer = await resolved(run, max_bytes=100)
    kept = run.answer.partition(" of ")[2]
    assert answer.text == f"50 of {kept}"
    assert list(answer.unresolved) == [kept]
    assert reason in answer.unresolved[kept]


async def test_each_place_of_a_value_counts():
    """A value that fits once does not fit three times."""
    run = await run_agent(agent_with(call("list_orders"), answering(*[".page.total"] * 3, text="{} {} {}")), "Go.")
    assert (await resolved(run, max_bytes=6)).text == "50 50 50"
    answer = await resolved(run, max_bytes=5)
    assert answer.text == run.answer
    assert len(answer.unresolved) == 1


async def test_without_the_setting_nothing_is_resolved():
    """An app that does not allow it gets the answer as written, and the model is not told of it."""
    run = await run_agent(agent_with(call("list_orders"), answering(".page.total"), in_answers=False), "Go.")
    answer = await resolved(run)
    assert answer.text == run.answer
    assert list(answer.unresolved) == [run.answer]
    assert "your answer" not in run.requests[-1].text
    assert "In arguments, {{result:" in str(run.session.events)


@pytest.mark.parametrize(("tool", "said"), [("list_orders", "In arguments and your answer, {{"), ("read_letter", "}}")])
@pytest.mark.parametrize("wrap", [lambda tools: tools, defer_tools, lambda tools: cap_rows(tools, max_rows=2)])
async def test_results_say_so_where_it_works(tool, said, wrap):
    """The stubs of rows and of texts name the answer as a place, also if the toolset is wrapped in another."""
    tools = [ROWS, TEXT, wrap(resolve_results(Taker().take, in_answers=True))]
    agent = agent_of(call(tool), answering("", tool=tool), taker=Taker(), tools=tools)
    run = await run_agent(agent, "Go.")
    assert said in str(run.session.events)
    assert "arguments and your answer" in str(run.session.events)
    assert not (await resolved(run)).unresolved


async def test_a_handle_of_another_session_opens_nothing():
    """An event that lists a handle opens nothing with another session, and neither does a handle typed there."""
    first = await run_agent(agent_with(call("list_orders"), answering(".page.total")), "Go.")
    handle = handle_in(first.requests[-1])
    services = {"session_service": first.session_service, "artifact_service": first.artifact_service}
    other = await run_agent(
        agent_with(f"{{{{result:{handle}}}}}"), f"Say {{{{result:{handle}}}}}.", session_id="other", **services
    )
    typed = await resolved(other)
    assert typed.text == f"{{{{result:{handle}}}}}"
    assert "does not list" in typed.unresolved[typed.text]
    moved = await resolved(other, first.events[-1])
    assert moved.text == first.answer
    assert "no stored result" in moved.unresolved[first.answer]
    assert (await resolved(first)).text == "50"


async def test_a_reference_that_the_user_forged_counts_only_if_shown():
    """A model that quotes a user's reference opens nothing unless its own request showed the result before."""
    first = await run_agent(agent_with(call("list_orders"), name="hidden"), "Go.")
    handle = handle_in(first.requests[-1])
    text = f"{{{{result:{handle}.page.total}}}}"
    services = {"session_service": first.session_service, "artifact_service": first.artifact_service}
    blind = await run_agent(agent_with(f"You said {text}.", include_contents="none"), f"Say {text}.", **services)
    assert blind.events[-1].custom_metadata[LISTED] == []
    assert (await resolved(blind)).text == f"You said {text}."
    seeing = await run_agent(agent_with(f"You said {text}.", name="hidden"), f"Say {text}.", **services)
    assert (await resolved(seeing)).text == "You said 50."
    of_user = next(event for event in seeing.session.events if event.author == "user" and text in str(event.content))
    of_user.custom_metadata = {LISTED: [handle]}
    assert (await resolved(seeing, of_user)).text == f"Say {text}."


async def test_texts_of_tools_and_other_agents_stay():
    """A result, an agent without the setting, and thoughts hold their references as they are."""
    handles = []

    def quote(request):
        handles.append(handle_in(request))
        return call("page")

    def page() -> str:
        """Reads a page."""
        return f"Read {{{{result:{handles[0]}}}}}."

    def answer(request):
        thought = types.Part(text=f"{{{{result:{handles[0]}}}}}", thought=True)
        return types.Content(role="model", parts=[thought, types.Part(text="Done.")])

    other = LlmAgent(name="b", model=ScriptedModel(answer=lambda _: f"See {{{{result:{handles[0]}}}}}."))
    agent = agent_with(call("list_orders"), quote, answer, tools=[ROWS, page])
    run = await run_agent(SequentialAgent(name="both", sub_agents=[agent, other]), "Go.")
    assert (await resolved(run)).text == run.answer == f"See {{{{result:{handles[0]}}}}}."
    done = next(event for event in run.events if event.is_final_response())
    assert (await resolved(run, done)).text == "Done."
    result = next(event for event in run.events if event.get_function_responses() and "Read {{" in str(event))
    assert (await resolved(run, result)).text == ""
    assert not any(LISTED in (event.custom_metadata or {}) for event in run.events)


class StreamingModel(ScriptedModel):
    """A model that says each text in two parts before it says the whole."""

    async def generate_content_async(self, llm_request, stream):
        async for whole in super().generate_content_async(llm_request, stream):
            text = whole.content.parts[0].text
            for part in (text[:5], text[5:]) if stream and text else ():
                yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=part)]), partial=True)
            yield whole


async def test_only_the_final_event_of_a_stream_counts():
    """Partial events come back as they are, and the event that ends the stream is resolved."""
    agent = agent_with(call("list_orders"), answering(".page.total", ".page.total", text="{} {}"))
    agent.model = StreamingModel(answer=agent.model.answer)
    run = await run_agent(agent, "Go.", run_config=RunConfig(streaming_mode=StreamingMode.SSE))
    *_, first, second, final = run.events
    assert [event.partial for event in (first, second)] == [True, True]
    assert "{{" in said(second)
    assert "}}" in said(second)
    for event in (first, second):
        assert (await resolved(run, event)).text == said(event)
    assert (await resolved(run, final)).text == "50 50"


@pytest.mark.parametrize(
    ("change", "name"),
    [({"max_bytes": 0}, "max_bytes"), ({"session": None}, "session"), ({"event": "There are 50."}, "event")],
)
async def test_wrong_arguments_are_refused(change, name):
    """An unknown session, a text in the place of an event, and a limit of nothing give an error that names them."""
    run = await run_agent(agent_with("Done."), "Go.")
    with pytest.raises(SettingError, match=f"resolve_answer: {name} must be"):
        await resolve_answer(**{"event": run.events[-1], "session": run.session, **change})


async def test_a_store_that_fails_leaves_the_answer():
    """Without the artifact service the reference stays, with a reason."""
    rows = cap_rows(list_orders, max_rows=2, store=PayloadStore(place="artifacts"))
    run = await run_agent(agent_with(call("list_orders"), answering(".page.total"), tools=[rows]), "Go.")
    answer = await resolve_answer(run.events[-1], run.session)
    assert answer.text == run.answer
    assert "artifact service" in answer.unresolved[run.answer]
