"""A seeded, tool-heavy session of 37 model calls: 12 turns with two tool calls each, and a last question.

Each result holds one planted fact. A turn's answer states the facts that its question asked for, and the last
question asks for all of them: an answer counts as kept where its fact stands in the request, or can be found by
`search_history` (read-backs are charged).
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from google.adk.events.event import Event

from tests.support.events import agent_called, agent_said, tool_returned, user_said

AGENT = "analyst"
TURNS, CALLS = 12, 2
_KINDS = ("table", "log", "nested", "prose")
WORDS = re.findall(
    r"\w+", "the report of this region shows that demand has grown while supply stayed flat and prices moved little"
)


@dataclass(frozen=True)
class Workload:
    """The session, and what its answers need.

    Attributes:
        events: the session, oldest first.
        calls: for each model call, how many events stand before it.
        facts: the planted facts, in order.
    """

    events: list[Event]
    calls: list[int]
    facts: list[str]


def workload(seed: int = 7, tokens: int = 5_300) -> Workload:
    """The session for a seed.

    Args:
        seed: the same seed gives the same session.
        tokens: about how many tokens each of the 24 results has.
    """
    rnd = random.Random(seed)
    events: list[Event] = []
    calls: list[int] = []
    facts: list[str] = []
    for turn in range(TURNS):
        events.append(user_said(f"Question {turn}: what do sources {2 * turn} and {2 * turn + 1} say?"))
        for number in range(CALLS):
            source = turn * CALLS + number
            fact = f"FACT-{source}-{rnd.randrange(10**6)}"
            facts.append(fact)
            calls.append(len(events))
            events.append(agent_called(AGENT, "read_source", f"adk-{source}", source=source))
            body = {"status": "success", "source": source, "body": _body(rnd, _KINDS[source % 4], tokens, fact)}
            events.append(tool_returned(AGENT, "read_source", body, f"adk-{source}"))
        calls.append(len(events))
        said = " and ".join(facts[-CALLS:])
        events.append(agent_said(AGENT, f"The sources of question {turn} say {said}."))
    events.append(user_said("Sum up: which facts did you find?"))
    calls.append(len(events))
    for number, event in enumerate(events):
        event.id, event.timestamp, event.invocation_id = f"event-{number}", 1000.0 + number, f"turn-{number // 6}"
    return Workload(events, calls, facts)


def session(size: int) -> Iterator[Event]:
    """Turns of four events: a question, a call, a result of about 2,000 characters, an answer."""
    source = random.Random(20)
    for number in range(size // 4):
        rows = [{"id": source.randrange(10**6), "city": "Oslo", "delay": source.random()} for _ in range(35)]
        yield user_said(f"Question {number}?")
        yield agent_called("worker", "search", f"call-{number}", query=f"question {number}", limit=source.randrange(9))
        yield tool_returned("worker", "search", {"status": "ok", "rows": rows}, f"call-{number}")
        yield agent_said("worker", f"Answer {number}: " + "words that say something " * 8)


def _body(rnd: random.Random, kind: str, tokens: int, fact: str) -> str:
    lines = list(_lines(rnd, kind, tokens * (4 if kind == "prose" else 2.6)))
    lines.insert(len(lines) // 2, json.dumps({"note": fact}))
    return "\n".join(lines)


def _lines(rnd: random.Random, kind: str, size: float) -> Iterator[str]:
    written = 0
    while written < size:
        line = _line(rnd, kind)
        written += len(line) + 1
        yield line


def _line(rnd: random.Random, kind: str) -> str:
    number = rnd.randrange(10**6)
    if kind == "log":
        day, hour, minute = number % 28 + 1, number % 24, number % 60
        return f"2025-03-{day:02d}T{hour:02d}:{minute:02d}:07Z INFO worker-{number % 9} done {number}"
    if kind == "prose":
        return " ".join(rnd.choice(WORDS) for _ in range(14)) + "."
    row: dict[str, Any] = {"id": number, "name": f"item {number % 100}", "amount": round(rnd.random() * 1000, 2)}
    return json.dumps({"row": row, "tags": ["a", "b"]} if kind == "nested" else row)
