"""The recommended passes over tool results."""

from __future__ import annotations

from adk_context_pack.stores.payload_store import PayloadStore, Place
from adk_context_pack.tools.cap_rows import CapRows
from adk_context_pack.tools.offload_payload import OffloadPayload
from adk_context_pack.tools.result_pass import ResultPass

_MAX_ROWS, _MAX_TOKENS = 100, 4000

DEFAULT_ROWS = CapRows(max_rows=_MAX_ROWS, max_tokens=_MAX_TOKENS)
"""Tables of up to 100 rows and 4,000 tokens reach the model as they are."""

DEFAULT_PAYLOADS = OffloadPayload(max_tokens=_MAX_TOKENS)
"""Other results of up to 4,000 tokens reach the model as they are."""


def default_result_passes(
    *, max_rows: int = _MAX_ROWS, max_tokens: int = _MAX_TOKENS, store: Place | PayloadStore = "auto"
) -> tuple[ResultPass, ...]:
    """Returns the passes over tool results that the plugin runs by default, in their order.

    Args:
        max_rows: how many rows of each table the model sees at most.
        max_tokens: a result with at most so many tokens and rows is not touched.
        store: where full results are kept; see `PayloadStore`.

    Raises:
        SettingError: a setting that cannot work.
    """
    return (
        # Tables first: their rows can be queried, and what is left of them is small.
        CapRows(max_rows=max_rows, max_tokens=max_tokens, store=store),
        # Then whatever else is large, also beside a capped table.
        OffloadPayload(max_tokens=max_tokens, store=store),
    )
