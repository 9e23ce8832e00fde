"""Keeps the prompts of multi-agent systems on Google ADK small, exact and cacheable."""

from importlib import import_module

__version__ = "0.3.0"

_HOMES = {
    name: module
    for module, names in {
        "agents.a2a_context": "a2a_context",
        "agents.compact_state_step": "CompactStateStep",
        "agents.data_summarizer": "DataSummarizer",
        "agents.history_summarizer": "HistorySummarizer",
        "agents.ingest_memory": "IngestMemory",
        "agents.scoped": "scoped",
        "agents.summarized_results": "get_summarized_results summarized_results_tool",
        "conversation.model_call": "ModelCall",
        "conversation.token_estimate": "estimate_tokens",
        "errors": "ContextPackError ContextPackWarning HandleError QueryError RecordingError SettingError StoreError"
        " UnknownRelayFormatWarning",
        "pack_settings": "PackSettings",
        "passes.cast_narrative": "CastNarrative",
        "passes.clear_tool_results": "ClearToolResults",
        "passes.compact_state": "CompactState",
        "passes.context_pass": "ContextPass",
        "passes.drop_old_media": "DropOldMedia",
        "passes.drop_old_thoughts": "DropOldThoughts",
        "passes.fit_token_budget": "FitTokenBudget",
        "passes.keep_newest_result": "KeepNewestResult",
        "passes.pipeline": "ContextPipeline",
        "passes.presets": "default_passes",
        "passes.recall_memory": "RecallMemory",
        "passes.strip_for_context": "StripForContext",
        "plugin": "ContextPackPlugin",
        "reports.cap_report": "CapReport",
        "reports.categories": "CATEGORIES",
        "reports.html_page": "write_html",
        "reports.call_report": "CallReport PassReport PrefixReport",
        "reports.prices": "Prices",
        "reports.report_log": "ReportLog ReportTotals",
        "stores.artifact_store": "ArtifactStore",
        "stores.opening": "load_payload",
        "stores.payload_store": "PayloadStore",
        "stores.result_store": "ResultStore StoreScope",
        "tables.kpis": "GOOGLE_ADS_KPIS Kpi",
        "tables.table_facts": "TableFacts table_facts",
        "tools.cap_rows": "CapRows cap_rows",
        "tools.defer_tools": "defer_tools",
        "tools.offload_payload": "OffloadPayload default_result_passes offload_payload",
        "tools.query_rows": "QueryRows query_rows",
        "tools.read_payload": "ReadPayload read_payload",
        "tools.resolve_results": "ResolvedAnswer resolve_answer resolve_results",
        "tools.result_pass": "ResultPass",
        "tools.search_history": "SearchHistory search_history",
        "tools.tool_call": "ToolCall",
    }.items()
    for name in names.split()
}
"""The module of each public name, loaded when the name is first used. The stub says the same to type checkers."""

__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *_HOMES]
