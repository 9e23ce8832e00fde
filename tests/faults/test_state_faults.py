"""State and results that cannot be stored: the run ends as it would without the pack, with the same exception."""

from __future__ import annotations

import pytest
from google.adk.agents import LlmAgent
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.tools.tool_context import ToolContext

from adk_context_pack import CompactState, ContextPackPlugin, default_passes
from tests.faults.outcome import ending
from tests.support.databases import Database, kept_results
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in

ROWS = [{"id": n, "city": f"city {n}"} for n in range(300)]


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
    return LlmAgent(
        name="a",
        model=ScriptedModel(answer=lambda request: "done" if results_in(request) else call(tool.__name__)),
        tools=[tool],
        instruction="The plan: {compact:plan}",
    )


def pack() -> ContextPackPlugin:
    """The plugin, with a pass that reads state."""
    return ContextPackPlugin(passes=[CompactState(key="plan"), *default_passes(max_tokens=20_000)])


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


class Refuses(InMemorySessionService):
    """A service that takes no state at all of the kind that `refused` names."""

    def __init__(self, refused):
        super().__init__()
        self.refused = refused

    async def append_event(self, session, event):
        if any(self.refused(key) for key in event.actions.state_delta):
            raise PermissionError("this delta is refused")
        return await super().append_event(session, event)


async def test_a_service_that_refuses_a_delta_of_the_apps_own():
    """The app's own exception, at the same place, with the same session."""

    def plan(tool_context: ToolContext) -> dict:
        """Writes a plan."""
        tool_context.state["plan"] = [1]
        return {"rows": ROWS}

    async def refused(plugins):
        return await ending(agent(plan), sessions=Refuses(lambda key: key == "plan"), plugins=plugins)

    bare, packed = await refused([]), await refused([pack()])
    assert bare.error == "PermissionError: this delta is refused"
    assert packed.same_as(bare)


def list_rows() -> dict:
    """Lists rows."""
    return {"rows": ROWS}


async def test_a_service_that_refuses_what_the_pack_keeps():
    """The run ends well with a stub that names no handle; see `test_refused_delta.py` for the ways."""
    service = Refuses(lambda key: key.startswith("rows:"))
    packed = await ending(agent(list_rows), sessions=service, plugins=[pack()])
    stub = results_in(packed.requests[-1])[0].response
    assert packed.error == ""
    assert "_handle" not in stub
    assert "The rest was not kept (the session refused it)" in stub["_note"]
    service.refused = lambda key: False
    again = await run_agent(agent(list_rows), "again", session_service=service, plugins=[pack()])
    assert again.answer == "done"


async def test_a_service_that_refuses_large_deltas_is_met_by_artifacts():
    """With rows in artifacts only a short pointer is written to state, so that a limit on its size is not met."""

    class Small(InMemorySessionService):
        async def append_event(self, session, event):
            if len(str(event.actions.state_delta)) > 500:
                raise PermissionError("this delta is refused")
            return await super().append_event(session, event)

    run = await run_agent(
        agent(list_rows), "go", session_service=Small(), plugins=[ContextPackPlugin(store="artifacts")]
    )
    assert run.answer == "done"
    assert len(kept_results(run.session.state)) == 1
