"""Passes that an agent declares for itself, and that run before those of a pipeline or plugin."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from weakref import WeakValueDictionary

from google.adk.agents.callback_context import CallbackContext
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.passes.context_pass import ContextPass, callbacks_of

logger = logging.getLogger("adk_context_pack")

# A request lives as long as its model call.
_LED: WeakValueDictionary[int, LlmRequest] = WeakValueDictionary()


class LeadingPass(ContextPass):
    """A pass that needs the contents as ADK built them, and so runs before the passes of the app's plugin.

    It is an entry of the agent's own `before_model_callback`, which ADK calls after those of plugins. A pipeline and
    the plugin therefore run it first, and report on it. Where there is neither, it runs as any other pass does.
    """

    def handed(self, call: ModelCall) -> list[types.Content]:  # noqa: ARG002 - for subclasses
        """Returns what the pass will put into the request. By default there is nothing."""
        return []

    def __call__(self, callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        """Runs the pass as ADK's `before_model_callback`, unless a pipeline has run it or will."""
        waits = any(getattr(each, "runs_leading_passes", False) for each in callbacks_of(callback_context))
        if not waits and _LED.get(id(llm_request)) is not llm_request:
            super().__call__(callback_context, llm_request)


def leading_passes(context: CallbackContext | None) -> tuple[LeadingPass, ...]:
    """Returns the leading passes among the callbacks of the agent that `context` belongs to."""
    return tuple(each for each in callbacks_of(context) if isinstance(each, LeadingPass))


def note_led(request: LlmRequest, passes: Sequence[LeadingPass]) -> None:
    """Remembers that the leading passes run over `request`, so that its agent's callbacks do not run them again."""
    if passes:
        _LED[id(request)] = request


def handed_over(call: ModelCall) -> list[types.Content]:
    """Returns what leading passes will put into a request. A pass that cannot say so is logged, and adds nothing."""
    found: list[types.Content] = []
    for entry in leading_passes(call.context):
        try:
            found += entry.handed(call)
        except Exception:
            logger.exception("pass %s could not say what it hands over", entry.name)
    return found
