"""ADK's own content builder, as one function for all releases, in the relay format and summary form of one's choice."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from google.adk.events.event import Event
from google.adk.flows.llm_flows import contents as adk
from google.adk.flows.llm_flows import instructions as adk_instructions
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from tests.support import relay

BUILDER = sys.modules[adk._get_contents.__module__]
"""The module whose globals ADK's builder reads; later releases keep it behind `contents`."""
RELAYED_SUMMARY, OWN_SUMMARY = "relayed", "own"
"""How ADK shows its compaction summary: as a block said by `model` (up to 2.6.3), or as a turn of the agent's own."""


def contents_of(  # noqa: PLR0913 - the settings of ADK's own builder
    events: Sequence[Event],
    agent: str,
    *,
    branch: str | None = None,
    ids: bool = False,
    include: str = "default",
    thoughts: bool = False,
    relay_format: str | None = None,
    summary_form: str | None = None,
) -> list[types.Content]:
    """The contents that ADK builds for `agent` from `events`; they share objects with the events, as in a run.

    Args:
        events: the session's events.
        agent: whose request it is.
        branch: the agent's branch.
        ids: whether ADK's own call ids stay, as with models that pair by id; ignored by releases without the setting.
        include: the agent's `include_contents`: "default" or "none".
        thoughts: whether other agents' thoughts are relayed; ignored by releases that cannot.
        relay_format: `relay.PLAIN` or `relay.FENCED`; None for that of the installed release.
        summary_form: `RELAYED_SUMMARY` or `OWN_SUMMARY`; None for that of the installed release.

    Raises:
        ValueError: ADK itself refuses these events (older releases do, when the last result has no call).
    """
    build = adk._get_contents if include == "default" else adk._get_current_turn_contents
    settings = {"preserve_function_call_ids": ids, "include_thoughts_from_other_agents": thoughts}
    with ExitStack() as stack:
        if relay_format:
            stack.enter_context(_relaying(relay_format, thoughts=thoughts))
        if summary_form:
            stack.enter_context(_summarising(summary_form, agent))
        return build(branch, list(events), agent, **_known(build, settings))


def request_of(
    contents: list[types.Content],
    *,
    instruction: str = "You are helpful.",
    dynamic: str | None = None,
    labelled: bool = True,
) -> LlmRequest:
    """A request with `contents` and, if there is a static instruction, ADK's dynamic instruction among them.

    Args:
        contents: what `contents_of` gave; the list is used as it is.
        instruction: the system instruction.
        dynamic: what ADK puts into a user content for agents with `static_instruction`.
        labelled: whether `dynamic` stands between ADK's markers where the release has them (2.9.0 and later).
    """
    config = types.GenerateContentConfig(system_instruction=instruction)
    request = LlmRequest(model="scripted-model", config=config)
    # Set, not passed in: pydantic would copy the list, and the laws compare it by identity.
    request.contents = contents
    if dynamic is not None:
        _finish(adk._add_instructions_to_user_content(None, request, [dynamic_content(dynamic, labelled=labelled)]))
    return request


def dynamic_content(text: str, *, labelled: bool = True) -> types.Content:
    """The user content in which ADK sends an instruction beside a static one."""
    label = getattr(adk_instructions, "_label_dynamic_instruction", None)
    return types.Content(role="user", parts=[types.Part(text=label(text) if label and labelled else text)])


def _known(function: Any, settings: dict[str, Any]) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters
    return {name: value for name, value in settings.items() if name in parameters}


@contextmanager
def _relaying(relay_format: str, *, thoughts: bool) -> Iterator[None]:
    def present(event: Event, **_: Any) -> Event | None:
        if not event.content or not event.content.parts:
            return event
        block = relay.relayed(event, relay_format, thoughts=thoughts)
        if block is None:
            return None
        return Event(timestamp=event.timestamp, author="user", content=block, branch=event.branch)

    with patch.object(BUILDER, "_present_other_agent_message", present):
        yield


@contextmanager
def _summarising(form: str, agent: str) -> Iterator[None]:
    original = BUILDER._process_compaction_events
    author = "model" if form == RELAYED_SUMMARY else agent

    def process(*args: Any) -> list[Event]:
        return [
            event.model_copy(update={"author": author}) if event.actions and event.actions.compaction else event
            for event in original(*args)
        ]

    with patch.object(BUILDER, "_process_compaction_events", process):
        yield


def _finish(coroutine: Any) -> None:
    try:
        coroutine.send(None)
    except StopIteration:
        return
    raise RuntimeError("ADK's processor waits for something, so it can no longer be run without a loop")
