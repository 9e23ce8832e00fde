"""Knows an agent's models, how ADK fills in its instruction, and how it labels that among the contents."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Iterator
from functools import cache
from importlib import import_module
from typing import Any

from google.adk.agents.callback_context import CallbackContext
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.utils import instructions_utils
from google.genai import types

BRACES: re.Pattern[str] = getattr(instructions_utils, "_TEMPLATE_VAR_PATTERN", re.compile(r"{+[^{}]*}+"))
"""ADK's pattern of a brace expression. From 2.9.0 on, it excludes those after `$`, `{` or a backslash."""


def _label() -> Callable[[str], str] | None:
    # ADK loads its flows with the first run.
    return getattr(import_module("google.adk.flows.llm_flows.instructions"), "_label_dynamic_instruction", None)


@cache
def labels() -> tuple[str, str]:
    """Returns the marks that ADK puts around a dynamic instruction beside a static one, empty up to ADK 2.8.0."""
    label = _label()
    begin, _, end = label("\0").partition("\0") if label else ("", "", "")
    return begin, end


def is_labelled(text: str | None) -> bool:
    """Tells whether a text begins with ADK's mark of a dynamic instruction."""
    return bool(text and (begin := labels()[0]) and text.startswith(begin))


def elide_labels(text: str) -> str:
    """Removes ADK's own instruction markers from `text`, as ADK does before it labels an instruction."""
    if "<<<" not in text or (label := _label()) is None:
        return text
    begin, end = labels()
    return label(text)[len(begin) : -len(end)]


def inject(template: str, context: CallbackContext) -> str | None:
    """Fills state into `template` with ADK's own code. Returns None if that would have to wait for an artifact."""
    if "{" not in template:
        return template
    try:
        return str(at_once(instructions_utils.inject_session_state(template, context)))
    except Exception:
        # A variable is gone since ADK filled it in, or an artifact cannot be loaded at once.
        return None


def at_once(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Returns what a coroutine returns that waits for nothing, and raises a RuntimeError for one that does."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    coroutine.close()
    raise RuntimeError("it waited for something")


def agent_of(context: Any) -> Any:
    """Returns the agent that a context of any kind belongs to, or None."""
    return getattr(getattr(context, "_invocation_context", context), "agent", None)


def plugins_of(context: CallbackContext | None) -> list[Any]:
    """Returns the plugins of the run behind a callback context, in their order."""
    manager = getattr(getattr(context, "_invocation_context", None), "plugin_manager", None)
    return list(getattr(manager, "plugins", None) or ())


def global_instructions(context: CallbackContext, agent: Any) -> list[Any]:
    """Returns the instructions that ADK puts before the agent's own, in order, as the app declared them."""
    # Each plugin puts its text in front, so the last one comes first.
    owners = *reversed(plugins_of(context)), getattr(agent, "root_agent", None)
    return [getattr(owner, "global_instruction", None) for owner in owners]


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


def model_names(context: Any, model: str | None) -> tuple[str | None, ...]:
    """Returns the name in the request or else the agent's, and those of the backups that may be asked in its place.

    ADK's `FallbackModel` (2.12 and later) holds them in `models`, and puts the name of the first one into the request.
    `LiteLlm` passes `fallbacks` on to LiteLLM, as names or as dicts with a model's name or with lists of names.
    """
    agent = agent_of(context)
    # An agent without a model has that of its parent. A name is looked up by ADK, and has no backups.
    while agent is not None and not getattr(agent, "model", None):
        agent = getattr(agent, "parent_agent", None)
    waiting = [own := getattr(agent, "model", None)]
    found: dict[str | None, None] = {model or (own if isinstance(own, str) else getattr(own, "model", None)): None}
    # A model of the app's own may name itself.
    for asked in waiting:
        several, settings = getattr(asked, "models", None), getattr(asked, "_additional_args", None)
        backups: list[Any] = [several] if isinstance(several, list | tuple) else []
        backups += [settings.get("fallbacks")] if isinstance(settings, dict) else []
        for entry in _models(backups):
            found[entry if isinstance(entry, str) else entry.model] = None
            if not any(entry is known for known in waiting):
                waiting.append(entry)
    return tuple(found)


def _models(entry: Any) -> Iterator[str | BaseLlm]:
    """Yields the models in a list of them, or in what LiteLLM takes as fallbacks."""
    if isinstance(entry, str | BaseLlm):
        yield entry
    elif isinstance(entry, list | tuple):
        for one in entry:
            yield from _models(one)
    elif isinstance(entry, dict):
        # Either the arguments of a call, or a router's lists of models under the name of the one that failed.
        yield from _models([entry["model"]] if "model" in entry else list(entry.values()))


def agents_in(found: Any, seen: set[int] | None = None) -> Iterator[Any]:
    """Yields an agent or node, and all that it runs: sub-agents, nodes of a workflow, and agents behind tools."""
    seen = set() if seen is None else seen
    if found is None or id(found) in seen:
        return
    seen.add(id(found))
    yield found
    graph = getattr(found, "graph", None)
    tools = [getattr(tool, "agent", None) for tool in getattr(found, "tools", None) or ()]
    for each in (*(getattr(found, "sub_agents", None) or ()), *(getattr(graph, "nodes", None) or ()), *tools):
        inner = getattr(each, "agent", None)
        yield from agents_in(each if inner is None else inner, seen)
