"""The view of one state value, as it stands in a request."""

from __future__ import annotations

from dataclasses import dataclass, replace

from adk_context_pack._adk.instruction import elide
from adk_context_pack.views.template import Slot


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """What stands in the slots of one key.

    Attributes:
        key: the state key.
        text: the view as JSON.
        missing: the state has no such value.
        output_key: the state key under which the view is stored, or None.
        stale: what ADK filled in for `{output_key}` at this call.
    """

    key: str
    text: str
    missing: bool
    output_key: str | None
    stale: str

    def of(self, slot: Slot) -> str:
        """The text of one slot; like ADK's own `{name?}`, an optional one is empty where there is no value."""
        return "" if self.missing and slot.optional else self.text

    def elided(self) -> View:
        """The view for an instruction between ADK's markers, which state must not be able to end."""
        return replace(self, text=elide(self.text))
