"""Tells as JSON what the package costs a small app: `python -P tests/support/crossings.py`.

It has an interpreter to itself, so that nothing else has loaded or warmed what is counted.
"""
# ruff: noqa: E402 - the time that imports take is measured

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from pathlib import Path
from traceback import walk_stack

_START = time.process_time()
import google.adk.agents
import google.adk.apps
import google.adk.runners

_BEFORE = time.process_time()
from adk_context_pack import ContextPackPlugin

_SHARE = (time.process_time() - _BEFORE) / (_BEFORE - _START)
_LOADED = [name for name in sys.modules if name.split(".")[0] == "adk_context_pack"]

from google.genai import types

from adk_context_pack.testing import ScriptedModel, call, results_in

_HOME = str(Path(sys.modules["adk_context_pack"].__file__ or "").parent) + "/"


def _count(calls: Counter[str]) -> None:
    calls.clear()

    def look(frame, event, _):
        paths = [each.f_code.co_filename for each, _ in walk_stack(frame)]
        # What the scripted model counts for itself is no work of the pack.
        if event == "call" and paths[0].startswith(_HOME) and not any("pack/testing/" in each for each in paths):
            calls[paths[0].removeprefix(_HOME)] += 1

    sys.setprofile(look)


async def _crossed() -> dict[str, Counter[str]]:
    """Counts the calls in each file, of a turn of "hi" and of `{"status": "ok"}` until its event, once all is warm."""
    calls = {"small request": Counter(), "small result": Counter()}

    async def look_up() -> dict[str, str]:
        """Looks it up."""
        _count(calls["small result"])
        return {"status": "ok"}

    def answer(request):
        return call("look_up") if request.config.tools and not results_in(request, "look_up") else "done"

    for tools in ([look_up], []):
        agent = google.adk.agents.LlmAgent(name="helper", model=ScriptedModel(answer=answer), tools=tools)
        app = google.adk.apps.App(name="small", root_agent=agent, plugins=[ContextPackPlugin()])
        runner = google.adk.runners.InMemoryRunner(app=app)
        for session in ("first", "second"):
            key = {"user_id": "user", "session_id": session}
            await runner.session_service.create_session(app_name=app.name, **key)
            if not tools:
                _count(calls["small request"])
            async for event in runner.run_async(new_message=types.UserContent("hi"), **key):
                if event.get_function_responses():
                    sys.setprofile(None)
            sys.setprofile(None)
    return calls


if __name__ == "__main__":
    print(json.dumps({"loaded": _LOADED, "share": _SHARE, **asyncio.run(_crossed())}))  # noqa: T201 - read by `tests.house`
