"""The recommended passes over tool results."""

from __future__ import annotations

from adk_context_pack.stores.payload_store import PayloadStore, Place
from adk_context_pack.tools.cap_rows import CapRows
from adk_context_pack.tools.offload_payload import OffloadPayload
from adk_context_pack.tools.result_pass import ResultPass

# Measured by `tests.benchmarks.bench_tool_limits`: with larger stubs each later call costs more and answers no more,
# and with smaller ones wide tables lose their counts and sums by value.
_MAX_ROWS, _MAX_TOKENS, _STUB_ROWS, _STUB_SHARE, _PREVIEW_SHARE = 100, 1000, 3, 0.6, 0.2
_SMALLEST_STUB, _SMALLEST_PREVIEW = 300, 100


def _rows(max_rows: int, max_tokens: int, store: Place | PayloadStore) -> CapRows:
    rows, tokens = min(_STUB_ROWS, max_rows), max(_SMALLEST_STUB, round(max_tokens * _STUB_SHARE))
    return CapRows(
        max_rows=max_rows, max_tokens=max_tokens, stub_rows=rows, stub_tokens=min(tokens, max_tokens), store=store
    )


def _payloads(max_tokens: int, store: Place | PayloadStore) -> OffloadPayload:
    preview = max(_SMALLEST_PREVIEW, round(max_tokens * _PREVIEW_SHARE))
    return OffloadPayload(max_tokens=max_tokens, preview_tokens=min(preview, max_tokens), store=store)


DEFAULT_ROWS = _rows(_MAX_ROWS, _MAX_TOKENS, "auto")
"""Tables of up to 100 rows and 1,000 tokens reach the model as they are, others as stubs of 600 tokens."""

DEFAULT_PAYLOADS = _payloads(_MAX_TOKENS, "auto")
"""Other results of up to 1,000 tokens reach the model as they are, others as previews of 200 tokens."""


def default_result_passes(
    *, max_rows: int = _MAX_ROWS, max_tokens: int = _MAX_TOKENS, store: Place | PayloadStore = "auto"
) -> tuple[ResultPass, ...]:
    """Returns the passes over tool results that the plugin runs by default, in their order.

    Args:
        max_rows: a table with more rows is capped.
        max_tokens: a result with at most so many tokens and rows is not touched. The stub of a table has three rows and
            at most three fifths of it, the preview of a text a fifth.
        store: where full results are kept; see `PayloadStore`.

    Raises:
        SettingError: a setting that cannot work.
    """
    return (
        # Tables first: their rows can be queried, and what is left of them is small.
        _rows(max_rows, max_tokens, store),
        # Then whatever else is large, also beside a capped table.
        _payloads(max_tokens, store),
    )
