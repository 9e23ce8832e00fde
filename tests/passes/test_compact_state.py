"""`{compact:KEY}` in real runs: exact at each call, in instructions only, never twice."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from functools import reduce
from types import SimpleNamespace
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.loop_agent import LoopAgent
from google.adk.agents.parallel_agent import ParallelAgent
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.plugins.global_instruction_plugin import GlobalInstructionPlugin
from google.adk.plugins.logging_plugin import LoggingPlugin
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.tool_context import ToolContext
from google.adk.utils.instructions_utils import inject_session_state
from google.genai import types
from hypothesis import example, given
from hypothesis import strategies as st

from adk_context_pack import CompactState, ContextPackPlugin, ContextPipeline, ModelCall, StripForContext
from adk_context_pack._adk.instruction import BRACES, labels
from adk_context_pack.passes.state_view import occurrences
from tests.support.run import run_agent, session_service
from tests.support.scripted_model import ScriptedModel, answers, call
from tests.support.spans import warned

IDENTITY = 'You are an agent. Your internal name is "reviewer".'
SELECT = {"status": {"success": ("id", "row_count"), "failed": ("id", "error"), None: ("id",)}}
QUERIES = [
    {"id": "q1", "status": "success", "row_count": 3, "query": "SELECT " + "x" * 200},
    {"id": "q2", "status": "failed", "error": "see {compact:q} and {compact:other}", "query": "SELECT"},
]
VIEW = '[{"id":"q1","row_count":3},{"id":"q2","error":"see {compact:q} and {compact:other}"}]'
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")


def agent(instruction: Any, *passes: Any, answer: Any = None, **settings: Any) -> LlmAgent:
    settings.setdefault("name", "reviewer")
    settings.setdefault("before_model_callback", list(passes or (CompactState(key="q", select=SELECT),)))
    return LlmAgent(model=ScriptedModel(answer=answers(answer or "done")), instruction=instruction, **settings)


def framed(text: str) -> str:
    return text.join(labels())


def texts(request: Any) -> list[str]:
    return [part.text for content in request.contents for part in content.parts or () if part.text is not None]


def add_query(query_id: str, tool_context: ToolContext) -> str:
    """Adds a query."""
    tool_context.state["q"] = [*tool_context.state.get("q", []), {"id": query_id, "status": "success", "row_count": 1}]
    return "added"


def ids(text: str) -> list[str]:
    return [item["id"] for item in json.JSONDecoder().raw_decode(text, text.index("["))[0]]


def changes(callback_context: Any, llm_request: Any) -> None:
    callback_context.state["who"] = "Ben {compact:q}"


def forgets(callback_context: Any, llm_request: Any) -> None:
    del callback_context._invocation_context.session.state["who"]


def puts_in_front(text: str) -> Any:
    def callback(callback_context: Any, llm_request: Any) -> None:
        llm_request.config.system_instruction = text + llm_request.config.system_instruction

    return callback


NOTE = {"at": datetime(2025, 6, 1, tzinfo=UTC), "said": "forged {compact:q}"}
DEEP = reduce(lambda inner, _: [inner], range(40), "deep {compact:q}")


@pytest.mark.parametrize(("instruction", "callbacks", "shown"), [
    ("Review {compact:q} now, {who}.", (), f"Review {VIEW} now, Ann."),
    ('{"rows": {compact:q}} {{compact:q}} x', (), f'{{"rows": {VIEW}}} {VIEW} x'),
    (lambda context: context.state["prompt"], (), f"Kept {VIEW}."),
    (lambda context: f"{context.state['note']['said']} | {{compact:q}}", (), f"forged {{compact:q}} | {VIEW}"),
    ("For {who}: {compact:q}.", (changes,), f"For Ann: {VIEW}."),
    ("For {who}: {compact:q}.", (forgets,), f"For Ann: {VIEW}."),
    *[
        ("{compact:q} are all.", (puts_in_front(text),), f"{text}{VIEW} are all.")
        for text in ("Be brief.\n\n", '["odd"] and\n\n', "{compact:q}\n\n")
    ],
])  # fmt: skip
async def test_the_view_stands_in_the_instruction(instruction, callbacks, shown, caplog):
    """The view is in its slot and nowhere else, whatever state holds and callbacks did, also the second time."""
    passes = [*callbacks, *[CompactState(key="q", select=SELECT)] * 2]
    state = {"q": QUERIES, "who": "Ann", "prompt": "Kept {compact:q}.", "note": NOTE, "deep": DEEP}
    run = await run_agent(agent(instruction, *passes), "hi", state=state)
    assert run.requests[0].system == f"{shown}\n\n{IDENTITY}"
    assert "cannot be told from other text" not in caplog.text


async def test_loop_parallel_and_agent_tool_see_their_own_moment():
    """In a LoopAgent, a ParallelAgent and an AgentTool's child the view is right as well."""
    loop = LoopAgent(name="loop", max_iterations=2, sub_agents=[agent("{compact:q}", tools=[add_query])])
    loop.sub_agents[0].model = ScriptedModel(
        answer=answers(call("add_query", query_id="b"), "ok", call("add_query", query_id="c"), "ok")
    )
    side = ParallelAgent(
        name="side", sub_agents=[agent("P {compact:q}", name="one"), agent("P {compact:q}", name="two")]
    )
    child = agent("child {compact:q}", name="child", description="helps")
    caller = agent("caller", name="caller", tools=[AgentTool(child)])
    caller.model = ScriptedModel(answer=answers(call("child", request="go"), "ok"))
    root = SequentialAgent(name="root", sub_agents=[loop, side, caller])
    run = await run_agent(root, "hi", state={"q": [{"id": "a"}]})
    seen = [ids(request.system) for request in run.requests_of("reviewer")]
    assert seen == [["a"], ["a", "b"], ["a", "b"], ["a", "b", "c"]]
    for name in ("one", "two", "child"):
        assert [ids(request.system) for request in run.requests_of(name)] == [["a", "b", "c"]]


@pytest.mark.parametrize("as_function", [False, True])
async def test_a_user_who_types_the_dynamic_instruction_keeps_it(as_function):
    """Of equal contents only the one that ADK inserted is filled in: in the current turn and in earlier ones."""
    instruction = (lambda context: "Review {compact:q}.") if as_function else "Review {compact:q}."
    typed = framed("Review {compact:q}.")
    run = await run_agent(agent(instruction, static_instruction="Static."), typed, typed, state={"q": QUERIES})
    ours = framed(f"Review {VIEW}.")
    assert [texts(request) for request in run.requests] == [[ours, typed], [typed, "done", ours, typed]]


@pytest.mark.parametrize("as_function", [False, True])
async def test_the_dynamic_instruction_behind_static_files_is_found(as_function):
    """Where the static instruction has a file, the instruction stands elsewhere among the contents; it is filled in."""
    blob = types.Part(inline_data=types.Blob(data=b"x", mime_type="image/png"))
    static = types.Content(role="user", parts=[types.Part(text="Static."), blob])
    instruction = (lambda context: "Review {compact:q}.") if as_function else "Review {compact:q}."
    run = await run_agent(agent(instruction, static_instruction=static), "hi", "again", state={"q": QUERIES})
    for request in run.requests:
        assert texts(request).count(framed(f"Review {VIEW}.")) == 1


async def test_a_users_copy_does_not_stand_in_for_a_removed_instruction():
    """Where a callback has taken the dynamic instruction out, what a user once typed like it stays as typed."""
    typed = framed("Review {compact:q}.")

    def remove(callback_context: Any, llm_request: Any) -> None:
        llm_request.contents = [*llm_request.contents[:-2], llm_request.contents[-1]]

    reviewer = agent("Review {compact:q}.", remove, CompactState(key="q"), static_instruction="Static.")
    run = await run_agent(reviewer, typed, "hi", state={"q": QUERIES})
    assert texts(run.requests[-1]) == [typed, "done", "hi"]


async def test_state_cannot_end_the_labelled_instruction():
    """ADK's own end marker within a view is taken out, as ADK takes it out of the state that it fills in."""
    if not labels()[1]:
        pytest.skip("this ADK puts no markers around a dynamic instruction")
    marker = labels()[1].strip()
    run = await run_agent(
        agent("{compact:q} {x}", static_instruction="Static."), "hi", state={"q": [{"id": marker}], "x": marker}
    )
    assert texts(run.requests[0])[0].count(marker) == framed("").count(marker)
    assert '[{"id":"<<<ELIDED_MARKER>>>"}] <<<ELIDED_MARKER>>>' in texts(run.requests[0])[0]


async def test_static_instruction_is_left_alone_with_one_line_in_the_log(caplog):
    """A placeholder in the part that must never change stays, and the log says so once."""
    reviewer = agent("dynamic {compact:q}", name="still", static_instruction="static {compact:q}")
    with caplog.at_level(logging.WARNING, logger="adk_context_pack"):
        run = await run_agent(reviewer, "hi", "again", state={"q": QUERIES})
    assert all(request.system.startswith("static {compact:q}") for request in run.requests)
    assert [record for record in caplog.messages if "static_instruction" in record].__len__() == 1
    assert f"dynamic {VIEW}" in texts(run.requests[0])[0]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("static", [None, "Static."])
@pytest.mark.parametrize("twice", [False, True])
async def test_several_keys_in_any_order_and_twice(order, static, twice):
    """Views of several keys do not meddle with each other, and running the passes again changes nothing."""
    passes = [CompactState(key="q", select=SELECT), CompactState(key="other")]
    chosen = [passes[index] for index in order] * (2 if twice else 1)
    reviewer = agent("A {compact:q} B {compact:other} C {compact:q}{compact:other}", *chosen, static_instruction=static)
    other = {"text": " B {compact:other} C {compact:q}"}
    run = await run_agent(reviewer, "hi", state={"q": QUERIES, "other": other})
    shown = json.dumps(other, separators=(",", ":"))
    expected = f"A {VIEW} B {shown} C {VIEW}{shown}"
    request = run.requests[0]
    assert (request.system if static is None else texts(request)[0]) == (
        f"{expected}\n\n{IDENTITY}" if static is None else framed(expected)
    )


async def test_escapes_follow_adk():
    """Doubled braces, blanks, and what the installed ADK takes for an escape mean here what they mean for `{name}`."""
    template = "{{NAME}} { NAME } {NAME?} \\{NAME} ${NAME} {x {NAME} y}"
    adk = agent(template.replace("NAME", "v"))
    ours = agent(template.replace("NAME", "compact:v"), CompactState(key="v"))
    plain = (await run_agent(adk, "hi", state={"v": 7})).requests[0].system
    assert (await run_agent(ours, "hi", state={"v": 7})).requests[0].system == plain.replace("{v}", "{compact:v}")
    assert ("\\{v}" in plain) == (BRACES.search("\\{v}") is None)


async def test_a_select_that_raises_does_not_end_the_run(caplog):
    """The model reads that there is no view, the log holds the traceback, and the agent answers."""
    run = await run_agent(
        agent("<{compact:q}>", CompactState(key="q", select=lambda value: 1 / 0)), "hi", state={"q": []}
    )
    assert run.requests[0].system.startswith('<{"error":"no view of q: ZeroDivisionError"}>')
    assert run.answer == "done"
    assert "the view of state key q could not be made" in caplog.text


@pytest.mark.parametrize("use", ["root", "plugin", "function"])
async def test_global_instructions_have_views(use):
    """The root agent's global instruction and ADK's plugin for it, as text or as a function, are instructions too."""
    text = "G {said} {compact:q}"
    state = {"q": QUERIES, "said": "forged {compact:q}"}
    state["bare"] = "{compact:q}"
    expected = f"G forged {{compact:q}} {VIEW}\n\nL {{compact:q}} {VIEW}\n\n{IDENTITY}"

    async def provider(context: Any) -> str:
        return await inject_session_state(text, context)

    if use == "root":
        run = await run_agent(agent("L {bare} {compact:q}", global_instruction=text), "hi", state=state)
    else:
        plugin = GlobalInstructionPlugin(text if use == "plugin" else provider)
        run = await run_agent(agent("L {bare} {compact:q}"), "hi", state=state, plugins=[plugin])
    assert run.requests[0].system == expected


@pytest.mark.parametrize("static", [None, "Static."])
async def test_a_function_as_instruction(static):
    """In the text that a function returns each placeholder is filled in, except within texts of state or user."""

    async def provider(context: Any) -> str:
        return await inject_session_state("{said} {nested} | {compact:q} {compact:q?}", context)

    state = {"q": QUERIES, "said": "forged {compact:q}", "nested": {"a": ["{compact:q}", "deep {compact:q}"]}}
    reviewer = agent(provider, *[CompactState(key="q", select=SELECT)] * 2, static_instruction=static)
    run = await run_agent(reviewer, "hi", state=state)
    request = run.requests[0]
    text = request.system if static is None else texts(request)[0]
    assert f"forged {{compact:q}} {state['nested']} | {VIEW} {VIEW}" in text


async def test_an_ambiguous_slot_is_left_alone(caplog):
    """Where changed state and a forged text leave two places possible, neither is filled in, and the log says so."""

    def changes(callback_context: Any, llm_request: Any) -> None:
        callback_context.state["who"] = "Ben"

    reviewer = agent("For {who}: {compact:q}.", changes, CompactState(key="q"), name="doubtful")
    run = await run_agent(reviewer, "hi", state={"q": QUERIES, "who": "x: {compact:q}. y"})
    assert run.requests[0].system.startswith("For x: {compact:q}. y: {compact:q}.")
    assert "doubtful: {compact:q} cannot be told from other text" in caplog.text


@pytest.mark.parametrize("form", ["content", "part", "list"])
async def test_other_forms_of_the_system_instruction(form):
    """A callback that made parts of the system instruction does not hide the slot."""

    def reshape(callback_context: Any, llm_request: Any) -> None:
        part = types.Part(text=llm_request.config.system_instruction)
        forms = {
            "content": types.Content(parts=[types.Part(text="first"), part]),
            "part": part,
            "list": ["first\n\n\0\n\nsecond", part],
        }
        llm_request.config.system_instruction = forms[form]

    run = await run_agent(
        agent("L {compact:q}", reshape, CompactState(key="q", select=SELECT)), "hi", state={"q": QUERIES}
    )
    assert f"L {VIEW}\n\n{IDENTITY}" in run.requests[0].system


async def test_an_artifact_in_the_template_does_not_hide_the_slot(tmp_path):
    """A template that names an artifact, from a fast or a slow service, still has its slots filled in."""
    files = pytest.importorskip("google.adk.artifacts.file_artifact_service", reason="this ADK has no file service")

    async def save(callback_context: Any) -> None:
        await callback_context.save_artifact("note.txt", types.Part(text="note"))

    for service in (..., files.FileArtifactService(root_dir=str(tmp_path))):
        reviewer = agent("A {artifact.note.txt} B {compact:q} C", before_agent_callback=save)
        run = await run_agent(reviewer, "hi", state={"q": QUERIES}, artifact_service=service)
        assert f" B {VIEW} C\n\n{IDENTITY}" in run.requests[0].system


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_output_key_is_exact_and_written_only_where_it_changed(kind, tmp_path):
    """`{q_compact}` shows the state of the very call, and only calls that see a new view write it to the session."""
    compact = CompactState(key="q", select=("id",), output_key="q_compact")
    reviewer = agent("Now {{q_compact}} {q_compact?} {compact:q}.", compact, tools=[add_query])
    reviewer.before_agent_callback = compact.refresh
    reviewer.model = ScriptedModel(answer=answers(call("add_query", query_id="b"), "ok"))
    async with session_service(kind, tmp_path) as service:
        run = await run_agent(reviewer, "hi", "again", state={"q": [{"id": "a"}]}, session_service=service)
    one, two = '[{"id":"a"}]', '[{"id":"a"},{"id":"b"}]'
    assert [request.system.split(".")[0] for request in run.requests] == [f"Now {v} {v} {v}" for v in (one, two, two)]
    written = [
        event.actions.state_delta["q_compact"] for event in run.events if "q_compact" in event.actions.state_delta
    ]
    assert written == [one, two]
    assert run.session.state["q_compact"] == two


async def test_output_key_without_a_placeholder_is_kept_for_tools():
    """An agent whose template names no view still keeps it in state, where its tools read it."""
    seen = []

    def read(tool_context: ToolContext) -> str:
        """Reads the view."""
        seen.append(tool_context.state["q_compact"])
        return "read"

    compact = CompactState(key="q", select=("id",), output_key="q_compact")
    reviewer = agent("No view here.", compact, tools=[read, add_query])
    reviewer.model = ScriptedModel(answer=answers(call("read"), call("add_query", query_id="b"), call("read"), "ok"))
    run = await run_agent(reviewer, "hi", state={"q": [{"id": "a"}]})
    assert seen == ['[{"id":"a"}]', '[{"id":"a"},{"id":"b"}]']
    assert run.requests[0].system == f"No view here.\n\n{IDENTITY}"


async def test_idle_is_identity():
    """Where no instruction asks for the view, the very same request comes back."""
    seen = []

    class Watches(CompactState):
        def apply(self, request: Any, call: ModelCall) -> Any:
            result = super().apply(request, call)
            seen.append(result is request)
            return result

    await run_agent(agent("nothing {compact:other}", Watches(key="q")), "{compact:q}", state={"q": QUERIES})
    assert seen == [True]
    assert CompactState(key="q").apply(request := object(), ModelCall()) is request  # type: ignore[arg-type]


async def test_a_dynamic_instruction_that_a_callback_moved_is_found():
    """Behind a tool's result the instruction stands wherever another callback has put it, and has its view."""

    def to_the_front(callback_context: Any, llm_request: Any) -> None:
        contents = llm_request.contents
        moved = [content for content in contents if "L {compact:q}" in (content.parts[0].text or "")]
        llm_request.contents = [*moved, *(content for content in contents if content not in moved)]

    passes = (to_the_front, CompactState(key="q", select=SELECT))
    reviewer = agent("L {compact:q}", *passes, tools=[add_query], static_instruction="Static.")
    reviewer.model = ScriptedModel(answer=answers(call("add_query", query_id="q3"), "done"))
    run = await run_agent(reviewer, "hi", state={"q": []})
    assert [texts(request)[0] for request in run.requests] == [framed("L []"), framed('L [{"id":"q3","row_count":1}]')]


async def test_a_slot_of_the_global_instruction_is_not_the_functions_own():
    """A function that names no slot has none, though a global instruction before it has one."""
    plugins = [GlobalInstructionPlugin("G {compact:q}")]
    run = await run_agent(agent(lambda _: "No slot here."), "hi", state={"q": QUERIES}, plugins=plugins)
    assert run.requests[0].system == f"G {VIEW}\n\nNo slot here.\n\n{IDENTITY}"


PLAIN = st.sampled_from(["", " ", "a", "Review: ", "\n\n", '"', "[1]", "null", "}", "7", "é"])
NAMES = st.sampled_from(["{compact:a}", "{compact:b}", "{compact:a?}", "{compact:b?}", "{v}", "{w}"])
TEMPLATES = st.lists(st.tuples(PLAIN, NAMES, PLAIN), min_size=1, max_size=5).map(
    lambda items: "".join("".join(item) for item in items)
)
FORGED = st.lists(st.one_of(PLAIN, NAMES), max_size=5).map("".join)
VALUES = st.one_of(st.none(), FORGED, st.lists(FORGED, max_size=3), st.integers())
STATES = st.fixed_dictionaries({"a": VALUES, "b": VALUES, "v": FORGED, "w": FORGED})
ORDERS = st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=4)


def drive(coroutine: Any) -> Any:
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("ADK's injection waits")


def expected(template: str, state: dict[str, Any], filled: set[str], context: Any) -> str:
    """The template read from left to right: own placeholders are views, everything else is ADK's."""
    cut = template
    for key in sorted(filled):
        for mark in (f"{{compact:{key}}}", f"{{compact:{key}?}}"):
            cut = cut.replace(mark, f"\0{mark}\0")
    pieces = []
    for index, piece in enumerate(cut.split("\0")):
        if index % 2 == 0:
            pieces.append(drive(inject_session_state(piece, context)))
            continue
        value = state[piece.strip("{}?").removeprefix("compact:")]
        empty = value is None and piece.endswith("?}")
        pieces.append("" if empty else json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    return "".join(pieces)


def context_of(agent: Any, state: dict[str, Any]) -> Any:
    session = SimpleNamespace(state=state, events=[])
    inner = SimpleNamespace(agent=agent, session=session, artifact_service=None, plugin_manager=None)
    return SimpleNamespace(_invocation_context=inner, session=session, state=state, agent_name="agent")


def run(order: list[str], request: LlmRequest, state: dict[str, Any], context: Any) -> LlmRequest:
    for key in order:
        entry = CompactState(key=key, on_error="raise")
        request = entry.apply(request, ModelCall(agent_name="agent", state=state, context=context))
    return request


@pytest.mark.slow
@given(TEMPLATES, STATES, FORGED, ORDERS)
@example("{compact:b?}{compact:a}", {"a": 0, "b": 1, "v": "", "w": ""}, "", ["b", "a"])
def test_the_system_instruction_is_exact(template, state, appended, order):
    """Whatever the state says and in whatever order passes run, exactly the template's own placeholders are views."""
    agent = LlmAgent(name="agent", model="m", instruction=template)
    context = context_of(agent, state)
    tail = f"{IDENTITY}\n\n{appended}"
    sent = drive(inject_session_state(template, context)) + tail
    request = LlmRequest(config=types.GenerateContentConfig(system_instruction=sent))
    result = run(order, request, state, context)
    assert result.config.system_instruction == expected(template, state, set(order), context) + tail
    assert run(order, result, state, context).config.system_instruction == result.config.system_instruction


@pytest.mark.slow
@given(TEMPLATES, STATES, ORDERS, st.booleans())
def test_the_dynamic_instruction_is_exact(template, state, order, typed):
    """The same holds behind a static instruction, also where the user has typed the instruction byte for byte."""
    agent = LlmAgent(name="agent", model="m", instruction=template, static_instruction="static")
    context = context_of(agent, state)
    sent = drive(inject_session_state(template, context)).join(labels())
    said = types.UserContent(parts=[types.Part(text=sent if typed else "{compact:a}")])
    request = LlmRequest(contents=[types.UserContent(parts=[types.Part(text=sent)]), said])
    result = run(order, request, state, context)
    shown = expected(template, state, set(order), context).join(labels())
    assert [content.parts[0].text for content in result.contents] == [shown, said.parts[0].text]
    assert run(order, result, state, context).contents == result.contents


STATE = {"gaql_queries": [{"id": 1}], "mood": "good"}
FILLED_VIEW = CompactState(key="gaql_queries")
TYPO = "Review {compact:gaql_querys}"
NEAR = "writer: no pass fills in {compact:gaql_querys} in the instruction (did you mean 'gaql_queries'?)"
NONE = "writer: no pass fills in {compact:gaql_querys} in the instruction. Add CompactState(key='gaql_querys')"


class Own(BasePlugin):
    async def before_model_callback(self, *, callback_context, llm_request):
        return None


def own_callback(callback_context, llm_request):
    return None


async def said_by(instruction, callbacks, *turns, plugins=(), state=STATE, **model):
    agent = LlmAgent(
        name="writer",
        model=ScriptedModel(answer=model.pop("answer", lambda request: "done")),
        instruction=instruction,
        tools=model.pop("tools", []),
        before_model_callback=list(callbacks),
    )
    with warned() as texts:
        await run_agent(agent, *(turns or ("go",)), plugins=plugins, state=state)
    return texts


@pytest.mark.parametrize(("callbacks", "plugins", "text"), [
    ([FILLED_VIEW], [], NEAR), ([ContextPipeline([StripForContext(), FILLED_VIEW])], [], NEAR),
    ([FILLED_VIEW], [ContextPackPlugin()], NEAR), ([], [ContextPackPlugin(passes=[FILLED_VIEW])], NEAR),
    ([FILLED_VIEW, own_callback], [Own(name="own")], NEAR), ([StripForContext()], [], NONE),
    ([], [ContextPackPlugin()], NONE), ([], [ContextPackPlugin(), LoggingPlugin()], NONE),
])  # fmt: skip
async def test_a_slot_that_no_pass_fills_in_is_named_once(callbacks, plugins, text):
    """The warning has the slot, and the nearest key that a pass fills in or the pass to add."""
    assert await said_by(TYPO, callbacks, "go", "again", plugins=plugins) == [text]


@pytest.mark.parametrize(("callbacks", "plugins"), [
    ([CompactState(key="gaql_querys", on_error="raise")], []),
    ([StripForContext(), ContextPipeline([CompactState(key="gaql_querys")])], []),
    ([StripForContext()], [ContextPackPlugin(passes=[CompactState(key="gaql_querys")])]),
    ([StripForContext(), own_callback], []),
    ([], [ContextPackPlugin(), Own(name="own")]),
])  # fmt: skip
async def test_a_slot_that_somebody_fills_in_is_not_named(callbacks, plugins):
    """The passes of all places count, and a callback of the app's own may fill in anything."""
    assert not await said_by(TYPO, callbacks, plugins=plugins, state={"gaql_querys": 1})


@pytest.mark.parametrize(("key", "state", "hint"), [
    ("gaql_querys", STATE, "'gaql_querys' (did you mean 'gaql_queries'?)"),
    ("queries", {"user:queries": []}, "'queries' (did you mean 'user:queries'?)"),
])  # fmt: skip
async def test_a_misspelled_key_is_named_at_the_first_call(key, state, hint):
    """The warning has the key, the nearest one, and the way to say that a value may be missing."""
    instruction = f"Review {{compact:{key}}}"
    (text,) = await said_by(instruction, [CompactState(key=key)], "go", "again", state=state)
    asked = f"If the value may be missing, write {{compact:{key}?}}"
    assert text == f"writer: the state has no {hint}, so {{compact:{key}}} is null. {asked}"


@pytest.mark.parametrize(("key", "near"), [("campaigns", "campaign"), ("orders", None)])
async def test_a_key_that_is_still_missing_in_the_second_turn_is_named(key, near):
    """A key with no clear misspelling waits for the agent's second turn."""
    state = {near or "mood": 1}
    instruction = f"Review {{compact:{key}}}"
    assert not await said_by(instruction, [CompactState(key=key)], state=state)
    assert len(await said_by(instruction, [CompactState(key=key)], "go", "again", "more", state=state)) == 1


@pytest.mark.parametrize("mark", ["{compact:orders?}", "nothing to see"])
async def test_a_value_that_may_be_missing_is_not_named(mark):
    """An optional slot, and a pass without a slot, say nothing in any turn."""
    assert not await said_by(mark, [CompactState(key="orders")], "go", "again", "more")


def test_all_places_of_a_text_are_found():
    """Places that overlap are found as well, from the start that is given, and an empty text is nowhere."""
    assert list(occurrences("aaaa", "aa", 1)) == [1, 2]
    assert list(occurrences("aaaa", "")) == []
