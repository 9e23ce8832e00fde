"""Calibration: estimates against the provider's own figures, as the session holds them."""

import pytest
from google.adk.agents import LlmAgent
from google.adk.events.event import Event
from google.genai import types

from adk_context_pack import FitTokenBudget
from adk_context_pack.conversation.contents import KnownContents
from adk_context_pack.conversation.model_call import GrowingCache
from adk_context_pack.conversation.token_estimate import Calibration, TokenMeter, _figures
from tests.passes.test_fit_token_budget import KINDS
from tests.support.events import agent_called, agent_said, tool_returned, user_said
from tests.support.histories import fetch, real_tokens
from tests.support.requests import call_for, request_for
from tests.support.run import run_agent, session_service
from tests.support.scripted_model import ScriptedModel, call, results_in

USAGE = types.GenerateContentResponseUsageMetadata


def session(*kinds, factor=1.0, model_version=None):
    """A conversation of one turn for each kind; its events carry what o200k counts for the requests they answer."""
    events = []
    for n, kind in enumerate(kinds):
        events.append(user_said(f"Question {n}?"))
        steps = [
            agent_called("a", "fetch", f"adk-{n}", page=n),
            tool_returned("a", "fetch", KINDS[kind](n), f"adk-{n}"),
            agent_said("a", f"Answer {n}."),
        ]
        for step in steps:
            if step.content.role == "model":
                tokens = round(real_tokens(request_for("a", events)) * factor)
                step.usage_metadata = USAGE(prompt_token_count=tokens)
                step.model_version = model_version
            events.append(step)
    return [*events, user_said("The last question.")]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("factor", [0.85, 1.0, 1.6])
def test_within_ten_percent_once_calibrated(kind, factor):
    """A request of up to nine tenths of the budget by the provider's count goes out whole, one over it does not."""
    events = session(*[kind] * 12, factor=factor)
    request = request_for("a", events)
    size = real_tokens(request) * factor
    assert FitTokenBudget(max_tokens=round(size / 0.9)).apply(request, call_for("a", events)) is request
    cut = FitTokenBudget(max_tokens=round(size / 1.01)).apply(request, call_for("a", events))
    assert real_tokens(cut) * factor <= size / 1.01


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_never_over_budget_while_it_learns(kind):
    """At every call of a history with figures, cut or not, the provider counts no more than the budget."""
    events = session(*["prose"] * 5, *[kind] * 12)
    entry = FitTokenBudget(max_tokens=6000)
    for stop in range(1, len(events) + 1):
        if events[stop - 1].content.role == "user":
            request = request_for("a", events[:stop])
            assert real_tokens(entry.apply(request, call_for("a", events[:stop]))) <= 6000


def test_figures_of_another_model_or_agent_do_not_count():
    """What another model or agent was billed says nothing about this one's tokens."""
    events = session(*["prose"] * 12, model_version="other-model-2")
    request = request_for("a", events)
    budget = FitTokenBudget(max_tokens=round(real_tokens(request) / 0.95))
    assert budget.apply(request, call_for("a", events)) is not request
    for event in events:
        event.model_version = request.model
    assert budget.apply(request, call_for("a", events)) is request


@pytest.mark.parametrize("service", ["memory", "sqlite"])
async def test_a_run_that_is_gone_on_with_after_a_restart(service, tmp_path):
    """With real figures in a real session, a second process sends what fits, and never more than the budget."""

    def build():
        pages = iter(range(6))

        def answer(request):
            page = next(pages, None)
            assert results_in(request) or page == 0
            return "done" if page is None else call("fetch", page=page)

        model = ScriptedModel(answer=answer, usage=real_tokens)
        return LlmAgent(name="a", model=model, tools=[fetch], before_model_callback=[FitTokenBudget(max_tokens=9000)])

    async with session_service(service, tmp_path) as sessions:
        first = await run_agent(build(), "Go.", session_service=sessions)
    async with session_service(service, tmp_path) as again:
        sessions = sessions if service == "memory" else again
        second = await run_agent(build(), "Go on.", session_service=sessions)
    sizes = [real_tokens(request) for request in (*first.requests, *second.requests)]
    assert max(sizes) <= 9000
    assert max(sizes) >= 0.7 * 9000


def test_figures_without_answers_say_nothing():
    """Figures of calls that came to nothing, such as blocked ones, leave the estimate as it is."""
    spoken = [user_said("Look."), *(agent_said("scout", f"word {n} " * 200) for n in range(8)), user_said("And now?")]
    blocked = Event(author="a", error_code="SAFETY", usage_metadata=USAGE(prompt_token_count=9000))
    plain, counted = (
        FitTokenBudget(max_tokens=900).apply(request_for("a", events), call_for("a", events)).contents
        for events in (spoken, [*spoken[:4], blocked, *spoken[4:]])
    )
    assert plain == counted
    assert 1 < len(plain) < len(spoken) - 2


def test_answers_that_are_no_words_are_passed_over():
    """Answers of pictures alone, and turns that another callback rewrote, neither raise nor lead the budget astray."""
    events = session(*["prose"] * 4, *["json"] * 8)
    for number, event in enumerate(events):
        if event.usage_metadata and number % 3 == 0:
            event.content = types.Content(
                role="model", parts=[types.Part(inline_data=types.Blob(mime_type="image/png", data=b"x"))]
            )
    request = request_for("a", events)
    request.contents = [
        content.model_copy(update={"parts": [types.Part(text="rewritten")]})
        if content.role == "model" and number % 5 == 0 and content.parts[0].text
        else content
        for number, content in enumerate(request.contents)
    ]
    cut = FitTokenBudget(max_tokens=5000, on_error="raise").apply(request, call_for("a", events))
    assert real_tokens(cut) <= 5000


def calibrated(*figures, start=None):
    """A calibration that has taken in one figure after the other, each the provider's tokens for 1,000 estimated."""
    sums = [0]
    for tokens in figures:
        sums.append(sums[-1] + tokens)
    made = Calibration({number: (number, tokens) for number, tokens in enumerate(sums, 1)}, start)
    for number in range(1, len(sums)):
        made.scale(number, number + 1, 1000, steady=True)
    return made


@pytest.mark.parametrize(("figures", "factor"), [
    # The first figure: from a fifth to five times the estimate.
    ([200], 0.2), ([199], 1.0), ([5000], 5.0), ([5001], 1.0),
    # Later ones: from half to twice the factor so far.
    ([3000, 1500], 2.25), ([3000, 1499], 3.0), ([2000, 4000], 3.0), ([2000, 4001], 2.0),
    # The newest eight count.
    ([1000, *[2000] * 7], 1.875), ([1000, *[2000] * 8], 2.0),
    # A figure that does not count leaves the next ones their place.
    ([1000, 9000, 2000], 1.5),
])  # fmt: skip
def test_which_figures_count(figures, factor):
    """A figure counts within the bounds, which are narrower once one is known, and the factor is that of the newest."""
    assert calibrated(*figures).factor == pytest.approx(factor)


@pytest.mark.parametrize(
    ("number", "steady", "estimate"), [(3, True, 1000), (2, False, 1000), (2, True, 0), (2, True, -5)]
)
def test_what_no_figure_comes_from(number, steady, estimate):
    """Calls that do not follow each other, a call that sent less, and nothing sent in between give no figure."""
    made = Calibration({1: (1, 1000), 2: (number, 3000)})
    assert made.scale(1, 2, estimate, steady=steady) == 1.0
    assert made.factor == 1.0


@pytest.mark.parametrize(("size", "factor"), [(99, 1.0), (100, 2.0)])
def test_a_short_first_request_says_nothing(size, factor):
    """Below a hundred estimated tokens the first figure is mostly what the provider adds to a prompt."""
    said, answer = user_said("Hello"), agent_said("a", "Yes.")
    answer.usage_metadata = USAGE(prompt_token_count=2 * size)
    request = request_for("a", events := [said, answer, user_said("Go on.")])
    seen = TokenMeter().content(said.content) + sum(TokenMeter().fixed(request))
    made = Calibration.of(call_for("a", events), request, [1], TokenMeter(unseen=size - seen))
    assert made.factor == pytest.approx(factor)


@pytest.mark.parametrize(("version", "model", "counts"), [
    ("gemini-2.5-flash-001", "gemini-2.5-flash", True), ("gemini-2.5-flash", "gemini-2.5-flash-001", True),
    ("gpt-5", "openai/gpt-5", True), ("gpt-5", "openai/gpt-4", False), (None, "gemini-2.5-flash", True),
    ("gemini-2.5-flash", None, True),
])  # fmt: skip
def test_whose_figures_count(version, model, counts):
    """A figure counts where its model is the request's, by either's shorter name, or where one of them is not known."""
    events = session("prose", "prose", model_version=version)
    request = request_for("a", events)
    request.model = model
    calls = [index for index, content in enumerate(request.contents) if content.role == "model"]
    made = Calibration.of(call_for("a", events), request, calls, TokenMeter())
    assert bool(made._figures) is counts


@pytest.mark.parametrize(("said", "found"), [
    (["A0", "A1", "A2"], {1: (0, 10), 3: (1, 20), 5: (2, 30)}), (["A0", "rewritten", "A2"], {1: (0, 10), 5: (2, 30)}),
    (["A1", "A2"], {1: (1, 20), 3: (2, 30)}), (["A2", "A0"], {3: (0, 10)}), (["A0", "A0"], {3: (0, 10)}), ([], {}),
])  # fmt: skip
def test_whose_answer_a_turn_is(said, found):
    """Each turn has the figure of the answer that it is, in order, a rewritten one none, and old turns are not read."""
    own = [agent_said("a", f"A{number}") for number in range(3)]
    for number, event in enumerate(own, 1):
        event.usage_metadata = USAGE(prompt_token_count=10 * number)
    contents = [each.content for text in said for each in (user_said("Next?"), agent_said("a", text))]
    calls = range(1, len(contents), 2)
    cache = GrowingCache()
    for answers in (own[:1], own[:2], own):
        anew = _figures(answers, KnownContents(contents, [], GrowingCache()), calls, None)
        assert _figures(answers, KnownContents(contents, [], cache), calls, None) == anew
    assert _figures(own, KnownContents([], [], cache), calls, None) == found
