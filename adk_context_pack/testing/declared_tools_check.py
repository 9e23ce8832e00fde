"""Requires of an agent's requests that their tool declarations only grow."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from adk_context_pack.testing.recorded_request import RecordedRequest


def check_declared_tools(requests: Sequence[RecordedRequest]) -> None:
    """Requires that no agent loses, changes or moves a tool declaration from one of its requests to the next.

    Providers cache declarations before everything else of a request (platform.claude.com/docs, prompt caching), so that
    one that changes makes them read the whole request again. New declarations may follow those there were.

    Args:
        requests: the requests of all agents as their models received them, oldest first. `ScriptedModel` records them.

    Raises:
        AssertionError: a declaration went, changed or moved.
    """
    for agent in {request.agent for request in requests}:
        declared = [_declarations(request) for request in requests if request.agent == agent]
        for before, after in pairwise(declared):
            for place, (name, text) in enumerate(before):
                if place >= len(after) or after[place] != (name, text):
                    raise AssertionError(f"{agent} is shown another declaration than before in the place of {name}")


def _declarations(request: RecordedRequest) -> list[tuple[str | None, str]]:
    tools = (request.config.tools if request.config else None) or ()
    functions = [function for tool in tools for function in getattr(tool, "function_declarations", None) or ()]
    return [(function.name, function.model_dump_json(exclude_none=True)) for function in functions]
