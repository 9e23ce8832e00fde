"""Warns of `{compact:KEY}` in an instruction that no pass fills in."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import Any
from weakref import WeakValueDictionary

from google.adk.plugins.base_plugin import BasePlugin

from adk_context_pack._adk.instruction import agent_of, global_instructions, plugins_of
from adk_context_pack.errors import did_you_mean, misspelled, warn_once
from adk_context_pack.views.template import PREFIX, slot_keys

logger = logging.getLogger("adk_context_pack")

_checked: WeakValueDictionary[tuple[int, str], Any] = WeakValueDictionary()
"""The agents whose instructions were checked, by id and instruction, since agents cannot be hashed."""


def warn_of_unfilled_slots(context: Any, passes: Iterable[Any]) -> None:
    """Warns once of each slot of an agent's instruction that nothing in its app fills in.

    The passes of the caller, of the agent's own callbacks and of a `ContextPackPlugin` count. A callback or a plugin of
    the app's own may fill in slots as well. Beside one, only a misspelling of a key that a pass fills in is a mistake.
    An instruction that is a function is not read.

    Args:
        context: ADK's callback context of a model call, or None in a test of a pure pass.
        passes: the passes that the caller runs.
    """
    agent = agent_of(context)
    template = getattr(agent, "instruction", None)
    if not isinstance(template, str):
        template = ""
    shared = [text for text in global_instructions(context, agent) if isinstance(text, str)] if agent else []
    for text in (template, *shared):
        if PREFIX not in text or (id(agent), text) in _checked:
            continue
        try:
            _checked[id(agent), text] = agent
            _warn(text, agent, context, passes)
        except Exception:
            # The request does not depend on the check.
            logger.debug("an instruction could not be checked for slots", exc_info=True)


def _warn(template: str, agent: Any, context: Any, passes: Iterable[Any]) -> None:
    own = getattr(agent, "before_model_callback", None) or ()
    entries = [*passes, *(own if isinstance(own, list | tuple) else [own]), *_plugin_entries(context, agent)]
    found = [_keys_of(entry) for entry in entries]
    filled = frozenset().union(*(keys for keys in found if keys is not None))
    for key in slot_keys(template) - filled:
        if None in found and misspelled(key, filled) is None:
            continue
        hint = did_you_mean(key, filled) or f". Add CompactState(key={key!r})"
        warn_once(f"{agent.name}: no pass fills in {{{PREFIX}{key}}} in the instruction{hint}")


def _plugin_entries(context: Any, agent: Any) -> Iterator[Any]:
    for plugin in plugins_of(context):
        settings_for = getattr(plugin, "settings_for", None)
        if settings_for is not None:
            yield from getattr(settings_for(agent.name), "passes", None) or ()
        elif type(plugin).before_model_callback is not BasePlugin.before_model_callback:
            yield plugin


def _keys_of(entry: Any) -> frozenset[str] | None:
    """Returns the keys that a callback or plugin fills in, or None if it may fill in any."""
    if type(entry).__module__.startswith("google.adk."):
        return frozenset()
    keys = getattr(entry, "slot_keys", None)
    if keys or (keys is not None and type(entry).__module__.startswith("adk_context_pack.")):
        return frozenset(keys)
    inner = getattr(entry, "passes", None)
    return None if inner is None else frozenset().union(*(_keys_of(each) or () for each in inner))
