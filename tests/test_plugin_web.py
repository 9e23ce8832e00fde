"""ContextPackPlugin with no code change: what stands behind `--extra_plugins`, and the command itself."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PLUGIN = "adk_context_pack.ContextPackPlugin"
AGENT = """
from google.adk.agents import LlmAgent, SequentialAgent
from tests.support.plugin_apps import list_sales
from tests.support.scripted_model import ScriptedModel, call, results_in

answer = lambda request: "done" if results_in(request) else call("list_sales")
counter = LlmAgent(name="counter", model=ScriptedModel(answer=answer), tools=[list_sales])
writer = LlmAgent(name="writer", model=ScriptedModel(answer=lambda request: "written"))
root_agent = SequentialAgent(name="both", sub_agents=[counter, writer])
"""
MESSAGE = {
    "app_name": "counting",
    "user_id": "u",
    "session_id": "s",
    "new_message": {"role": "user", "parts": [{"text": "go"}]},
}


@pytest.fixture
def agents(tmp_path):
    """A folder with one agent, as `adk web` takes it."""
    folder = tmp_path / "counting"
    folder.mkdir()
    (folder / "agent.py").write_text(AGENT)
    (folder / "__init__.py").write_text("")
    return tmp_path


def check(events) -> None:
    """Holds that the API's events show a report on each answer, and the result capped."""
    marks = [event.get("customMetadata") for event in events]
    assert [mark and "adk_context_pack" in mark for mark in marks] == [True, None, True, True]
    assert all(mark["adk_context_pack"]["tokens_after"] > 0 for mark in marks if mark)
    response = events[1]["content"]["parts"][0]["functionResponse"]["response"]
    assert response["_row_limits"]["rows"]["total"] == 1000


@pytest.mark.filterwarnings("ignore")
def test_the_api_behind_extra_plugins_loads_it_and_returns_its_reports(agents):
    """`get_fast_api_app(extra_plugins=[...])` attaches it; /run answers with the reports on its events."""
    fast_api = pytest.importorskip("google.adk.cli.fast_api")
    client = pytest.importorskip("fastapi.testclient")
    if "extra_plugins" not in inspect.signature(fast_api.get_fast_api_app).parameters:
        pytest.skip("this ADK has no extra plugins")
    app = fast_api.get_fast_api_app(agents_dir=str(agents), web=False, extra_plugins=[PLUGIN], **in_memory(fast_api))
    with client.TestClient(app) as web:
        assert web.post("/apps/counting/users/u/sessions/s", json={}).status_code == 200
        reply = web.post("/run", json=MESSAGE)
    assert reply.status_code == 200, reply.text
    check(reply.json())


def in_memory(fast_api) -> dict:
    parameters = inspect.signature(fast_api.get_fast_api_app).parameters
    uris = {"session_service_uri": "memory://", "artifact_service_uri": "memory://", "use_local_storage": False}
    return {name: value for name, value in uris.items() if name in parameters}


@pytest.mark.slow
def test_the_command_takes_it(agents):
    """`adk api_server --extra_plugins …` on a port of this machine, asked over HTTP."""
    with served(agents, "api_server") as (_, events):
        check(events)


@pytest.mark.slow
def test_the_traces_of_the_web_interface_show_the_reports(agents):
    """`adk web` gives its Trace view a span for each model call, with the report and what a pass replaced."""
    with served(agents, "web", ADK_CONTEXT_PACK_KEEP_REQUESTS="1") as (port, _):
        spans = _traces(port)
    told = [span["attributes"] for span in spans if "adk_context_pack.tokens_after" in span["attributes"]]
    # Some releases have two spans for one call.
    assert len({each["adk_context_pack.tokens_after"] for each in told}) == 3
    assert any(each.get("adk_context_pack.result.list_sales", 0) > 1000 for each in told)
    assert any("[counter] `list_sales` tool returned" in each.get("adk_context_pack.replaced", "") for each in told)


@contextlib.contextmanager
def served(agents, command, **variables):
    """Runs a command of ADK's with the plugin and so many variables, and gives its port and its events."""
    commands = pytest.importorskip("google.adk.cli.cli_tools_click")
    if "extra_plugins" not in {option.name for option in getattr(commands, f"cli_{command}").params}:
        pytest.skip("this ADK has no --extra_plugins")
    port = _free_port()
    server = _adk(command, "--port", str(port), "--extra_plugins", PLUGIN, str(agents), agents, **variables)
    try:
        _post(port, "/apps/counting/users/u/sessions/s", {}, server=server)
        yield port, _post(port, "/run", MESSAGE, server=server)
    finally:
        server.terminate()
        server.communicate(timeout=30)


def _traces(port: int) -> list[dict]:
    for path in ("/dev/apps/counting/debug/trace/session/s", "/debug/trace/session/s"):
        url = f"http://127.0.0.1:{port}{path}"
        with contextlib.suppress(urllib.error.HTTPError), urllib.request.urlopen(url, timeout=60) as reply:
            return json.load(reply)
    pytest.skip("the web server of this ADK gives no traces")


def _adk(*args, **variables) -> subprocess.Popen[str]:
    *arguments, folder = args
    command = [sys.executable, "-m", "google.adk.cli", *arguments]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"} | variables
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.Popen(command, cwd=folder, env=environment, text=True, **streams)  # noqa: S603 - our own command


def _free_port() -> int:
    with contextlib.closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def _post(port: int, path: str, body: dict, *, server: subprocess.Popen[str], tries: int = 240):
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", data=json.dumps(body).encode(), headers={"Content-Type": "application/json"}
    )
    for _ in range(tries):
        if server.poll() is not None:
            pytest.fail(f"the server ended: {server.communicate()[0][-2000:]}")
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:  # noqa: S310 - our own server
                return json.load(reply)
        except (ConnectionRefusedError, urllib.error.URLError) as error:
            if not isinstance(getattr(error, "reason", error), ConnectionRefusedError):
                raise
            time.sleep(0.5)
    raise AssertionError("the server did not answer")
