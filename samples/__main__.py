"""Runs a sample and says what its models were sent without the pack and with it: `python -m samples code_output`."""

import asyncio
import importlib
import sys
from typing import Any

from google.adk.runners import InMemoryRunner
from google.genai import types


async def run(sample: Any) -> str:
    """Returns the last answer to a sample's questions."""
    runner = sample.runner() if hasattr(sample, "runner") else InMemoryRunner(app=sample.app)
    session = await runner.session_service.create_session(app_name=sample.app.name, user_id="user")
    said = ""
    for question in getattr(sample, "QUESTIONS", ["Go."]):
        message = types.Content(role="user", parts=[types.Part(text=question)])
        async for event in runner.run_async(user_id="user", session_id=session.id, new_message=message):
            for part in (event.content.parts if event.content else None) or ():
                said = part.text or said
    return said


def main() -> None:
    """Prints the answer and the figures of each sample that is named."""
    for name in sys.argv[1:]:
        sample = importlib.import_module(f"samples.{name}.agent")
        print(asyncio.run(run(sample)))
        totals = sample.plugin.reports.totals()
        print(f"{name}: {totals.tokens_without_pack:,} -> {totals.tokens_after:,} tokens in {totals.calls} calls")


if __name__ == "__main__":
    main()
