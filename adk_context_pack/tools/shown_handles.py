"""Notes on a model's answer which of the handles that it refers to its own request has shown it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from google.adk.agents.callback_context import CallbackContext
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from adk_context_pack._adk.releases import invocation_of
from adk_context_pack._json import json_text, opened
from adk_context_pack.errors import QueryError
from adk_context_pack.stores.handles import stored_results
from adk_context_pack.tools.references import parsed, references_in

logger = logging.getLogger("adk_context_pack")

NOTED = "context_pack_references"
"""The key in an event's `custom_metadata` that lists the handles which its calls may refer to."""
NOTED_ANSWER = "context_pack_answer_references"
"""The key in an event's `custom_metadata` that lists the handles which its text may refer to."""

_MAX_NAMED = 10

# A request lives as long as its model call, in which its answer is looked at. Most answers refer to nothing.
_REQUESTS: WeakValueDictionary[tuple[str, str, str], LlmRequest] = WeakValueDictionary()


def note_request(callback_context: CallbackContext, llm_request: LlmRequest) -> None:
    """ADK's `before_model_callback`, the last of an agent: it sees the request as the model will."""
    _REQUESTS[_key(callback_context)] = llm_request


def note_references(callback_context: CallbackContext, llm_response: LlmResponse) -> None:
    """ADK's `after_model_callback`: lists on the answer's event the handles to which its calls may refer.

    The list is stored with the event, so that a call which is confirmed or resumed later, in any process, still counts
    as one of a model that was shown the result.
    """
    _note(callback_context, llm_response, NOTED, _arguments)


def note_answer(callback_context: CallbackContext, llm_response: LlmResponse) -> None:
    """ADK's `after_model_callback`: lists on the answer's event the handles to which its text may refer.

    A partial answer may end within a reference, so that only whole answers count.
    """
    if not llm_response.partial:
        _note(callback_context, llm_response, NOTED_ANSWER, lambda content: opened(text_of(content)))


def text_of(content: types.Content | None) -> str:
    """Returns what an agent says in a content, without its thoughts."""
    parts = (content.parts if content else None) or ()
    return "".join(part.text for part in parts if part.text and not part.thought)


def noted_answer(event: Event) -> list[str]:
    """Returns the handles to which the text of an event may refer. A user's text may refer to nothing."""
    listed = (event.custom_metadata or {}).get(NOTED_ANSWER) if event.author != "user" else None
    return [str(handle) for handle in listed or ()]


class NotedCall(NamedTuple):
    """A call as the session holds it.

    Attributes:
        args: its arguments, as the model wrote them.
        handles: those to which it may refer.
    """

    args: Mapping[str, Any]
    handles: Sequence[str]


def noted_call(events: Sequence[Event], call_id: str | None) -> NotedCall:
    """Returns what the session holds of a call. Without its event it has no arguments and may refer to nothing.

    Args:
        events: the session's events.
        call_id: ADK's id of the call.
    """
    for event in reversed(events) if call_id else ():
        for call in event.get_function_calls() if event.author != "user" else ():
            if call.id == call_id:
                listed = (event.custom_metadata or {}).get(NOTED)
                return NotedCall(call.args or {}, [str(handle) for handle in listed or ()])
    return NotedCall({}, [])


def is_shown(handle: str, request: LlmRequest, typed: Collection[str]) -> bool:
    """Returns whether a request shows a handle by itself.

    The first place counts. A user may type any handle, a model may call a tool with it, and the tool may give it back,
    so what follows the user's text or a call with the handle proves nothing.

    Args:
        handle: the handle.
        request: the request as the model received it.
        typed: texts that the user sent, and results as JSON.
    """
    instruction = request.config.system_instruction if request.config else None
    if handle in _instruction_text(instruction):
        return True
    for content in request.contents:
        for part in content.parts or ():
            if part.function_response is not None:
                if handle in (result := json_text(part.function_response.response)):
                    return result not in typed
            elif part.function_call is not None:
                if handle in json_text(part.function_call.args).lower():
                    return False
            elif content.role != "model" and handle in (part.text or "").lower():
                return part.text not in typed
    return False


def _note(
    context: CallbackContext, response: LlmResponse, key: str, read: Callable[[types.Content | None], Any]
) -> None:
    try:
        wanted = _wanted(read(response.content))
        if wanted:
            request = _REQUESTS.get(_key(context))
            handles = [] if request is None else _may_use(wanted, request, context)
            response.custom_metadata = {**(response.custom_metadata or {}), key: handles}
    except Exception:
        logger.exception("references of an answer count as unknown")


def _arguments(content: types.Content | None) -> list[Any]:
    parts = (content.parts if content else None) or ()
    return [part.function_call.args for part in parts if part.function_call]


def _wanted(value: Any) -> set[str]:
    wanted = set()
    for text in references_in(value):
        try:
            wanted.add(parsed(text).handle)
        except QueryError:
            # Whoever resolves it says what is wrong.
            wanted.add("")
    return wanted


def _may_use(wanted: set[str], request: LlmRequest, context: CallbackContext) -> list[str]:
    """Returns the stored handles in `wanted` that are shown. If some are not, others that are shown follow."""
    typed = set(_typed(context))
    stored = [result.handle for result in reversed(stored_results(context.session.state))]
    found = [handle for handle in stored if handle in wanted and is_shown(handle, request, typed)]
    if len(found) == len(wanted):
        return found
    others = (handle for handle in stored if handle not in wanted and is_shown(handle, request, typed))
    return [*found, *(handle for handle, _ in zip(others, range(_MAX_NAMED), strict=False))]


def _typed(context: CallbackContext) -> Iterator[str]:
    contents = [event.content for event in context.session.events if event.author == "user"]
    for content in (*contents, context.user_content):
        for part in (content.parts if content else None) or ():
            if part.text:
                yield part.text
            # The result of a long-running tool comes from the app's user.
            if part.function_response is not None:
                yield json_text(part.function_response.response)


def _instruction_text(instruction: Any) -> str:
    if isinstance(instruction, types.Content):
        return " ".join(part.text or "" for part in instruction.parts or ())
    return str(instruction or "")


def _key(context: CallbackContext) -> tuple[str, str, str]:
    return context.invocation_id, context.agent_name, invocation_of(context).branch or ""
