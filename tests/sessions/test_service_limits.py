"""ADK's services with limits: a real Redis, and the documented limits of Firestore, MongoDB and Vertex emulated."""

import copy
import json
import random
import re
import shutil
import subprocess
import time
from functools import partial
from types import SimpleNamespace

import pytest
from google.adk.agents import LlmAgent
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.events.event import Event
from google.adk.sessions.in_memory_session_service import InMemorySessionService

from adk_context_pack import ContextPackPlugin, PayloadStore, load_payload
from adk_context_pack.stores.handles import stored_results
from tests.support.in_tool import in_tool, model_that_calls
from tests.support.run import run_agent

KEY = {"app_name": "app", "user_id": "user", "session_id": "session"}


class Emulated(InMemorySessionService):
    """Stores an event as a service would, or raises."""

    async def append_event(self, session, event):
        state, whole = session.state | event.actions.state_delta, event.model_dump(mode="json", exclude_none=True)
        return await super().append_event(session, Event.model_validate(self.stored(json.dumps(state), whole)))


class FirestoreSessionService(Emulated):
    """Keeps the state as a JSON text, and each event natively: https://firebase.google.com/docs/firestore/quotas."""

    def stored(self, state, event):
        assert len(state) <= 2**20 - 89
        assert len(json.dumps(event)) <= 2**20
        self.check(event, 1)
        return event

    def check(self, value, depth, *, is_item=False):
        assert depth < 20
        assert not (is_item and isinstance(value, list))
        assert not isinstance(value, int) or -(2**63) <= value < 2**63
        if isinstance(value, dict):
            assert all(re.fullmatch(r"(?!__.*__$).{1,1500}", name, re.DOTALL) for name in value)
        for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            self.check(item, depth + 1, is_item=isinstance(value, list))


class MongoDbSessionService(Emulated):
    """Keeps the state and each event as a JSON text in a document of its own, of 16 MiB at most."""

    def stored(self, state, event):
        assert max(len(state), len(json.dumps(event))) < 2**24
        return event


class VertexAiSessionService(Emulated):
    """Takes strict JSON, and keeps each number as a double (google.protobuf.Struct)."""

    def stored(self, state, event):
        return json.loads(json.dumps(event, allow_nan=False), parse_int=self.number, parse_float=self.number)

    def number(self, text):
        return int(number) if (number := float(text)).is_integer() else number


@pytest.fixture(params=["Redis", "Firestore", "MongoDb", "VertexAi"])
def service(request, tmp_path):
    """A function that makes a new service over the same data. Redis is a server that ends when its pipe closes."""
    if request.param != "Redis":
        yield partial(copy.copy, globals()[f"{request.param}SessionService"]())
        return
    redis = pytest.importorskip("google.adk.integrations.redis", reason="this ADK has no Redis service")
    pytest.importorskip("redis", reason="RedisSessionService needs redis, which is not installed")
    if (server := shutil.which("redis-server")) is None:
        pytest.skip("Redis is not installed (Debian: apt-get install redis-server)")
    path = tmp_path / "socket"
    command = f"{server} --port 0 --save '' --unixsocket {path} >{path}.log & read -r _; kill $!"
    with subprocess.Popen(["/bin/sh", "-c", command], stdin=subprocess.PIPE):  # noqa: S603 - commands of our own
        limit = time.monotonic() + 30
        while not path.exists() and time.monotonic() < limit:
            time.sleep(0.05)
        yield lambda: redis.RedisSessionService(redis.RedisSessionServiceConfig(uri=f"unix://{path}"))


def fetch(size: int) -> dict:
    """Fetches a text of some size that no compression makes much smaller, or else deep JSON, or rows."""
    text = "".join(random.Random(size).choices("abcdefghijklmnopqrstuvwxyz 0123456789\n", k=max(size, 9_000)))
    if size > 1_000:
        return {"text": text}
    deep = '{"a":' * size + json.dumps(text) + "}" * size
    return json.loads(deep) if size else {"rows": [{"id": n, "large": 2**62 + n} for n in range(3000)]}


async def taken(service, *calls, **settings):
    """The answers to calls, the plugin of the run, and the session as a new service reads it."""
    agent, plugin = LlmAgent(name="a", model=model_that_calls(*calls), tools=[fetch]), ContextPackPlugin()
    run = await run_agent(agent, "go", plugins=[plugin], session_service=service(), **settings)
    answers = [part.function_response for event in run.events for part in event.content.parts if part.function_response]
    return [each.response for each in answers], plugin, await service().get_session(**KEY)


@pytest.mark.parametrize("has_artifacts", [False, True])
async def test_results_are_read_back_and_forgotten(service, has_artifacts):
    """Rows, texts and deep JSON are read back in the same run and by a new service, and are gone once forgotten."""

    def newest(seen):
        return re.findall(r"\b2[0-9a-z]{10}\b", json.dumps(seen[-1]))[0]

    artifacts, back = InMemoryArtifactService() if has_artifacts else None, ("read_back", {"handle": newest})
    asked = ("read_back", {"handle": newest, "sql": "SELECT large FROM rows LIMIT 2"})
    fetched = [("fetch", {"size": size}) for size in (0, 150_000, 150)]
    calls = fetched[0], asked, fetched[1], back, fetched[2], back
    answers, plugin, session = await taken(service, *calls, artifact_service=artifacts)
    context = SimpleNamespace(session=session, artifact_service=artifacts)
    opened = [json.dumps(await load_payload(context, result.handle)) for result in stored_results(session.state)]
    assert all(kept in json.dumps(fetch(**args)) for kept, (_, args) in zip(opened, fetched, strict=True))
    assert [str(2**62) in str(answers[1]), opened[2][:9] in answers[5]["text"].replace(":", ": ")] == [True, True]
    assert json.loads(opened[1]).startswith(answers[3]["text"][:900])
    await plugin.forget(**KEY)
    assert not stored_results((await service().get_session(**KEY)).state)
    assert not (has_artifacts and artifacts.artifacts)


VALUES = {"halves": [n / 2 for n in range(9)], "large": [2**60 + 1], "deep": fetch(230), "odd": ["a\ud800\0"]}


@pytest.mark.parametrize("name", VALUES)
async def test_values_under_a_key_of_the_users(service, name):
    """A handle opens exactly what was kept, whatever the service makes of the value under the user's own key."""
    keep = partial(PayloadStore(place="state").put, value=VALUES[name], tool_name="t", key="mine")
    handle = await in_tool(keep, session_service=service())
    assert await in_tool(partial(load_payload, handle=handle), session_service=service()) == VALUES[name]


@pytest.mark.parametrize(("service", "app"), [("Firestore", 650_000), ("MongoDb", 15_650_000)], indirect=["service"])
async def test_what_a_document_cannot_hold_is_said_at_once(service, app):
    """The first result says what holds more, the oldest expire where the app leaves no room, and the run goes on."""
    calls = [("fetch", {"size": size}) for size in (150_000, 160_000, 170_000, 5_000_000, 180_000)]
    answers, plugin, session = await taken(service, *calls, state={"app": "x" * app}, artifact_service=None)
    said = ["An artifact service keeps more" in str(report.notes) for report in plugin.result_reports]
    assert said == [True, False, False, False, False]
    assert "older results of the session that expired: 1" in plugin.result_reports[-1].notes
    assert "was not kept (larger than what the session may hold" in str(answers[3])
    assert len(stored_results(session.state)) == 2
