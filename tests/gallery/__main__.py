"""Shows what a model is shown of each result: `python -m tests.gallery`, and `--write` to renew the golden files."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from google.adk.agents import LlmAgent, SequentialAgent

from adk_context_pack import ContextPackPlugin
from tests.gallery.results import FOLDER, Case, cases
from tests.support.run import run_agent
from tests.support.scripted_model import RecordedRequest, ScriptedModel, call, results_in, text_of

# Handles and ids of events are new at each time.
_HANDLE = re.compile(r"(handle['\"]?\s?[=:]\s?['\"])[0-9a-z-]{11,36}\b")


def fetched(case: Case) -> Callable[[], Any]:
    """Returns a tool whose result it is."""

    def fetch() -> Any:
        """Fetches the result."""
        return case.result

    return fetch


async def requests_of(case: Case) -> list[RecordedRequest]:
    """Returns the request with the result of an agent's tool, and that of the agent after it, both with the plugin."""

    def answer(request: RecordedRequest) -> Any:
        return "Done." if results_in(request, "fetch") else call("fetch")

    fetcher = LlmAgent(name="fetcher", model=ScriptedModel(answer=answer), tools=[fetched(case)])
    reader = LlmAgent(name="reader", model=ScriptedModel())
    both = SequentialAgent(name="both", sub_agents=[fetcher, reader])
    handles = [f"2aaaaaaaaa{number}" for number in range(9)]
    with patch("adk_context_pack.stores.handles.new_handle", side_effect=handles):
        return (await run_agent(both, case.ask, plugins=[ContextPackPlugin()])).requests[1:]


async def shown(case: Case) -> str:
    """Returns what both agents read of a result, for people to read."""
    first, second = await requests_of(case)
    (result,) = results_in(first, "fetch")
    told = next(line for line in text_of(second.contents[-1:]).split("\n[") if line.startswith("fetcher] called"))
    said = json.dumps(result.response, ensure_ascii=False, indent=1)
    for written, read in (("\\n", "\n    "), ('\\"', '"'), ("\\t", "\t")):
        said = said.replace(written, read)
    return _HANDLE.sub(r"\1HANDLE", f"{case.ask}\n\n{said}\n\n[{told}\n")


def main() -> None:
    """Prints all results as they are shown, or writes them to their files."""
    for case in cases():
        text = asyncio.run(shown(case))
        if "--write" in sys.argv:
            (FOLDER / "golden" / f"{case.name}.txt").write_text(text, "utf-8")
        else:
            sys.stdout.write(f"=== {case.name}\n{text}")


if __name__ == "__main__":
    main()
