"""A process of `bench_soak`: runs turns in many sessions for as long as it is told, and checks every answer.

It reads a JSON line for each interval, `{"seconds": …, "active": …, "old": …, "gone": …, "last": …}`, and answers with
a line of figures. Sessions are `{id: [[tag, kind], …]}`. What a tool returns depends on its tag alone, so that any
process can check it. The model sees only requests: it finds a handle in what it said itself when it first saw it.
Without the pack it finds the result itself.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import random
import re
import sys
import time
import traceback
import warnings
from collections import Counter
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps.app import App
from google.adk.runners import Runner
from google.genai import types

from adk_context_pack import ContextPackPlugin
from tests.benchmarks.held_bytes import bound_caches, memory
from tests.benchmarks.process_memory import trimmed
from tests.support.databases import Database, kept_results
from tests.support.scripted_model import ScriptedModel, call, text_of

APP = {"app_name": "soak", "user_id": "user"}
KEPT = ("table", "report", "log")
KINDS = (*KEPT, "few", "error", "media")
LANES, LANE_SESSIONS, AGAIN, REVISIT = 4, 5, 0.3, 0.1
_ASKED = re.compile(r"(do|again) (\w+) (\d+)$")


def rows_of(tag: int, count: int) -> list[dict[str, Any]]:
    """Returns the rows of a tag."""
    return [{"id": n, "tag": tag, "city": f"Ä{n % 7}", "amount": (n * 7919 + tag) % 1009} for n in range(count)]


def fetch(kind: str, tag: int) -> dict[str, Any]:
    """Fetches something."""
    if kind == "log":
        lines = [f"{n:05} INFO worker {tag * n % 7919} took {n * tag % 997} ms" for n in range(1_500)]
        lines[tag % 1_400] = f"needle of {tag} is {truth('log', tag)}"
        return {"status": "ok", "tag": tag, "log": "\n".join(lines)}
    if kind == "error":
        return {"status": "error", "error": truth(kind, tag)}
    if kind == "media":
        return {"status": "ok", "file_uri": truth(kind, tag), "mime_type": "image/png"}
    rows = rows_of(tag, 5 if kind == "few" else 150 + tag % 200)
    return {"tag": tag, "report": {"of": tag, "items": rows}} if kind == "report" else {"tag": tag, "rows": rows}


def truth(kind: str, tag: int) -> str:
    """Returns what the model has to answer about a tag."""
    if kind in ("table", "report"):
        rows = rows_of(tag, 150 + tag % 200)
        return f"[[{len(rows)}, {sum(row['amount'] for row in rows)}]]"
    if kind == "few":
        return str([row["amount"] for row in rows_of(tag, 5)])
    return {"log": f"N{tag * 7}", "error": f"no such table T{tag}", "media": f"gs://bucket/{tag}.png"}[kind]


def answer(request: Any) -> Any:
    """Answers from the request alone: calls the tool, reads back by a handle, and says what it has read."""
    last = [part.function_response for part in request.contents[-1].parts or () if part.function_response]
    texts = [part.text for content in request.contents for part in content.parts or () if part.text]
    what, kind, tag = next(found.groups() for text in reversed(texts) if (found := _ASKED.search(text)))
    if not last:
        if what == "do":
            return call("fetch", kind=kind, tag=int(tag))
        known = re.search(rf"kept {tag} as (\w+)\.", text_of(request))
        return _read(kind, known[1]) if known else "The handle is gone from the request."
    said = last[0].response
    if last[0].name == "fetch" and kind in KEPT:
        found = re.search(r"'?_?handle'?[=:] ?'(\w+)'", str(said))
        return _read(kind, found[1]) if found else f"No handle in {str(said)[:300]}"
    handle = request.contents[-2].parts[-1].function_call.args.get("handle")
    return f"kept {tag} as {handle}. {_told(kind, said)}" if handle else _told(kind, said)


def answer_whole(request: Any) -> Any:
    """Answers like `answer` where results stay whole in the request, as they do without the pack."""
    texts = [part.text for content in request.contents for part in content.parts or () if part.text]
    what, kind, tag = next(found.groups() for text in reversed(texts) if (found := _ASKED.search(text)))
    parts = [part for content in request.contents for part in content.parts or ()]
    calls = [each for part in parts if (each := part.function_call)]
    results = [each.response for part in parts if (each := part.function_response)]
    found = next((said for asked, said in zip(calls, results, strict=False) if asked.args["tag"] == int(tag)), None)
    if found is None:
        return call("fetch", kind=kind, tag=int(tag)) if what == "do" else "The result is gone from the request."
    if kind == "log":
        return _told(kind, found["log"])
    if kind == "few":
        return _told(kind, found)
    if kind in KEPT:
        rows = found["rows"] if kind == "table" else found["report"]["items"]
        return str([[len(rows), sum(row["amount"] for row in rows)]])
    return _told(kind, found)


def _read(kind: str, handle: str) -> Any:
    if kind == "log":
        return call("read_payload", handle=handle, search="needle of")
    return call("query_rows", handle=handle, sql="SELECT COUNT(*), SUM(amount) FROM rows")


def _told(kind: str, said: Any) -> str:
    if kind == "log":
        return " ".join(re.findall(r"needle of \d+ is (\w+)", str(said))) or str(said)[:300]
    if kind in ("table", "report"):
        return str(said.get("rows", said))
    if kind == "few":
        return str([row["amount"] for row in said["rows"]])
    return str(said.get("error") or said.get("file_uri"))


class SoakModel(ScriptedModel):
    """A model that keeps no requests, whose memory would grow with each turn."""

    def record(self, request: Any) -> None:
        """Forgets the request."""


class Worker:
    """Runs turns against one session service.

    Args:
        sessions: ADK's session service.
        artifacts: ADK's artifact service, or None.
        name: begins the ids of its sessions and seeds its choices.
        turns: how many turns a session has before another one begins.
        pack: whether the app has the plugin.
    """

    def __init__(self, sessions: Any, artifacts: Any, name: str, turns: int, *, pack: bool = True) -> None:
        self.sessions, self.name, self.turns, self.made = sessions, name, turns, 0
        self.random = random.Random(name)
        self.pack = pack
        agent = LlmAgent(name="clerk", model=SoakModel(answer=answer if pack else answer_whole), tools=[fetch])
        app = App(name="soak", root_agent=agent, plugins=[ContextPackPlugin(max_reports=100)] if pack else [])
        self.runner = Runner(app=app, session_service=sessions, artifact_service=artifacts)

    async def interval(self, told: dict[str, Any]) -> dict[str, Any]:
        """Runs turns, as many or as long as it is told, and returns their figures and the sessions as they are then."""
        for session_id in told["gone"]:
            await self.sessions.delete_session(**APP, session_id=session_id)
        figures, began = Counter[str](), time.process_time()
        lanes = [dict(list(told["active"].items())[n::LANES]) for n in range(LANES)]
        old = [dict(list(told["old"].items())[n::LANES]) for n in range(LANES)]
        until, turns = time.monotonic() + told.get("seconds", math.inf), told.get("turns", sys.maxsize)
        ended = await asyncio.gather(
            *(self._lane(*pair, until, turns, figures) for pair in zip(lanes, old, strict=True))
        )
        return {
            **figures,
            "seconds": time.process_time() - began,
            "memory": memory(),
            "trimmed": trimmed() if told["last"] else None,
            "active": {key: value for lane in lanes for key, value in lane.items()},
            "ended": {key: value for lane in ended for key, value in lane.items()},
        }

    async def _lane(
        self, active: dict[str, Any], old: dict[str, Any], until: float, turns: int, figures: Any
    ) -> dict[str, Any]:
        ended: dict[str, Any] = {}
        while turns > 0 and time.monotonic() < until:
            turns -= 1
            while len(active) < LANE_SESSIONS:
                self.made += 1
                active[f"{self.name}-{self.made}"] = []
                await self.sessions.create_session(**APP, session_id=f"{self.name}-{self.made}")
            back = old if old and self.random.random() < REVISIT else active
            session_id = self.random.choice(list(back))
            await self._turn(session_id, back[session_id], figures, again=back is old)
            if back is active and len(active[session_id]) >= self.turns:
                ended[session_id] = active.pop(session_id)
                await self._check(session_id, ended[session_id], figures)
        return ended

    async def _turn(self, session_id: str, done: list[list[Any]], figures: Any, *, again: bool) -> None:
        kept = [each for each in done if each[1] in KEPT]
        what = "again" if kept and (again or self.random.random() < AGAIN) else "do"
        tag, kind = self.random.choice(kept) if what == "again" else self._new()
        message = types.Content(role="user", parts=[types.Part(text=f"{what} {kind} {tag}")])
        said = ""
        try:
            async for event in self.runner.run_async(user_id="user", session_id=session_id, new_message=message):
                said = "".join(part.text or "" for part in (event.content and event.content.parts) or ()) or said
        except Exception:
            said = traceback.format_exc()
        figures["turns"] += 1
        figures["read"] += kind in KEPT
        figures["again"] += what == "again"
        if not said.endswith(truth(kind, tag)):
            figures["lost"] += 1
            print(f"{session_id}: {what} {kind} {tag}: {said[-900:]}", file=sys.stderr, flush=True)
        if what == "do":
            done.append([tag, kind])

    def _new(self) -> tuple[int, str]:
        return self.random.randrange(10**8), self.random.choice(KINDS)

    async def _check(self, session_id: str, done: list[list[Any]], figures: Any) -> None:
        """Counts what an ended session holds twice, or does not hold."""
        session = await self.sessions.get_session(**APP, session_id=session_id)
        fetched = [each for event in session.events for each in event.get_function_responses() if each.name == "fetch"]
        kept = sum(kind in KEPT for _, kind in done) if self.pack else 0
        surplus = len(kept_results(session.state)) - kept, len(fetched) - len(done)
        figures["twice"] += sum(max(0, each) for each in surplus)
        figures["lost"] += sum(max(0, -each) for each in surplus)


async def serve(kind: str, place: str, folder: str | None, caches: float | None, **settings: Any) -> None:
    """Runs an interval for each line, until there are no more. The settings are those of a `Worker`."""
    if caches is not None:
        bound_caches(caches)
    artifacts = None
    if folder is not None:
        from google.adk.artifacts.file_artifact_service import FileArtifactService  # noqa: PLC0415 - newer ADK

        artifacts = FileArtifactService(root_dir=folder)
    async with Database(kind=kind, place=place).open() as sessions:
        worker = Worker(sessions, artifacts, **settings)
        while line := await asyncio.to_thread(sys.stdin.readline):
            print(json.dumps(await worker.interval(json.loads(line))), flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    asyncio.run(serve(**json.loads(sys.argv[1])))
