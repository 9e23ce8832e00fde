"""The settings of offloading as keywords."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypedDict

from adk_context_pack.conversation.tokens import Counter
from adk_context_pack.reports.cap_report import CapReport
from adk_context_pack.stores.payload_store import PayloadStore, Place

if TYPE_CHECKING:
    from adk_context_pack.tools.offload_payload import OffloadPayload


class OffloadSettings(TypedDict, total=False):
    """What `offload_payload` takes beside the tool; each is explained at `OffloadPayload`."""

    max_tokens: int
    preview_tokens: int
    store: Place | PayloadStore
    tools: Mapping[str, OffloadPayload | None]
    counter: Counter | None
    on_report: Callable[[CapReport], None] | None
