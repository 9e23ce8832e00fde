# ruff: isort: skip_file
# The one list of public names and their modules: `__init__.py` reads it.
from adk_context_pack.agents.handoffs import a2a_context as a2a_context
from adk_context_pack.agents.data_summarizer import DataSummarizer as DataSummarizer
from adk_context_pack.agents.history_summarizer import HistorySummarizer as HistorySummarizer
from adk_context_pack.agents.ingest_memory import IngestMemory as IngestMemory
from adk_context_pack.agents.handoffs import scoped as scoped
from adk_context_pack.agents.data_summarizer import (
    get_summarized_results as get_summarized_results,
    summarized_results_tool as summarized_results_tool,
)
from adk_context_pack.conversation.model_call import ModelCall as ModelCall
from adk_context_pack.conversation.token_estimate import estimate_tokens as estimate_tokens
from adk_context_pack.errors import (
    ContextPackError as ContextPackError,
    ContextPackWarning as ContextPackWarning,
    HandleError as HandleError,
    QueryError as QueryError,
    RecordingError as RecordingError,
    SettingError as SettingError,
    StoreError as StoreError,
    UnknownRelayFormatWarning as UnknownRelayFormatWarning,
)
from adk_context_pack.plugin import PackSettings as PackSettings, default_result_passes as default_result_passes
from adk_context_pack.passes.cast_narrative import CastNarrative as CastNarrative
from adk_context_pack.passes.clear_tool_results import ClearToolResults as ClearToolResults
from adk_context_pack.passes.clear_tool_results import KeepNewestResult as KeepNewestResult
from adk_context_pack.passes.compact_state import CompactState as CompactState, CompactStateStep as CompactStateStep
from adk_context_pack.passes.context_pass import ContextPass as ContextPass
from adk_context_pack.passes.clear_tool_results import CompactResults as CompactResults
from adk_context_pack.passes.drop_old_parts import DropOldMedia as DropOldMedia, DropOldThoughts as DropOldThoughts
from adk_context_pack.passes.fit_token_budget import FitTokenBudget as FitTokenBudget
from adk_context_pack.passes.pipeline import ContextPipeline as ContextPipeline
from adk_context_pack.passes.pipeline import default_passes as default_passes
from adk_context_pack.passes.recall_memory import RecallMemory as RecallMemory
from adk_context_pack.passes.drop_old_parts import StripForContext as StripForContext
from adk_context_pack.plugin import ContextPackPlugin as ContextPackPlugin
from adk_context_pack.reports.call_report import CapReport as CapReport
from adk_context_pack.reports.call_report import CATEGORIES as CATEGORIES
from adk_context_pack.reports.html_page import write_html as write_html
from adk_context_pack.reports.call_report import (
    CallReport as CallReport,
    PassReport as PassReport,
    PrefixReport as PrefixReport,
)
from adk_context_pack.reports.token_use import Prices as Prices
from adk_context_pack.reports.token_use import ReportLog as ReportLog, ReportTotals as ReportTotals
from adk_context_pack.stores.payload_store import ArtifactStore as ArtifactStore
from adk_context_pack.stores.payload_store import load_payload as load_payload
from adk_context_pack.stores.payload_store import PayloadStore as PayloadStore
from adk_context_pack.stores.payload_store import ResultStore as ResultStore, StoreScope as StoreScope
from adk_context_pack.tables.summarize import GOOGLE_ADS_KPIS as GOOGLE_ADS_KPIS, Kpi as Kpi
from adk_context_pack.tables.table_facts import TableFacts as TableFacts, table_facts as table_facts
from adk_context_pack.tools.cap_rows import CapRows as CapRows, cap_rows as cap_rows
from adk_context_pack.tools.defer_tools import defer_tools as defer_tools
from adk_context_pack.tools.cap_rows import (
    OffloadPayload as OffloadPayload,
    offload_payload as offload_payload,
)
from adk_context_pack.tools.open_results import QueryRows as QueryRows, query_rows as query_rows
from adk_context_pack.tools.read_back import ReadBack as ReadBack, read_back as read_back
from adk_context_pack.tools.open_results import ReadPayload as ReadPayload, read_payload as read_payload
from adk_context_pack.tools.resolve_results import ResolvedAnswer as ResolvedAnswer, resolve_answer as resolve_answer
from adk_context_pack.tools.resolve_results import resolve_results as resolve_results
from adk_context_pack.tools.result_pass import ResultPass as ResultPass
from adk_context_pack.tools.search_history import SearchHistory as SearchHistory, search_history as search_history
from adk_context_pack.tools.result_pass import ToolCall as ToolCall

__version__: str
