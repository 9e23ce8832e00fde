"""The checks of settings that capping and offloading have in common."""

from __future__ import annotations

from collections.abc import Mapping

from adk_context_pack.errors import SettingError
from adk_context_pack.tokens import valid_counter
from adk_context_pack.tools.stores import choose_store


def check_common(owner: object, *, store: object, counter: object, on_report: object, tools: object) -> None:
    """Refuses a store, a counter, a function for reports or settings of single tools that cannot work.

    Args:
        owner: whose settings they are, a `CapRows` or an `OffloadPayload`; settings of single tools are its like.
        store: where full results are kept.
        counter: from text to tokens, or None.
        on_report: called with a `CapReport`, or None.
        tools: by a tool's name an `owner`, or None for a tool that is left alone.

    Raises:
        SettingError: one of them cannot work.
    """
    choose_store(store)  # type: ignore[arg-type]
    valid_counter(owner, counter)
    if on_report is not None and not callable(on_report):
        raise SettingError.of(owner, "on_report", on_report, "a function of a CapReport")
    kind = type(owner)
    for name, settings in tools.items() if isinstance(tools, Mapping) else [("", tools)]:
        if not name or not isinstance(settings, kind | None):
            example = f'settings by tool name such as {{"search": {kind.__name__}()}}'
            raise SettingError.of(owner, "tools", settings, example)
