# ruff: isort: skip_file
# Repeats `_HOMES` for type checkers, which a test holds to.
from adk_context_pack.testing.answers import (
    Answerability as Answerability,
    LostValue as LostValue,
    Packed as Packed,
    answerability as answerability,
)
from adk_context_pack.testing.conversation import Conversation as Conversation
from adk_context_pack.testing.generated import generate as generate
from adk_context_pack.testing.laws import LAWS as LAWS
from adk_context_pack.testing.pass_check import check_pass as check_pass
from adk_context_pack.testing.recorded_request import (
    RecordedRequest as RecordedRequest,
    check_declared_tools as check_declared_tools,
    text_of as text_of,
)
from adk_context_pack.testing.references_check import check_references as check_references
from adk_context_pack.testing.result_pass_check import check_result_pass as check_result_pass
from adk_context_pack.testing.scripted_model import (
    ScriptedModel as ScriptedModel,
    call as call,
    response_of as response_of,
    results_in as results_in,
    text_in as text_in,
)
from adk_context_pack.testing.store_check import check_store as check_store
