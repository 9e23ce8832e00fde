"""Tools on demand over a real HTTP server: OpenAPI tools, their credentials, their confirmation and their trace."""

from __future__ import annotations

import inspect
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from google.adk.auth.auth_credential import AuthCredential, AuthCredentialTypes, OAuth2Auth
from google.adk.auth.auth_tool import AuthConfig
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.openapi_tool.auth.auth_helpers import token_to_scheme_credential
from google.adk.tools.openapi_tool.openapi_spec_parser.openapi_toolset import OpenAPIToolset
from google.genai import types

from adk_context_pack import cap_rows, defer_tools, resolve_results
from tests.support.references import ROWS, agent_of, handle_in
from tests.support.run import run_agent
from tests.support.scripted_model import call

pytestmark = pytest.mark.filterwarnings("ignore")
KEY = "secret-key"
GRANTED = {"access_token": "granted"}


def operation(name, summary, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    body = {"content": {"application/json": {"schema": schema}}}
    answer = {"200": {"description": "Done.", "content": {"application/json": {"schema": {"type": "object"}}}}}
    return {"post": {"operationId": name, "summary": summary, "requestBody": body, "responses": answer}}


def spec_of(port):
    ids = {"type": "array", "items": {"type": "integer"}}
    return {
        "openapi": "3.0.0",
        "info": {"title": "Hotel", "version": "1"},
        "servers": [{"url": f"http://127.0.0.1:{port}"}],
        "paths": {
            "/book": operation("book_room", "Books a room.", city={"type": "string"}, nights={"type": "integer"}),
            "/cancel": operation("cancel_all", "Cancels orders.", ids=ids),
        },
    }


@pytest.fixture
def hotel():
    """A local server that answers with what it was sent, and notes it."""
    got = []

    class Hotel(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            got.append((self.path, self.headers.get("X-Key"), self.headers.get("Authorization"), body))
            answer = json.dumps({"done": body}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hotel)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_address[1], got
    server.shutdown()
    server.server_close()


def toolset_of(port, **settings):
    # Newer releases refuse addresses of the own machine unless they are told otherwise.
    if "allow_private_network_access" in inspect.signature(OpenAPIToolset).parameters:
        settings["allow_private_network_access"] = True
    return OpenAPIToolset(spec_dict=spec_of(port), **settings)


def use(name, **args):
    return call("use_tool", name=name, args=json.dumps(args))


def calls_of(run, name):
    return [one for event in run.session.events for one in event.get_function_calls() if one.name == name]


def results_of(run, name):
    results = [one for event in run.session.events for one in event.get_function_responses()]
    return [one.response for one in results if one.name == name]


async def test_openapi_tools_are_found_checked_and_run(hotel):
    """The schema comes from the specification, a mistake is answered with it, and the server gets the real call."""
    port, got = hotel
    steps = (
        call("find_tools", query="book a room"),
        use("book_room", city="Oslo", nights="two"),
        use("book_room", city="Oslo", nights=2),
    )
    run = await run_agent(agent_of(*steps, tools=[defer_tools(toolset_of(port))]), "Go.")
    assert [request.tool_names for request in run.requests] == [["find_tools", "use_tool"]] * 4
    found = results_of(run, "find_tools")[0]["tools"][0]
    assert found["name"] == "book_room"
    assert found["parameters"]["properties"]["nights"]["type"] == "integer"
    assert "nights must be integer" in results_of(run, "use_tool")[0]["error"]
    assert results_of(run, "book_room") == [{"done": {"city": "Oslo", "nights": 2}}]
    assert got == [("/book", None, None, {"city": "Oslo", "nights": 2})]


async def test_openapi_credentials_are_sent(hotel):
    """An API key of the toolset reaches the server, and neither the model nor the session."""
    port, got = hotel
    scheme, credential = token_to_scheme_credential("apikey", "header", "X-Key", KEY)
    toolset = toolset_of(port, auth_scheme=scheme, auth_credential=credential)
    run = await run_agent(agent_of(use("book_room", city="Oslo", nights=2), tools=[defer_tools(toolset)]), "Go.")
    assert got == [("/book", KEY, None, {"city": "Oslo", "nights": 2})]
    assert KEY not in str([request.contents for request in run.requests])
    assert KEY not in str([event.content for event in run.session.events])


async def test_a_deferred_tool_asks_for_credentials_and_goes_on():
    """A tool that needs the user's credentials asks for them with its own call, and runs with them afterwards."""
    scheme, _ = token_to_scheme_credential("apikey", "header", "X-Key", KEY)
    app = OAuth2Auth.model_validate({"client_id": "i", "client_secret": KEY})
    credential = AuthCredential(auth_type=AuthCredentialTypes.OAUTH2, oauth2=app)
    config = AuthConfig(auth_scheme=scheme, raw_auth_credential=credential, credential_key="hotel")
    seen = []

    def book(city: str, tool_context) -> dict:
        """Books a room."""
        granted = tool_context.get_auth_response(config)
        if granted is None:
            tool_context.request_credential(config)
            return {"pending": True}
        seen.append(granted.oauth2.access_token)
        return {"booked": city}

    agent = agent_of(use("book", city="Oslo"), tools=[defer_tools(book)])
    first = await run_agent(agent, "Go.")
    asked = calls_of(first, "adk_request_credential")[0]
    (real,) = calls_of(first, "book")
    wanted = AuthConfig.model_validate(asked.args["authConfig"])
    assert asked.args["functionCallId"] == real.id
    assert real.args == {"city": "Oslo"}
    token = AuthCredential(auth_type=AuthCredentialTypes.OAUTH2, oauth2=OAuth2Auth.model_validate(GRANTED))
    answer = wanted.model_copy(update={"exchanged_auth_credential": token})
    response = types.FunctionResponse(
        id=asked.id, name=asked.name, response=answer.model_dump(by_alias=True, exclude_none=True, mode="json")
    )
    run = await run_agent(agent, types.Part(function_response=response), session_service=first.session_service)
    assert seen == ["granted"]
    assert results_of(run, "book")[-1] == {"booked": "Oslo"}


async def test_a_refused_confirmation_does_not_run_the_tool(hotel):
    """The user refuses the real call by its name and arguments, and nothing happens."""
    ran = []

    def cancel(order: int) -> dict:
        """Cancels an order."""
        ran.append(order)
        return {"cancelled": order}

    tool = FunctionTool(cancel, require_confirmation=lambda order: order > 5)
    agent = agent_of(use("cancel", order=3), use("cancel", order=7), "Sure?", tools=[defer_tools(tool)])
    first = await run_agent(agent, "Go.")
    asked = calls_of(first, "adk_request_confirmation")[0]
    original = asked.args["originalFunctionCall"]
    assert (original["name"], original["args"]) == ("cancel", {"order": 7})
    refused = types.FunctionResponse(id=asked.id, name=asked.name, response={"confirmed": False})
    run = await run_agent(agent, types.Part(function_response=refused), session_service=first.session_service)
    assert ran == [3]
    assert "rejected" in str(results_of(run, "cancel")[-1])


@pytest.mark.parametrize("outer", ["plain", "capped"])
async def test_the_trace_has_the_real_tool(hotel, spans, outer):
    """The span of a deferred call names the real tool and its arguments, and none is called `use_tool`."""
    port, _ = hotel
    toolset = defer_tools(toolset_of(port))
    tools = [toolset if outer == "plain" else cap_rows(toolset)]
    await run_agent(agent_of(use("book_room", city="Oslo", nights=2), tools=tools), "Go.")
    (span,) = [one for one in spans.get_finished_spans() if one.name.startswith("execute_tool")]
    assert span.name == "execute_tool book_room"
    assert span.attributes["gen_ai.tool.name"] == "book_room"
    written = str(span.attributes.get("gcp.vertex.agent.tool_call_args", '"Oslo"'))
    assert "Oslo" in written


async def test_the_trace_of_a_reference_has_what_the_model_wrote(hotel, spans):
    """The span holds the reference, and the server gets the values."""
    port, got = hotel
    tool = defer_tools(resolve_results(toolset_of(port)))

    def step(request):
        return use("cancel_all", ids=f"{{{{result:{handle_in(request)}.rows[*].id}}}}")

    await run_agent(agent_of(call("list_orders"), step, tools=[ROWS, tool]), "Go.")
    assert got[0][3] == {"ids": list(range(50))}
    (span,) = [one for one in spans.get_finished_spans() if one.name == "execute_tool cancel_all"]
    assert "{{result:" in str(span.attributes.get("gcp.vertex.agent.tool_call_args", "{{result:"))


@pytest.mark.parametrize("batch", [None, 1])
async def test_wrapping_the_deferred_tools_works_too(batch):
    """Capped and resolving copies of a whole deferred toolset cap and resolve, declared or not."""
    got = []

    def rows() -> dict:
        """Lists rows."""
        return {"rows": [{"id": n} for n in range(2000)]}

    def keep(value: str) -> str:
        """Keeps it."""
        got.append(value)
        return "kept"

    def step(request):
        text = f"Rows: {{{{result:{handle_in(request, shown)}.rows[7].id}}}}"
        return call("keep", value=text) if batch else use("keep", value=text)

    shown = "rows" if batch else "use_tool"
    steps = (call("find_tools", query="lists rows"), call("find_tools", query="keeps it")) if batch else ()
    tools = cap_rows(resolve_results(defer_tools(rows, keep, batch=batch, max_found=1)), max_rows=3)
    await run_agent(agent_of(*steps, call("rows") if batch else use("rows"), step, tools=[tools]), "Go.")
    assert got == ["Rows: 7"]
