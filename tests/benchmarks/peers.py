"""The field's libraries over the same session, each in an environment of its own.

    python -m tests.benchmarks.peers FOLDER

makes the environments with uv (or venv and pip, where uv is not installed); `bench_history --peers FOLDER` runs them.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from google.adk.events.event import Event

from tests.benchmarks.replay import Score, score
from tests.benchmarks.workload import Workload

PACKAGES = {
    "langchain": "langchain",
    "openai_agents": "openai-agents",
    "harness": "pydantic-ai-harness",
    "strands": "strands-agents",
}
ADAPTER = Path(__file__).with_name("peer_adapter.py")


def make(folder: Path) -> None:
    """Makes an environment for each library, at its newest release, where there is none yet."""
    uv = shutil.which("uv")
    for name, package in PACKAGES.items():
        home = folder / name
        if _python(home).exists():
            continue
        if uv:
            subprocess.run([uv, "venv", "-q", home], check=True)  # noqa: S603 - our own arguments
            install = [uv, "pip", "install", "-q", "--python", _python(home), package]
        else:
            venv.create(home, with_pip=True)
            install = [_python(home), "-m", "pip", "install", "-q", package]
        subprocess.run(install, check=True)  # noqa: S603 - our own arguments


def peer_scores(folder: Path, work: Workload) -> list[Score]:
    """The scores of every library whose environment is in `folder`."""
    session = json.dumps({"messages": [*map(_message, work.events)], "calls": work.calls})
    return [
        score(strategy, run["requests"], work.facts, run["milliseconds"])
        for name in PACKAGES
        if _python(folder / name).exists()
        for strategy, run in _run(folder / name, name, session)
    ]


def _run(home: Path, name: str, session: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    command = [_python(home), ADAPTER, name]
    done = subprocess.run(command, input=session, text=True, capture_output=True, check=False)  # noqa: S603
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        print(f"{name} could not be run: {reason}", file=sys.stderr)
        return
    yield from json.loads(done.stdout).items()


def _python(home: Path) -> Path:
    return home / "bin" / "python"


def _message(event: Event) -> dict[str, Any]:
    """An event in a form that no library has: role, text, calls, and for results id and name."""
    part = event.content.parts[0]
    if (result := part.function_response) is not None:
        text = result.response["body"]
        return {"role": "tool", "text": text, "id": result.id, "name": result.name, "calls": []}
    if (call := part.function_call) is not None:
        calls = [{"id": call.id, "name": call.name, "args": call.args}]
        return {"role": "assistant", "text": "", "calls": calls}
    return {"role": "user" if event.author == "user" else "assistant", "text": part.text, "calls": []}


if __name__ == "__main__":
    make(Path(sys.argv[1]))
