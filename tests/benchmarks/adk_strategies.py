"""What ADK itself offers for shorter requests, as strategies of the answerability benchmark."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from google.adk.agents.base_agent import BaseAgent
from google.adk.apps import compaction
from google.adk.apps.app import App, EventsCompactionConfig
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.context_filter_plugin import ContextFilterPlugin
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session

from adk_context_pack import HistorySummarizer, ModelCall
from adk_context_pack._adk.requests import contents_of

T = TypeVar("T")
Strategy = Callable[[LlmRequest, ModelCall], LlmRequest]

# Private, and a generator in the newer releases alone. The older ones write into the session service instead.
_COMPACT: Any = getattr(compaction, "_run_compaction_for_sliding_window", None)


def filtered(keep: int) -> Strategy:
    """ADK's own filter, which keeps the newest invocations."""
    plugin = ContextFilterPlugin(num_invocations_to_keep=keep)

    def run(request: LlmRequest, call: ModelCall) -> LlmRequest:
        copied = request.model_copy()
        _now(plugin.before_model_callback(callback_context=call.context, llm_request=copied))
        return copied

    return run


class Compacted:
    """ADK's compaction of every two finished turns, by a summarizer that needs no model.

    Compactions are kept by the events before them, since each call of a session replays the earlier ones.
    """

    def __init__(self) -> None:
        config = EventsCompactionConfig(summarizer=HistorySummarizer(), compaction_interval=2, overlap_size=0)
        self._app = App(name="app", root_agent=BaseAgent(name="root"), events_compaction_config=config)
        self._kept: dict[tuple[str, int], list[Event]] = {}

    def __call__(self, request: LlmRequest, call: ModelCall) -> LlmRequest:
        """The request of ADK's own builder from the compacted session."""
        events: list[Event] = []
        for turn in _turns(call.events):
            events = [*self._compacted(events), *turn]
        return request.model_copy(update={"contents": contents_of(events, call.agent_name, keep_ids=True)})

    def _compacted(self, events: list[Event]) -> list[Event]:
        if not events:
            return events
        key = events[0].id, len(events)
        if key not in self._kept:
            session = Session(id="session", app_name="app", user_id="user", events=events)
            self._kept[key] = _now(_all(_COMPACT(self._app, session, InMemorySessionService())))
        return [*events, *self._kept[key]]


def adk_strategies() -> Mapping[str, Strategy]:
    """The strategies that the installed ADK has."""
    found: dict[str, Strategy] = {"ADK's ContextFilterPlugin(1)": filtered(1)}
    if inspect.isasyncgenfunction(_COMPACT):
        found["ADK's compaction, HistorySummarizer()"] = Compacted()
    return found


def _turns(events: Sequence[Event]) -> list[list[Event]]:
    """The events by turn, with times and invocations as a run would have given them."""
    turns: list[list[Event]] = []
    for number, event in enumerate(events):
        if not turns or (event.author == "user" and not event.get_function_responses()):
            turns.append([])
        settings = {"timestamp": 1000.0 + number, "invocation_id": f"turn-{len(turns)}"}
        turns[-1].append(event.model_copy(update=settings))
    return turns


async def _all(events: Any) -> list[Event]:
    return [event async for event in events]


def _now(coroutine: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(coroutine)
