"""A test kit for your own passes: the laws, over generated conversations and over your own sessions.

    def test_my_pass_keeps_the_laws():
        check_pass(MyPass())

`ScriptedModel` runs an agent without a network. The kit needs neither pytest nor Hypothesis.
"""

from adk_context_pack.testing.answerability import Answerability, LostValue, Packed, answerability
from adk_context_pack.testing.check_declared_tools import check_declared_tools
from adk_context_pack.testing.check_pass import check_pass
from adk_context_pack.testing.check_references import check_references
from adk_context_pack.testing.check_result_pass import check_result_pass
from adk_context_pack.testing.check_store import check_store
from adk_context_pack.testing.conversation import Conversation
from adk_context_pack.testing.generate import generate
from adk_context_pack.testing.laws import LAWS
from adk_context_pack.testing.recorded_request import RecordedRequest, text_of
from adk_context_pack.testing.scripted_model import (
    ScriptedModel,
    call,
    response_of,
    results_in,
    text_in,
)

__all__ = [
    "LAWS",
    "Answerability",
    "Conversation",
    "LostValue",
    "Packed",
    "RecordedRequest",
    "ScriptedModel",
    "answerability",
    "call",
    "check_declared_tools",
    "check_pass",
    "check_references",
    "check_result_pass",
    "check_store",
    "generate",
    "response_of",
    "results_in",
    "text_in",
    "text_of",
]
