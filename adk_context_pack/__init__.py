"""Keeps the prompts of multi-agent systems on Google ADK small, exact and cacheable."""

from adk_context_pack.agents.a2a_context import a2a_context
from adk_context_pack.agents.compact_state_step import CompactStateStep
from adk_context_pack.agents.data_summarizer import DataSummarizer
from adk_context_pack.agents.history_summarizer import HistorySummarizer
from adk_context_pack.agents.ingest_memory import IngestMemory
from adk_context_pack.agents.scoped import scoped
from adk_context_pack.agents.summarized_results import get_summarized_results, summarized_results_tool
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.conversation.token_estimate import estimate_tokens
from adk_context_pack.errors import (
    ContextPackError,
    ContextPackWarning,
    HandleError,
    QueryError,
    RecordingError,
    SettingError,
    StoreError,
    UnknownRelayFormatWarning,
)
from adk_context_pack.pack_settings import PackSettings
from adk_context_pack.passes.cast_narrative import CastNarrative
from adk_context_pack.passes.clear_tool_results import ClearToolResults
from adk_context_pack.passes.compact_state import CompactState
from adk_context_pack.passes.context_pass import ContextPass
from adk_context_pack.passes.drop_old_media import DropOldMedia
from adk_context_pack.passes.drop_old_thoughts import DropOldThoughts
from adk_context_pack.passes.fit_token_budget import FitTokenBudget
from adk_context_pack.passes.keep_newest_result import KeepNewestResult
from adk_context_pack.passes.pipeline import ContextPipeline
from adk_context_pack.passes.presets import default_passes
from adk_context_pack.passes.recall_memory import RecallMemory
from adk_context_pack.passes.strip_for_context import StripForContext
from adk_context_pack.plugin import ContextPackPlugin
from adk_context_pack.reports.call_report import CallReport
from adk_context_pack.reports.cap_report import CapReport
from adk_context_pack.reports.categories import CATEGORIES
from adk_context_pack.reports.html_page import write_html
from adk_context_pack.reports.pass_report import PassReport, PrefixReport
from adk_context_pack.reports.prices import Prices
from adk_context_pack.reports.report_log import ReportLog, ReportTotals
from adk_context_pack.stores.opening import load_payload
from adk_context_pack.stores.payload_store import PayloadStore
from adk_context_pack.stores.result_store import ResultStore, StoreScope
from adk_context_pack.tables.kpis import GOOGLE_ADS_KPIS, Kpi
from adk_context_pack.tables.table_facts import TableFacts, table_facts
from adk_context_pack.tools.cap_rows import CapRows, cap_rows
from adk_context_pack.tools.defer_tools import defer_tools
from adk_context_pack.tools.offload_payload import OffloadPayload, offload_payload
from adk_context_pack.tools.presets import default_result_passes
from adk_context_pack.tools.query_rows import QueryRows, query_rows
from adk_context_pack.tools.read_payload import ReadPayload, read_payload
from adk_context_pack.tools.resolve_answer import ResolvedAnswer, resolve_answer
from adk_context_pack.tools.resolve_results import resolve_results
from adk_context_pack.tools.result_pass import ResultPass
from adk_context_pack.tools.search_history import SearchHistory, search_history
from adk_context_pack.tools.tool_call import ToolCall

__version__ = "0.2.0"

__all__ = [
    "CATEGORIES",
    "GOOGLE_ADS_KPIS",
    "CallReport",
    "CapReport",
    "CapRows",
    "CastNarrative",
    "ClearToolResults",
    "CompactState",
    "CompactStateStep",
    "ContextPackError",
    "ContextPackPlugin",
    "ContextPackWarning",
    "ContextPass",
    "ContextPipeline",
    "DataSummarizer",
    "DropOldMedia",
    "DropOldThoughts",
    "FitTokenBudget",
    "HandleError",
    "HistorySummarizer",
    "IngestMemory",
    "KeepNewestResult",
    "Kpi",
    "ModelCall",
    "OffloadPayload",
    "PackSettings",
    "PassReport",
    "PayloadStore",
    "PrefixReport",
    "Prices",
    "QueryError",
    "QueryRows",
    "ReadPayload",
    "RecallMemory",
    "RecordingError",
    "ReportLog",
    "ReportTotals",
    "ResolvedAnswer",
    "ResultPass",
    "ResultStore",
    "SearchHistory",
    "SettingError",
    "StoreError",
    "StoreScope",
    "StripForContext",
    "TableFacts",
    "ToolCall",
    "UnknownRelayFormatWarning",
    "a2a_context",
    "cap_rows",
    "default_passes",
    "default_result_passes",
    "defer_tools",
    "estimate_tokens",
    "get_summarized_results",
    "load_payload",
    "offload_payload",
    "query_rows",
    "read_payload",
    "resolve_answer",
    "resolve_results",
    "scoped",
    "search_history",
    "summarized_results_tool",
    "table_facts",
    "write_html",
]
