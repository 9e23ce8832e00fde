"""The checks of settings that capping and offloading have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adk_context_pack.conversation.tokens import valid_counter
from adk_context_pack.errors import SettingError
from adk_context_pack.stores.opening import choose_store


def check_common(owner: Any, kind: type) -> None:
    """Refuses a store, a counter, a function for reports or settings of single tools that cannot work.

    Args:
        owner: whose settings they are: it has `store`, `counter`, `on_report` and `tools`.
        kind: what settings of single tools must be, `CapRows` or `OffloadPayload`.

    Raises:
        SettingError: one of them cannot work.
    """
    choose_store(owner.store)
    valid_counter(owner, owner.counter)
    if owner.on_report is not None and not callable(owner.on_report):
        raise SettingError.of(owner, "on_report", owner.on_report, "a function of a CapReport")
    for name, settings in owner.tools.items() if isinstance(owner.tools, Mapping) else [("", owner.tools)]:
        if not name or not isinstance(settings, kind | None):
            example = f'settings by tool name such as {{"search": {kind.__name__}()}}'
            raise SettingError.of(owner, "tools", settings, example)
