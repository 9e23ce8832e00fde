"""The settings of capping as keywords."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypedDict

from adk_context_pack.conversation.tokens import Counter
from adk_context_pack.reports.cap_report import CapReport
from adk_context_pack.stores.payload_store import PayloadStore, Place
from adk_context_pack.tools.stub_plan import Encoding

if TYPE_CHECKING:
    from adk_context_pack.tools.cap_rows import CapRows


class CapSettings(TypedDict, total=False):
    """What `cap_rows` takes beside the tool; each is explained at `CapRows`."""

    max_rows: int
    max_tokens: int | None
    facts: bool
    encoding: Encoding
    store: Place | PayloadStore
    state_key: str | None
    tools: Mapping[str, CapRows | None]
    counter: Counter | None
    on_report: Callable[[CapReport], None] | None
