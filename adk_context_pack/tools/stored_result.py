"""One stored result, as a session's state names it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredResult:
    """Where one full tool result is kept.

    Attributes:
        handle: the short name by which tools open it.
        kind: "rows" for a result with tables, "payload" for anything else.
        tool_name: the tool that returned it.
        key: its key in the session's state; the value there is the result itself, or a pointer that
            `adk_context_pack.tools.stores.resolve` follows.
    """

    handle: str
    kind: str
    tool_name: str
    key: str
