"""Runs the app once and reads its reports: `python -m samples.read_report page.html`."""

import asyncio
import sys

from google.adk.runners import InMemoryRunner
from google.genai import types

from adk_context_pack import write_html

from .agent import app, plugin


async def run(question: str) -> None:
    """One turn of the app."""
    runner = InMemoryRunner(app=app)
    session = await runner.session_service.create_session(app_name=app.name, user_id="user")
    message = types.Content(role="user", parts=[types.Part(text=question)])
    async for event in runner.run_async(user_id="user", session_id=session.id, new_message=message):
        # What `adk web` and the API return with each answer; numbers and names, never a payload.
        if report := (event.custom_metadata or {}).get("adk_context_pack"):
            print(f"{event.author}: {report['tokens_without_pack']:,} -> {report['tokens_after']:,} tokens")


def main() -> None:
    """Prints the newest call as a table and the sums over all, and writes the page if a file is named."""
    asyncio.run(run("What happened this week?"))
    print(plugin.reports[-1])
    print(plugin.reports.totals())
    for agent, totals in plugin.reports.by_agent().items():
        print(f"{agent}: {totals.calls} calls")
    for path in sys.argv[1:]:
        write_html(plugin.reports, path)


if __name__ == "__main__":
    main()
