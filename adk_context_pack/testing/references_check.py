"""Requires of a session that no tool was given a stored result which its agent was not shown."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from google.adk.events.event import Event

from adk_context_pack._json import json_text
from adk_context_pack.testing.recorded_request import RecordedRequest

_REFERENCE = re.compile(r"\{\{\s*result:\s*(\w{11})")


def check_references(
    events: Sequence[Event], requests: Sequence[RecordedRequest], *, tools: Collection[str] | None = None
) -> None:
    """Requires that nothing was resolved that the agent was not shown.

    Each call with a reference whose tool ran needs a request of the same agent that shows the handle: in the
    instruction, in a result or in another agent's words, before the user's text or a call has it. So does each handle
    to which an answer may refer, as its event lists them for `resolve_answer`.

    Args:
        events: the session's events. A result with an `error` counts as that of a tool that did not run.
        requests: the requests of all agents as their models received them, oldest first. `ScriptedModel` records them.
        tools: names of the tools that resolve references. None means all.

    Raises:
        AssertionError: a reference was resolved without that.
    """
    results = {result.id: result.response or {} for event in events for result in event.get_function_responses()}
    typed = _typed(events)
    for author in {event.author for event in events}:
        own = [request for request in requests if request.agent == author]
        answers = [event for event in events if event.author == author and _is_answer(event)]
        for number, event in enumerate(answers):
            # As many answers as requests: each answer has its own. Else any may have led to it.
            led = own[number : number + 1] if len(own) == len(answers) else own
            for call in event.get_function_calls():
                if "error" in results.get(call.id, {"error": ""}) or (tools is not None and call.name not in tools):
                    continue
                for handle in _REFERENCE.findall(json_text(call.args).lower()):
                    if not any(_shows(request, handle, typed) for request in led):
                        raise AssertionError(f"{call.name} was given {handle}, which {author} was not shown")
            for handle in (event.custom_metadata or {}).get("context_pack_answer_references") or ():
                if not any(_shows(request, handle, typed) for request in led):
                    raise AssertionError(f"an answer may refer to {handle}, which {author} was not shown")


def _is_answer(event: Event) -> bool:
    calls = event.get_function_calls()
    is_of_adk = any((call.name or "").startswith("adk_request_") for call in calls)
    return not event.partial and not is_of_adk and bool(event.content) and not event.get_function_responses()


def _shows(request: RecordedRequest, handle: str, typed: set[str]) -> bool:
    if handle in request.system:
        return True
    places = ((text, is_proof) for text, is_proof in _places(request, typed) if handle in text)
    return next((is_proof for _, is_proof in places), False)


def _places(request: RecordedRequest, typed: set[str]) -> Iterator[tuple[str, bool]]:
    """Yields each text of a request, in order, and whether a handle in it proves something."""
    for content in request.contents:
        for part in content.parts or ():
            if part.function_call:
                yield json_text(part.function_call.args).lower(), False
            elif part.function_response:
                yield (text := json_text(part.function_response.response)), text not in typed
            elif part.text and content.role != "model":
                yield part.text.lower(), part.text not in typed


def _typed(events: Sequence[Event]) -> set[str]:
    parts = [part for event in events if event.author == "user" and event.content for part in event.content.parts or ()]
    results = {json_text(part.function_response.response) for part in parts if part.function_response}
    return {part.text for part in parts if part.text} | results
