"""Warns of the names of agents and tools in settings that the app does not have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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

    `settings` has the names in each setting of `owner`. They are agents if the setting has `agents` in its own name.
    """

    owner: str
    settings: Mapping[str, Iterable[str]]
    _is_open: bool = field(default=True, init=False)

    def look(self, context: Any) -> None:
        """Looks all names up, once. It never raises."""
        if not self._is_open or not any(self.settings.values()):
            return
        self._is_open = False
        try:
            agent = agent_of(context)
            agents = [each for each in agents_in(getattr(agent, "root_agent", agent)) if hasattr(each, "name")]
            known = {each.name for each in agents}
            is_whole = all(type(each).__module__.startswith("google.adk.") for each in agents)
            is_whole = is_whole and (len(agents) > 1 or not has_nodes())
            given = [tool for each in agents for tool in getattr(each, "tools", None) or ()]
            # A toolset has no name.
            tools = {each.name if isinstance(each, BaseTool) else getattr(each, "__name__", None) for each in given}
            names = tools - {None}
            for setting, wanted in self.settings.items():
                there, is_sure = (known, is_whole) if "agents" in setting else (names, is_whole and None not in tools)
                for name in sorted(set(wanted) - there):
                    if is_sure or misspelled(name, there):
                        hint = did_you_mean(name, sorted(there))
                        warn_once(f"{self.owner}: {setting} names {name!r}, which the app does not have{hint}")
        except Exception:
            # A run does not depend on the check.
            logger.debug("the names of agents and tools could not be checked", exc_info=True)
