"""State and results that cannot be stored: the run ends as it would without the pack, with the same exception."""

from __future__ import annotations

import asyncio
import gc
import logging
import re
from contextlib import suppress
from importlib import import_module

import pytest
from google.adk.agents import LlmAgent
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

import adk_context_pack as p
from tests.faults.outcome import ending
from tests.support.agents import calling
from tests.support.databases import Database, kept_results
from tests.support.run import SESSION, USER, closed_at_the_end, run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in

ROWS = [{"id": n, "city": f"secret city {n}", "note": None} for n in range(300)]
TEXT = "\n".join(f"{n}: a line of the secret payload" for n in range(2000))


def list_rows(first: int = 0) -> dict:
    """Lists rows."""
    return {"rows": ROWS[first:], "next": None}


class Odd:
    """An object that no session service can write down."""

    def __deepcopy__(self, memo):
        return self

    def __eq__(self, other):
        return isinstance(other, Odd)

    __hash__ = None

    def __repr__(self):
        return "Odd()"


def circle() -> list:
    """A list that holds itself."""
    ring: list = []
    ring.append(ring)
    return ring


def deep() -> list:
    """A list within a list, deeper than pydantic writes."""
    nested: list = []
    for _ in range(300):
        nested = [nested]
    return nested


VALUES = {"an object": Odd, "a circle": circle, "300 levels": deep, "a set": lambda: {1}, "bytes": lambda: b"\xff\x00"}


def agent(tool) -> LlmAgent:
    """Calls the tool, then answers."""
    return calling(tool, instruction="The plan: {compact:plan}")


def pack() -> p.ContextPackPlugin:
    """The plugin, with a pass that reads state."""
    return p.ContextPackPlugin(passes=[p.CompactState(key="plan"), *p.default_passes(max_tokens=20_000)])


@pytest.fixture(params=["memory", "sqlite"])
def services(request, tmp_path):
    """Two empty databases of a kind."""
    return [Database(kind=request.param, place=str(tmp_path / name)) for name in ("one", "two")]


async def both(services, tool):
    """How the run ends without the pack, and with it."""
    with_pack: list = []
    endings = []
    for database, plugins in zip(services, ([], [pack()]), strict=True):
        async with database.open() as sessions:
            endings.append(await ending(agent(tool), sessions=sessions, plugins=plugins))
        with_pack = plugins
    return (*endings, with_pack[0])


@pytest.mark.parametrize("name", VALUES)
async def test_state_that_cannot_be_serialised(services, name):
    """A tool writes it: the same exception, or the same session; the pass that renders it reports or renders."""

    def plan(tool_context: ToolContext) -> str:
        """Writes a plan."""
        tool_context.state["plan"] = VALUES[name]()
        return "written"

    bare, packed, plugin = await both(services, plan)
    assert packed.error.partition(":")[0] == bare.error.partition(":")[0]
    assert [len(plugin.reports), len(packed.requests)] == [len(bare.requests)] * 2
    if name != "a circle" or services[0].kind != "memory":
        assert packed.same_as(bare)


@pytest.mark.parametrize("name", VALUES)
async def test_a_result_that_cannot_be_serialised(services, name):
    """A large table with one odd cell: the same exception as without the pack, or a run that ends well."""

    def list_rows() -> dict:
        """Lists rows."""
        return {"rows": [*ROWS, {"id": 0, "city": VALUES[name]()}]}

    bare, packed, _ = await both(services, list_rows)
    # What the pack keeps in a form that can be stored may save a run that would have failed, and never the reverse.
    assert packed.error in ("", bare.error) or packed.error.partition(":")[0] == bare.error.partition(":")[0]
    if not bare.error:
        assert packed.error == ""


async def test_a_service_that_refuses_large_deltas_is_met_by_artifacts():
    """With rows in artifacts only a short pointer is written to state, so that a limit on its size is not met."""

    class Small(InMemorySessionService):
        async def append_event(self, session, event):
            if len(str(event.actions.state_delta)) > 500:
                raise PermissionError("this delta is refused")
            return await super().append_event(session, event)

    run = await run_agent(
        agent(list_rows), "go", session_service=Small(), plugins=[p.ContextPackPlugin(store="artifacts")]
    )
    assert run.answer == "done"
    assert len(kept_results(run.session.state)) == 1


STORE = p.PayloadStore(place="artifacts", timeout_s=0.05)


def read_text() -> str:
    """Reads a text."""
    return TEXT


class Troubled(InMemoryArtifactService):
    """A service that fails in one way, when it saves or when it gives back."""

    how: str = ""

    async def save_artifact(self, *, artifact, **names):
        if self.how == "raises":
            raise OSError("no room for the secret payload")
        if self.how == "hangs":
            await asyncio.sleep(3600)
        if self.how == "hangs and cannot be cancelled":
            for _ in range(10):
                try:
                    await asyncio.sleep(0.05)
                except asyncio.CancelledError:
                    continue
        if self.how == "is cancelled within":
            raise asyncio.CancelledError
        if self.how == "half-writes":
            blob = types.Blob(mime_type="application/json", data=artifact.inline_data.data[:9])
            artifact = types.Part(inline_data=blob)
        if self.how == "writes nothing":
            return 0
        return await super().save_artifact(artifact=artifact, **names)

    async def load_artifact(self, **names):
        if self.how == "returns nothing":
            return None
        if self.how == "returns no part":
            return {"inline_data": None}
        if self.how == "raises on reading":
            raise KeyError("the secret payload")
        return await super().load_artifact(**names)


FAULTS = (
    "raises", "hangs", "hangs and cannot be cancelled", "is cancelled within", "half-writes", "writes nothing",
    "returns nothing", "returns no part", "raises on reading",
)  # fmt: skip
PLUGIN = {
    "passes": (),
    "rows": p.CapRows(max_rows=5, store=STORE),
    "payloads": p.OffloadPayload(max_tokens=500, store=STORE),
}


@pytest.mark.parametrize("how", FAULTS)
@pytest.mark.parametrize("way", ["plugin", "wrapper"])
async def test_nothing_is_sent_whole_or_said_to_be_kept(way, how, caplog):
    """No error, nothing kept, short results without handles that say why; a line in the log, with no payload in it."""
    both_calls = [("list_rows", {}), ("read_text", {})]
    with caplog.at_level(logging.WARNING, logger="adk_context_pack"):
        if way == "plugin":
            plugins = [p.ContextPackPlugin(**PLUGIN)]
            reader = calling(list_rows, read_text, calls=both_calls)
            found = await ending(reader, artifacts=Troubled(how=how), plugins=plugins)
        else:
            tools = [p.cap_rows(list_rows, max_rows=5, store=STORE), p.offload_payload(read_text, store=STORE)]
            found = await ending(calling(*tools, calls=both_calls), artifacts=Troubled(how=how))
    assert found.error == ""
    rows, text = (each.response for each in results_in(found.requests[-1]))
    assert rows["rows"] == ROWS[:3]
    assert "_handle" not in rows
    for tool, said in (("list_rows", rows["_note"]), ("read_text", text["result"])):
        assert f"): call {tool} again for less at a time." in said
        assert len(said) < 2500
    assert "rows:list_rows" not in found.session
    assert "payload:read_text" not in found.session
    messages = [record.getMessage() for record in caplog.records if record.name == "adk_context_pack"]
    for tool in ("list_rows", "read_text"):
        assert any(message.startswith(f"a result of {tool} could not be kept") for message in messages)
    assert "secret" not in caplog.text


@pytest.mark.parametrize("how", ["raises on reading", "returns nothing", "returns no part"])
async def test_a_service_that_fails_later_is_told_to_the_model(how):
    """What was kept well and cannot be read now: the model is told so, and the run goes on."""
    artifacts = Troubled()

    def answer(request):
        if request.contents[-1].parts[-1].text:
            return call("list_rows")
        if found := results_in(request, "query_rows"):
            return found[-1].response.get("error", "no error")
        artifacts.how = how
        handle = results_in(request)[0].response["_handle"]
        return call("query_rows", handle=handle, sql="SELECT COUNT(*) FROM rows")

    reader = LlmAgent(name="reader", model=ScriptedModel(answer=answer), tools=[list_rows])
    found = await ending(reader, artifacts=artifacts, plugins=[p.ContextPackPlugin(**PLUGIN)])
    assert found.error == ""
    told = results_in(found.requests[-1], "query_rows")[0].response["error"]
    assert "artifact" in told
    assert "secret" not in told


class Full(InMemoryArtifactService):
    """A service on a disk that is full after a few files."""

    room: int = 1

    async def save_artifact(self, **names):
        if len(self.artifacts) >= self.room:
            raise OSError(28, "No space left on device for the secret payload")
        return await super().save_artifact(**names)


async def test_a_full_disk_costs_only_what_does_not_fit(caplog):
    """What was kept before the disk was full is read back, and later results are shown in part without a handle."""
    artifacts = Full()

    def answer(request):
        found = results_in(request)
        if len(found) < 2:
            return call("list_rows")
        if len(found) == 2:
            return call("query_rows", handle=found[0].response["_handle"], sql="SELECT COUNT(*) FROM rows")
        return "done"

    reader = LlmAgent(name="reader", model=ScriptedModel(answer=answer), tools=[list_rows, p.query_rows])
    found = await ending(reader, artifacts=artifacts, plugins=[p.ContextPackPlugin(**PLUGIN)])
    assert found.error == ""
    kept, unkept, queried = (each.response for each in results_in(found.requests[-1]))
    assert len(kept["rows"]) == len(unkept["rows"]) == 3
    assert "_handle" not in unkept
    assert queried["rows"] == [[300]]
    assert "secret" not in caplog.text


HANDLE = re.compile(r"\b2[0-9a-z]{10}\b")
REFUSED = {
    "keys of the pack": lambda delta: any(key.startswith(("rows:", "payload:")) for key in delta),
    "large deltas": lambda delta: len(str(delta)) > 700,
    "any delta": bool,
}


def list_bare() -> list:
    """Lists rows, as a bare list."""
    return ROWS


def read_both() -> dict:
    """Reads rows with a long text beside them."""
    return {"rows": ROWS, "log": TEXT, "status": "ok"}


TOOLS = [list_rows, list_bare, read_text, read_both]
CALLS = [call("list_rows"), call("read_text"), call("list_rows", first=20), call("list_bare"), call("read_both")]


def reader_of_all(tools, *, parallel: bool) -> LlmAgent:
    """Calls the tools at once or one after the other, then tells what it received of their results."""

    def answer(request):
        found = results_in(request)
        if len(found) < len(CALLS):
            return CALLS if parallel else CALLS[len(found)]
        return str([str(each.response) for each in found])

    return LlmAgent(name="reader", model=ScriptedModel(answer=answer), tools=list(tools))


def refusing(base: type, refused) -> type:
    """A session service of a kind, which refuses deltas."""

    class Refusing(base):
        asked = 0

        async def append_event(self, session, event):
            if not event.partial and refused(event.actions.state_delta):
                type(self).asked += 1
                raise PermissionError("this delta is refused")
            return await super().append_event(session=session, event=event)

    return Refusing


def capped_tools(store: p.PayloadStore, reports: list) -> list:
    """Each tool wrapped by itself, without the plugin."""
    rows = {"max_rows": 5, "store": store, "on_report": reports.append}
    texts = {"max_tokens": 300, "preview_tokens": 50, "store": store, "on_report": reports.append}
    return [
        p.cap_rows(list_rows, **rows),
        p.cap_rows(list_bare, **rows),
        p.offload_payload(read_text, **texts),
        p.offload_payload(p.cap_rows(read_both, **rows), **texts),
    ]


def attached(way: str, store: p.PayloadStore) -> tuple[list, list, list]:
    """Tools, plugins, and the reports of capping."""
    reports: list = []
    if way == "wrappers":
        return capped_tools(store, reports), [], reports
    rows = p.CapRows(max_rows=5, store=store, on_report=reports.append)
    payloads = p.OffloadPayload(max_tokens=300, preview_tokens=50, store=store, on_report=reports.append)
    return TOOLS, [p.ContextPackPlugin(passes=(), rows=rows, payloads=payloads)], reports


def assert_nothing_kept(error: str, requests: list) -> None:
    """The run ended well, and each result is short, names no handle and says that the rest of it is nowhere."""
    results = results_in(requests[-1])
    assert error == ""
    assert len(results) == len(CALLS)
    for result in results:
        said = str(result.response)
        assert f"The rest was not kept (the session refused it): call {result.name} again" in said
        assert HANDLE.search(said) is None
        # A wrapper leaves what the one within it has capped.
        assert len(said) < 3_000 or (result.name == "read_both" and "[text of" not in said)


@pytest.mark.parametrize("refused", REFUSED)
@pytest.mark.parametrize("parallel", [False, True], ids=["one by one", "parallel"])
@pytest.mark.parametrize("way", ["plugin", "wrappers"])
async def test_the_run_ends_with_what_is_true(way, parallel, refused, caplog):
    """Each result is a part without a handle that says why; the log and the reports say what was refused."""
    tools, plugins, reports = attached(way, p.PayloadStore(place="state"))
    service = refusing(InMemorySessionService, REFUSED[refused])()
    with caplog.at_level(logging.WARNING, logger="adk_context_pack"):
        found = await ending(reader_of_all(tools, parallel=parallel), sessions=service, plugins=plugins)
    assert service.asked == (1 if parallel else len(CALLS))
    assert_nothing_kept(found.error, found.requests)
    assert '"rows:' not in found.session
    refusals = [each for each in reports if each.error]
    assert {each.tool for each in refusals} == {tool.__name__ for tool in TOOLS}
    assert {each.error for each in refusals} == {"the session service refused what was kept of it (PermissionError)"}
    assert {(each.session_id, bool(each.invocation_id)) for each in refusals} == {(SESSION, True)}
    said = [record.getMessage() for record in caplog.records if record.name == "adk_context_pack"]
    for tool in TOOLS:
        assert any(
            text.startswith(f"a result of {tool.__name__} could not be kept: the session service") for text in said
        )
    assert "secret" not in "".join(said)


@pytest.mark.parametrize("refused", ["keys of the pack", "any delta"])
@pytest.mark.parametrize("way", ["plugin", "wrappers"])
async def test_a_pointer_is_refused_like_a_result(way, refused):
    """With artifacts only pointers are refused; the event says that nothing was kept."""
    tools, plugins, _ = attached(way, p.PayloadStore(place="artifacts"))
    service = refusing(InMemorySessionService, REFUSED[refused])()
    run = await run_agent(reader_of_all(tools, parallel=True), "go", session_service=service, plugins=plugins)
    assert_nothing_kept("", run.requests)
    assert run.session.state == {}


@pytest.mark.parametrize("parallel", [False, True], ids=["one by one", "parallel"])
@pytest.mark.parametrize("way", ["plugin", "wrappers"])
async def test_a_database_that_refuses(way, parallel, tmp_path):
    """The same over a DatabaseSessionService, whose transaction is rolled back or never begun."""
    pytest.importorskip("aiosqlite", reason="aiosqlite is not installed")
    base = import_module("google.adk.sessions.database_session_service").DatabaseSessionService
    kind = refusing(base, REFUSED["keys of the pack"])
    tools, plugins, _ = attached(way, p.PayloadStore(place="state"))
    async with closed_at_the_end(kind(db_url=f"sqlite+aiosqlite:///{tmp_path / 'sessions.db'}")) as service:
        found = await ending(reader_of_all(tools, parallel=parallel), sessions=service, plugins=plugins)
    assert service.asked
    assert_nothing_kept(found.error, found.requests)
    assert '"rows:' not in found.session


async def test_an_event_that_was_stored_is_not_stored_twice():
    """A service that fails with the event stored, as by a timeout: its exception ends the run as it would."""

    class Late(InMemorySessionService):
        async def append_event(self, session, event):
            stored = await super().append_event(session=session, event=event)
            if any(part.function_response for part in event.content.parts):
                raise TimeoutError("no answer")
            return stored

    tools, plugins, _ = attached("plugin", p.PayloadStore(place="state"))
    service = Late()
    found = await ending(reader_of_all(tools, parallel=True), sessions=service, plugins=plugins)
    assert found.error == "TimeoutError: no answer"
    session = await service.get_session(app_name="app", user_id=USER, session_id=SESSION)
    assert len(session.events) == 3
    assert len(kept_results(session.state)) == len(CALLS) + 1
    assert "_handle" in session.events[-1].content.parts[0].function_response.response


async def test_what_the_app_itself_wrote_is_refused_as_without_the_pack():
    """A delta that holds a refused key of the app's own beside those of the pack: the service's exception."""

    def plan(tool_context: ToolContext) -> dict:
        """Writes a plan."""
        tool_context.state["plan"] = [1]
        return {"rows": ROWS}

    async def refused(plugins):
        service = refusing(InMemorySessionService, lambda delta: "plan" in delta)()
        return await ending(calling(plan), sessions=service, plugins=plugins)

    bare, packed = await refused([]), await refused([p.ContextPackPlugin()])
    assert packed.error == bare.error == "PermissionError: this delta is refused"
    assert packed.same_as(bare)


@pytest.mark.parametrize("place", ["state", "artifacts"])
async def test_a_key_of_the_users_own_holds_what_was_stored_last(place):
    """Of two results under one key the second is refused: state has the first, and the second names no handle."""
    full = []

    def large(delta):
        full.append(any(key.startswith("orders:") for key in delta))
        return sum(full) > 1 and full[-1]

    def answer(request):
        found = results_in(request)
        seen.extend("_handle" in found[-1].response for _ in found[-1:])
        return "done" if len(found) == 2 else call("list_rows", first=len(found))

    seen: list = []
    tool = p.cap_rows(list_rows, max_rows=5, state_key="orders:{tool}", store=p.PayloadStore(place=place))
    reader = LlmAgent(name="reader", model=ScriptedModel(answer=answer), tools=[tool])
    run = await run_agent(reader, "go", session_service=refusing(InMemorySessionService, large)())
    assert run.answer == "done"
    assert seen == [True, False]
    if place == "state":
        assert run.session.state["orders:list_rows"] == list_rows()
    kept = [run.session.state[key] for key in kept_results(run.session.state)]
    assert [(entry["stored"], entry["key"]) for entry in kept] == [("key", "orders:list_rows")]


async def test_what_a_callback_made_of_a_shortened_result_stays():
    """A callback takes something out of a result: a refusal does not bring it back, and the handle goes."""

    def redact(tool, args, tool_context, tool_response):
        return {**tool_response, "rows": "withheld"}

    tool = p.cap_rows(list_rows, max_rows=5, store="state")
    reader = calling(tool, then=lambda request: str(results_in(request)[0].response), after_tool_callback=redact)
    run = await run_agent(reader, "go", session_service=refusing(InMemorySessionService, bool)())
    assert "'withheld'" in run.answer
    assert "'_row_limits'" in run.answer
    assert "secret city 299" not in str([event.content for event in run.events])
    assert "'_handle'" not in run.answer


async def test_the_child_of_an_agent_tool():
    """What a child kept is refused by its caller's service: the child's answer is what it would be."""
    child = calling(list_rows, name="child", then="counted")
    calls = [("child", {"request": "count"})]
    parent = calling(AgentTool(child), calls=calls, then=lambda request: str(results_in(request)[0].response))
    service = refusing(InMemorySessionService, bool)
    run = await run_agent(parent, "go", session_service=service(), plugins=[p.ContextPackPlugin()])
    assert service.asked == 1
    assert run.answer == "{'result': 'counted'}"
    assert run.session.state == {}


async def test_a_refused_view():
    """A view that `CompactState` keeps in state is refused: the model sees it all the same, and the run goes on."""
    writer = LlmAgent(
        name="writer",
        instruction="The plan: {compact:plan}",
        model=ScriptedModel(answer=lambda request: request.config.system_instruction),
        before_model_callback=p.CompactState(key="plan", output_key="plan_view"),
    )
    service = refusing(InMemorySessionService, bool)
    run = await run_agent(writer, "go", session_service=service(), state={"plan": [1, 2]})
    assert service.asked == 1
    assert "The plan: [1,2]" in run.answer
    assert "plan_view" not in run.session.state


async def test_nothing_is_held_of_what_was_stored_or_given_up():
    """After a run, and after one that was cut off before its event was stored, the guard holds nothing."""
    tools, plugins, _ = attached("plugin", p.PayloadStore(place="state"))
    service = InMemorySessionService()
    await run_agent(reader_of_all(tools, parallel=True), "go", session_service=service, plugins=plugins)
    guard = service.append_event.__self__
    assert guard._waiting == {}

    async def hang(tool, args, tool_context, tool_response):
        running.pop().cancel()
        await asyncio.sleep(3600)

    cut = calling(p.cap_rows(list_rows, max_rows=5, store="state"), after_tool_callback=hang)
    running = [asyncio.ensure_future(run_agent(cut, "go", session_service=service, session_id="cut"))]
    with suppress(asyncio.CancelledError):
        await running[0]
    for _ in range(20):
        await asyncio.sleep(0)  # asyncio closes ADK's generators one after the other
    gc.collect()
    assert guard._waiting == {}
    assert service.append_event.__self__ is guard
