"""The tool with which a writer reads what `DataSummarizer` computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.adk.tools.tool_context import ToolContext

from adk_context_pack.errors import SettingError
from adk_context_pack.tables.summarize import without_rows


def get_summarized_results(tool_context: ToolContext) -> dict[str, Any]:
    """Returns the computed results of all queries: exact totals, key figures, top and bottom rows, groups.

    Figures are exact and cover all rows. Money is in units of the account's currency. Shares such as CTR are
    fractions, so 0.05 is 5 %.
    """
    return _compact(tool_context, "summarized_results")


def summarized_results_tool(*, output_key: str) -> Callable[[ToolContext], dict[str, Any]]:
    """`get_summarized_results` for a `DataSummarizer` with an `output_key` of its own.

    Args:
        output_key: the summarizer's `output_key`.

    Raises:
        SettingError: `output_key` is not a text, or is empty.
    """
    if not isinstance(output_key, str) or not output_key:
        raise SettingError.of("summarized_results_tool", "output_key", output_key, "a non-empty text")

    def read(tool_context: ToolContext) -> dict[str, Any]:
        return _compact(tool_context, output_key)

    # ADK declares a tool by its function's name and docstring.
    read.__name__ = get_summarized_results.__name__
    read.__doc__ = get_summarized_results.__doc__
    return read


def _compact(tool_context: ToolContext, key: str) -> dict[str, Any]:
    # The raw session, since `tool_context.state[...]` deep-copies a large value; what this call's own tools wrote
    # is in it as well, because a summarizer's event is stored before the writer runs.
    summary = tool_context.session.state.get(key)
    if not isinstance(summary, dict) or not summary:
        return {"status": "error", "error_message": f"No summarized results are stored in this session yet ({key})."}
    return {name: without_rows(entry) if isinstance(entry, dict) else entry for name, entry in summary.items()}
