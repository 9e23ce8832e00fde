"""The laws' own corners: what they let pass, so that they accuse nobody wrongly."""

from __future__ import annotations

import subprocess
import sys

import pytest
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack import ClearToolResults, ModelCall
from adk_context_pack.conversation.token_estimate import characters
from adk_context_pack.testing import generate
from adk_context_pack.testing.conversation import Conversation, OneRequest
from adk_context_pack.testing.laws import heard, idle_is_identity, must_go_on, picture, reachable, unpaired
from tests.support.events import agent_called, agent_said, tool_returned, user_said

CALL = ModelCall(agent_name="a", user_content=types.Content(role="user", parts=[types.Part(text="hi")]))


def content(*texts, role="user"):
    return types.Content(role=role, parts=[types.Part(text=text) for text in texts])


def tried(*contents):
    return OneRequest(LlmRequest(contents=list(contents)), CALL)


def nothing(request, call):
    return request


def test_another_config_is_no_idle_pass():
    """A pass that changes the instruction is not idle; one that copies it for nothing is caught."""
    other = {"config": types.GenerateContentConfig(system_instruction="other")}
    idle_is_identity(lambda request, _: request.model_copy(update=other), tried(content("hi")))
    with pytest.raises(AssertionError, match="an equal config"):
        idle_is_identity(
            lambda request, _: request.model_copy(update={"config": request.config.model_copy()}), tried(content("hi"))
        )


def test_an_empty_request_has_nobody_to_hear():
    """Where ADK itself built an empty request, or one without the user's message, no pass has lost it."""
    heard(nothing, tried())
    heard(nothing, tried(content("something else")))
    with pytest.raises(AssertionError, match="the user's message is gone"):
        heard(lambda request, _: request.model_copy(update={"contents": [content("x")]}), tried(content("hi")))


def test_blocks_that_wait_may_become_an_account():
    """Relayed blocks whose call has no result yet may be retold once it has; finished ones may not."""
    waits = content("For context:", "[b] called tool `t` with parameters: {}")
    done = content("For context:", "[b] `t` tool returned result: {}")
    account = content("Quoted:\n<<<BEGIN_QUOTED_AGENT_CONTENT>>>\n[b] called t -> ok\n<<<END_QUOTED_AGENT_CONTENT>>>")
    must_go_on([content("hi"), waits], [content("hi"), account])
    with pytest.raises(AssertionError, match="changed"):
        must_go_on([content("hi"), waits, done], [content("hi"), account])


def test_media_and_code_have_characters():
    """Parts that are neither text nor call nor result count as well, so that no pass can grow unseen by them."""
    code = types.Part(executable_code=types.ExecutableCode(code="x" * 500, language="PYTHON"))
    assert characters([types.Content(role="model", parts=[code])]) > 500


def test_a_session_without_a_user_has_no_message():
    """Where nobody has said anything, or only results were posted back, there is no current message."""
    assert Conversation(agent="a", events=[agent_said("b", "hm")]).user_content() is None
    assert Conversation(agent="a", events=[user_said("yes")]).user_content().parts[0].text == "yes"


def test_a_note_without_a_tool_is_no_way_back():
    """A pass that says what it leaves out is offered the tool. The same rewriting as a bare function is not."""
    ids = [f"A-{number}" for number in range(4000, 4400)]
    told = Conversation(
        agent="a",
        events=[
            user_said("Look."),
            agent_called("a", "t", "c1"),
            tool_returned("a", "t", {"ids": ids}, "c1"),
            agent_said("a", "Yes."),
            user_said("And?"),
        ],
        keep_ids=True,
    )
    clear = ClearToolResults(keep_results=0)

    def bare(request, call):
        return clear.apply(request, call)

    reachable(clear.apply, told)
    with pytest.raises(AssertionError, match="no tool to read back is named and offered for"):
        reachable(bare, told)


def made(text: str) -> types.Content:
    kind, _, call_id = text.partition(" ")
    if kind == "call":
        call = types.FunctionCall(name="t", id=call_id or None)
        return types.Content(role="model", parts=[types.Part(function_call=call)])
    if kind == "result":
        response = types.FunctionResponse(name="t", id=call_id or None, response={})
        return types.Content(role="user", parts=[types.Part(function_response=response)])
    return types.Content(role="user", parts=[types.Part(text=text)])


@pytest.mark.parametrize(("contents", "alone"), [
    ([], 0), (["call a", "result a"], 0), (["call a"], 1), (["result a"], 1), (["call a", "said", "result a"], 0),
    (["call", "result"], 0), (["call", "said", "result"], 2), (["call", "call"], 2), (["call a", "result b"], 2),
])  # fmt: skip
def test_what_is_alone_is_counted(contents, alone):
    """With ids the pair may stand apart; without, the result has to come right after its call."""
    assert len(list(unpaired(map(made, contents)))) == alone


pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def contents(conversation):
    return picture(conversation.request().contents)


@pytest.mark.slow
def test_a_seed_gives_the_same_conversations():
    """Twice the same for one seed, others for another."""
    first, again, other = (list(generate(20, seed=seed)) for seed in (1, 1, 2))
    assert list(map(contents, first)) == list(map(contents, again))
    assert list(map(contents, first)) != list(map(contents, other))
    assert len(first) == 20


def test_what_passes_look_for_is_in_them():
    """Relays, own calls with and without ids, parallel ones, thoughts, signatures and several turns."""
    found = list(generate(100))
    parts = [part for one in found for content in one.request().contents for part in content.parts or ()]
    calls = [part.function_call for part in parts if part.function_call]
    assert any((part.text or "").startswith("For context:") for part in parts)
    assert {bool(call.id) for call in calls} == {True, False}
    assert any(part.thought_signature for part in parts)
    assert any(len([p for p in c.parts if p.function_call]) > 1 for one in found for c in one.request().contents)
    assert max(len({event.invocation_id for event in one.events}) for one in found) == 3


@pytest.mark.slow
def test_the_kit_needs_neither_pytest_nor_hypothesis():
    """Importing it loads neither, so that any test runner will do."""
    script = "import sys, adk_context_pack.testing; print([n for n in ('pytest', 'hypothesis') if n in sys.modules])"
    command = [sys.executable, "-W", "ignore", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - our own script
    assert done.stdout.strip().splitlines()[-1] == "[]"
