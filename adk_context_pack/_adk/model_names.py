"""Names the models that may answer a request, backups included."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.adk.models.base_llm import BaseLlm

from adk_context_pack._adk.releases import invocation_of


def model_names(context: Any, model: str | None) -> tuple[str | None, ...]:
    """Returns the name in the request or else the agent's, and those of the backups that may be asked in its place.

    ADK's `FallbackModel` (2.12 and later) holds them in `models`, and puts the name of the first one into the request.
    `LiteLlm` passes `fallbacks` on to LiteLLM, as names or as dicts with a model's name or with lists of names.
    """
    waiting = [own := _model_of(getattr(invocation_of(context), "agent", None))]
    found: dict[str | None, None] = {model or (own if isinstance(own, str) else getattr(own, "model", None)): None}
    # A model of the app's own may name itself.
    for asked in waiting:
        for entry in _backups(asked):
            found[entry if isinstance(entry, str) else entry.model] = None
            if not any(entry is known for known in waiting):
                waiting.append(entry)
    return tuple(found)


def _model_of(agent: Any) -> Any:
    # An agent without a model has that of its parent. A name is looked up by ADK, and has no backups.
    while agent is not None and not getattr(agent, "model", None):
        agent = getattr(agent, "parent_agent", None)
    return getattr(agent, "model", None)


def _backups(model: Any) -> Iterator[str | BaseLlm]:
    if not isinstance(model, BaseLlm):
        return
    several = getattr(model, "models", None)
    for entry in several if isinstance(several, list | tuple) else ():
        if isinstance(entry, str | BaseLlm):
            yield entry
    settings = getattr(model, "_additional_args", None)
    yield from _names(settings.get("fallbacks") if isinstance(settings, dict) else None)


def _names(entry: Any) -> Iterator[str]:
    """Returns the model names in what LiteLLM takes as fallbacks."""
    if isinstance(entry, str):
        yield entry
    elif isinstance(entry, list | tuple):
        for one in entry:
            yield from _names(one)
    elif isinstance(entry, dict):
        # Either the arguments of a call, or a router's lists of models under the name of the one that failed.
        yield from _names([entry["model"]] if "model" in entry else list(entry.values()))
