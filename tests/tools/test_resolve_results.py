"""Results by reference: what a model names is what the tool gets, and the session keeps the name."""

import copy
import json

import pytest
from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.function_tool import FunctionTool
from google.genai import types

from adk_context_pack import (
    ContextPackPlugin,
    PayloadStore,
    SettingError,
    cap_rows,
    defer_tools,
    resolve_answer,
    resolve_results,
)
from adk_context_pack.testing import check_references
from tests.support.references import LETTER, ORDERS, ROWS, TEXT, Taker, agent_of, handle_in, list_orders
from tests.support.run import SERVICES, run_agent, said, session_service
from tests.support.scripted_model import ScriptedModel, call, results_in


def refer(path="", tool="list_orders", name="take", **args):
    """A step that calls a tool with a reference to the newest result of another."""

    def step(request):
        text = f"{{{{result:{handle_in(request, tool)}{path}}}}}"
        return call(name, **{"value": text, **args})

    return step


def results_of(run, name="take"):
    return [
        result.response
        for event in run.session.events
        for result in event.get_function_responses()
        if result.name == name
    ]


def calls_of(run, name="take"):
    return [c for event in run.session.events for c in event.get_function_calls() if c.name == name]


@pytest.mark.parametrize(("path", "value"), [
    ("", {"rows": ORDERS, "page": {"total": 50, "next": None}}), (".rows", ORDERS), (".rows[3].id", 3),
    (".rows.3.price", 3 / 7), (".rows[-1].tags", ["a", None]), ('["page"].next', None),
    (".rows[*].id", list(range(50))),
])  # fmt: skip
async def test_a_reference_becomes_the_value_itself(path, value):
    """The tool gets list, dict, number or null as it was stored, and the event keeps what the model wrote."""
    taker = Taker()
    run = await run_agent(agent_of(call("list_orders"), refer(path), taker=taker), "Go.")
    assert taker.got == [value]
    assert type(taker.got[0]) is type(value)
    (made,) = calls_of(run)
    assert made.args["value"].endswith(f"{path}}}}}")
    check_references(run.session.events, run.requests)


async def test_a_text_is_byte_for_byte_and_within_a_text_too():
    """A stored text arrives whole; within a longer text it is put in as it is, and other values as JSON."""
    taker = Taker()
    steps = (
        call("read_letter"),
        call("list_orders"),
        refer(tool="read_letter"),
        lambda request: call(
            "take", value=f"It says: {{{{result:{handle_in(request, 'read_letter')}}}}}!",
            note=f"{{{{ result:{handle_in(request).upper()}.rows[7] }}}} and 7",
        ),
    )  # fmt: skip
    await run_agent(agent_of(*steps, taker=taker), "Go.")
    row = json.dumps(ORDERS[7], ensure_ascii=False, separators=(",", ":"))
    assert taker.got == [LETTER, (f"It says: {LETTER}!", f"{row} and 7")]


async def test_references_within_lists_and_dicts():
    """Items and fields of an argument are resolved at any depth, keys are not."""
    taker = Taker()

    def step(request):
        one = f"{{{{result:{handle_in(request)}.rows[1].id}}}}"
        return call("take", value={"ids": [one, 5, {"deep": one}], one: 1})

    run = await run_agent(agent_of(call("list_orders"), step, taker=taker), "Go.")
    (key,) = [key for key in taker.got[0] if key != "ids"]
    assert taker.got[0]["ids"] == [1, 5, {"deep": 1}]
    assert key in calls_of(run)[0].args["value"]


@pytest.mark.parametrize(("path", "said"), [
    (".rowz", "There is no 'rowz' in it. There are: rows, page."),
    (".rows[3].nam", "There is no 'nam' in rows[3]. There are: id, name, price, tags."),
    (".rows[50]", "There is no item 50 in rows. It is a list of 50 items, from [0]. In the first: id, name"),
    (".page.total[0]", "There is no list in page.total. It is a single value (int)."),
    (".rows[x]", "is not a reference. Write {{result:HANDLE}}"),
])  # fmt: skip
async def test_a_wrong_path_is_answered_with_what_there_is(path, said):
    """The tool does not run, the answer lists keys or length, and the next try works."""
    taker = Taker()
    run = await run_agent(agent_of(call("list_orders"), refer(path), refer(".rows[0].id"), taker=taker), "Go.")
    wrong, right = results_of(run)
    assert said in wrong["error"]
    assert wrong["error"].endswith("The tool was not called.")
    assert right == {"taken": "int"}
    assert taker.got == [0]


async def test_an_unknown_handle_is_answered_with_those_shown():
    """A mistyped handle gets the handles that the agent was shown, and their tools."""
    taker = Taker()
    steps = (call("list_orders"), call("take", value="{{result:00000000000.rows}}"))
    run = await run_agent(agent_of(*steps, taker=taker), "Go.")
    (wrong,) = results_of(run)
    assert not taker.got
    assert f"You were shown: {handle_in(run.requests[-1])} (list_orders)." in wrong["error"]


async def test_values_are_bounded_by_bytes():
    """All values of a call together keep within `max_bytes`, and the answer says what is left."""
    taker = Taker()
    agent = agent_of(call("list_orders"), refer(".rows"), refer(".rows[0].tags"), taker=taker, max_bytes=500)
    run = await run_agent(agent, "Go.")
    assert "and 500 of 500 are left. Refer to a part of it." in results_of(run)[0]["error"]
    assert taker.got == [["a", None]]


async def test_what_is_put_in_is_not_resolved_again():
    """A reference within a stored result stays text."""
    taker, made = Taker(), []

    def poisoned() -> dict:
        """Lists rows."""
        return {"rows": [{"id": n, "text": f"{{{{result:{made[0]}.rows}}}}"} for n in range(50)]}

    def step(request):
        made.append(handle_in(request))
        return call("poisoned")

    tools = [ROWS, cap_rows(poisoned, max_rows=1), resolve_results(taker.take)]
    steps = (call("list_orders"), step, refer(".rows[4].text", tool="poisoned"))
    await run_agent(agent_of(*steps, taker=taker, tools=tools), "Go.")
    assert taker.got == [f"{{{{result:{made[0]}.rows}}}}"]


async def test_a_tool_may_write_into_what_it_gets():
    """The stored result stays as it was."""
    taker, sizes = Taker(), []

    def spoil(value: list) -> int:
        """Spoils it."""
        sizes.append(len(value))
        value.clear()
        return 0

    rows = cap_rows(list_orders, max_rows=2, state_key="orders")
    steps = (call("list_orders"), refer(".rows", name="spoil"), refer(".rows", name="spoil"))
    run = await run_agent(agent_of(*steps, taker=taker, tools=[rows, resolve_results(spoil)]), "Go.")
    assert sizes == [50, 50]
    assert run.session.state["orders"]["rows"] == ORDERS


async def test_callbacks_see_what_the_model_wrote():
    """Tool callbacks of agent and plugins, and the call's event, hold the reference; only the tool gets the value."""
    seen = []

    class Watching(BasePlugin):
        async def before_tool_callback(self, *, tool, tool_args, tool_context):
            seen.append(copy.deepcopy(tool_args))

    def after(tool, args, tool_context, tool_response):
        seen.append(copy.deepcopy(args))

    taker = Taker()
    agent = agent_of(call("list_orders"), refer(".rows"), taker=taker, after_tool_callback=after)
    run = await run_agent(agent, "Go.", plugins=[Watching(name="watching")])
    assert taker.got == [ORDERS]
    assert seen[-2:] == [calls_of(run)[0].args] * 2


@pytest.mark.parametrize("service", SERVICES)
async def test_confirmation_in_a_later_run(service, tmp_path):
    """The user confirms the call as the model wrote it, from any session service, and the tool gets the value."""
    taker, asked_with = Taker(), []

    def sure(value, note=""):
        asked_with.append(value)
        return True

    tool = resolve_results(FunctionTool(taker.take, require_confirmation=sure))
    async with session_service(service, tmp_path) as sessions:
        agent = agent_of(call("list_orders"), refer(".rows[2].id"), "Sure?", taker=taker, tools=[ROWS, tool])
        first = await run_agent(agent, "Go.", session_service=sessions)
        asked = calls_of(first, "adk_request_confirmation")[0]
        assert asked.args["originalFunctionCall"]["args"]["value"].startswith("{{result:")
        assert not taker.got
        agreed = types.FunctionResponse(id=asked.id, name=asked.name, response={"confirmed": True})
        agent = agent_of(taker=taker, tools=[ROWS, tool])
        kept = {"session_service": sessions, "artifact_service": first.artifact_service}
        await run_agent(agent, types.Part(function_response=agreed), **kept)
    assert taker.got == [2]
    assert set(asked_with) == {2}


@pytest.mark.parametrize("outer", ["defer", "cap"])
async def test_it_works_within_other_wrappers(outer):
    """A deferred or capped tool resolves references, and a deferred tool's schema does not refuse them."""
    got = []

    def total(ids: list[int], most: int) -> int:
        """Adds up."""
        got.append((ids, most))
        return sum(ids)

    def step(request):
        ids = f"{{{{result:{handle_in(request)}.rows[*].id}}}}"
        args = {"ids": ids, "most": ids.replace("*", "4")}
        return call("use_tool", name="total", args=json.dumps(args)) if outer == "defer" else call("total", **args)

    inner = resolve_results(total)
    tools = [ROWS, defer_tools(inner) if outer == "defer" else cap_rows(inner)]
    run = await run_agent(agent_of(call("list_orders"), step, taker=Taker(), tools=tools), "Go.")
    assert got == [(list(range(50)), 4)]
    assert calls_of(run, "total")[0].args["ids"].startswith("{{result:")
    assert "{{result:" in str(results_of(run, "list_orders"))


async def test_the_plugin_caps_and_the_tool_resolves():
    """With the whole pack attached, a result that the plugin shortened can be referred to, and its stub says so."""
    taker = Taker()
    rows = {"data": [{"id": n, "name": f"campaign {n}"} for n in range(2000)]}

    def report() -> dict:
        """Reports."""
        return rows

    tools = [report, resolve_results(taker.take)]
    steps = (call("report"), refer(".data[*].id", tool="report"))
    run = await run_agent(agent_of(*steps, taker=taker, tools=tools), "Go.", plugins=[ContextPackPlugin()])
    assert taker.got == [list(range(2000))]
    assert "{{result:" in str(results_of(run, "report"))
    check_references(run.session.events, run.requests)


async def test_it_adds_its_callbacks_once():
    """Over many requests the agent has one callback more on each side, beside its own."""
    own = []

    def before(callback_context, llm_request):
        # From 2.x on ADK runs a copy of the agent.
        running = callback_context._invocation_context.agent
        own.append((len(running.canonical_before_model_callbacks), len(running.canonical_after_model_callbacks)))

    agent = agent_of(call("list_orders"), call("list_orders"), taker=Taker(), before_model_callback=before)
    run = await run_agent(agent, "Go.", "Again.")
    assert own == [(2, 1)] * len(run.requests) == [(2, 1)] * 4
    assert results_in(run.requests[-1], "list_orders")


@pytest.mark.parametrize("arguments", [((), {}), ((3,), {}), ((list_orders,), {"max_bytes": 0})])
def test_settings_that_cannot_work_are_refused(arguments):
    """No tools, what is no tool, and a bound below one are said when the toolset is built."""
    tools, settings = arguments
    with pytest.raises(SettingError, match="resolve_results"):
        resolve_results(*tools, **settings)


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


@pytest.mark.parametrize(("path", "reason"), [
    (".rowz", "There is no 'rowz' in it. There are: rows, page."),
    (".rows[x]", "is not a reference"),
    (".rows", "bytes, and 98 of 100 are left"),
])  # fmt: skip
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


@pytest.mark.parametrize(("change", "name"), [
    ({"max_bytes": 0}, "max_bytes"), ({"session": None}, "session"), ({"event": "There are 50."}, "event"),
])  # fmt: skip
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
