"""TokenUse: its sums are those of the reports, and its parts add up to the whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack import (
    CATEGORIES,
    CastNarrative,
    ContextPipeline,
    PassReport,
    PrefixReport,
    Prices,
    ReportTotals,
    StripForContext,
)
from adk_context_pack.reports.token_use import PACK_TOOLS, RESULTS, TokenUse
from tests.reports.test_report_log import report
from tests.support.reported import reported_run

PRICES = Prices(input=2.0, cached=0.5)
SIZES = st.integers(0, 5_000)


@st.composite
def any_reports(draw):
    """Reports of several agents and sessions whose figures add up as those of a pipeline do."""
    found = []
    for number in range(draw(st.integers(1, 12))):
        before = {name: draw(SIZES) for name in draw(st.lists(st.sampled_from(CATEGORIES), unique=True, min_size=1))}
        after = {name: draw(st.integers(0, tokens)) for name, tokens in before.items()}
        whole, left = sum(before.values()), sum(after.values())
        used = "tool_calls_and_results"
        found.append(
            report(
                agent=draw(st.sampled_from(["scout", "writer", ""])),
                session_id=draw(st.sampled_from(["one", "two"])),
                tokens_before=whole,
                tokens_after=left,
                categories=after,
                categories_before=before,
                tools={"look_up": after[used]} if used in after else {},
                tools_before={"look_up": before[used]} if used in before else {},
                results={"list_orders": draw(SIZES)} if number % 2 else {},
                pack_tools=draw(st.integers(0, before.get("tool_declarations", 0))),
                prefix=PrefixReport(tokens=draw(SIZES), previous_tokens=draw(SIZES)),
            )
        )
        found[-1].passes = (PassReport(name="strip_for_context", tokens_before=whole, tokens_after=left),)
    return found


@given(any_reports())
def test_sums_are_those_of_the_reports(reports):
    """All calls together have the tokens of `ReportTotals`, and agents, categories and passes each add up to them."""
    use, totals = TokenUse.of(reports, PRICES), ReportTotals.of(reports)
    assert (use.total.calls, use.total.without, use.total.sent) == (
        totals.calls,
        totals.tokens_without_pack,
        totals.tokens_after,
    )
    for parts in (use.agents, use.categories):
        assert sum(part.without for part in parts.values()) == use.total.without
        assert sum(part.sent for part in parts.values()) == use.total.sent
    assert sum(each.saved for each in use.passes.values()) == totals.tokens_saved
    assert {name: part.sent for name, part in use.categories.items() if part.sent} == {
        name: tokens for name, tokens in totals.categories.items() if tokens
    }


@given(any_reports())
def test_costs_add_up(reports):
    """The cost with the pack is that of each request with its kept prefix, and the parts of a request add up to it."""
    use = TokenUse.of(reports, PRICES)
    each = [PRICES.micros(one.tokens_after, min(one.prefix.tokens, one.tokens_after)) for one in reports]
    assert use.total.cost_sent == pytest.approx(sum(each))
    for parts in (use.agents, use.categories):
        assert sum(part.cost_sent for part in parts.values()) == pytest.approx(use.total.cost_sent)
        assert sum(part.cost_without for part in parts.values()) == pytest.approx(use.total.cost_without)
    assert TokenUse.of(reports).total.cost_sent == 0


async def test_tools_add_up_to_their_category():
    """In a real run, the tokens by tool are those of the category of calls and results, in each request and in all."""
    _, pipeline = await reported_run(pipeline=ContextPipeline([StripForContext(), CastNarrative()]))
    use = TokenUse.of(pipeline.reports)
    assert use.tools.keys() == {"look_up"}
    assert use.tools["look_up"].sent == use.categories["tool_calls_and_results"].sent > 0
    for each in pipeline.reports:
        assert sum(each.tools.values()) == each.categories["tool_calls_and_results"]


def test_smaller_results_count_by_tool():
    """What was saved where a result is made counts as the tool's without the pack, and as a step before the passes."""
    categories = {"tool_calls_and_results": 3}
    one = report(
        categories=categories, categories_before=categories, tools={"a": 2}, tools_before={"a": 3}, results={"a": 90}
    )
    use = TokenUse.of([one])
    assert (use.tools["a"].without, use.tools["a"].sent) == (93, 2)
    assert use.passes[RESULTS].saved == 90
    later = report(passes=(PassReport(name="p", tokens_before=3, tokens_after=2),))
    assert [each["name"] for each in TokenUse.of([later, one]).to_dict()["passes"]] == [RESULTS, "p"]
    assert PACK_TOOLS not in use.passes
    assert use.to_dict()["tools"] == [
        {"name": "a", "calls": 1, "without": 93, "sent": 2, "cost_without": 0.0, "cost_sent": 0.0}
    ]


@pytest.mark.parametrize(
    ("kept", "cached_without"),
    [
        (100, 80),  # as much as there was before: nothing broke
        (50, 80),  # broken in the contents, which ADK alone only adds to
        (20, 20),  # broken in the instruction, which ADK alone sends too
    ],
)
def test_adk_alone_keeps_its_prefix_where_the_instruction_stays(kept, cached_without):
    """Without the pack the previous request is taken to be cached, unless the instruction itself changed."""
    sizes = {"system_instruction": 40, "user": 60}
    settings = {"tokens_after": 100, "categories": sizes, "categories_before": sizes}
    first = report(tokens_before=80, **settings)
    second = report(tokens_before=100, prefix=PrefixReport(tokens=kept, previous_tokens=100), **settings)
    use = TokenUse.of([first, second], PRICES)
    assert use.total.cost_without == pytest.approx(PRICES.micros(80, 0) + PRICES.micros(100, cached_without))
    known = TokenUse(prices=PRICES)
    known.add(first, PrefixReport())
    known.add(second, PrefixReport(tokens=7, previous_tokens=80))
    assert known.total.cost_without == pytest.approx(PRICES.micros(80, 0) + PRICES.micros(100, 7))
