"""The remote agent, with ADK's own A2A server: `uvicorn samples.remote_agent.server:server` serves it to others."""

import re

import httpx
from google.adk.a2a.utils.agent_to_a2a import to_a2a
from google.adk.agents import LlmAgent
from google.adk.models.llm_request import LlmRequest

from adk_context_pack.testing import ScriptedModel, text_in


def write(request: LlmRequest) -> str:
    """Writes a letter to each customer of whom it was told, in its last message, that they are late."""
    told = text_in(LlmRequest(contents=request.contents[-1:]))
    letters = [f"Dear {name}, please pay {cents}." for name, cents in re.findall(r"(c\d) owes (\d+) cents", told)]
    return " ".join(letters) or "Nobody is late."


secretary = LlmAgent(name="secretary", description="Writes letters.", model=ScriptedModel(answer=write))
server = to_a2a(secretary, host="127.0.0.1", port=8000)


class InThisProcess(httpx.ASGITransport):
    """Hands requests to the server without a network."""

    is_started = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Starts the server with its first request, as uvicorn would."""
        if not self.is_started:
            self.is_started = True
            await server.router.lifespan_context(server).__aenter__()
        return await super().handle_async_request(request)
