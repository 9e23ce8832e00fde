"""The wall's part for instructions: how ADK fills in a template, and how it labels an instruction among the contents.

What is private in ADK is probed by attribute; each release is met by what it does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from google.adk.agents.callback_context import CallbackContext
from google.adk.flows.llm_flows import instructions as adk_instructions
from google.adk.utils import instructions_utils
from google.genai import types

BRACES: re.Pattern[str] = getattr(instructions_utils, "_TEMPLATE_VAR_PATTERN", re.compile(r"{+[^{}]*}+"))
"""What ADK takes for a brace expression; from 2.9.0 on not where `$`, `{` or a backslash stands before it."""

_label = getattr(adk_instructions, "_label_dynamic_instruction", None)
_HOLE = "\0"
LABEL_BEGIN, LABEL_END = _label(_HOLE).split(_HOLE) if _label else ("", "")
"""What ADK writes around the dynamic instruction behind a `static_instruction`: nothing up to 2.8.0."""


def elide(text: str) -> str:
    """`text` with ADK's own instruction markers taken out, as ADK does before it labels an instruction."""
    if _label is None or "<<<" not in text:
        return text
    return str(_label(text))[len(LABEL_BEGIN) : -len(LABEL_END)]


def inject(template: str, context: CallbackContext) -> str | None:
    """`template` with state filled in by ADK's own code; None where that cannot be done here and now.

    ADK's function is a coroutine that waits for nothing unless the template names an artifact of a slow service, so
    one step runs it to its end. A callback that ADK calls synchronously must not wait.
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
    """The agent whose request is being made, or None."""
    return getattr(getattr(context, "_invocation_context", None), "agent", None)


def global_instructions(context: CallbackContext, agent: Any) -> Iterator[Any]:
    """The instructions that stand before the agent's own, in the order in which they stand, as they were declared."""
    manager = getattr(getattr(context, "_invocation_context", None), "plugin_manager", None)
    # Each plugin puts its text in front, so the last one stands first.
    for plugin in reversed(getattr(manager, "plugins", None) or ()):
        yield getattr(plugin, "global_instruction", None)
    yield getattr(getattr(agent, "root_agent", None), "global_instruction", None)


def static_texts(agent: Any) -> Iterator[str]:
    """The texts of an agent's `static_instruction`."""
    static = getattr(agent, "static_instruction", None)
    if isinstance(static, types.Content):
        static = static.parts
    for item in static if isinstance(static, list) else (static,):
        text = item if isinstance(item, str) else getattr(item, "text", None)
        if text:
            yield text


def identity_of(agent: Any) -> str:
    """The line that ADK puts after the agent's instruction, where it puts one."""
    return f'You are an agent. Your internal name is "{getattr(agent, "name", "")}".'
