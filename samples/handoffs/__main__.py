"""Prints what each agent's model is shown, without and with the declared views: `python -m samples.handoffs`."""

import asyncio
from typing import Any

from google.adk.runners import InMemoryRunner
from google.genai import types

from adk_context_pack import estimate_tokens
from adk_context_pack.testing import text_of

from .agent import VIEWS, team


async def shown(views: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Returns what the first request of each agent shows, after one question to the team."""
    root: Any = team(views)
    runner = InMemoryRunner(agent=root, app_name="handoffs")
    session = await runner.session_service.create_session(app_name="handoffs", user_id="user")
    message = types.Content(role="user", parts=[types.Part(text="What did c3 order?")])
    async for _ in runner.run_async(user_id="user", session_id=session.id, new_message=message):
        pass
    return {agent.name: text_of(agent.model.requests[0]) for agent in root.sub_agents}


def main() -> None:
    """Prints both views of each agent."""
    before, after = asyncio.run(shown({})), asyncio.run(shown(VIEWS))
    for name, text in before.items():
        tokens = f"{estimate_tokens(text):,} tokens before, {estimate_tokens(after[name]):,} after"
        print(f"\n=== {name}: {tokens}\n--- before\n{text}\n--- after\n{after[name]}")


if __name__ == "__main__":
    main()
