"""Warns of the names of agents and tools in settings that the app does not have."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from google.adk.tools.base_tool import BaseTool

from adk_context_pack._adk.instruction import agent_of, agents_in
from adk_context_pack._adk.known_tools import has_nodes
from adk_context_pack.errors import did_you_mean, logger, misspelled, warn_once


@dataclass(kw_only=True)
class AppNames:
    """Looks up names from settings in the app, at the first model call or tool call that shows the app.

    The app is walked from its root agent down, through sub-agents and agent tools. A name that it does not have is a
    mistake if it is a misspelling of one that it has. Any other name is one only if the walk has seen the whole app. A
    toolset, an agent of the app's own class and a `Workflow`, which its nodes do not know, may hide more.
    """

    owner: str
    agents: frozenset[str] = frozenset()
    tools: frozenset[str] = frozenset()
    _is_open: bool = field(default=True, init=False)

    def look(self, context: Any) -> None:
        """Looks all names up, once. It never raises."""
        if not self._is_open:
            return
        self._is_open = False
        try:
            self._warn(agent_of(context)) if self.agents or self.tools else None
        except Exception:
            # A run does not depend on the check.
            logger.debug("the names of agents and tools could not be checked", exc_info=True)

    def _warn(self, agent: Any) -> None:
        agents = [each for each in agents_in(getattr(agent, "root_agent", agent)) if hasattr(each, "name")]
        known = {each.name for each in agents}
        is_whole = all(type(each).__module__.startswith("google.adk.") for each in agents)
        is_whole = is_whole and (len(agents) > 1 or not has_nodes())
        self._warn_of("agents", self.agents, known, is_whole=is_whole)
        given = [tool for each in agents for tool in getattr(each, "tools", None) or ()]
        # A toolset has no name.
        tools = [each.name if isinstance(each, BaseTool) else getattr(each, "__name__", None) for each in given]
        names = {name for name in tools if name is not None}
        self._warn_of("tools", self.tools, names, is_whole=is_whole and None not in tools)

    def _warn_of(self, setting: str, given: Iterable[str], known: set[str], *, is_whole: bool) -> None:
        for name in sorted(set(given) - known):
            if is_whole or misspelled(name, known):
                hint = did_you_mean(name, sorted(known))
                warn_once(f"{self.owner}: {setting} names {name!r}, which the app does not have{hint}")
