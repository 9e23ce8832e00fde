"""Size of a session and time of a turn with the pack, as ratios against the same app without it.

    python -m tests.benchmarks.bench_session_size [--turns 40] [--results 100] [--timed 10] [--quick] [--baseline none]

In each turn the model calls a tool once and answers. Three apps do the same turns: one without the pack, one with
`ContextPackPlugin()` and no artifact service, and one with the plugin and an artifact service. The session database is
ADK's SQLite service, and its size is that of the file after `VACUUM`. Artifacts are not counted in it.

The time of a turn is the processor time of a further turn in a session that holds 100 results of 60 KB already. The
three apps take turns one after the other, so that other work on the machine falls on all alike, and the ratio is that
of the medians. Nothing here asserts a time.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

from google.adk.agents.llm_agent import LlmAgent
from google.adk.apps.app import App
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types

from adk_context_pack import ContextPackPlugin
from adk_context_pack.testing import ScriptedModel, call
from tests.benchmarks.baseline import Row, parser_of, print_rows

APPS = ("without the pack", "with the pack, in state", "with the pack, artifacts")


def _goals(state: float, artifacts: float) -> dict[str, float]:
    return dict(zip(APPS[1:], (state, artifacts), strict=True))


SIZE_GOALS = {600: _goals(1.0, 0.5), 150: _goals(1.0, 0.6), 5: _goals(1.1, 1.1)}
TIME_GOALS = _goals(0.3, 0.15)
_CITIES = ("Oslo", "Bergen", "Köln", "Aarhus", "Turku")


def rows_of(count: int, turn: int) -> list[dict[str, Any]]:
    """Returns rows of about 100 bytes whose figures differ from turn to turn."""
    return [
        {"campaign.id": str(10**10 + n), "city": _CITIES[n % 5], "clicks": (n * 7919 + turn) % 1009,
         "cost_micros": (n * 104_729 + turn * 31) % 10_000_019, "ctr": round((n * 31 + turn) % 997 / 997, 4)}
        for n in range(count)
    ]  # fmt: skip


class Analyst:
    """One app with one session."""

    def __init__(self, name: str, sessions: Any, rows: int, *, plugin: Any = ContextPackPlugin) -> None:
        self.turns, self.rows, self.sessions = 0, rows, sessions
        plugins = [] if name == APPS[0] else [plugin()]
        artifacts = InMemoryArtifactService() if name == APPS[2] else None

        def list_campaigns() -> dict[str, Any]:
            """Lists campaigns."""
            return {"rows": rows_of(self.rows, self.turns)}

        def answer(request: Any) -> Any:
            last = request.contents[-1].parts[-1]
            return "Done." if last.function_response else call("list_campaigns")

        agent = LlmAgent(name="analyst", model=ScriptedModel(answer=answer), tools=[list_campaigns])
        app = App(name="bench", root_agent=agent, plugins=plugins)
        self._runner = Runner(app=app, session_service=sessions, artifact_service=artifacts)

    async def turn(self) -> float:
        """Does a turn and returns its processor time in seconds."""
        key = {"app_name": "bench", "user_id": "user", "session_id": "session"}
        if not self.turns:
            await self.sessions.create_session(**key)
        self.turns += 1
        message = types.Content(role="user", parts=[types.Part(text=f"Question {self.turns}?")])
        start = process_time()
        async for _ in self._runner.run_async(user_id="user", session_id="session", new_message=message):
            pass
        return process_time() - start


def sqlite(folder: Path, name: str) -> tuple[SqliteSessionService, Path]:
    """Returns a session service over a new file, and the file."""
    path = folder / f"{name.replace(' ', '-')}.db"
    return SqliteSessionService(db_path=str(path)), path


def size_of(path: Path) -> int:
    """Returns the bytes of a database without the room that SQLite keeps in reserve."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("VACUUM")
    return path.stat().st_size


async def sizes(turns: int, rows: int) -> dict[str, float]:
    """Returns the size of the session database after so many turns, as ratios to the app without the pack, and KB."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in APPS:
            service, path = sqlite(Path(folder), name)
            app = Analyst(name, service, rows)
            for _ in range(turns):
                await app.turn()
            found[name] = size_of(path)
    return _ratios(found) | {f"KB of a turn {name}": size / turns / 1000 for name, size in found.items()}


async def times(results: int, timed: int, memory: bool) -> dict[str, float]:  # noqa: FBT001 - as JSON has it
    """Returns the median time of a turn in a session with so many results of 60 KB, as ratios to the same app."""
    with tempfile.TemporaryDirectory() as folder:
        services = {name: InMemorySessionService() if memory else sqlite(Path(folder), name)[0] for name in APPS}
        apps = {name: Analyst(name, service, 600) for name, service in services.items()}
        for app in apps.values():
            for _ in range(results):
                await app.turn()
            app.rows = 5
            await app.turn()
        seconds: dict[str, list[float]] = {name: [] for name in APPS}
        for _ in range(timed):
            for name, app in apps.items():
                seconds[name].append(await app.turn())
        return _ratios({name: median(found) for name, found in seconds.items()})


def _ratios(found: Mapping[str, float]) -> dict[str, float]:
    return {name: found[name] / found[APPS[0]] for name in APPS[1:]}


def main() -> None:
    """Prints the table."""
    parser = parser_of(__doc__)
    parser.add_argument("--turns", type=int, default=40)
    parser.add_argument("--results", type=int, default=100)
    parser.add_argument("--timed", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="a fraction of the turns")
    asked = parser.parse_args()
    if asked.quick:
        asked.turns, asked.results, asked.timed = 10, 20, 3
    rows = [
        Row(f"session database after {asked.turns} turns with {rows}-row results", sizes, (asked.turns, rows), goals)
        for rows, goals in SIZE_GOALS.items()
    ]
    for memory, where in enumerate(("on SQLite", "in memory")):
        what = f"a turn {where} with {asked.results} results of 60 KB stored"
        rows.append(Row(what, times, (asked.results, asked.timed, bool(memory)), TIME_GOALS))
    print_rows(rows, asked.baseline)


if __name__ == "__main__":
    main()
