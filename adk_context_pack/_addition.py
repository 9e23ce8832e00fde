"""Something that the pack wrote to a state delta, and that a run can do without."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from google.genai import types

logger = logging.getLogger("adk_context_pack")


@dataclass(frozen=True, kw_only=True, eq=False)
class Addition:
    """One state key with a value that is there for convenience, such as a rendered view.

    Attributes:
        key: the state key.
    """

    key: str

    def keys_in(self, delta: Mapping[str, Any]) -> Collection[str]:
        """The keys of a state delta that go with it."""
        return [self.key] if self.key in delta else []

    def taken_out_of(self, part: types.Part) -> types.Part:
        """A part of the event's content as it would be without the addition; the same object where it says nothing."""
        return part

    def was_refused(self, error: Exception) -> None:
        """The event was stored without it."""
        logger.warning("the session service refused the state key %s (%s)", self.key, type(error).__name__)
