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
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack import ModelCall
from adk_context_pack._json import json_text
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


def peer_scores(folder: Path, work: Workload) -> Iterator[tuple[Score, Score]]:
    """The scores of every library whose environment is in `folder`, each beside that of sending all in its form."""
    session = json.dumps({"messages": [*map(_message, work.events)], "calls": work.calls})
    for name in PACKAGES:
        if _python(folder / name).exists():
            runs = dict(_run(folder / name, name, session))
            *scores, whole = (
                score(each, run["requests"], work.facts, run["milliseconds"]) for each, run in runs.items()
            )
            yield from ((one, whole) for one in scores)


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
        text = result.response["body"] if "body" in result.response else json_text(result.response)
        return {"role": "tool", "text": text, "id": result.id, "name": result.name, "calls": []}
    if (call := part.function_call) is not None:
        calls = [{"id": call.id, "name": call.name, "args": call.args}]
        return {"role": "assistant", "text": "", "calls": calls}
    return {"role": "user" if event.author == "user" else "assistant", "text": part.text, "calls": []}


Message = dict[str, Any]


class Peer:
    """One library, which reduces messages in a process of its own.

    Args:
        home: the folder of the library's environment.
        name: the name under which the adapter knows the library.
    """

    def __init__(self, home: Path, name: str) -> None:
        command = [str(home / "bin" / "python"), str(ADAPTER), name, "--serve"]
        # Runs to the end of the benchmark, and ends with its standard input.
        pipe, quiet = subprocess.PIPE, subprocess.DEVNULL
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=quiet, text=True)  # noqa: S603
        self.strategies: list[str] = self._ask(None, [])

    def reduced(self, strategy: str, request: LlmRequest, _: ModelCall) -> LlmRequest:
        """The request with what one of the library's strategies leaves of its contents."""
        sent = list(_messages(request.contents))
        left = self._ask(strategy, [message for message, _ in sent])
        whole = [*reversed(sent)]
        contents: list[types.Content] = []
        for message in reversed(left):
            # The order stays, so each message is looked for before the one that was found last. Some libraries keep no
            # names of results.
            kept = {key: message[key] for key in ("role", "text", "id", "calls")}
            place = next((n for n, (other, _) in enumerate(whole) if kept.items() <= other.items()), None)
            if place is None:
                contents.append(_content(message))
            else:
                contents.append(whole[place][1])
                whole = whole[place + 1 :]
        return request.model_copy(update={"contents": contents[::-1]})

    def _ask(self, strategy: str | None, messages: Sequence[Message]) -> list[Any]:
        given: IO[str] | None = self._process.stdin
        answers: IO[str] | None = self._process.stdout
        if given is None or answers is None:
            raise RuntimeError("the library's process has no pipes")
        given.write(json.dumps({"strategy": strategy, "messages": messages}) + "\n")
        given.flush()
        answer: list[Any] = json.loads(answers.readline())
        return answer


def peer_strategies(folder: Path) -> Mapping[str, Callable[[LlmRequest, ModelCall], LlmRequest]]:
    """The strategies of every library whose environment is in `folder`. The others are named on standard error."""
    found: dict[str, Callable[[LlmRequest, ModelCall], LlmRequest]] = {}
    for name in PACKAGES:
        try:
            peer = Peer(folder / name, name)
        except (OSError, ValueError):
            print(f"{name} is not installed in {folder}, and is left out", file=sys.stderr)
            continue
        found |= {strategy: partial(peer.reduced, strategy) for strategy in peer.strategies}
    return found


def _messages(contents: Sequence[types.Content]) -> Iterator[tuple[Message, types.Content]]:
    """Each part as a message of the adapter's form, with a content that holds this part alone."""
    for content in contents:
        for part in content.parts or ():
            yield _part_message(part, content.role), types.Content(role=content.role, parts=[part])


def _part_message(part: types.Part, role: str | None) -> Message:
    if (result := part.function_response) is not None:
        return _plain("tool", json_text(result.response), result.id, result.name)
    if (call := part.function_call) is not None:
        return _plain("assistant", calls=[{"id": call.id, "name": call.name, "args": call.args or {}}])
    return _plain("user" if role == "user" else "assistant", part.text or "")


def _plain(
    role: str, text: str = "", call_id: str | None = None, name: str | None = None, calls: Sequence[Message] = ()
) -> Message:
    return {"role": role, "text": text, "id": call_id, "name": name, "calls": list(calls)}


def _content(message: Message) -> types.Content:
    """The content of a message that the library changed."""
    role = "model" if message["role"] == "assistant" else "user"
    calls = [types.Part(function_call=types.FunctionCall(**call)) for call in message["calls"]]
    if message["role"] == "tool":
        body = {"result": message["text"]}
        result = types.FunctionResponse(id=message["id"], name=message["name"], response=body)
        return types.Content(role="user", parts=[types.Part(function_response=result)])
    return types.Content(role=role, parts=calls or [types.Part(text=message["text"])])


if __name__ == "__main__":
    make(Path(sys.argv[1]))
