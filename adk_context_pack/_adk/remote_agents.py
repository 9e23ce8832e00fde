"""Takes apart what ADK sends to a remote agent over A2A, and puts it together again.

ADK's own method selects what is sent: it knows what the remote agent has already, where an isolated task begins, and
which parts hold credentials. It is run on a copy of the agent whose converter notes each part.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple
from uuid import uuid4

from google.adk.agents.invocation_context import InvocationContext
from google.adk.events.event import Event
from google.genai import types

from adk_context_pack._adk.releases import isolation_scope_of, live_events, render_relay, scope_of_event

Converter = Callable[[types.Part], Any]
"""ADK's converter from a part to an A2A part, a list of them, or None."""

_USER_INPUT = "is_user_input"


class RemoteMessage(NamedTuple):
    """Holds the message that ADK would send to a remote agent.

    Attributes:
        contents: one content for each event, as a local agent would be shown it.
        context_id: the id of the remote conversation that the message continues, or None.
    """

    contents: list[types.Content]
    context_id: str | None


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


def message_to(context: InvocationContext) -> RemoteMessage:
    """Returns what ADK would send to the running remote agent, one content for each event.

    As for a local agent, events of other branches, of other isolated tasks, and those before a rewind are left out.
    """
    taken: list[types.Part] = []
    mark = f"{uuid4().hex}:"

    def take(part: types.Part) -> Any:
        taken.append(part)
        return _a2a().make_text_part(f"{mark}{len(taken) - 1}")

    probe: Any = copy.copy(context.agent)
    probe._genai_part_converter = take  # noqa: SLF001 - the default builder asks it
    scopes, branch = (None, isolation_scope_of(context)), f"{context.branch}."
    seen = [
        event
        for event in live_events(context.session.events)
        if scope_of_event(event) in scopes
        and (not context.branch or not event.branch or branch.startswith(f"{event.branch}."))
    ]
    reduced = context.model_copy(update={"session": context.session.model_copy(update={"events": seen})})
    parts, context_id = probe._construct_message_parts_from_session(reduced)  # noqa: SLF001 - as above
    sent = [_sent(part, taken, mark) for part in parts]
    return RemoteMessage(list(_grouped(sent, seen, probe.name)), context_id)


def a2a_parts(contents: Iterable[types.Content], convert: Converter) -> list[Any]:
    """Returns contents as A2A parts. Those of the user's role are marked as ADK marks them."""
    parts = []
    for content in contents:
        for part in content.parts or ():
            made = convert(part)
            converted = made if isinstance(made, list) else [] if made is None else [made]
            for each in converted if content.role == "user" else ():
                _a2a().set_part_metadata(each, {**(_a2a().part_metadata(each) or {}), _USER_INPUT: True})
            parts += converted
    return parts


def _a2a() -> Any:
    return import_module("google.adk.a2a._compat")


class _Sent(NamedTuple):
    """One part of ADK's message.

    Attributes:
        part: the part behind the A2A part.
        is_converted: whether ADK asked the converter for it. ADK writes the results of tools as text itself.
        is_user: whether ADK marks it as the user's, as it does relays.
    """

    part: types.Part
    is_converted: bool
    is_user: bool


def _sent(part: Any, taken: Sequence[types.Part], mark: str) -> _Sent:
    text = _a2a().part_text(part)
    number = text.removeprefix(mark)
    is_converted = number != text
    is_user = bool((_a2a().part_metadata(part) or {}).get(_USER_INPUT))
    return _Sent(taken[int(number)] if is_converted else types.Part(text=text), is_converted, is_user)


def _grouped(sent: Sequence[_Sent], events: Sequence[Event], agent_name: str) -> Iterator[types.Content]:
    own = ("user", agent_name)
    owners = {
        id(part): event
        for event in events
        if event.author in own and event.content
        for part in event.content.parts or ()
    }
    for _, group in groupby(zip(_keys(sent, owners), sent, strict=True), key=itemgetter(0)):
        found = [each for _, each in group]
        yield types.Content(role="user" if found[0].is_user else "model", parts=[each.part for each in found])


def _keys(sent: Iterable[_Sent], owners: Mapping[int, Event]) -> Iterator[object]:
    """Yields for each part a key that the parts of one event share. A relay's parts belong to no event of `owners`."""
    shown = render_relay(Event(author="agent"), types.Part(text="text"))
    preamble = shown.parts[0].text if shown is not None and shown.parts else None
    relays = 0
    for each in sent:
        relays += each.is_converted and each.part.text == preamble
        owner = owners.get(id(each.part))
        yield id(owner) if owner is not None else -relays if each.is_converted else object()
