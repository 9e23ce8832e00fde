"""An app whose session and artifacts several processes share; run as a module, it is the second process.

The first turn stores: a table of sales and a log are kept out of the prompt, and their sums are computed. Every other
turn reads them back by the handles that the model was shown.

    python -m tests.sessions.shared_session '{"kind": …, "place": …, "folder": …, "sessions": […]}'
"""

from __future__ import annotations

import asyncio
import json
import sys
import warnings
from typing import Any

from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.artifacts.file_artifact_service import FileArtifactService

from adk_context_pack import ContextPackPlugin, DataSummarizer, get_summarized_results, query_rows, read_payload
from tests.support.databases import Database
from tests.support.run import Run, run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in

ROWS = [{"campaign": f"c{n % 7}", "clicks": n, "cost_micros": 10**6 * n + 1, "été": "東京"} for n in range(1500)]
LOG = "\n".join(f"line {n}: all well" if n != 2222 else "line 2222: needle 4711 é東" for n in range(4000))
SQL = "SELECT COUNT(*), SUM(clicks), SUM(cost_micros), MIN(été) FROM rows"


def list_sales() -> dict:
    """Lists sales."""
    return {"rows": ROWS}


def read_log() -> str:
    """Reads the log."""
    return LOG


def answer(request: Any) -> Any:
    """Lists and reads at first; then asks for what is behind the handles that it was shown."""
    if request.contents[-1].parts[-1].function_response:
        return "done"
    if not (listed := results_in(request, "list_sales")):
        return [call("list_sales"), call("read_log")]
    log_handle = results_in(request, "read_log")[0].response["result"].partition("handle='")[2][:11]
    return [
        call("query_rows", handle=listed[0].response["_handle"], sql=SQL),
        call("read_payload", handle=log_handle, search="needle"),
        call("read_payload", handle=log_handle, offset=-50),
        call("get_summarized_results"),
    ]


async def turn(sessions: Any, folder: str, session_id: str, place: str) -> Run:
    """One turn of the app; `place` is where results are kept."""
    agents = [
        LlmAgent(
            name="analyst",
            model=ScriptedModel(answer=answer),
            tools=[list_sales, read_log, query_rows, read_payload, get_summarized_results],
        ),
        DataSummarizer(name="summarizer", source="list_sales"),
    ]
    # Results of the first turn stay in view, since the model reads the handles there.
    plugin = ContextPackPlugin(passes=(), store=place)
    return await run_agent(
        SequentialAgent(name="team", sub_agents=agents),
        "go on",
        session_service=sessions,
        artifact_service=FileArtifactService(root_dir=folder),
        session_id=session_id,
        plugins=[plugin],
    )


def read_by(run: Run) -> list[Any]:
    """What the tools gave in the run's last turn."""
    return [response.response for event in run.turns[-1] for response in event.get_function_responses()]


async def read(kind: str, place: str, folder: str, sessions: list[list[str]]) -> list[Any]:
    """What each session, given with its place, has behind its handles."""
    async with Database(kind=kind, place=place).open() as service:
        return [read_by(await turn(service, folder, session_id, where)) for session_id, where in sessions]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(asyncio.run(read(**json.loads(sys.argv[1])))))  # noqa: T201 - its only way to speak
