"""The recommended passes over tool results."""

from __future__ import annotations

from adk_context_pack.stores.payload_store import PayloadStore, Place
from adk_context_pack.tools.cap_rows import CapRows
from adk_context_pack.tools.offload_payload import OffloadPayload
from adk_context_pack.tools.result_pass import ResultPass

DEFAULT_ROWS = CapRows()
"""Tables of up to 100 rows and 1,000 tokens reach the model as they are, others as stubs of 600 tokens."""

DEFAULT_PAYLOADS = OffloadPayload()
"""Other results of up to 1,000 tokens reach the model as they are, others as previews of 200 tokens."""


def default_result_passes(
    *, max_rows: int = 100, max_tokens: int = 1000, store: Place | PayloadStore = "auto"
) -> tuple[ResultPass, ...]:
    """Returns the passes over tool results that the plugin runs by default. One plan serves both.

    Args:
        max_rows: a table with more rows is capped.
        max_tokens: a result with at most so many tokens and rows is not touched. The stub of a table has three rows and
            at most three fifths of it, the preview of a text a fifth.
        store: where full results are kept; see `PayloadStore`.

    Raises:
        SettingError: a setting that cannot work.
    """
    rows = CapRows(max_rows=max_rows, max_tokens=max_tokens, store=store)
    return rows, OffloadPayload(max_tokens=max_tokens, store=store)
