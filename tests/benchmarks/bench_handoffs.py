"""How much of what ADK sends to a remote agent over A2A is preamble, without and with `a2a_context`.

    python -m tests.benchmarks.bench_handoffs

Each recorded conversation is handed over to a `RemoteA2aAgent` at its end, and after each turn of the user. The
message is the one that ADK's own agent would send. Shares are those of its characters: of the preambles that introduce
quoted text, and of the markers around it, which never go. Beside the plugin the session holds the results as the plugin
stores them. It needs google-adk 2.10 or newer and a2a-sdk.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

from google.adk.events.event import Event

from adk_context_pack import CastNarrative, PackSettings, StripForContext, a2a_context
from adk_context_pack._adk.releases import FENCED_PREAMBLE, QUOTE_BEGIN, QUOTE_END
from adk_context_pack.passes.cast_narrative import PREAMBLE
from adk_context_pack.replay.replayer import capped
from adk_context_pack.tools.shadow import UnkeptStore
from tests.benchmarks.bench_relays import adk_sessions
from tests.support.a2a_server import remote_agent, text_sent
from tests.support.tau_bench import conversations

PREAMBLES = (FENCED_PREAMBLE, PREAMBLE)
MARKERS = (QUOTE_BEGIN, QUOTE_END)
CAPS = PackSettings().reducer(UnkeptStore())
BUILDERS: dict[str, dict[str, Any]] = {
    "without a2a_context": {},
    "a2a_context()": {"passes": None},
    "a2a_context(passes=[CastNarrative(max_result_tokens=100_000, …)])": {
        "passes": [CastNarrative(max_result_tokens=100_000, max_quoted_tokens=1_000_000)]
    },
    "a2a_context(passes=[StripForContext()])": {"passes": [StripForContext()]},
}


def characters_of(text: str, frames: Iterable[str]) -> int:
    """The characters of a message that belong to any of `frames`."""
    return sum(text.count(frame) * len(frame) for frame in frames)


def without(text: str, frames: Iterable[str]) -> str:
    """The message without `frames`. A preamble names the markers, which count as a part of it."""
    for frame in frames:
        text = text.replace(frame, "")
    return text


def turns(events: list[Event]) -> Iterator[list[Event]]:
    """The events of each turn of the user, which are all that a remote agent with a memory has not been sent."""
    starts = [place for place, event in enumerate(events) if event.author == "user"]
    for start, end in zip(starts, [*starts[1:], len(events)], strict=True):
        if end > start + 1:
            yield events[start:end]


def line(handoffs: Iterable[list[Event]], settings: dict[str, Any]) -> str:
    """The figures of one builder."""
    builder = {"context_builder": a2a_context(**settings)} if settings else {}
    texts = [text_sent(remote_agent(**builder), events) for events in handoffs]
    whole = sum(map(len, texts))
    preambles = sum(characters_of(text, PREAMBLES) for text in texts)
    markers = sum(characters_of(without(text, PREAMBLES), MARKERS) for text in texts)
    return f"{len(texts):>9}{whole:>12}{preambles / whole:>11.1%}{markers / whole:>9.1%}"


def main() -> None:
    """Prints a line for each builder and set of handoffs."""
    logging.disable(logging.ERROR)
    warnings.simplefilter("ignore")
    tau = list(conversations("first_agent"))
    recorded = list(adk_sessions())
    sets = {
        "tau-bench, at the end": tau,
        "tau-bench, after each turn": [turn for events in tau for turn in turns(events)],
        "recorded ADK sessions, at the end": recorded,
        "recorded ADK sessions, after each turn": [turn for events in recorded for turn in turns(events)],
    }
    for name, handoffs in sets.items():
        beside = [[capped(event, CAPS) for event in events] for events in handoffs]
        for place, sent in (("alone", handoffs), ("beside the plugin", beside)):
            heading = f"{name}, {place}"
            print(f"\n{heading}\n{'':66}{'messages':>9}{'characters':>12}{'preambles':>11}{'markers':>9}")
            for label, settings in BUILDERS.items():
                print(f"{label:66}{line(sent, settings)}")


if __name__ == "__main__":
    main()
