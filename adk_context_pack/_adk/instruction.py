"""Knows how ADK fills in an instruction template, and how it labels an instruction among the contents.

Private names of ADK are probed by attribute, never by version number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any

from google.adk.agents.callback_context import CallbackContext
from google.adk.models.llm_request import LlmRequest
from google.adk.utils import instructions_utils
from google.genai import types

BRACES: re.Pattern[str] = getattr(instructions_utils, "_TEMPLATE_VAR_PATTERN", re.compile(r"{+[^{}]*}+"))
"""ADK's pattern of a brace expression. From 2.9.0 on, it excludes those after `$`, `{` or a backslash."""


@cache
def _label() -> Callable[[str], str] | None:
    # ADK loads its flows with the first run.
    return getattr(import_module("google.adk.flows.llm_flows.instructions"), "_label_dynamic_instruction", None)


@cache
def labels() -> tuple[str, str]:
    """Returns the marks that ADK puts around a dynamic instruction beside a static one, empty up to ADK 2.8.0."""
    label = _label()
    begin, _, end = label("\0").partition("\0") if label else ("", "", "")
    return begin, end


def elide(text: str) -> str:
    """Removes ADK's own instruction markers from `text`, as ADK does before it labels an instruction."""
    label = _label() if "<<<" in text else None
    if label is None:
        return text
    begin, end = labels()
    return label(text)[len(begin) : -len(end)]


def inject(template: str, context: CallbackContext) -> str | None:
    """Fills state into `template` with ADK's own code. Returns None if that would have to wait.

    ADK's function is a coroutine that only waits if the template names an artifact of a slow service, so one step runs
    it to its end. A callback that ADK calls synchronously must not wait.
    """
    if "{" not in template:
        return template
    filling = instructions_utils.inject_session_state(template, context)
    try:
        filling.send(None)
    except StopIteration as done:
        return str(done.value)
    except Exception:
        # A variable is gone since ADK filled it in, or an artifact cannot be loaded.
        return None
    finally:
        filling.close()
    return None


def agent_of(context: CallbackContext | None) -> Any:
    """Returns the agent whose request is being made, or None."""
    return getattr(getattr(context, "_invocation_context", None), "agent", None)


def plugins_of(context: CallbackContext | None) -> list[Any]:
    """Returns the plugins of the run behind a callback context, in their order."""
    manager = getattr(getattr(context, "_invocation_context", None), "plugin_manager", None)
    return list(getattr(manager, "plugins", None) or ())


def global_instructions(context: CallbackContext, agent: Any) -> Iterator[Any]:
    """Yields the instructions that ADK puts before the agent's own, in order, as the app declared them."""
    # Each plugin puts its text in front, so the last one comes first.
    for plugin in reversed(plugins_of(context)):
        yield getattr(plugin, "global_instruction", None)
    yield getattr(getattr(agent, "root_agent", None), "global_instruction", None)


def static_texts(agent: Any) -> Iterator[str]:
    """Yields the texts of an agent's `static_instruction`."""
    static = getattr(agent, "static_instruction", None)
    if isinstance(static, types.Content):
        static = static.parts
    for item in static if isinstance(static, list) else (static,):
        text = item if isinstance(item, str) else getattr(item, "text", None)
        if text:
            yield text


def static_prefix_end(request: LlmRequest) -> int:
    """Returns the number of contents that ADK put in front of the history with the static instruction, or 0."""
    return getattr(request, "_static_instruction_prefix_end_index", None) or 0


def identity_of(agent: Any) -> str:
    """Returns the line that ADK may put after the agent's instruction."""
    return f'You are an agent. Your internal name is "{getattr(agent, "name", "")}".'
