"""Others in the process while an attack runs: a second user with a query.

beside = Beside()
calls = ("query_rows", {"handle": beside.begins(handle_of), "sql": attack}), (…, {"handle": beside.ends(handle_of)})
await beside.watch(own_run(plugins, tools, ("work", {}), *calls))
beside.check_all_went_on()
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from adk_context_pack import ContextPackPlugin, QueryRows
from tests.attacks.hostile import Beat, OddTool, heart, own_run

T = TypeVar("T")
_ROWS = 500
_HELD = 20


async def second_user() -> None:
    """Asks a small query of a user's own through a real app, and looks a host name up; both have to be right."""
    tools = [OddTool("work", {"rows": [{"id": number} for number in range(_ROWS)]}), QueryRows(max_seconds=60)]
    query = ("query_rows", {"handle": lambda results: results[0]["_handle"], "sql": "SELECT count(*) FROM rows"})
    results, _ = await own_run([ContextPackPlugin()], tools, ("work", {}), query, user_id="bob")
    assert results[1]["rows"] == [[_ROWS]]
    assert await asyncio.get_running_loop().getaddrinfo("localhost", 80)


class Beside:
    """Watches what others notice between the beginning and the end of an attack.

    Attributes:
        answered: how often the second user had all answers before the attack ended.
        beats: those of the loop during the attack.
        usual: the longest work between two beats where only the second user asks.
    """

    def __init__(self) -> None:
        self.answered = 0
        self.beats: list[Beat] = []
        self.usual = 0.0
        self._begun, self._ended = asyncio.Event(), False

    def begins(self, argument: Callable[[Any], T]) -> Callable[[Any], T]:
        """Returns an argument for the attack's own call: the attack begins when the model makes it."""

        def given(results: Any) -> T:
            self._begun.set()
            return argument(results)

        return given

    def ends(self, argument: Callable[[Any], T]) -> Callable[[Any], T]:
        """Returns an argument for the call after the attack."""

        def given(results: Any) -> T:
            self.end()
            return argument(results)

        return given

    def end(self) -> None:
        """Says that the attack is over."""
        self._ended = True

    async def watch(self, attack: Awaitable[T]) -> T:
        """Runs an attack, and the others beside it."""
        # What ADK imports with the first run of a process holds up its loop for long.
        await second_user()
        async with heart() as beats:
            await second_user()
        self.usual = max(beat.worked for beat in beats)
        others = asyncio.create_task(self._ask())
        # A collection of all that earlier tests left would count as work.
        gc.freeze()
        try:
            return await attack
        finally:
            self._ended = True
            self._begun.set()
            await others
            gc.unfreeze()

    def check_all_went_on(self) -> None:
        """Asserts that the second user had answers before the attack ended, and that nothing held the loop for long."""
        assert self.answered
        assert max(beat.worked for beat in self.beats) < _HELD * self.usual

    async def _ask(self) -> None:
        await self._begun.wait()
        async with heart() as self.beats:
            while not self._ended:
                await second_user()
                self.answered += not self._ended
