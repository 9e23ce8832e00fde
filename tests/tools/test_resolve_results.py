"""Results by reference: what a model names is what the tool gets, and the session keeps the name."""

import copy
import json

import pytest
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.genai import types

from adk_context_pack import ContextPackPlugin, SettingError, cap_rows, defer_tools, estimate_tokens, resolve_results
from adk_context_pack.testing import check_references
from tests.support.references import LETTER, ORDERS, ROWS, Taker, agent_of, handle_in, list_orders
from tests.support.run import SERVICES, run_agent, session_service
from tests.support.scripted_model import call, results_in


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


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("", {"rows": ORDERS, "page": {"total": 50, "next": None}}),
        (".rows", ORDERS),
        (".rows[3].id", 3),
        (".rows.3.price", 3 / 7),
        (".rows[-1].tags", ["a", None]),
        ('["page"].next', None),
        (".rows[*].id", list(range(50))),
    ],
)
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


async def test_it_costs_few_output_tokens():
    """A table of fifty rows is passed on for at most 20 tokens."""
    run = await run_agent(agent_of(call("list_orders"), refer(".rows"), taker=Taker()), "Go.")
    assert estimate_tokens(calls_of(run)[0].args["value"]) <= 20


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (".rowz", "There is no 'rowz' in it. There are: rows, page."),
        (".rows[3].nam", "There is no 'nam' in rows[3]. There are: id, name, price, tags."),
        (".rows[50]", "There is no item 50 in rows. It is a list of 50 items, from [0]. In the first: id, name"),
        (".page.total[0]", "There is no list in page.total. It is a single value (int)."),
        (".rows[x]", "is not a reference. Write {{result:HANDLE}}"),
    ],
)
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
    """All values of a call together keep within `max_bytes`, and the answer names the largest."""
    taker = Taker()
    agent = agent_of(call("list_orders"), refer(".rows"), refer(".rows[0].tags"), taker=taker, max_bytes=500)
    run = await run_agent(agent, "Go.")
    assert "at most 500 are passed on. Refer to a part of {{result:" in results_of(run)[0]["error"]
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


async def test_long_running_tools_stay_so():
    """The event of a long-running tool's call says so, and the tool gets the value."""
    taker = Taker()
    tool = resolve_results(LongRunningFunctionTool(taker.take))
    agent = agent_of(call("list_orders"), refer(".rows[2].id"), taker=taker, tools=[ROWS, tool])
    run = await run_agent(agent, "Go.")
    (event,) = [event for event in run.session.events if any(c.name == "take" for c in event.get_function_calls())]
    assert event.long_running_tool_ids == {event.get_function_calls()[0].id}
    assert taker.got == [2]


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
