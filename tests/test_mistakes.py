"""Mistakes of a user speak up where the user looks: an exception where they cannot work, a warning otherwise."""

import warnings

import pytest
from google.adk.agents import LlmAgent
from google.adk.plugins.base_plugin import BasePlugin

from adk_context_pack import (
    CapRows,
    ContextPackPlugin,
    ContextPackWarning,
    ContextPipeline,
    FitTokenBudget,
    SettingError,
    StripForContext,
    offload_payload,
)
from adk_context_pack.conversation.tokens import TokenMeter
from adk_context_pack.errors import did_you_mean, nearest, warn_once
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in
from tests.support.warned import warned


def fetch():
    """Fetches a page."""
    return {"page": "words and more of them " * 500}


def answer(request):
    return "done" if results_in(request) else call("fetch")


@pytest.mark.parametrize("kind", [StripForContext, ContextPipeline, CapRows])
async def test_a_class_among_the_callbacks_is_refused_by_name(kind):
    """A class in the place of an instance fails with the call to write, not with an unknown argument."""
    agent = LlmAgent(name="writer", model=ScriptedModel(answer=answer), before_model_callback=[kind])
    with pytest.raises(SettingError, match=rf"{kind.__name__}: a callback must be an instance, {kind.__name__}\(…\)"):
        await run_agent(agent, "go")


async def test_a_pass_over_results_before_the_model_is_sent_to_its_place():
    """`CapRows()` in `before_model_callback` fails with the name of the list that it belongs in."""
    agent = LlmAgent(name="writer", model=ScriptedModel(answer=answer), before_model_callback=[CapRows()])
    with pytest.raises(SettingError, match=r"CapRows: .* after_tool_callback"):
        await run_agent(agent, "go")


@pytest.mark.parametrize("build", [ContextPackPlugin, ContextPipeline])
@pytest.mark.parametrize(
    ("passes", "said"),
    [
        (FitTokenBudget(max_tokens=9), r"a sequence of passes such as \[StripForContext\(\)\], not FitTokenBudget"),
        (FitTokenBudget, "a sequence of passes"),
        ([FitTokenBudget], r"made of instances such as FitTokenBudget\(…\)"),
        ("strip", "made of passes such as"),
        (3, "a sequence of passes"),
    ],
)
def test_passes_given_bare_are_refused_when_built(build, passes, said):
    """A single pass, a class or anything else in the place of a list of passes fails with what to write."""
    with pytest.raises(SettingError, match=f"passes must be {said}"):
        build(passes=passes)


async def test_the_preview_follows_max_tokens():
    """`offload_payload(tool, max_tokens=300)` works, and what the model sees is within the 300 tokens."""
    tool = offload_payload(fetch, max_tokens=300)
    run = await run_agent(LlmAgent(name="a", model=ScriptedModel(answer=answer), tools=[tool]), "go")
    (result,) = results_in(run.requests[-1])
    assert 100 < TokenMeter().payload(result.response) <= 300


def test_a_warning_is_given_once_for_each_text(caplog):
    """The first time, a warning and a line in the log say it. Later, neither does."""
    with pytest.warns(ContextPackWarning, match="^a first mistake$"):
        warn_once("a first mistake")
    assert caplog.messages == ["a first mistake"]
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        warn_once("a first mistake")
    assert not seen
    assert len(caplog.messages) == 1


def test_a_warning_that_is_made_an_error_ends_no_run():
    """Under `-W error` the text is in the log, and nothing is raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_once("a mistake under -W error")


def test_the_nearest_name_is_offered():
    """Case does not matter, names that are no text are passed over, and nothing is offered where nothing is alike."""
    assert nearest("Titel", ["id", 3, None, "title"]) == "title"
    assert did_you_mean("statsu", ["status", "id"]) == " (did you mean 'status'?)"
    assert did_you_mean("zebra", ["status", "id"]) == ""


def reported_agent(*, wired=(), **settings):
    pipeline = ContextPipeline([StripForContext()])
    callbacks = [pipeline.after_model] if wired == "yes" else list(wired)
    model = ScriptedModel(answer=lambda request: "done")
    agent = LlmAgent(
        name="writer", model=model, before_model_callback=[pipeline], after_model_callback=callbacks, **settings
    )
    return agent, pipeline


async def test_reports_that_are_read_without_after_model_speak_up_once():
    """Whoever reads the reports is told what they lack, at the first reading only."""
    agent, pipeline = reported_agent()
    with warned() as texts:
        await run_agent(agent, "go")
        assert pipeline.reports.totals().calls == 1
        assert len(pipeline.reports) == 1
    (text,) = texts
    assert text.startswith("writer: the reports have no figures of the provider. Add after_model_callback=[")


async def test_reports_that_nobody_reads_or_that_are_heard_say_nothing():
    """Unread reports, an agent with `after_model`, and one whose own callback may call it are no mistakes."""
    unread, _ = reported_agent()
    heard, pipeline = reported_agent(wired="yes")
    own, others = reported_agent(wired=[lambda callback_context, llm_response: None])
    with warned() as texts:
        await run_agent(unread, "go")
        await run_agent(heard, "go")
        await run_agent(own, "go")
        assert len(pipeline.reports) == len(others.reports) == 1
        assert not ContextPipeline([]).reports
    assert not texts


async def test_a_plugin_of_the_apps_own_may_call_after_model():
    """An agent without `after_model` whose reports are heard in another way is not warned of."""
    agent, pipeline = reported_agent()

    class Hears(BasePlugin):
        async def after_model_callback(self, *, callback_context, llm_response):
            pipeline.after_model(callback_context, llm_response)

    with warned() as texts:
        await run_agent(agent, "go", "again", plugins=[Hears(name="hears")])
        assert len(pipeline.reports) == 2
    assert not texts


async def test_the_plugin_hears_the_provider_by_itself():
    """Reports of the plugin are read without a warning."""
    plugin = ContextPackPlugin()
    with warned() as texts:
        await run_agent(LlmAgent(name="a", model=ScriptedModel(answer=lambda request: "done")), "go", plugins=[plugin])
        assert len(plugin.reports) == 1
    assert not texts
