"""Keeps the prompts of multi-agent systems on Google ADK small, exact and cacheable."""

from adk_context_pack.agents.compact_state_step import CompactStateStep
from adk_context_pack.context_pass import ContextPass
from adk_context_pack.errors import ContextPackError, ContextPackWarning, SettingError, UnknownRelayFormatWarning
from adk_context_pack.model_call import ModelCall
from adk_context_pack.passes.cast_narrative import CastNarrative
from adk_context_pack.passes.compact_state import CompactState
from adk_context_pack.passes.strip_for_context import StripForContext
from adk_context_pack.pipeline import ContextPipeline
from adk_context_pack.reports.call_report import CallReport
from adk_context_pack.reports.pass_report import PassReport
from adk_context_pack.tokens import estimate_tokens
from adk_context_pack.tools.cap_rows import CapRows, cap_rows

__all__ = [
    "CallReport",
    "CapRows",
    "CastNarrative",
    "CompactState",
    "CompactStateStep",
    "ContextPackError",
    "ContextPackWarning",
    "ContextPass",
    "ContextPipeline",
    "ModelCall",
    "PassReport",
    "SettingError",
    "StripForContext",
    "UnknownRelayFormatWarning",
    "cap_rows",
    "estimate_tokens",
]
