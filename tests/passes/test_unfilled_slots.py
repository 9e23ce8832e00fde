"""A slot that no pass fills in, and a key that the state does not have, speak up in real runs."""

import pytest
from google.adk.agents import LlmAgent
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.plugins.logging_plugin import LoggingPlugin

from adk_context_pack import CompactState, ContextPackPlugin, ContextPipeline, StripForContext
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel
from tests.support.warned import warned

STATE = {"gaql_queries": [{"id": 1}], "mood": "good"}
VIEW = CompactState(key="gaql_queries")
TYPO = "Review {compact:gaql_querys}"
NEAR = "writer: no pass fills in {compact:gaql_querys} in the instruction (did you mean 'gaql_queries'?)"
NONE = (
    "writer: no pass fills in {compact:gaql_querys} in the instruction. Add CompactState(key='gaql_querys')"
)  # fmt: skip


class Own(BasePlugin):
    async def before_model_callback(self, *, callback_context, llm_request):
        return None


def own_callback(callback_context, llm_request):
    return None


async def said_by(instruction, callbacks, *turns, plugins=(), state=STATE, **model):
    agent = LlmAgent(
        name="writer",
        model=ScriptedModel(answer=model.pop("answer", lambda request: "done")),
        instruction=instruction,
        tools=model.pop("tools", []),
        before_model_callback=list(callbacks),
    )
    with warned() as texts:
        await run_agent(agent, *(turns or ("go",)), plugins=plugins, state=state)
    return texts


@pytest.mark.parametrize(
    ("callbacks", "plugins", "text"),
    [
        ([VIEW], [], NEAR),
        ([ContextPipeline([StripForContext(), VIEW])], [], NEAR),
        ([VIEW], [ContextPackPlugin()], NEAR),
        ([], [ContextPackPlugin(passes=[VIEW])], NEAR),
        ([VIEW, own_callback], [Own(name="own")], NEAR),
        ([StripForContext()], [], NONE),
        ([], [ContextPackPlugin()], NONE),
        ([], [ContextPackPlugin(), LoggingPlugin()], NONE),
    ],
)
async def test_a_slot_that_no_pass_fills_in_is_named_once(callbacks, plugins, text):
    """The warning has the slot, and the nearest key that a pass fills in or the pass to add."""
    assert await said_by(TYPO, callbacks, "go", "again", plugins=plugins) == [text]


@pytest.mark.parametrize(
    ("callbacks", "plugins"),
    [
        ([CompactState(key="gaql_querys", on_error="raise")], []),
        ([StripForContext(), ContextPipeline([CompactState(key="gaql_querys")])], []),
        ([StripForContext()], [ContextPackPlugin(passes=[CompactState(key="gaql_querys")])]),
        ([StripForContext(), own_callback], []),
        ([], [ContextPackPlugin(), Own(name="own")]),
    ],
)
async def test_a_slot_that_somebody_fills_in_is_not_named(callbacks, plugins):
    """The passes of all places count, and a callback of the app's own may fill in anything."""
    assert not await said_by(TYPO, callbacks, plugins=plugins, state={"gaql_querys": 1})


@pytest.mark.parametrize(
    ("key", "state", "hint"),
    [
        ("gaql_querys", STATE, "'gaql_querys' (did you mean 'gaql_queries'?)"),
        ("queries", {"user:queries": []}, "'queries' (did you mean 'user:queries'?)"),
    ],
)
async def test_a_misspelled_key_is_named_at_the_first_call(key, state, hint):
    """The warning has the key, the nearest one, and the way to say that a value may be missing."""
    instruction = f"Review {{compact:{key}}}"
    (text,) = await said_by(instruction, [CompactState(key=key)], "go", "again", state=state)
    slot = f"{{compact:{key}}}"
    assert text == (
        f"writer: the state has no {hint}, so {slot} is null. "
        f"If the value may be missing, write {slot[:-1]}?}}"
    )  # fmt: skip


@pytest.mark.parametrize(("key", "near"), [("campaigns", "campaign"), ("orders", None)])
async def test_a_key_that_is_still_missing_in_the_second_turn_is_named(key, near):
    """A key with no clear misspelling waits for the agent's second turn."""
    state = {near or "mood": 1}
    instruction = f"Review {{compact:{key}}}"
    assert not await said_by(instruction, [CompactState(key=key)], state=state)
    assert len(await said_by(instruction, [CompactState(key=key)], "go", "again", "more", state=state)) == 1


@pytest.mark.parametrize("mark", ["{compact:orders?}", "nothing to see"])
async def test_a_value_that_may_be_missing_is_not_named(mark):
    """An optional slot, and a pass without a slot, say nothing in any turn."""
    assert not await said_by(mark, [CompactState(key="orders")], "go", "again", "more")
