"""Offenders: the worst come first, each with the part of the pack that helps."""

import pytest

from adk_context_pack import PassReport, PrefixReport
from adk_context_pack import __all__ as public
from adk_context_pack.reports import token_use as module
from adk_context_pack.reports.token_use import TokenUse, offenders
from tests.reports.test_report_log import report


def found(*reports):
    return offenders(TokenUse.of(reports))


def one(tokens=100_000, **categories):
    """A report of a request with these categories, filled up with what users said."""
    sizes = {**categories, "user": tokens - sum(categories.values())}
    tools = {"list_orders": sizes["tool_calls_and_results"]} if "tool_calls_and_results" in sizes else {}
    same = {"categories": sizes, "categories_before": sizes, "tools": tools, "tools_before": tools}
    return report(tokens_before=tokens, tokens_after=tokens, **same)


@pytest.mark.parametrize(
    ("categories", "what", "advice"),
    [
        ({"tool_calls_and_results": 80_000}, "list_orders", "cap_rows"),
        ({"tool_declarations": 40_000}, "tool declarations", "defer_tools"),
        ({"system_instruction": 30_000}, "instruction of a, up to 30,000 tokens", "CompactState"),
        ({"relayed": 50_000}, "other agents", "CastNarrative"),
        ({"own_words": 50_000}, "agents said before", "FitTokenBudget"),
        ({"media": 50_000}, "images", "DropOldMedia"),
        ({"state_views": 50_000}, "state", "CompactState"),
        ({"user": 0}, "users said", "FitTokenBudget"),
    ],
)
def test_names_what_helps(categories, what, advice):
    """Each kind of large part is named with the share that it has and with what makes it smaller."""
    categories.pop("user", None)
    offender = next(each for each in found(one(**categories)) if what in each.what)
    assert advice in offender.advice
    if categories:
        assert offender.tokens == sum(categories.values())
        assert offender.share == offender.tokens / 100_000


def test_a_tool_with_small_results_is_cleared():
    """Where few tokens of a tool are in each request, old results are cleared, since there is little to cap."""
    small = one(tokens=1_000, tool_calls_and_results=800)
    assert "old ones add up" in found(small)[0].advice


@pytest.mark.parametrize(("kept", "advice"), [(500, "static_instruction"), (40_000, "FitTokenBudget")])
def test_a_prefix_that_breaks_again_and_again(kept, advice):
    """Breaks are counted with the tokens that were read again, and the place of the break says what to change."""
    calls = [one(system_instruction=1_000) for _ in range(13)]
    for call in calls[1:]:
        call.prefix = PrefixReport(tokens=kept, previous_tokens=100_000)
    offender = next(each for each in found(*calls) if "prefix" in each.what)
    assert offender.what == "prefix of a broken 12 times"
    assert offender.tokens == 12 * (100_000 - kept)
    assert advice in offender.advice


def test_a_pass_that_fails_comes_first():
    """A pass that fails is the worst, since nobody knows what it costs."""
    call = one(relayed=50_000)
    call.passes = (PassReport(name="p", tokens_before=5, tokens_after=5, error="ValueError: no"),)
    assert found(call)[0].what == "pass p failed 1 times"


def test_at_most_five_and_the_worst_first():
    """There are at most five, in falling order, and nothing is found where nothing was sent."""
    large = {"tool_declarations": 20_000, "system_instruction": 19_000, "relayed": 18_000, "own_words": 17_000}
    worst = found(one(**large, media=15_500, tool_calls_and_results=5_000))
    assert len(worst) == 5
    assert [each.tokens for each in worst] == sorted((each.tokens for each in worst), reverse=True)
    assert found() == found(one(tokens=0)) == []


def test_advice_names_parts_that_exist():
    """Each name of a pass or tool in the advice is public."""
    text = open(module.__file__, encoding="utf-8").read()  # noqa: PTH123, SIM115 - a source of ours
    named = {
        "cap_rows", "offload_payload", "ClearToolResults", "defer_tools", "CompactState", "CastNarrative",
        "StripForContext", "scoped", "FitTokenBudget", "DropOldThoughts", "DropOldMedia", "HistorySummarizer",
    }  # fmt: skip
    assert all(name in text for name in named)
    assert named <= set(public)
