"""The tau-bench conversations as sessions to replay."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tests.benchmarks.replay import Score
from tests.benchmarks.workload import AGENT, Workload
from tests.support.shared_data import FOLDER
from tests.support.tau_bench import FILE, conversations


def available() -> bool:
    """Whether the data is there."""
    return (FOLDER / FILE).exists()


def sessions() -> Iterator[Workload]:
    """Each conversation with its model calls; what its agent said to the user counts as the answers."""
    for events in conversations(AGENT):
        calls = [number for number, event in enumerate(events) if number and event.content.role == "model"]
        said = [p.text for event in events[: calls[-1]] if event.author == AGENT for p in event.content.parts if p.text]
        if calls:
            yield Workload(
                events, calls, [text.split("\n")[0][:60].replace('"', "") for text in said if text.isascii()]
            )


def scores(strategies: Mapping[str, Callable], replay: Callable[..., Score]) -> list[Score]:
    """One score for each strategy, over all conversations together."""
    found = []
    for name, make in strategies.items():
        parts = [replay(name, make(), work) for work in sessions()]
        found.append(
            Score(
                name=name,
                tokens=sum(part.tokens for part in parts),
                cached=sum(part.cached for part in parts),
                busts=sum(part.busts for part in parts),
                answers=(sum(part.answers[0] for part in parts), sum(part.answers[1] for part in parts)),
                milliseconds=sum(part.milliseconds for part in parts) / len(parts),
            )
        )
    return found
