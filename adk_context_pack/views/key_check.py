"""Warns of a state key that a view asks for and the state does not have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.errors import did_you_mean, is_extended, misspelled, warn_once
from adk_context_pack.views.template import PREFIX

_MAX_LOOKS = 50


class KeyCheck:
    """Looks for a state key at each model call, until it was found or warned of.

    A key that the state does not have may still come, from a tool or from another agent. It is taken for a mistake only
    if the state holds other values, and one of these holds:

    * The state has a key that it is a misspelling of, or the same key with a scope such as `user:`. Of two keys such as
      `campaign` and `campaigns` an app may well have both, so they have to wait for the second turn.
    * The agent has had an earlier turn in the session, and the instruction does not say with `{compact:KEY?}` that the
      value may be missing. An instruction that is a function is not asked.

    The check ends after a number of calls.

    Args:
        key: the state key.
    """

    def __init__(self, key: str) -> None:
        self._key = key
        self._looks = _MAX_LOOKS

    def look(self, call: ModelCall, instruction: Any) -> None:
        """Looks for the key in the state of a model call.

        Args:
            call: the model call.
            instruction: the agent's instruction as the app declared it.
        """
        if not self._looks:
            return
        self._looks -= 1
        if self._key in call.state:
            self._looks = 0
        elif call.state and self._is_mistake(call, instruction):
            self._looks = 0
            hint = _scoped(self._key, call.state) or misspelled(self._key, call.state)
            hint = f" (did you mean {hint!r}?)" if hint else did_you_mean(self._key, call.state)
            slot = f"{{{PREFIX}{self._key}}}"
            warn_once(
                f"{call.agent_name}: the state has no {self._key!r}{hint}, so {slot} is null. "
                f"If the value may be missing, write {slot[:-1]}?}}"
            )

    def _is_mistake(self, call: ModelCall, instruction: Any) -> bool:
        near = _scoped(self._key, call.state) or misspelled(self._key, call.state)
        if near is not None and (":" in near or not is_extended(self._key, near)):
            return True
        is_expected = isinstance(instruction, str) and f"{PREFIX}{self._key}}}" in instruction.replace(" ", "")
        return is_expected and _had_a_turn(call)


def _scoped(key: str, state: Mapping[str, Any]) -> str | None:
    return next((name for scope in ("user", "app", "temp") if (name := f"{scope}:{key}") in state), None)


def _had_a_turn(call: ModelCall) -> bool:
    return any(event.author == call.agent_name and event.invocation_id != call.invocation_id for event in call.events)
