# ruff: noqa: T201 - a command that prints
"""Runs two agents on the installed ADK, and says in which format the second is told of the first.

Needs no test tool, so that an environment for a release holds ADK and nothing else. Fails where the format is neither
of the two known ones, or where a pass leaves anything of it behind.
"""

from __future__ import annotations

import asyncio
import logging
import warnings
from collections.abc import AsyncGenerator
from typing import Any

warnings.simplefilter("ignore")
logging.disable(logging.WARNING)
from google.adk.agents import LlmAgent, SequentialAgent  # noqa: E402
from google.adk.models.base_llm import BaseLlm  # noqa: E402
from google.adk.models.llm_request import LlmRequest  # noqa: E402
from google.adk.models.llm_response import LlmResponse  # noqa: E402
from google.adk.runners import InMemoryRunner  # noqa: E402
from google.genai import types  # noqa: E402
from pydantic import Field  # noqa: E402

from adk_context_pack import CastNarrative, ContextPackPlugin, StripForContext  # noqa: E402
from adk_context_pack._adk.releases import FENCED_PREAMBLE, PLAIN_PREAMBLE, QUOTE_BEGIN, QUOTE_END  # noqa: E402

FORMATS = {PLAIN_PREAMBLE: "plain", FENCED_PREAMBLE: "fenced"}
# A short result is quoted whole, which saves nothing on releases without a fence: this one is long.
BODY = "a secret of the tool. " * 200
WORDS = "I looked it up: Oslo is in Norway."


class Script(BaseLlm):
    """Calls a tool once, then speaks; keeps what it was sent."""

    model: str = "script"
    calls: bool = False
    seen: list[LlmRequest] = Field(default_factory=list)

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: FBT001, FBT002 - ADK's signature
    ) -> AsyncGenerator[LlmResponse, None]:
        self.seen.append(llm_request)
        answered = any(part.function_response for part in llm_request.contents[-1].parts)
        if self.calls and not answered:
            part = types.Part(function_call=types.FunctionCall(name="look_up", args={"city": "Oslo", "a": 1}))
        else:
            part = types.Part(text=WORDS)
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def look_up(city: str, a: int) -> dict:
    """Looks a city up."""
    return {"city": city, "a": a, "body": BODY}


async def told(*, plugins: Any = (), callback: Any = None) -> list[types.Content]:
    """What the second agent is sent."""
    reader = Script()
    worker = LlmAgent(name="worker", model=Script(calls=True), tools=[look_up])
    second = LlmAgent(name="reader", model=reader, before_model_callback=callback)
    agent = SequentialAgent(name="both", sub_agents=[worker, second])
    runner = InMemoryRunner(agent=agent, app_name="app", plugins=list(plugins))
    session = await runner.session_service.create_session(app_name="app", user_id="user")
    message = types.Content(role="user", parts=[types.Part(text="Where is Oslo?")])
    async for _ in runner.run_async(user_id="user", session_id=session.id, new_message=message):
        pass
    return reader.seen[-1].contents


def text_of(contents: list[types.Content]) -> str:
    """Everything readable."""
    return "\n".join(part.text or "" for content in contents for part in content.parts)


async def main() -> None:
    """Prints the format; an assertion fails where the pack does not read it."""
    plain = await told()
    preambles = {content.parts[0].text for content in plain if len(content.parts) > 1}
    assert len(preambles) == 1, f"relayed blocks begin in an unknown way: {preambles}"
    form = FORMATS.get(preambles.pop())
    assert form, "relayed blocks are in a format that the pack does not know"
    assert BODY in text_of(plain)
    stripped = text_of(await told(callback=StripForContext(on_error="raise")))
    assert BODY not in stripped, "StripForContext leaves a relayed result"
    assert "look_up" not in stripped, "StripForContext leaves a relayed call"
    assert WORDS in stripped, "StripForContext takes away what the agent said"
    cast = text_of(await told(callback=CastNarrative(on_error="raise")))
    assert 'called look_up{"city":"Oslo","a":1}' in cast, "CastNarrative does not retell the call"
    assert cast.count(QUOTE_BEGIN) == cast.count(QUOTE_END) == 1, "the account is not fenced"
    packed = text_of(await told(plugins=[ContextPackPlugin()]))
    assert len(packed) < len(text_of(plain)), "the plugin does not work on this release"
    print(f"{form}; stripped, retold and packed")


if __name__ == "__main__":
    asyncio.run(main())
