"""An app that runs whole turns in one call: a table that is queried and a log that is searched."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable
from typing import Any

from google.adk.agents import LlmAgent

from adk_context_pack import ContextPackPlugin
from tests.support.plugin_apps import ROWS, list_sales, read_log
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in

ANSWER = f"[[{sum(row['amount'] for row in ROWS)}]] 1"


def answer(request: Any) -> Any:
    """Looks at the sales and the log, and asks what the shortened results do not show."""
    sales, total, log, found = (
        results_in(request, name) for name in ("list_sales", "query_rows", "read_log", "read_payload")
    )
    if not log:
        return [call("list_sales"), call("read_log")]
    if not found:
        handle = log[0].response["result"].partition("handle='")[2][:11]
        sql = call("query_rows", handle=sales[0].response["_handle"], sql="SELECT sum(amount) FROM rows")
        return [sql, call("read_payload", handle=handle, search="needle")]
    return f"{total[0].response['rows']} {found[0].response['total']}"


def turn() -> str:
    """Returns the answer of one turn, in a loop of its own."""
    agent = LlmAgent(name="a", model=ScriptedModel(answer=answer), tools=[list_sales, read_log])
    return asyncio.run(asyncio.wait_for(run_agent(agent, "go", plugins=[ContextPackPlugin()]), 60)).answer


def serve(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
    """Answers a request by one turn, as a WSGI application."""
    start("200 OK", [("Content-Type", "text/plain")])
    return [f"{os.getpid()} {turn()}".encode()]
