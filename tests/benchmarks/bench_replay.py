"""What a replay costs: rebuilding every request of recorded sessions with ADK's own code, and replaying them.

    python -m tests.benchmarks.bench_replay

Ratios of one run, in CPU time. The first figure of each line has the sessions in memory, the second one reads them from
a JSON file on both sides. Replaying means: rebuild, cap tool results, run the default passes, count, compare prefixes.
"""

from __future__ import annotations

import json
import logging
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from google.adk.events.event import Event

from adk_context_pack import ContextPackPlugin
from adk_context_pack._adk.requests import contents_for, is_model_call
from adk_context_pack.replay.recordings import JsonRecording
from adk_context_pack.replay.replayer import Replayer
from adk_context_pack.replay.stored_event import RecordedSession
from tests.benchmarks import tau_replay
from tests.benchmarks.workload import workload
from tests.support.tau_bench import conversations

ROUNDS = 5


def rebuild(sessions: Iterable[RecordedSession]) -> None:
    """The contents of each model call, by ADK's own code, and nothing else."""
    for session in sessions:
        for index, event in enumerate(session.events):
            if is_model_call(event):
                contents_for(event, session.events[:index])


def replay(sessions: Iterable[RecordedSession]) -> None:
    """A whole replay."""
    for session in sessions:
        for _ in Replayer(ContextPackPlugin().settings_for).replay(session):
            pass


def ratio(sessions: Callable[[], Iterable[RecordedSession]], rounds: int = ROUNDS) -> tuple[float, float]:
    """Milliseconds of rebuilding and of replaying."""
    pairs = [(_milliseconds(rebuild, sessions), _milliseconds(replay, sessions)) for _ in range(rounds)]
    return min(first for first, _ in pairs), min(second for _, second in pairs)


def recorded(sessions: Iterable[Sequence[Event]]) -> list[RecordedSession]:
    """Sessions as recordings."""
    return [RecordedSession(id=str(number), events=list(events)) for number, events in enumerate(sessions)]


def relayed(sessions: Iterable[list[Event]]) -> Iterator[list[Event]]:
    """The same sessions with two agents that take turns, eight events each."""
    for events in sessions:
        yield [
            event.model_copy(update={"author": "second"}) if event.author != "user" and place // 8 % 2 else event
            for place, event in enumerate(events)
        ]


def written(sessions: Iterable[RecordedSession], folder: Path) -> Callable[[], Iterator[RecordedSession]]:
    """A function that reads the sessions from files."""
    for session in sessions:
        events = [event.model_dump(mode="json", exclude_none=True) for event in session.events]
        text = json.dumps({"id": session.id, "events": events})
        (folder / f"{session.id}.json").write_text(text, encoding="utf-8")

    def read() -> Iterator[RecordedSession]:
        for path in sorted(folder.iterdir()):
            yield from (found for found in JsonRecording(path) if isinstance(found, RecordedSession))

    return read


def peak(sessions: int) -> int:
    """The most bytes that a replay of so many sessions, each read when its turn comes, ever holds."""
    with tempfile.TemporaryDirectory() as folder:
        read = written(recorded([workload(tokens=500).events] * sessions), Path(folder))
        tracemalloc.start()
        replay(read())
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return most


def _milliseconds(
    work: Callable[[Iterable[RecordedSession]], None], sessions: Callable[[], Iterable[RecordedSession]]
) -> float:
    start = time.process_time()
    work(sessions())
    return (time.process_time() - start) * 1000


def main() -> None:
    """Prints the figures."""
    logging.disable(logging.ERROR)
    sets = {"seeded, 37 calls, 127,000 tokens": recorded([workload().events])}
    if tau_replay.available():
        sets["tau-bench, 70 sessions"] = recorded(conversations())
        sets["tau-bench, two agents"] = recorded(relayed(conversations()))
    for name, sessions in sets.items():
        built, replayed = ratio(lambda found=sessions: found)
        with tempfile.TemporaryDirectory() as folder:
            read, all_of_it = ratio(written(sessions, Path(folder)), rounds=2)
        print(
            f"{name}: rebuilding {built:.0f} ms, replaying {replayed:.0f} ms: {replayed / built:.2f} times;"
            f" with reading {all_of_it / read:.2f} times"
        )
    for count in (5, 50):
        print(f"{count} sessions: at most {peak(count) / 1024:,.0f} KiB held")


if __name__ == "__main__":
    main()
