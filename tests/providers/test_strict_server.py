"""The strict server over HTTP."""

from __future__ import annotations

import json
import urllib.error
import urllib.request

import pytest

from tests.providers.strict_server import StrictServer


def post(url, body):
    data = json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, headers={"content-type": "application/json"})  # noqa: S310
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request) as response:
            return response.status, json.loads(response.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


PATHS = {
    "/v1beta/models/gemini-2.5-flash:generateContent": {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "hi"}], "model": "m"},
    "/v1/messages": {"messages": [{"role": "user", "content": "hi"}], "model": "m", "max_tokens": 1},
}


@pytest.mark.parametrize("path", PATHS)
def test_the_server_answers_and_refuses_over_http(path):
    """A proper request gets the model's answer, an empty one a 400, and both are remembered."""
    with StrictServer() as server:
        server.brain = lambda request: f"{len(request.contents)} content."
        status, answer = post(server.url + path, PATHS[path])
        assert (status, "1 content." in json.dumps(answer)) == (200, True)
        status, answer = post(server.url + path, {})
        assert status == 400
        assert server.refusals == [answer["error"]["message"]]
        assert len(server.seen) == 2
        assert post(server.url + "/elsewhere", {})[0] == 404
