"""Measures `search_history`: answers in the first reply, and time: `python -m tests.benchmarks.bench_search`.

An answer counts as found where one of its wordings stands in the texts of the reply, from word to word, whatever the
case. The questions are the queries, word for word. Those about `bfcl/memory.dev.json` were looked at while the search
was made. Those about the tau-bench dialogues were written afterwards and nothing was tuned on them: `held out` as
somebody would ask who remembers the dialogue, `in other words` avoiding the dialogue's own words as far as possible.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import statistics
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from google.adk.events.event import Event
from google.adk.sessions.session import Session

from adk_context_pack import search_history
from adk_context_pack.conversation.token_estimate import estimate_tokens
from tests.support.events import user_said
from tests.support.shared_data import shared_file
from tests.support.tau_bench import conversations


def questions_of(which: str) -> dict[int, list[tuple[str, str]]]:
    """The questions that are held out, or in other words, with their answers by the dialogue that has them."""
    found = dict[int, list[tuple[str, str]]]()
    for line in Path(__file__).with_name("questions.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith(which):
            _, number, question, answer = line.split(" | ")
            found.setdefault(int(number), []).append((question, answer))
    return found


HELD_OUT, OTHER_WORDS = questions_of("held out"), questions_of("in other words")


class Context:
    """What the tool reads of a ToolContext."""

    _ids = itertools.count()

    def __init__(self, events: Sequence[Event]) -> None:
        self.session = Session(id=f"s{next(self._ids)}", app_name="app", user_id="user")
        self.session.events = list(events)


def has(text: str, answers: Iterable[str]) -> bool:
    """Tells whether one of the answers stands in `text`."""
    plain = f" {_plain(text)} "
    return any(f" {_plain(answer)} " in plain or f" {_plain(answer)}s " in plain for answer in answers)


def _plain(text: str) -> str:
    return " ".join(re.findall(r"[a-z0-9_]+(?:\.[0-9]+)?", text.casefold().replace("-", " ")))


def memory_questions(part: str) -> tuple[list[Event], list[tuple[str, list[str]]]]:
    """The conversation called `part`, and its questions with their answers."""
    data = json.loads(shared_file("bfcl/memory.dev.json").read_text(encoding="utf-8"))[part]
    return [user_said(text) for text in data["messages"]], [(q["question"], q["answers"]) for q in data["questions"]]


def held_out(questions: dict[int, list[tuple[str, str]]]) -> Iterator[tuple[list[Event], list[tuple[str, list[str]]]]]:
    """The tau-bench dialogues with questions."""
    dialogues = list(conversations())
    for number, asked in questions.items():
        yield dialogues[number], [(question, [answer]) for question, answer in asked]


async def share_found(events: list[Event], asked: Sequence[tuple[str, list[str]]]) -> tuple[int, float]:
    """How many answers are in the first reply, and the tokens of a reply."""
    context, tokens, found = Context(events), [], 0
    for question, answers in asked:
        reply = await search_history(context, question)
        tokens.append(estimate_tokens(json.dumps(reply, ensure_ascii=False)))
        hit = has("\n".join(itertools.chain.from_iterable(reply["found"].values())), answers)
        found += hit
        if not hit:
            print(f"   not found: {question} ({answers[0]})")
    return found, statistics.mean(tokens)


async def times(events: Sequence[Event], questions: Sequence[str]) -> tuple[float, list[float]]:
    """Milliseconds of the first search, which builds the index, and of those after it."""
    context = Context(events)
    spent: list[float] = []
    for question in questions:
        start = time.perf_counter()
        await search_history(context, question)
        spent.append((time.perf_counter() - start) * 1000)
    return spent[0], sorted(spent[1:])


async def main() -> None:
    """Prints shares and times."""
    groups: dict[str, list[Any]] = {part: [memory_questions(part)] for part in ("customer", "student")}
    groups["held out"] = list(held_out(HELD_OUT))
    parts = groups["held out"]
    groups["held out, one session"] = [
        ([event for part in parts for event in part[0]], [one for part in parts for one in part[1]])
    ]
    groups["in other words"] = list(held_out(OTHER_WORDS))
    for name, parts in groups.items():
        sums = [await share_found(*part) for part in parts]
        asked = sum(len(part[1]) for part in parts)
        found, tokens = sum(one[0] for one in sums), statistics.mean(one[1] for one in sums)
        print(f"{name:24} {found}/{asked} = {found / asked:.1%}, {tokens:.0f} tokens a reply")
    tau = list(itertools.islice(itertools.cycle(itertools.chain(*conversations())), 2000))
    tau = [event.model_copy(update={"id": f"e{n}"}) for n, event in enumerate(tau)]
    questions = [q for part in ("customer", "student") for q, _ in memory_questions(part)[1]]
    questions += [q for _, asked in held_out(HELD_OUT) for q, _ in asked]
    first, later = await times(tau, questions)
    print(f"2,000 events: first search {first:.0f} ms, then {statistics.median(later):.1f} ms in the median, ", end="")
    print(f"{later[int(len(later) * 0.95)]:.1f} ms at the 95th percentile, {later[-1]:.1f} ms at most")


if __name__ == "__main__":
    asyncio.run(main())
