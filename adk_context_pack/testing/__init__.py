"""A test kit for your own passes: the laws, over generated conversations and over your own sessions.

    def test_my_pass_keeps_the_laws():
        check_pass(MyPass())

`ScriptedModel` runs an agent without a network. The kit needs neither pytest nor Hypothesis.
"""

from adk_context_pack.testing.answers import Answerability, LostValue, Packed, answerability
from adk_context_pack.testing.conversation import Conversation, generate
from adk_context_pack.testing.laws import (
    LAWS,
    check_budget,
    check_pass,
    check_references,
    check_result_pass,
    check_store,
)
from adk_context_pack.testing.scripted_model import (
    RecordedRequest,
    ScriptedModel,
    call,
    check_declared_tools,
    response_of,
    results_in,
    text_in,
    text_of,
)

__all__ = [
    "LAWS", "Answerability", "Conversation", "LostValue", "Packed", "RecordedRequest", "ScriptedModel", "answerability",
    "call", "check_budget", "check_declared_tools", "check_pass", "check_references", "check_result_pass",
    "check_store", "generate", "response_of", "results_in", "text_in", "text_of",
]  # fmt: skip
