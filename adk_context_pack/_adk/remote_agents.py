"""Takes apart what ADK sends to a remote agent over A2A, and puts it together again.

ADK's own method selects what is sent: it knows what the remote agent has already, where an isolated task begins, and
which parts hold credentials. It is run on a copy of the agent whose converter notes each part.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from itertools import groupby
from typing import Any
from uuid import uuid4

from google.adk.agents.invocation_context import InvocationContext
from google.adk.events.event import Event
from google.genai import types

from adk_context_pack._adk.releases import isolation_scope_of, live_events, render_relay, scope_of_event

Converter = Callable[[types.Part], Any]
"""ADK's converter from a part to an A2A part, a list of them, or None."""

_Taken = dict[str, types.Part]
"""The parts that ADK asked the converter for, by the text that stands for each."""


def missing_for_context_builder() -> str | None:
    """Returns what the installed packages lack for `RemoteA2aAgent(context_builder=…)`, or None if they have it."""
    if find_spec("a2a") is None:
        return "the package a2a-sdk (pip install 'google-adk[a2a]')"
    try:
        remote: Any = import_module("google.adk.agents.remote_a2a_agent").RemoteA2aAgent
    except ImportError as error:
        return f"a google-adk and an a2a-sdk that fit each other ({error})"
    has_hook = "context_builder" in inspect.signature(remote.__init__).parameters
    return None if has_hook else "google-adk 2.10 or newer, whose RemoteA2aAgent has context_builder="


def as_built(context: InvocationContext) -> tuple[list[Any], str | None]:
    """Returns the A2A parts and the context id as ADK makes them without a context builder."""
    agent: Any = context.agent
    parts, context_id = agent._construct_message_parts_from_session(context)  # noqa: SLF001 - ADK's default builder
    return list(parts), context_id


def message_to(context: InvocationContext) -> tuple[list[types.Content], str | None]:
    """Returns what ADK would send to a remote agent, a content for each event, and the id of the conversation or None.

    As for a local agent, events of other branches, of other isolated tasks, and those before a rewind are left out.
    """
    taken: _Taken = {}

    def take(part: types.Part) -> Any:
        taken[mark := uuid4().hex] = part
        return _a2a().make_text_part(mark)

    probe: Any = copy.copy(context.agent)
    probe._genai_part_converter = take  # noqa: SLF001 - the default builder asks it
    scopes, branch = (None, isolation_scope_of(context)), f"{context.branch}."
    seen = [event for event in live_events(context.session.events) if scope_of_event(event) in scopes]
    if context.branch:
        seen = [event for event in seen if not event.branch or branch.startswith(f"{event.branch}.")]
    reduced = context.model_copy(update={"session": context.session.model_copy(update={"events": seen})})
    parts, context_id = probe._construct_message_parts_from_session(reduced)  # noqa: SLF001 - as above
    return list(_grouped(parts, taken, seen, probe.name)), context_id


def a2a_parts(contents: Iterable[types.Content], convert: Converter) -> list[Any]:
    """Returns contents as A2A parts. Those of the user's role are marked as ADK marks them."""
    parts = []
    for content in contents:
        for part in content.parts or ():
            made = convert(part)
            converted = made if isinstance(made, list) else [] if made is None else [made]
            for each in converted if content.role == "user" else ():
                _a2a().set_part_metadata(each, {**(_a2a().part_metadata(each) or {}), "is_user_input": True})
            parts += converted
    return parts


def _a2a() -> Any:
    return import_module("google.adk.a2a._compat")


def _grouped(sent: Iterable[Any], taken: _Taken, events: Sequence[Event], agent_name: str) -> Iterator[types.Content]:
    """Yields a content for each event, of the A2A parts of ADK's message. A relay's parts belong to no event's own."""
    own = (event for event in events if event.author in ("user", agent_name) and event.content)
    owners = {id(part): id(event) for event in own if event.content for part in event.content.parts or ()}
    shown = render_relay(Event(author="agent"), types.Part(text="text"))
    preamble = shown.parts[0].text if shown is not None and shown.parts else None
    relays = 0
    found: list[tuple[object, bool, types.Part]] = []
    for each in sent:
        # ADK writes the results of tools as text itself, and asks the converter for all else.
        text = _a2a().part_text(each)
        part = taken.get(text)
        relays += part is not None and part.text == preamble
        key = object() if part is None else owners.get(id(part), -relays)
        is_user = bool((_a2a().part_metadata(each) or {}).get("is_user_input"))
        found.append((key, is_user, part or types.Part(text=text)))
    for _, group in groupby(found, key=lambda each: each[0]):
        (_, is_user, first), *others = group
        yield types.Content(role="user" if is_user else "model", parts=[first, *(part for *_, part in others)])
