"""TokenUse: its sums are those of the reports, and its parts add up to the whole."""

from dataclasses import replace

import pytest
from google.adk.agents import LlmAgent
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

import adk_context_pack as p
from adk_context_pack.reports.call_report import spread
from adk_context_pack.reports.token_use import PACK_TOOLS, RESULTS, TokenUse
from tests.reports.test_report_log import report
from tests.support.events import agent_called, agent_said, event, summary, tool_returned, user_said
from tests.support.requests import call_for, request_for
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel

PRICES = p.Prices(input=2.0, cached=0.5)
SIZES = st.integers(0, 5_000)


@st.composite
def any_reports(draw):
    """Reports of several agents and sessions whose figures add up as those of a pipeline do."""
    found = []
    for number in range(draw(st.integers(1, 12))):
        before = {name: draw(SIZES) for name in draw(st.lists(st.sampled_from(p.CATEGORIES), unique=True, min_size=1))}
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
                prefix=p.PrefixReport(tokens=draw(SIZES), previous_tokens=draw(SIZES)),
            )
        )
        found[-1].passes = (p.PassReport(name="strip_for_context", tokens_before=whole, tokens_after=left),)
    return found


@given(any_reports())
def test_sums_are_those_of_the_reports(reports):
    """All calls together have the tokens of `ReportTotals`, and agents, categories and passes each add up to them."""
    use, totals = TokenUse.of(reports, PRICES), p.ReportTotals.of(reports)
    assert (use.total.calls, use.total.tokens_with) == (totals.calls, totals.tokens_after)
    assert use.total.tokens_without == totals.tokens_without_pack
    for parts in (use.agents, use.categories):
        assert sum(part.tokens_without for part in parts.values()) == use.total.tokens_without
        assert sum(part.tokens_with for part in parts.values()) == use.total.tokens_with
    assert sum(each.saved for each in use.passes.values()) == totals.tokens_saved
    sent = {name: part.tokens_with for name, part in use.categories.items() if part.tokens_with}
    assert sent == {name: tokens for name, tokens in totals.categories.items() if tokens}


@given(any_reports())
def test_costs_add_up(reports):
    """The cost with the pack is that of each request with its kept prefix, and the parts of a request add up to it."""
    use = TokenUse.of(reports, PRICES)
    each = [PRICES.of(one.tokens_after, min(one.prefix.tokens, one.tokens_after)) for one in reports]
    assert use.total.cost_with == pytest.approx(sum(each))
    for parts in (use.agents, use.categories):
        assert sum(part.cost_with for part in parts.values()) == pytest.approx(use.total.cost_with)
        assert sum(part.cost_without for part in parts.values()) == pytest.approx(use.total.cost_without)
    assert TokenUse.of(reports).total.cost_with == 0


def test_smaller_results_count_by_tool():
    """What was saved where a result is made counts as the tool's without the pack, also once the provider keeps it."""
    assert TokenUse.of([report(shortened=1, kept_by_provider=kept) for kept in (None, 9, 18)]).read_backs == 3
    categories = {"tool_calls_and_results": 3}
    one = report(
        categories=categories, categories_before=categories, tools={"a": 2}, tools_before={"a": 3}, results={"a": 90}
    )
    use = TokenUse.of([one])
    assert (use.tools["a"].tokens_without, use.tools["a"].tokens_with) == (93, 2)
    assert use.passes[RESULTS].saved == 90
    later = report(passes=(p.PassReport(name="p", tokens_before=3, tokens_after=2),))
    assert [*TokenUse.of([later, one, replace(later, results={})]).passes] == [RESULTS, "p"]
    assert PACK_TOOLS not in use.passes
    relayed = TokenUse.of([report(categories_before={"relayed": 3}, results={"a": 9})]).categories["relayed"]
    assert relayed.tokens_without == 12
    [tool] = use.to_dict()["tools"]
    assert tool == {"name": "a", "calls": 1, "without": 93, "sent": 2, "cost_without": 0.0, "cost_sent": 0.0}


def test_passes_are_listed_as_they_run():
    """A pass that the first calls had no use for is listed where it runs, in the sums of all calls as well."""
    ran = [["a", "z"], ["a", "m", "n", "z"], ["b", "z"], ["q"]]
    calls = [[p.PassReport(name=name, tokens_before=3, tokens_after=2) for name in names] for names in ran]
    found = p.ReportTotals.of(report(passes=tuple(each)) for each in calls)
    assert [*found.passes] == ["a", "m", "n", "b", "z", "q"]


@pytest.mark.parametrize(("kept", "tools", "cached_without"), [
    (100, 0, 80),  # as much as there was before: nothing broke
    (50, 0, 80),  # broken in the contents, which ADK alone only adds to
    (20, 0, 20),  # broken in the instruction, which ADK alone sends too
    (20, 10, 80),  # broken by the pack's own tools, which ADK alone does not send
])  # fmt: skip
def test_adk_alone_keeps_its_prefix_where_the_instruction_stays(kept, tools, cached_without):
    """Without the pack the previous request is taken to be cached, unless the app's own instruction changed."""
    sizes = {"system_instruction": 40, "user": 60}
    settings = {"tokens_after": 100, "categories": sizes, "categories_before": sizes}
    first = report(tokens_before=80, **settings)
    prefix = p.PrefixReport(tokens=kept, previous_tokens=100)
    second = report(tokens_before=100 + tools, pack_tools=tools, prefix=prefix, **settings)
    use = TokenUse.of([first, second], PRICES)
    assert use.total.cost_without == pytest.approx(PRICES.of(80, 0) + PRICES.of(100, cached_without))
    assert use.agents[first.agent].lost == (0 if tools else 100 - kept)
    known = TokenUse(prices=PRICES)
    known.add(first, p.PrefixReport())
    known.add(second, p.PrefixReport(tokens=7, previous_tokens=80))
    assert known.total.cost_without == pytest.approx(PRICES.of(80, 0) + PRICES.of(100, 7))


def test_spreads_to_an_exact_sum():
    """Scaled shares add up to the total, also where there is nothing to scale."""
    assert spread({"a": 1, "b": 1, "c": 1, "other": 0}, 100) == {"a": 34, "b": 33, "c": 33, "other": 0}
    assert spread({"a": 0, "other": 0}, 7) == {"a": 0, "other": 7}
    assert spread({"a": 3, "other": 0}, 3) == {"a": 3, "other": 0}


PNG = types.Part(inline_data=types.Blob(data=b"png", mime_type="image/png"))


ALONE = [user_said("Look.", timestamp=1.0), agent_said("me", "Good day to you.", timestamp=2.0)]
LOOKED = [user_said("Look."), agent_called("me", "look", "c1"), tool_returned("me", "look", {"n": [1] * 50}, "c1")]


@pytest.mark.parametrize(("session", "found"), [
    (LOOKED, {"user", "tool_calls_and_results"}),
    ([event("user", types.Part(text="What is this?"), PNG, role="user")], {"user", "media"}),
    ([*ALONE, summary("They greeted each other at length.", 1.0, 2.0, timestamp=3.0)], {"other"}),
], ids=["calls and results of the agent", "an image within a message", "a summary of ADK's"])  # fmt: skip
def test_each_part_has_its_category(session, found):
    """Parts of one content may differ in category, and a summary is neither the user's nor the agent's."""
    categories = p.ContextPipeline([]).run(request_for("me", session), call_for("me", session))[1].categories
    assert {name for name, tokens in categories.items() if tokens} == {"system_instruction"} | found
    assert categories["media"] == 258 * ("media" in found)


@pytest.mark.parametrize("static", [None, "You are a careful reviewer."])
async def test_a_filled_in_view_is_a_state_view(static):
    """What a pass filled into an instruction, dynamic or not, counts as a state view, and only after the passes."""
    pipeline = p.ContextPipeline([p.CompactState(key="queries")])
    told = {"static_instruction": static, "instruction": "Review these: {compact:queries}"}
    agent = LlmAgent(name="reviewer", model=ScriptedModel(), before_model_callback=[pipeline], **told)
    await run_agent(agent, "Go on.", state={"queries": [{"id": number, "title": "sum"} for number in range(30)]})
    report = pipeline.reports[0]
    assert report.categories_before["state_views"] == 0
    assert report.categories["state_views"] > 200
    before = report.categories_before["system_instruction"]
    assert before - 10 <= report.categories["system_instruction"] <= before
    assert sum(report.categories.values()) == report.tokens_after


def test_cached_tokens_have_their_own_price():
    """A million tokens of which half are cached cost half of each price, in the currency and in millionths of it."""
    prices = p.Prices(input=3.0, cached=0.5)
    assert (prices.of(1_000_000, 500_000), prices.micros(10, 4)) == (1.75, 20)
