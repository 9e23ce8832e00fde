"""The invariants, by the question that each answers. What weakens one fails here, in the quick tests.

Who may open a result; who was shown it; whose cache it is; what a total counts; what a proof rests on; what is never
lost; and what is bounded.
"""

import asyncio
import random
from dataclasses import asdict

import pytest
from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.apps.app import App
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.tools import agent_tool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.function_tool import FunctionTool
from google.genai import types

from adk_context_pack import (
    DataSummarizer,
    DropOldMedia,
    HandleError,
    IngestMemory,
    RecallMemory,
    StripForContext,
    defer_tools,
    load_payload,
    query_rows,
    read_payload,
    search_history,
)
from adk_context_pack.conversation import relayed_blocks
from adk_context_pack.passes import recall_memory
from adk_context_pack.sql import worker
from adk_context_pack.sql.load_image import image_of
from adk_context_pack.sql.worker import Jobs
from adk_context_pack.stores.handles import expired_entry, expiry_key, fingerprint, new_handle, state_key
from adk_context_pack.stores.payload_store import _bytes_under, _expired_entries
from adk_context_pack.tables.columns import iter_columns
from tests.support.adk_contents import request_of
from tests.support.agents import calling
from tests.support.events import agent_called, agent_said, tool_returned, user_said
from tests.support.in_tool import in_tool, model_that_calls
from tests.support.requests import applied, call_for, everything, request_for
from tests.support.requests import texts as request_texts
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, recording, results_in, text_of

NOW = 1_800_000_000
# Who may open a result: whoever has a handle of this session, for what the pack itself has stored.
SECRET = [{"salary": 4711}]


@pytest.mark.parametrize(
    ("entry", "there"),
    [
        ({"key": "user:pay", "print": fingerprint(SECRET)}, "user:pay"),
        ({"key": "app:pay", "print": fingerprint(SECRET)}, "app:pay"),
        ({"key": "temp:pay", "print": fingerprint(SECRET)}, "temp:pay"),
        ({"key": "pay", "print": fingerprint([1])}, "pay"),
        ({"key": "pay"}, "pay"),
        ({"key": "user:pay", "print": fingerprint(SECRET)}, "pay"),
    ],
    ids=["a user's", "an app's", "a run's", "another value", "no print", "absent"],
)
async def test_an_entry_opens_only_what_was_stored_with_it(entry, there):
    """A forged entry opens nothing, and its error is that of a handle that does not exist, so that it tells nothing."""
    handle, unknown = new_handle(NOW), new_handle(NOW)

    async def act(context):
        # As another tool of the app would write it, in an event of its own.
        context.session.state[there] = SECRET
        context.session.state[state_key("rows", "t", handle)] = {"stored": "key", **entry}
        return [await _error(context, each) for each in (handle, unknown)]

    forged, absent = await in_tool(act)
    assert forged.startswith(f"This session has no stored result {handle!r}.")
    assert absent.startswith(f"This session has no stored result {unknown!r}.")


async def _error(context, handle):
    with pytest.raises(HandleError) as error:
        await load_payload(context, handle)
    return str(error.value)


async def test_what_was_stored_opens():
    """The same entry with the print of what is there opens it: the refusals above are not for another reason."""
    handle = new_handle(NOW)

    async def act(context):
        state = {"pay": SECRET, state_key("rows", "t", handle): {"stored": "key", "key": "pay",
                                                                  "print": fingerprint(SECRET)}}  # fmt: skip
        context.session.state.update(state)
        return await load_payload(context, handle)

    assert await in_tool(act) == SECRET


# Who was shown it: a model calls what its own request showed it.
class ToolsOfWhoAsks(BaseToolset):
    """One tool, another one for each user."""

    async def get_tools(self, readonly_context=None):
        def alpha() -> str:
            """Does alpha."""
            return "alpha was done"

        def beta() -> str:
            """Does beta."""
            return "beta was done"

        who = readonly_context.state.get("who") if readonly_context is not None else None
        return [FunctionTool({"anna": alpha, "ben": beta}.get(who, alpha))]

    async def close(self):
        pass


async def test_a_deferred_call_is_of_the_tools_of_its_own_run():
    """A run of another user between a request and its answer does not change which tools the answer can call."""
    deferred = defer_tools(ToolsOfWhoAsks())
    bens = LlmAgent(name="a", model=ScriptedModel(), tools=[deferred])

    async def another_user(callback_context, llm_request):
        await run_agent(bens, "Hello.", state={"who": "ben"}, user_id="ben")

    calls = [("use_tool", {"name": "alpha", "args": "{}"})]
    annas = calling(deferred, calls=calls, before_model_callback=another_user)
    run = await run_agent(annas, "Do alpha.", state={"who": "anna"}, user_id="anna")
    assert [result.response for result in results_in(run.requests[-1])] == [{"result": "alpha was done"}]


# Whose cache it is: what one app, user or session reads never comes from another's.
OWNERS = [{"app_name": "other"}, {"user_id": "other"}, {"session_id": "other"}]


@pytest.mark.parametrize("owner", OWNERS, ids=["app", "user", "session"])
@pytest.mark.parametrize(
    ("tool", "args"),
    [(query_rows, {"sql": "SELECT text FROM rows"}), (read_payload, {"search": "crane"})],
    ids=["tables", "texts"],
)
async def test_what_is_opened_is_ones_own(tool, args, owner):
    """The same handle in two sessions, which differ in app, user or id alone, gives each its own result."""
    handle = new_handle(NOW)
    kind = "rows" if tool is query_rows else "payload"

    async def read(words, **settings):
        model = model_that_calls((tool.__name__, {"handle": handle, **args}))
        value = [{"text": words}, {"text": words}] if kind == "rows" else words * 100
        run = await run_agent(
            LlmAgent(name="a", model=model, tools=[tool]), "go", state={state_key(kind, "t", handle): value}, **settings
        )
        return str(results_in(run.requests[-1])[0].response)

    for settings, words, others in (({}, "yellow", "purple"), (owner, "purple", "yellow")):
        shown = await read(f"the crane is {words}", **settings)
        assert words in shown
        assert others not in shown


async def test_what_is_found_in_the_past_is_ones_own():
    """A session that was deleted and made again under its name has nothing of its past."""

    async def search(words):
        model = model_that_calls((search_history.__name__, {"query": "crane"}))
        run = await run_agent(LlmAgent(name="a", model=model, tools=[search_history]), f"The crane is {words}.")
        return str(results_in(run.requests[-1])[0].response)

    assert "yellow" in await search("yellow")
    assert "yellow" not in await search("purple")


class Memories(BaseMemoryService):
    """Answers each query with `text`, if there is one, and takes sessions, unless it hangs."""

    def __init__(self, text="It was a zebra."):
        self.text, self.got, self.hangs = text, [], False

    async def add_session_to_memory(self, session):
        if self.hangs:
            await asyncio.sleep(60)
        self.got.append(session.id)

    async def search_memory(self, *, app_name, user_id, query):
        found = [MemoryEntry(content=types.UserContent(f"{query}: {self.text}"))] if self.text else []
        return SearchMemoryResponse(memories=found)


MINE = {"app_name": "app", "user_id": "user", "session_id": "session"}


async def with_memory(memory, agent, *messages, plugins=(), **owner):
    """Runs turns of one session of an app with a memory service, and gives the requests."""
    sessions, owner = InMemorySessionService(), {**MINE, **owner}
    await sessions.create_session(**owner)
    app = App(name=owner.pop("app_name"), root_agent=agent, plugins=list(plugins))
    runner = Runner(app=app, session_service=sessions, memory_service=memory)
    with recording() as requests:
        for message in messages:
            async for _ in runner.run_async(**owner, new_message=types.UserContent(message)):
                pass
    return requests


@pytest.mark.parametrize("owner", OWNERS, ids=["app", "user", "session"])
async def test_what_is_recalled_is_ones_own(owner):
    """Passages that were recalled for one session are not shown in another that asks the same."""
    agent = LlmAgent(name="a", model=ScriptedModel(), before_model_callback=RecallMemory())
    await with_memory(Memories("It was a zebra."), agent, "Which animal?")
    (request,) = await with_memory(Memories(""), agent, "Which animal?", **owner)
    assert "zebra" not in text_of(request)


# What a total counts: each live row once, and no row that has expired.
@pytest.mark.parametrize("how", ["late", "marked"])
async def test_a_summary_counts_no_expired_result(how):
    """A result whose time is over, or that made way for others, adds nothing to a summary, which says so."""
    gone, live = new_handle(NOW), new_handle(NOW + 1)
    value = {"late": [{"clicks": 5}], "marked": expired_entry([{"clicks": 5}])}[how]
    state = {state_key("rows", "t", gone): value, state_key("rows", "t", live): [{"clicks": 7}]}
    state |= {expiry_key(gone): 1} if how == "late" else {}
    for source in ({"source": "t"}, {}):
        run = await run_agent(DataSummarizer(name="summarizer", **source), "go", state=state)
        summary = run.session.state["summarized_results"]
        assert [entry["totals"] for entry in summary.values()] == [{"clicks": 7}, {}]
        assert (summary["missing"]["row_count"], gone in summary["missing"]["error"]) == (None, True)


@pytest.mark.parametrize("surplus", [0, 4])
@pytest.mark.parametrize("max_bytes", range(300, 2_600, 100))
def test_what_is_left_fits_with_its_marks(max_bytes, surplus):
    """Results expire, oldest first, until the rest and all marks fit, and not one more than that takes."""
    draw, state = random.Random(max_bytes), {}
    for number in range(12):
        handle = new_handle(NOW + number)
        state[state_key("rows", "t", handle)] = "x" * draw.randrange(20, 300)
        if number % 3 == 0:
            state[expiry_key(handle)] = 2**40
    state |= {state_key("rows", "t", new_handle(NOW - 5)): expired_entry("")}
    keys = [key for key in state if key.startswith("rows:") and isinstance(state[key], str)]
    newest = keys.pop()
    gone = _expired_entries(state, newest=newest, replaced_key=None, max_bytes=max_bytes, max_results=12 - surplus)
    assert list(gone) == keys[: len(gone)]

    def taken(count):
        after = state | {key: gone[key] for key in keys[:count]}
        return sum(_bytes_under(after, key) for key in after if key.startswith("rows:"))

    assert taken(len(gone)) <= max_bytes or len(gone) == len(keys)
    assert len(gone) == surplus or taken(len(gone) - 1) > max_bytes


# What a proof rests on: every byte of what ADK wrote, and the event that it was written for.
@pytest.mark.parametrize("part", ["call", "result"])
def test_a_proof_is_of_the_whole_text(part):
    """A block in which one letter differs from what was proved for the same event is somebody else's, and stays."""
    session = [
        user_said("Which city?"),
        agent_called("scout", "look_up", "1", city="Oslo"),
        tool_returned("scout", "look_up", {"city": "Oslo", "people": 700_000}, "1"),
        agent_said("scout", "Oslo."),
    ]
    assert "700000" not in everything(applied(StripForContext(), "writer", session))
    request = request_for("writer", session)
    old, new = {"call": ("'Oslo'", "'Rome'"), "result": ("700000", "900000")}[part]
    changed = [
        content.model_copy(
            update={"parts": [one.model_copy(update={"text": one.text.replace(old, new)}) for one in content.parts]}
        )
        for content in request.contents
    ]
    left = StripForContext().apply(request_of(changed), call_for("writer", session))
    assert new in everything(left)


# What is never lost: the user's message with all that is in it, and a session that waits for the memory service.
def test_the_message_keeps_its_media():
    """A relay behind the newest message that the user has typed once before does not make its picture an old one."""
    picture = types.Part(inline_data=types.Blob(mime_type="image/png", data=b"\x89PNG" * 1_000))
    typed = user_said(*request_texts(request_for("a", [agent_said("scout", "A cat.")]))[0])
    said = user_said("What is this?")
    said.content.parts.append(picture)
    session = [typed, agent_said("a", "I see."), said, agent_said("scout", "A cat.")]
    shown = applied(DropOldMedia(), "a", session)
    assert [part for content in shown.contents for part in content.parts if part.inline_data] == [picture]


def for_ingestion(agent=None):
    """An agent whose runs ADK 2.0 tells plugins of, too, which it does of no lone `LlmAgent`."""
    return SequentialAgent(name="root", sub_agents=[agent or LlmAgent(name="a", model=ScriptedModel())])


async def test_the_session_of_a_call_is_not_ingested(monkeypatch):
    """An agent that is used as a tool runs in a session of its own, which the memory of the app never gets."""
    memory, plugin = Memories(), IngestMemory()
    monkeypatch.setattr(agent_tool, "InMemoryMemoryService", lambda: memory)

    child = LlmAgent(name="child", description="d", model=ScriptedModel())
    parent = calling(agent_tool.AgentTool(child), calls=[("child", {"request": "go"})])
    await with_memory(memory, for_ingestion(parent), "Hello.", plugins=[plugin])
    await plugin.close()
    assert memory.got == [MINE["session_id"]]


async def test_a_session_survives_a_cancelled_ingestion():
    """What was being handed over when the service hung is handed over after it has come back."""
    memory, plugin = Memories(), IngestMemory(close_seconds=0.05)
    memory.hangs = True
    await with_memory(memory, for_ingestion(), "Hello.", plugins=[plugin], session_id="first")
    await plugin.close()
    memory.hangs = False
    await with_memory(memory, for_ingestion(), "Hello.", plugins=[plugin], session_id="second")
    await plugin.close()
    assert sorted(memory.got) == ["first", "second"]


# What is bounded: nothing that a long life of a process could fill.
async def test_only_the_newest_passages_stay(monkeypatch):
    """A session with many turns shows the passages of its newest ones."""
    monkeypatch.setattr(recall_memory, "_MAX_KEPT_BLOCKS", 2)
    agent = LlmAgent(name="a", model=ScriptedModel(), before_model_callback=RecallMemory())
    requests = await with_memory(Memories(), agent, *(f"Which animal {n}?" for n in range(4)), session_id="bounded")
    assert [n for n in range(4) if f"Which animal {n}?: It was" in text_of(requests[-1])] == [2, 3]


def test_remembered_proofs_are_bounded(monkeypatch):
    """However many results are proved, no more than so many are remembered."""
    monkeypatch.setattr(relayed_blocks, "_proved", set(range(relayed_blocks._MAX_PROVED - 1)))
    session = [user_said("Go."), *(tool_returned("scout", "t", {"n": n}, str(n)) for n in range(5))]
    applied(StripForContext(), "writer", session)
    assert 0 < len(relayed_blocks._proved) <= 50_000


def test_the_tables_of_a_process_are_bounded(monkeypatch):
    """Images are kept up to so many bytes, and those used last stay."""
    images = [image_of({"rows": iter_columns([{"x": number}])}) for number in range(6)]
    monkeypatch.setattr(worker, "_pages", lambda _: None)
    jobs, limits = Jobs(), {"kill_seconds": 30, "max_bytes": 2**28, "max_rows": 1, "max_seconds": 30}
    limits["at_rest"] = 3 * len(images[0].data)

    def ask(image, do):
        described = {"handle": "h", "number": image.number, "names": asdict(image.names)}
        header = {"do": do, "numbers": [image.number], "images": [described], "sql": "SELECT x FROM rows"}
        return jobs.answer(header | ({"limits": limits} if do == "query" else {}), [image.data])

    for image in images:
        assert ask(image, "open") == {}
        ask(images[0], "query")
    kept = [number for number, image in enumerate(images) if "missing" not in ask(image, "query")]
    assert kept == [0, 4, 5]
