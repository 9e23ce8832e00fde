"""The request of each recorded model call, rebuilt by ADK's own code."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from google.adk.events.event import Event
from google.adk.flows.llm_flows import contents as adk_contents
from google.adk.models.llm_request import LlmRequest
from google.genai import types

# Private in every release, and the very function that each request goes through.
_build = adk_contents._get_contents  # noqa: SLF001
_EMPTY = LlmRequest(config=types.GenerateContentConfig())
_SETTINGS = frozenset(inspect.signature(_build).parameters)


def is_model_call(event: Event) -> bool:
    """Tells whether an event is a model's answer."""
    content = event.content
    if event.author == "user" or event.partial or content is None or content.role != "model" or not content.parts:
        return False
    # ADK's 2.x summaries of compacted events are contents of the model's role as well.
    return event.actions.compaction is None if hasattr(event.actions, "compaction") else True


def contents_for(event: Event, before: Sequence[Event]) -> list[types.Content]:
    """Builds the contents for the agent behind `event` from the events before it, with ADK's own code.

    Raises:
        ValueError: ADK refuses these events. Older releases do so where a result has no call.
    """
    more: dict[str, Any] = {}
    if "isolation_scope" in _SETTINGS:
        more["isolation_scope"] = getattr(event, "isolation_scope", None)
    return _build(event.branch, list(before), event.author, **more)


def contents_of(
    events: Sequence[Event],
    agent_name: str,
    *,
    branch: str | None = None,
    keep_ids: bool = False,
    isolation_scope: str | None = None,
) -> list[types.Content]:
    """Builds the contents for an agent from a session's events, with ADK's own code.

    Args:
        events: the session's events, oldest first.
        agent_name: the name of the agent.
        branch: the agent's branch, within a `ParallelAgent`.
        keep_ids: whether ADK's own call ids stay. Releases without the setting take them out.
        isolation_scope: the isolated task (2.x) whose events the agent sees.

    Raises:
        ValueError: ADK refuses these events. Older releases do so where a result has no call.
    """
    given: dict[str, Any] = {"preserve_function_call_ids": keep_ids, "isolation_scope": isolation_scope}
    more = {name: value for name, value in given.items() if name in _SETTINGS}
    return _build(branch, list(events), agent_name, **more)


def request_of(event: Event, contents: list[types.Content]) -> LlmRequest:
    """Makes a request with `contents`. A session holds neither instructions nor tool declarations."""
    # A copy of an empty one, since there is nothing to validate, and pydantic would copy the list.
    model = getattr(event, "model_version", None) or ""
    return _EMPTY.model_copy(update={"model": model, "contents": contents})
