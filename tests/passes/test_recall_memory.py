"""RecallMemory: what memory knows stands before the message, once, fenced, and the prefix stays."""

import asyncio
import logging
from dataclasses import dataclass
from itertools import pairwise

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps.app import App
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.in_memory_memory_service import InMemoryMemoryService
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models.llm_request import LlmRequest
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session
from google.adk.tools import load_memory, preload_memory
from google.genai import types

from adk_context_pack import ContextPackPlugin, ContextPass, ContextPipeline, ModelCall, RecallMemory
from adk_context_pack.conversation.contents import texts_of
from adk_context_pack.conversation.token_estimate import TokenMeter
from adk_context_pack.passes.recall_memory import BEGIN, Memory, Recalled, block_of, ranked_lines, with_recalled
from adk_context_pack.testing import check_pass
from tests.support.events import agent_said, user_said
from tests.support.scripted_model import ScriptedModel, call, recording


class Memories(BaseMemoryService):
    """Answers every query with the same memories, and counts the queries."""

    def __init__(self, *texts, error=None, seconds=0.0):
        self.texts, self.error, self.seconds, self.queries = texts, error, seconds, []

    async def add_session_to_memory(self, session):
        pass

    async def search_memory(self, *, app_name, user_id, query):
        self.queries.append(query)
        await asyncio.sleep(self.seconds)
        if self.error:
            raise self.error
        entries = [
            MemoryEntry(content=types.UserContent(text), author="anna", timestamp="2026-01-02") for text in self.texts
        ]
        return SearchMemoryResponse(memories=entries)


def agent_with(*passes, **settings):
    settings.setdefault("model", ScriptedModel(answer=lambda _: "Noted."))
    return LlmAgent(name="a", before_model_callback=list(passes), **settings)


async def requests_of(agent, memory, *messages, plugins=(), session_id=None):
    """The texts of each request that the agent sent."""
    sessions = InMemorySessionService()
    session = await sessions.create_session(app_name="app", user_id="user", session_id=session_id)
    app = App(name="app", root_agent=agent, plugins=list(plugins))
    runner = Runner(app=app, session_service=sessions, memory_service=memory)
    with recording() as requests:
        for message in messages:
            content = types.UserContent(message)
            async for _ in runner.run_async(user_id="user", session_id=session.id, new_message=content):
                pass
    return [[text for content in request.contents for text in texts_of(content)] for request in requests]


@pytest.mark.parametrize("way", ["pass", "pipeline", "plugin"])
async def test_asks_once_a_turn_and_the_prefix_stays(way):
    """Two model calls of one turn ask once, the next turn asks again for what it shows, and the prefix stays."""
    tools, model = [_tool], ScriptedModel(answer=_calls_once)
    passes = {"pass": [RecallMemory()], "pipeline": [ContextPipeline([RecallMemory()])], "plugin": []}[way]
    plugins = [ContextPackPlugin(passes=[RecallMemory()])] if way == "plugin" else []
    memory = Memories("Alpha is red.")
    sent = await requests_of(
        agent_with(*passes, tools=tools, model=model), memory, "Which is alpha?", "And beta?", plugins=plugins
    )
    assert sorted(memory.queries) == ["And beta?", "Which is alpha?", "Which is alpha?"]
    assert sum("Alpha is red." in str(text) for text in sent[-1]) == 1
    for one, then in pairwise(sent):
        assert then[: len(one)] == one


def _tool() -> str:
    """Does nothing."""
    return "done"


def _calls_once(request):
    last = request.contents[-1].parts[0]
    return "Noted." if last.function_response else call("_tool")


async def test_an_erased_memory_is_gone_with_its_session():
    """What memory erased is not shown in the next turn, nor in a session that is made again under its id."""
    asked, memory = "Where does my sister live?", Memories("My sister lives in Oslo.", "My sister likes tea.")

    def erase(callback_context, llm_request):
        memory.texts = memory.texts[1:]

    told, *later = await requests_of(agent_with(RecallMemory(), erase), memory, asked, "And now?", "Sure?")
    assert "Oslo" in told[0]
    assert not any("Oslo" in text for texts in later for text in texts)
    assert "tea" in later[0][0]
    for memory, times in ((Memories("My sister lives in Oslo."), 1), (Memories(), 0)):
        (texts,) = await requests_of(agent_with(RecallMemory()), memory, asked, session_id="again")
        assert sum("Oslo" in text for text in texts) == times


async def test_the_budget_holds():
    """However much the service gives, the block has no more tokens than the setting."""
    memory = Memories(*(f"Fact {n} about tea. " * 30 for n in range(50)))
    (texts,) = await requests_of(agent_with(RecallMemory(max_tokens=300)), memory, "What about tea?")
    assert 100 < TokenMeter().text(texts[0]) <= 300


@pytest.mark.parametrize("memory", [Memories(error=ConnectionError("gone")), Memories("late", seconds=5), None])
async def test_without_an_answer_the_request_stays(memory, caplog):
    """A service that fails, is late or is not there leaves the request; a failure is logged without payload."""
    caplog.set_level(logging.ERROR, logger="adk_context_pack")
    (texts,) = await requests_of(agent_with(RecallMemory(max_seconds=0.05)), memory, "Hello?")
    assert texts == ["Hello?"]
    assert ("nothing is recalled" in caplog.text) == (memory is not None)
    assert "Hello" not in caplog.text


@pytest.mark.parametrize(("expected", "messages"), [
    (False, "Can you see my screen?|Who sails seas, lakes and rivers?|You are my sea"),
    (False, "What is 2+2?|Danke!|我对吗?|¿Qué tal?|你好,今天怎么样?|Ok.|Do you live?|I love seas|Capital of Oman?"),
    (False, "How far is Oz?|Is Everest high?|An der Aller baden|Mi racconti Oz?|Czytasz mi Lem?|Allergy of everybody"),
    (True, "Where does she live?|Where is Ännchen, do you know?|¿Dónde vive Ännchen?|What is my PIN?|By the sea?"),
    (True, "Wer hat eine Versicherung?|Any allergies?|青霉素过敏吗?|Dov'è l'allergy d'oro?|Tell her about room B12"),
    (True, "What has Dr. Ännchen prescribed for coughing?|Remind me of my allergy test"),
    (True, "¿Y mi DNI?|Which sea scares me?|How am I insured?|Who sails the sea?|Do you and I sail Annchen's boat?"),
])  # fmt: skip
async def test_a_message_that_memory_has_nothing_for_recalls_nothing(expected, messages):
    """Greetings, sums and small talk get no passage. A question gets one by a word, a name, or as the sender's own.

    In a memory of many texts one word of two is not enough.
    """
    text = (
        f"Annchen lives in Oslo by sea, in B12. Krankenversicherung, allergy. 我对青霉素过敏。{' Far.' * 70} Everybody."
    )
    for message in messages.split("|"):
        (texts,) = await requests_of(agent_with(RecallMemory()), Memories(text), message)
        assert any("Oslo" in text for text in texts) is expected, message
    (texts,) = await requests_of(agent_with(RecallMemory()), Memories(text, *map(str, range(99))), "Who sails the sea?")
    assert texts == ["Who sails the sea?"]


def sqlite_service(folder):
    module = pytest.importorskip("google.adk.memory._sqlite_memory_service", reason="this ADK has no such service")
    service = next(value for name, value in vars(module).items() if name.endswith("SqliteMemoryService"))
    return service(str(folder / "memory.db"))


@pytest.mark.parametrize("service", [lambda _: InMemoryMemoryService(), sqlite_service], ids=["memory", "sqlite"])
async def test_works_with_adks_services(service, tmp_path):
    """What an earlier session said is recalled in a new one, also by the full-text service of newer releases."""
    memory, session = service(tmp_path), Session(id="old", app_name="app", user_id="user")
    session.events = [user_said("My cat is called Mio."), agent_said("a", "A fine name.")]
    await memory.add_session_to_memory(session)
    (texts,) = await requests_of(agent_with(RecallMemory()), memory, "How is my cat called?")
    assert "[user, " in texts[0]
    assert "Mio" in texts[0]


async def test_results_of_load_memory_keep_the_best_without_empty_fields():
    """ADK's tool gives everything; the model sees the best one whole and what else fits, without null fields."""

    def answer(request):
        used = [p.function_response for c in request.contents for p in c.parts if p.function_response]
        return f"seen {len(used)}" if len(used) > 1 else call("load_memory", query="sister")

    seen = []
    best = "My sister lives in Oslo. " + "The sea is near. " * 60
    memory = Memories(*(f"Weather {n}. " * 40 for n in range(20)), best)

    def look(callback_context, llm_request):
        seen.append([p.function_response for c in llm_request.contents for p in c.parts if p.function_response])

    agent = agent_with(RecallMemory(max_tokens=200), look, tools=[load_memory], model=ScriptedModel(answer=answer))
    await requests_of(agent, memory, "Go.")
    memories = seen[-1][0].response["memories"]
    assert memories == [f"[anna, 2026-01-02] {best.strip()}"]
    assert "null" not in str(memories)
    assert "None" not in str(memories)
    assert seen[1][0].response == seen[2][0].response


async def test_preloaded_memory_is_cut_to_the_budget_and_not_recalled_twice():
    """What ADK preloads is ranked within the budget, and the service is not asked a second time for it."""
    memory = Memories(*(f"Weather {n}. " * 40 for n in range(20)), "My sister lives in Oslo.")
    whole = []

    def look(callback_context, llm_request):
        texts = [text for content in llm_request.contents for text in texts_of(content)]
        texts.append(str(llm_request.config.system_instruction))
        whole.append("\n".join(text for text in texts if "PAST_CONVERSATIONS" in text))

    agent = agent_with(look, RecallMemory(max_tokens=200), look, tools=[preload_memory])
    await requests_of(agent, memory, "Where is my sister?")
    assert len(memory.queries) == 1
    assert "Oslo" in whole[1]
    assert 100 < TokenMeter().text(whole[1]) <= 200
    assert TokenMeter().text(whole[0]) > 1000
    assert BEGIN not in whole[1]


def test_ranks_by_words_then_as_the_service_does():
    """Memories that share words are first, those that do not follow in their order, and a long one gives a passage."""
    memories = [Memory("zero"), Memory("one"), Memory("filler. " * 500 + "The red cat. " + "filler. " * 500)]
    lines = ranked_lines("red cats", memories, max_tokens=150, meter=TokenMeter())
    assert "The red cat." in lines[0]
    assert lines[1:] == ["[memory] zero", "[memory] one"]


@dataclass(frozen=True, kw_only=True)
class RecallsForAll(ContextPass):
    """Puts the same kind of block before every message of the user, as if each turn had recalled something."""

    def apply(self, request, call):
        said = [event.content for event in call.events if event.author == "user" and event.content]
        blocks = [Recalled(str(n), texts_of(one), block_of([f"[x] memory {n}"])) for n, one in enumerate(said)]
        return with_recalled(request, [one for one in blocks if any(one.message)], call)


@pytest.mark.slow
def test_keeps_the_laws():
    """The pass itself, and one that recalls something for each message, keep all laws but the one of size."""
    check_pass(RecallMemory(), examples=40)
    check_pass(RecallsForAll(), examples=40, except_for=["never_grows"])


def contents_of(*texts):
    return [types.Content(role="user" if text[0] != "M" else "model", parts=[types.Part(text=text)]) for text in texts]


@pytest.mark.parametrize(("before", "asked", "after"), [
    (["one"], ["one"], ["B one", "one"]), (["B one", "one"], ["one"], None),
    (["one", "M", "two"], ["one", "two"], ["B one", "one", "M", "B two", "two"]),
    (["one", "M", "B two", "two"], ["one", "two"], ["B one", "one", "M", "B two", "two"]),
    (["same", "M", "same"], ["same", "same"], ["B same", "same", "M", "B same", "same"]),
    (["same", "M", "same"], ["same"], ["same", "M", "B same", "same"]), (["M one", "two"], ["M one"], None),
    (["two"], ["one"], None), (["two"], ["one", "two"], ["B two", "two"]), ([], ["one"], None), (["one"], [], None),
])  # fmt: skip
def test_where_blocks_stand(before, asked, after):
    """Each block stands right before its message, once, the newest message first. Without one the request stays."""
    request = LlmRequest(contents=contents_of(*before))
    noted = ModelCall(agent_name="a", events=[], user_content=None)
    result = with_recalled(request, [Recalled("i", (text,), f"B {text}") for text in asked], noted)
    if after is None:
        assert result is request
        assert noted.notes == []
    else:
        assert result.contents == contents_of(*after)
        assert result.contents is not request.contents
