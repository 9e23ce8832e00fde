"""A session of 37 model calls whose 24 tool results have the shapes that tools return, run live.

Twelve turns with two calls each, and a last question. Six results are tables, whose total is asked for. Of the others,
six logs report one error, six lists of nested objects hold one that differs, and six texts mention something once: each
holds a planted fact. The model states what it reads. What it cannot read it looks up if `read_backs` says so.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin

from adk_context_pack import ContextPackPlugin, Prices
from tests.benchmarks.replay import score
from tests.benchmarks.workload import WORDS
from tests.support.run import run_agent
from tests.support.scripted_model import RecordedRequest, ScriptedModel, call

TURNS, CALLS = 12, 2
KINDS = ("table", "log", "nested", "prose")
_HANDLE = re.compile(r"""(?:"_handle": ?|handle=)["']([^"']+)["']""")
_CITIES = ("Oslo", "Bergen", "Tromsø", "Hamar", "Bodø")


@dataclass(frozen=True, kw_only=True)
class Found:
    """What came of one run.

    Attributes:
        requests: each request as texts: instruction and declarations first, then one for each content.
        visible: the kinds of the results whose fact the model read where it was returned.
        answered: how many facts the answers of the session state.
        events: the session.
    """

    requests: list[Sequence[str]]
    visible: list[str]
    answered: int
    events: Sequence[Event]


def planted(seed: int = 7, tokens: int = 5_300, turns: int = TURNS) -> list[tuple[dict[str, Any], str]]:
    """The results of about so many tokens, two a turn, each with what its question asks for."""
    rnd = random.Random(seed)
    size, count = tokens / 5_300, turns * CALLS
    return [_MAKERS[KINDS[n % 4]](rnd, f"FACT-{n}-{rnd.randrange(10**6)}", size) for n in range(count)]


def _table(rnd: random.Random, _: str, size: float) -> tuple[dict[str, Any], str]:
    rows = [
        {"id": n, "city": rnd.choice(_CITIES), "name": f"item {rnd.randrange(100)}", "amount": rnd.randrange(10**5) / 4}
        for n in range(1, round(234 * size) + 1)
    ]
    return {"status": "success", "rows": rows}, str(sum(row["amount"] for row in rows))


def _log(rnd: random.Random, fact: str, size: float) -> tuple[dict[str, Any], str]:
    lines = [
        f"2025-03-{n % 28 + 1:02d}T{n % 24:02d}:{n % 60:02d}:07Z INFO worker-{n % 9} done {n}"
        for n in (rnd.randrange(10**6) for _ in range(round(240 * size)))
    ]
    lines.insert(len(lines) // 2, f"2025-03-14T09:26:53Z ERROR worker-5 failed: {fact}")
    return {"log": "\n".join(lines)}, fact


def _nested(rnd: random.Random, fact: str, size: float) -> tuple[dict[str, Any], str]:
    items: list[dict[str, Any]] = [
        {"row": {"id": rnd.randrange(10**6), "amount": rnd.randrange(10**5) / 100}, "tags": ["a", "b"], "state": "done"}
        for _ in range(round(214 * size))
    ]
    items[len(items) // 2] |= {"state": "failed", "note": fact}
    return {"items": items}, fact


def _prose(rnd: random.Random, fact: str, size: float) -> tuple[dict[str, Any], str]:
    sentences = [
        " ".join(rnd.choice(WORDS[:-1]) for _ in range(14)).capitalize() + "." for _ in range(round(350 * size))
    ]
    sentences.insert(len(sentences) // 2, f"The code of the case is {fact}.")
    return {"text": " ".join(sentences)}, fact


_MAKERS: dict[str, Callable[[random.Random, str, float], tuple[dict[str, Any], str]]] = {
    "table": _table,
    "log": _log,
    "nested": _nested,
    "prose": _prose,
}


async def run(
    plugins: Sequence[BasePlugin], *, read_backs: bool = False, tokens: int = 5_300, turns: int = TURNS
) -> Found:
    """Runs the session with the given plugins.

    Args:
        plugins: those of the app.
        read_backs: whether the model looks up what it cannot read.
        tokens: about how many tokens each result has.
        turns: how many turns there are before the last question.
    """
    results = planted(tokens=tokens, turns=turns)
    model = _Reader(results, read_backs=read_backs)

    def read_source(source: int) -> dict:
        """Reads a source.

        Args:
            source: its number.
        """
        return results[source][0]

    instruction = "You answer questions about 24 sources, and state exact figures."
    agent = LlmAgent(
        name="analyst", model=ScriptedModel(answer=model.answer), instruction=instruction, tools=[read_source]
    )
    questions = [f"Question {turn}: what do sources {2 * turn} and {2 * turn + 1} say?" for turn in range(turns)]
    done = await run_agent(agent, *questions, "Sum up: what did you find?", plugins=plugins)
    return Found(
        requests=[_texts(request) for request in done.requests],
        visible=[KINDS[number % 4] for number in sorted(model.seen)],
        answered=sum(fact in done.answer for _, fact in results),
        events=done.session.events,
    )


async def by_default() -> dict[str, float]:
    """Returns what the default plugin costs and shows. Cached tokens cost a tenth."""
    whole, ours = await run([]), await run([ContextPackPlugin()])
    before, now = (score("", one.requests, ()) for one in (whole, ours))
    totals = ours.visible.count("table")
    return {
        "% of the cost without the pack": 100 * now.cost(0.1) / before.cost(0.1),
        "cache busts": now.busts,
        "totals that the model reads, of 6": totals,
        "other facts that it reads, of 18": len(ours.visible) - totals,
    }


async def shares(tokens: int, turns: int, price: float, plugin: BasePlugin | None = None) -> Sequence[float]:
    """Returns the cost of a plugin, by default ours, as a percentage of that without, if each call is the last one."""
    ours = plugin or ContextPackPlugin(prices=Prices(input=1, cached=price))
    found = [(await run(plugins, tokens=tokens, turns=turns)).requests for plugins in ([], [ours])]
    costs = [[score("", one[: end + 1], ()).cost(price) for end in range(len(one))] for one in found]
    return [100 * now / before for before, now in zip(*costs, strict=True)]


def _texts(request: RecordedRequest) -> Sequence[str]:
    config = request.config.model_dump_json(include={"system_instruction", "tools"}, exclude_none=True)
    return [config, *(content.model_dump_json(exclude_none=True) for content in request.contents)]


class _Reader:
    """Reads one source after the other, says what it read, and sums up from what it said."""

    def __init__(self, results: Sequence[tuple[dict[str, Any], str]], *, read_backs: bool) -> None:
        self.results = results
        self.seen: set[int] = set()
        self._read_backs = read_backs
        self._asked = 0
        self._known: list[str] = []

    def answer(self, request: LlmRequest) -> Any:
        """Answers one request."""
        newest = request.contents[-1].parts[-1].function_response
        if newest:
            number = self._asked - 1
            fact = self.results[number][1]
            shown = json.dumps(newest.response, ensure_ascii=False).replace('\\"', '"')
            if fact in shown:
                self._known.append(fact)
                if newest.name == "read_source":
                    self.seen.add(number)
            elif self._read_backs and newest.name == "read_source" and (handle := _HANDLE.search(shown)):
                return self._look_up(number, shown, handle[1])
        elif self._asked == len(self.results):
            return "Found: " + ", ".join(fact for _, fact in self.results if fact in self._said(request))
        if newest and self._asked % CALLS == 0:
            known, self._known = self._known, []
            return "The sources say " + " and ".join(known or ["nothing that I can read"]) + "."
        self._asked += 1
        return call("read_source", source=self._asked - 1)

    @staticmethod
    def _said(request: LlmRequest) -> str:
        texts = (part.text or "" for content in request.contents if content.role == "model" for part in content.parts)
        return "\n".join(texts)

    @staticmethod
    def _look_up(number: int, shown: str, handle: str) -> Any:
        if KINDS[number % 4] == "table":
            return call("read_back", handle=handle, sql="SELECT sum(amount) FROM rows")
        if "answers from all" in shown:
            return call("read_back", handle=handle, sql="SELECT note FROM rows WHERE note IS NOT NULL")
        return call("read_back", handle=handle, search="FACT-")
