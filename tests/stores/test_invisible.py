"""The pack's results in an artifact service: apart from the user's artifacts, in every service and for every reader."""

from __future__ import annotations

import hashlib
import json
import sys
from functools import partial
from types import SimpleNamespace
from urllib.parse import quote

import pytest
from google.adk.agents import LlmAgent
from google.adk.artifacts.file_artifact_service import FileArtifactService
from google.adk.artifacts.gcs_artifact_service import GcsArtifactService
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.load_artifacts_tool import LoadArtifactsTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from adk_context_pack import ContextPackPlugin, HandleError, PayloadStore, load_payload
from adk_context_pack.replay.recordings import RecordedSession, with_full_results
from adk_context_pack.stores.handles import stored_results
from tests.support.in_tool import in_tool, model_that_calls, run_in_tool
from tests.support.run import run_agent
from tests.support.scripted_model import results_in

SHIPMENTS = [{"parcel": f"P{n:05}", "depot": f"depot {n % 7}", "grams": 37 * n % 991} for n in range(400)]


class Blob:
    """One object of a bucket in memory, with what ADK's service asks of it."""

    metadata = content_type = None

    def __init__(self, bucket, name):
        self.bucket, self.name = bucket, name

    def upload_from_string(self, data, content_type=None, **_):
        self.data, self.content_type = data, content_type
        self.bucket.objects[self.name] = self

    def download_as_bytes(self):
        return self.bucket.objects[self.name].data

    def delete(self):
        del self.bucket.objects[self.name]


class Bucket:
    """A bucket in memory."""

    def __init__(self):
        self.objects = {}

    def blob(self, name):
        return self.objects.get(name) or Blob(self, name)

    def get_blob(self, name):
        return self.objects.get(name)

    def list_blobs(self, bucket, prefix):
        return [bucket.objects[name] for name in sorted(bucket.objects) if name.startswith(prefix)]


def gcs(_, monkeypatch):
    """ADK's service for Google Cloud Storage with its own layout of names, over a bucket in memory."""
    errors = SimpleNamespace(PreconditionFailed=KeyError)
    # ADK imports it as it saves, and newer releases do not install it.
    monkeypatch.setitem(sys.modules, "google.cloud.exceptions", errors)
    monkeypatch.setitem(sys.modules, "google.cloud", SimpleNamespace(exceptions=errors))
    service = GcsArtifactService.__new__(GcsArtifactService)
    service.bucket = service.storage_client = Bucket()
    return service


SERVICES = {
    "memory": lambda *_: InMemoryArtifactService(),
    "file": lambda path, _: FileArtifactService(root_dir=str(path)),
    "gcs": gcs,
}


@pytest.fixture(params=SERVICES)
def artifacts(request, tmp_path, monkeypatch):
    """Each of ADK's artifact services."""
    return SERVICES[request.param](tmp_path, monkeypatch)


async def list_shipments(tool_context: ToolContext, page: int) -> dict:
    """Lists shipments, and saves a label as an artifact of the user's with the first page."""
    if page == 0:
        await tool_context.save_artifact("label.txt", types.Part.from_bytes(data=b"to depot 3", mime_type="text/plain"))
    return {"page": page, "rows": SHIPMENTS}


async def list_files(tool_context: ToolContext) -> list[str]:
    """Lists the user's artifacts as a tool of the app does."""
    return await tool_context.list_artifacts()


@pytest.mark.parametrize("place", ["auto", "artifacts"])
async def test_an_agent_that_loads_artifacts_sees_those_of_the_user_alone(artifacts, place):
    """The instruction stays byte-identical while results are kept, a child's too, and nothing of the pack is listed."""
    child = LlmAgent(
        name="child", description="c", model=model_that_calls(("list_shipments", {"page": 5})), tools=[list_shipments]
    )
    calls = [("list_shipments", {"page": page}) for page in range(3)]
    read = ("query_rows", {"handle": lambda found: found[1]["_handle"], "sql": "SELECT COUNT(*) FROM rows"})
    desk = LlmAgent(
        name="desk",
        model=model_that_calls(*calls, ("child", {"request": "go"}), read, ("list_files", {})),
        tools=[list_shipments, list_files, AgentTool(child), LoadArtifactsTool()],
    )
    plugins = [ContextPackPlugin(store=PayloadStore(place=place))]
    run = await run_agent(desk, "go", plugins=plugins, artifact_service=artifacts)
    requests = run.requests_of("desk")
    (instruction,) = {str(request.config.system_instruction) for request in requests[1:]}
    assert "label.txt" in instruction
    assert "rows-" not in instruction
    results = results_in(requests[-1])
    assert results[4].response["rows"] == [[len(SHIPMENTS)]]
    assert results[5].response == {"result": ["label.txt"]}
    assert {name for event in run.session.events for name in event.actions.artifact_delta} == {"label.txt"}
    listed = await artifacts.list_artifact_keys(app_name="app", user_id="user", session_id="session")
    assert listed == ["label.txt"]
    assert len(stored_results(run.session.state)) == 4


@pytest.mark.parametrize("session_id", ["session", "a/b", "a b.c", "..", "user", "/root", "C:x", "é\u2028é", "a%2Fb"])
async def test_every_session_id_keeps_results_of_its_own(artifacts, session_id):
    """An id of any letters opens its results again, and the list of no other session has them."""
    put = partial(PayloadStore(place="artifacts").put, value=SHIPMENTS, tool_name="ship")
    handle, run = await run_in_tool(put, artifact_service=artifacts, session_id=session_id)
    place = {"app_name": "app", "user_id": "user", "session_id": "adk_context_pack." + quote(session_id, safe="")}
    (name,) = await artifacts.list_artifact_keys(**place)
    assert (await artifacts.load_artifact(**place, filename=name)).inline_data.mime_type == "application/json"
    for other in (session_id, session_id[0], "user", "a", "b", None, "adk_context_pack", "adk_context_pack.a"):
        try:
            listed = await artifacts.list_artifact_keys(app_name="app", user_id="user", session_id=other)
        except ValueError:
            # The service has no such session.
            continue
        assert listed == []
    services = {"session_service": run.session_service, "artifact_service": artifacts}
    assert await in_tool(lambda c: load_payload(c, handle), session_id=session_id, **services) == SHIPMENTS


@pytest.fixture
def recorded():
    """A session's state as version 0.2.0 has recorded it, with the artifact that it names."""
    data = json.dumps({"rows": SHIPMENTS}, separators=(",", ":")).encode()
    name = "rows-list_shipments-2pw92fpz5qx.json"
    entry = {"stored": "artifact", "artifact": name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    part = types.Part(inline_data=types.Blob(mime_type="application/json", data=data))
    place = {"app_name": "app", "user_id": "user", "session_id": "session", "filename": name}
    return {"rows:list_shipments:2pw92fpz5qx": entry}, place, part


async def test_what_version_0_2_0_kept_among_the_users_artifacts_opens_and_expires(artifacts, recorded):
    """An entry that names an artifact of the session itself opens, and the artifact goes when the result expires."""
    state, place, part = recorded
    await artifacts.save_artifact(**place, artifact=part)

    async def act(context):
        found = await load_payload(context, "2pw92fpz5qx")
        newer = await PayloadStore(place="artifacts", max_results=1).put(context, [1], tool_name="t")
        with pytest.raises(HandleError, match="has expired"):
            await load_payload(context, "2pw92fpz5qx")
        return found, await load_payload(context, newer), await context.list_artifacts()

    assert await in_tool(act, state=state, artifact_service=artifacts) == ({"rows": SHIPMENTS}, [1], [])


async def test_replay_opens_what_both_versions_kept(artifacts, recorded):
    """With the app's artifact service, `replay` puts an old result and a new one back into the events."""
    state, place, part = recorded
    await artifacts.save_artifact(**place, artifact=part)
    handle, run = await run_in_tool(
        lambda c: PayloadStore(place="artifacts").put(c, {"rows": SHIPMENTS}, tool_name="list_shipments"),
        state=state,
        artifact_service=artifacts,
    )
    stub = {"rows": [], "_row_limits": {"rows": {"shown": 0, "total": 400}}}
    session = run.session
    for shown in ("2pw92fpz5qx", handle):
        response = types.FunctionResponse(name="list_shipments", response={**stub, "_handle": shown})
        event = session.events[-1].model_copy(
            update={"content": types.Content(parts=[types.Part(function_response=response)])}
        )
        session.events.append(event)
    whole = RecordedSession(
        id="session", app_name="app", user_id="user", state=session.state, events=list(session.events)
    )
    restored = with_full_results(whole, artifacts)
    found = [event.content.parts[0].function_response.response for event in restored.events[-2:]]
    assert found == [{"rows": SHIPMENTS}] * 2
