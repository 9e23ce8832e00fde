"""An artifact service in trouble: the run ends, the model is told what was not kept, and the log says why."""

from __future__ import annotations

import asyncio
import logging

import pytest
from google.adk.agents import LlmAgent
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.genai import types

from adk_context_pack import (
    CapRows,
    ContextPackPlugin,
    OffloadPayload,
    PayloadStore,
    cap_rows,
    offload_payload,
    query_rows,
)
from tests.faults.outcome import ending
from tests.support.scripted_model import ScriptedModel, call, results_in

ROWS = [{"id": n, "secret": f"payload {n}"} for n in range(300)]
TEXT = "\n".join(f"{n}: a line of the secret payload" for n in range(2000))
STORE = PayloadStore(place="artifacts", timeout_s=0.05)


def list_rows() -> dict:
    """Lists rows."""
    return {"rows": ROWS}


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
    "raises",
    "hangs",
    "hangs and cannot be cancelled",
    "is cancelled within",
    "half-writes",
    "writes nothing",
    "returns nothing",
    "returns no part",
    "raises on reading",
)
PLUGIN = {
    "passes": (),
    "rows": CapRows(max_rows=5, store=STORE),
    "payloads": OffloadPayload(max_tokens=500, store=STORE),
}


def agent(*tools) -> LlmAgent:
    """Calls both tools, then tells how much of their results it received."""

    def answer(request):
        found = results_in(request)
        return str([len(str(each.response)) for each in found]) if found else [call("list_rows"), call("read_text")]

    return LlmAgent(name="reader", model=ScriptedModel(answer=answer), tools=list(tools))


@pytest.mark.parametrize("how", FAULTS)
@pytest.mark.parametrize("way", ["plugin", "wrapper"])
async def test_nothing_is_sent_whole_or_said_to_be_kept(way, how, caplog):
    """No error, nothing kept, short results without handles that say why; a line in the log, with no payload in it."""
    with caplog.at_level(logging.WARNING, logger="adk_context_pack"):
        if way == "plugin":
            plugins = [ContextPackPlugin(**PLUGIN)]
            found = await ending(agent(list_rows, read_text), artifacts=Troubled(how=how), plugins=plugins)
        else:
            tools = [cap_rows(list_rows, max_rows=5, store=STORE), offload_payload(read_text, store=STORE)]
            found = await ending(agent(*tools), artifacts=Troubled(how=how))
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
    found = await ending(reader, artifacts=artifacts, plugins=[ContextPackPlugin(**PLUGIN)])
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

    reader = LlmAgent(name="reader", model=ScriptedModel(answer=answer), tools=[list_rows, query_rows])
    found = await ending(reader, artifacts=artifacts, plugins=[ContextPackPlugin(**PLUGIN)])
    assert found.error == ""
    kept, unkept, queried = (each.response for each in results_in(found.requests[-1]))
    assert len(kept["rows"]) == len(unkept["rows"]) == 3
    assert "_handle" not in unkept
    assert queried["rows"] == [[300]]
    assert "secret" not in caplog.text
