"""Hands each run's events to the app's memory service, off the hot path."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Any

from adk_context_pack._adk import BasePlugin, Event, InvocationContext, Session
from adk_context_pack._adk.releases import outermost_invocation
from adk_context_pack.errors import Configured, a_number, logged, logger, positive
from adk_context_pack.stores.byte_cache import KEEPERS, ByteCache, Theirs, owner_of

_Key = tuple[str, str, str]
_Waiting = tuple[Any, Session]


class IngestMemory(Configured, BasePlugin):
    """A plugin that gives the memory service the events of each run, in the background.

    A run ends without waiting for the service. What waits is bounded, a failed attempt is repeated, and `close` (which
    ADK's `Runner.close` calls) waits for the rest. A service that takes single events (`add_events_to_memory`, ADK 2.x)
    gets each event once while the process runs. Another one gets the whole session each time, as ADK intends. What a
    service refuses in the end is logged, stays in the session, and is sent with the session's next run.

    ADK 2.0 calls no plugin after a run whose root is a lone `LlmAgent`, so nothing is handed over there.
    """

    def __init__(
        self,
        name: str = "ingest_memory",
        *,
        max_waiting: int = 100,
        max_attempts: int = 3,
        pause_seconds: float = 0.5,
        close_seconds: float = 10.0,
    ) -> None:
        """Hands each run's events to the memory service.

        Args:
            name: the plugin's name in ADK.
            max_waiting: how many sessions may wait. Beyond that the one that has waited longest goes.
            max_attempts: how often a session is tried after one run.
            pause_seconds: the pause before the second attempt. Each later one is twice as long.
            close_seconds: how long `close` waits.
        """
        super().__init__(name=name)
        self._max_waiting = positive("IngestMemory", "max_waiting", max_waiting)
        self._max_attempts = positive("IngestMemory", "max_attempts", max_attempts)
        for named, seconds in {"pause_seconds": pause_seconds, "close_seconds": close_seconds}.items():
            a_number("IngestMemory", named, seconds, lambda number: number >= 0, "a number of seconds")
        self._pause, self._close_seconds = pause_seconds, close_seconds
        self._waiting: OrderedDict[_Key, _Waiting] = OrderedDict()
        # Each last event counts as one.
        self._sent = ByteCache[Event](max_bytes=10_000)
        self._worker: asyncio.Task[None] | None = None
        KEEPERS.add(self)

    def drop(self, theirs: Theirs) -> None:
        """Forgets the events of some sessions that wait for the service."""
        first = next(iter(self._waiting), None)
        for key in [key for key in self._waiting if theirs.hold(key)]:
            self._waiting.pop(key)
        worker = self._worker
        if worker is not None and not worker.done() and first not in self._waiting:
            # It holds the events that it tries to hand over.
            worker.get_loop().call_soon_threadsafe(worker.cancel)
            worker.add_done_callback(lambda _: self._work() if self._waiting else None)

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """ADK's callback: notes that the session has new events."""
        with logged("a run could not be handed to the memory service"):
            service, session = invocation_context.memory_service, invocation_context.session
            # The session of an AgentTool's child ends with the call.
            if service is None or outermost_invocation(invocation_context) is not invocation_context:
                return
            key = owner_of(session)
            # The next run appends to the same list; what waits is what is there now.
            self._waiting.pop(key, None)
            self._waiting[key] = service, session.model_copy(update={"events": list(session.events)})
            while len(self._waiting) > self._max_waiting:
                self._waiting.popitem(last=False)
                logger.warning("too many sessions wait for the memory service; one waits for its next run")
            self._work()

    async def close(self) -> None:
        """Waits until everything is handed over, or as long as `close_seconds` says."""
        # What is handed over waits until that is done.
        if not self._waiting:
            return
        worker = self._work()
        await asyncio.wait({worker}, timeout=self._close_seconds)
        if not worker.done():
            worker.cancel()
            self._worker = None
            logger.warning("%d sessions did not reach the memory service in time", len(self._waiting))

    def _work(self) -> asyncio.Task[None]:
        loop = asyncio.get_running_loop()
        # ADK's synchronous Runner.run makes a loop for each run, and its tasks end with it.
        if self._worker is None or self._worker.done() or self._worker.get_loop() is not loop:
            self._worker = loop.create_task(self._hand_over())
        return self._worker

    async def _hand_over(self) -> None:
        while self._waiting:
            key, waiting = next(iter(self._waiting.items()))
            attempt = 0
            # A later run may take its place.
            while self._waiting.get(key) is waiting:
                try:
                    await self._send(key, waiting)
                except Exception:
                    attempt += 1
                    if attempt < self._max_attempts:
                        await asyncio.sleep(self._pause * 2 ** (attempt - 1))
                        continue
                    logger.exception("the memory service refused a session; it is sent again after its next run")
                if self._waiting.get(key) is waiting:
                    del self._waiting[key]

    async def _send(self, key: _Key, waiting: _Waiting) -> None:
        service, session = waiting
        new, last, ids = session.events, self._sent.get(key), [event.id for event in session.events]
        if last is not None and last.id in ids:
            new = new[ids.index(last.id) + 1 :]
        elif last is not None:
            # ADK may load no more than the newest events of a session.
            new = [event for event in new if event.timestamp > last.timestamp]
        if not new:
            return
        names = {"app_name": session.app_name, "user_id": session.user_id, "session_id": session.id}
        try:
            add = getattr(service, "add_events_to_memory", None)
            await (add(**names, events=new) if add else service.add_session_to_memory(session))
        except NotImplementedError:
            await service.add_session_to_memory(session)
        self._sent.put(key, new[-1], 1)
