"""Asks a model of your own about the gallery: `python -m tests.gallery.ask --model gemini-2.5-flash NAME …`.

ADK's registry finds the model by its name, and the model its key as in any app. Without `--model` it prints what it
would ask. With `--whole` the model is given the whole results, to see what the plugin costs and keeps.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Iterator

from google.adk.agents import LlmAgent
from google.adk.models.registry import LLMRegistry

from adk_context_pack import ContextPackPlugin
from tests.gallery.__main__ import fetched, shown
from tests.gallery.results import Case, cases
from tests.support.run import run_agent


async def asked(case: Case, model: str, *, whole: bool) -> str:
    """Asks a model one question, and returns its answer with what it cost and whether it has what was to be found."""
    agent = LlmAgent(name="reader", model=LLMRegistry.new_llm(model), tools=[fetched(case)])
    plugins = [] if whole else [ContextPackPlugin()]
    run = await run_agent(agent, f"Fetch the result, then answer briefly: {case.ask}", plugins=plugins)
    tokens = sum(event.usage_metadata.prompt_token_count or 0 for event in run.events if event.usage_metadata)
    found = sum(needle.lower() in run.answer.lower() for needle in case.find)
    calls = sum(len(event.get_function_calls()) for event in run.events)
    return f"{case.name}: {found} of {len(case.find)} found, {calls} calls, {tokens} tokens\n{run.answer}\n"


def answers(names: list[str], model: str, *, whole: bool = False) -> Iterator[str]:
    """Yields for each result what a model says of it, or without a model what it would be asked."""
    for case in cases():
        if not names or case.name in names:
            yield asyncio.run(asked(case, model, whole=whole) if model else shown(case))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="results to ask about, by default all")
    parser.add_argument("--model", default="", help="a model that ADK's registry knows")
    parser.add_argument("--whole", action="store_true", help="without the plugin")
    options = parser.parse_args()
    for answer in answers(options.names, options.model, whole=options.whole):
        sys.stdout.write(answer)
