"""Runs a sample and says what its models were sent without the pack and with it: `python -m samples code_output`."""

import asyncio
import importlib
import sys
from typing import Any

from google.adk.apps.app import App
from google.adk.runners import InMemoryRunner
from google.genai import types


async def run(sample: Any, app: App) -> tuple[str, int]:
    """Returns the last answer to a sample's questions, and the tokens that its models were sent."""
    own = hasattr(sample, "runner") and app is sample.app
    runner = sample.runner() if own else InMemoryRunner(app=app)
    session = await runner.session_service.create_session(app_name=app.name, user_id="user")
    said, tokens = "", 0
    for question in getattr(sample, "QUESTIONS", ["Go."]):
        message = types.Content(role="user", parts=[types.Part(text=question)])
        async for event in runner.run_async(user_id="user", session_id=session.id, new_message=message):
            tokens += (event.usage_metadata and event.usage_metadata.prompt_token_count) or 0
            for part in (event.content.parts if event.content else None) or ():
                said = part.text or said
    await runner.close()
    return said, tokens


def main() -> None:
    """Prints the answer and the figures of each sample that is named."""
    for name in sys.argv[1:]:
        try:
            sample = importlib.import_module(f"samples.{name}.agent")
        except ImportError as error:
            print(f"{name} was left out: {error}")
            continue
        said, tokens = asyncio.run(run(sample, sample.app))
        print(said)
        totals = (sample.plugin if hasattr(sample, "plugin") else sample.builder).reports.totals()
        # What the declarations of tools save is not in the reports, so such a sample has an app without the pack.
        bare = getattr(sample, "without_pack", None)
        before = totals.tokens_without_pack if bare is None else asyncio.run(run(sample, bare))[1]
        after = totals.tokens_after if bare is None else tokens
        print(f"{name}: {before:,} -> {after:,} tokens in {totals.calls} calls")


if __name__ == "__main__":
    main()
