"""Conversations of every shape that ADK has, by name."""

from __future__ import annotations

from collections.abc import Callable

from tests.providers import many_agents_scenarios as many
from tests.providers import one_agent_scenarios as one
from tests.providers.scenario import Scenario

SCENARIOS: dict[str, Callable[[], Scenario]] = {
    make.__name__: make
    for make in (
        one.parallel_calls,
        one.tool_loop,
        one.long_running,
        one.confirmation,
        many.transfer,
        many.sequence,
        many.loop,
        many.parallel_agents,
        many.workflow,
        many.agent_tool,
    )
}
