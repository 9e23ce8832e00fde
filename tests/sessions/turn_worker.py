"""A process that takes turns in a session that other processes write to as well; its parent may kill it at any time.

    python tests/sessions/turn_worker.py '{"kind": …, "place": …, "folder": …, "worker": …, "turns": […]}'

It says a line for each turn: `done 3`, or `refused 3` where the session service refused an event of the turn. It may
also be told `handles` by the tags of their results, and says how many it reads as they were.
"""

from __future__ import annotations

import asyncio
import json
import sys
import warnings
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.artifacts.file_artifact_service import FileArtifactService

from adk_context_pack import ContextPackPlugin, PayloadStore, load_payload
from tests.support.databases import Database
from tests.support.in_tool import in_tool
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call

SESSION = "shared"


def rows_of(tag: str) -> list[dict[str, Any]]:
    """Returns the rows of one turn of one worker, which no other turn has."""
    return [{"tag": tag, "id": number, "amount": number * 31 % 997} for number in range(300)]


def list_sales(tag: str) -> dict[str, Any]:
    """Lists sales."""
    return {"rows": rows_of(tag)}


async def turn(sessions: Any, folder: str, place: str, tag: str) -> None:
    """Takes one turn, in which the plugin keeps the rows of `tag`."""

    def answer(request: Any) -> Any:
        return "done" if request.contents[-1].parts[-1].function_response else call("list_sales", tag=tag)

    await run_agent(
        LlmAgent(name="analyst", model=ScriptedModel(answer=answer), tools=[list_sales]),
        f"list {tag}",
        session_service=sessions,
        artifact_service=FileArtifactService(root_dir=folder),
        session_id=SESSION,
        plugins=[ContextPackPlugin(passes=(), store=PayloadStore(place=place))],
    )


async def read(sessions: Any, folder: str, handles: dict[str, str]) -> list[str]:
    """Returns the tags of the results that are as they were."""

    async def found(context: Any) -> list[str]:
        values = {tag: await load_payload(context, handle) for tag, handle in handles.items()}
        return [tag for tag, value in values.items() if value == {"rows": rows_of(tag)}]

    services = {"session_service": sessions, "artifact_service": FileArtifactService(root_dir=folder)}
    return await in_tool(found, session_id=SESSION, **services)


async def work(kind: str, place: str, folder: str, handles: dict[str, str] | None = None, **told: Any) -> None:
    """Takes the turns one after the other and says how each ended, or reads results."""
    async with Database(kind=kind, place=place).open() as sessions:
        if handles is not None:
            print(f"read {len(await read(sessions, folder, handles))}", flush=True)  # noqa: T201 - its way to speak
        for number in told.get("turns", ()):
            try:
                await turn(sessions, folder, told["keeps"], f"{told['worker']}-{number}")
            except Exception as error:
                print(f"refused {number} {type(error).__name__}", flush=True)  # noqa: T201
            else:
                print(f"done {number}", flush=True)  # noqa: T201


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    asyncio.run(work(**json.loads(sys.argv[1])))
