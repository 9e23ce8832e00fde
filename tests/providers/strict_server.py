"""A local HTTP server that answers as model providers do, and refuses with a 400 what they refuse.

It speaks the APIs of the providers it is given (`strict_gemini`, `strict_openai`, `strict_anthropic`), each of which
checks the JSON of the request as it came over the wire. The model behind it is a function from the request, read back
from that JSON, to an answer: what did not come over the wire cannot appear in what it says.

    with StrictServer() as server:
        server.brain = lambda request: "Hello."
        … a client at server.url …
    assert server.refusals == []
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol, Self

from google.adk.models.llm_request import LlmRequest
from google.genai import types

from tests.providers.strict_anthropic import StrictAnthropic
from tests.providers.strict_gemini import StrictGemini
from tests.providers.strict_openai import StrictOpenAI
from tests.support.scripted_model import response_of

Json = dict[str, Any]


class Provider(Protocol):
    """One provider's API."""

    def serves(self, path: str) -> bool:
        """Whether a path is one of the API's."""

    def refusal(self, body: Json) -> str | None:
        """What is wrong with a request, in the provider's words."""

    def read(self, body: Json) -> LlmRequest:
        """The request as the scripted model reads it."""

    def reply(self, content: types.Content, body: Json, path: str) -> list[Json | str]:
        """The answer; a request for a stream gets one server-sent event for each entry."""

    def streams(self, body: Json, path: str) -> bool:
        """Whether the request asks for a stream."""

    def error(self, message: str) -> Json:
        """The body of a 400."""


@dataclass(frozen=True, kw_only=True)
class SeenRequest:
    """A request that came in: its path, its body, and why it was refused, if it was."""

    path: str
    body: Json
    refusal: str | None


class StrictServer:
    """The server; a context manager. `brain` is the model, `seen` what came in, oldest first."""

    def __init__(self) -> None:
        self.forget()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.owner = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def forget(self) -> None:
        """A new start: nothing seen, no signature handed out, and a model that only says hello."""
        self.brain: Callable[[LlmRequest], Any] = lambda request: "Hello."
        self.seen: list[SeenRequest] = []
        self.providers: tuple[Provider, ...] = (StrictGemini(), StrictOpenAI(), StrictAnthropic())

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def refusals(self) -> list[str]:
        """Why requests were refused, oldest first."""
        return [seen.refusal for seen in self.seen if seen.refusal]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, path: str, raw: bytes) -> tuple[int, str, bytes]:
        """Status, content type and body for a request."""
        provider = next((entry for entry in self.providers if entry.serves(path)), None)
        if provider is None:
            return 404, "application/json", b'{"error": {"message": "no such path"}}'
        body = json.loads(raw)
        refusal = provider.refusal(body)
        self.seen.append(SeenRequest(path=path, body=body, refusal=refusal))
        if refusal is not None:
            return 400, "application/json", json.dumps(provider.error(refusal)).encode()
        content = response_of(self.brain(provider.read(body))).content
        assert content is not None
        entries = provider.reply(content, body, path)
        if provider.streams(body, path):
            return 200, "text/event-stream", "".join(map(_server_sent, entries)).encode()
        return 200, "application/json", json.dumps(entries[0]).encode()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    owner: StrictServer


class _Handler(BaseHTTPRequestHandler):
    # Clients keep their connection, and a small answer must not wait for more.
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: _Server

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            status, kind, body = self.server.owner.answer(self.path, raw)
        except Exception as error:
            # A brain that fails is a failed test, and says so through the client.
            status, kind, body = 500, "application/json", json.dumps({"error": {"message": repr(error)}}).encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        # No retries: a refusal is to be seen at once.
        self.send_header("x-should-retry", "false")
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Says nothing on stderr."""


def _server_sent(entry: Json | str) -> str:
    if isinstance(entry, str):
        return f"data: {entry}\n\n"
    event = f"event: {entry['type']}\n" if isinstance(entry.get("type"), str) else ""
    return f"{event}data: {json.dumps(entry)}\n\n"
