"""FitTokenBudget: the request fits, the cut moves seldom, and what must stay stays."""

from __future__ import annotations

import itertools
import logging
from dataclasses import replace
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps.app import App

from adk_context_pack import ContextPackPlugin, ContextPipeline, FitTokenBudget, ModelCall
from adk_context_pack.conversation.token_estimate import TokenMeter
from adk_context_pack.passes import fit_token_budget
from tests.support.adk_contents import contents_of, dynamic_content, request_of
from tests.support.events import agent_called, agent_said, call_part, event, summary, tool_returned, user_said
from tests.support.histories import as_text, fetch, is_prefix, long_turn, many_turns, o200k, real_tokens, rows
from tests.support.provider_rules import new_problems
from tests.support.requests import applied, call_for, request_for
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in

KINDS = {
    "json": lambda n: {"rows": rows(n, 40)},
    "prose": lambda n: {
        "result": "The committee met again in the spring and found that little had changed since. " * 25
    },
    "chinese": lambda n: {"result": "人工智能正在改变我们的生活方式,许多公司使用大型语言模型来处理客户服务。" * 30},
    "japanese": lambda n: {
        "result": "東京は日本の首都であり、世界最大の都市圏の一つです。毎日電車で通っています。" * 30
    },
}


def loop_of(kind, calls):
    events = [user_said("Go through all pages.")]
    for n in range(calls):
        events += [
            agent_called("a", "fetch", f"adk-{n}", page=n),
            tool_returned("a", "fetch", KINDS[kind](n), f"adk-{n}"),
        ]
    return events


def turns_of(kind, turns):
    events = []
    for n in range(turns):
        events += [user_said(f"Question {n}?"), *loop_of(kind, 2)[1:], agent_said("a", f"Answer {n}.")]
    return [*events, user_said("The last question.")]


def called(contents):
    return [part.function_call.name for content in contents for part in content.parts or () if part.function_call]


def said(contents):
    return [part.text for content in contents for part in content.parts or () if part.text]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("build", [loop_of, turns_of])
def test_never_over_budget_by_a_real_tokenizer(kind, build):
    """At every call of a growing history, o200k counts no more than the budget, with nothing but estimates."""
    events = build(kind, 20)
    for stop in range(1, len(events) + 1):
        if events[stop - 1].content.role == "user":
            assert real_tokens(applied(FitTokenBudget(max_tokens=8000), "a", events[:stop])) <= 8000


def test_keep_turns_holds_whole_turns_back():
    """The newest turns keep their questions and answers even where their calls must go."""
    events = many_turns(6)
    contents = applied(FitTokenBudget(max_tokens=3500, keep_turns=3), "a", events).contents
    kept = [text for text in said(contents) if "question" in text.lower()]
    assert "Question 0: what is on the pages?" not in kept
    assert kept[-3:] == ["Question 4: what is on the pages?", "Question 5: what is on the pages?", "The last question."]
    assert "Answer 4: nothing unusual." in said(contents)


@pytest.mark.slow
@pytest.mark.parametrize("build", [lambda: long_turn(40), lambda: many_turns(20)], ids=["loop", "turns"])
def test_the_cut_moves_in_large_steps(build):
    """Between two cuts each request begins with the one before it; cuts are few."""
    events = build()
    moments = [n for n in range(1, len(events) + 1) if events[n - 1].content.role == "user"]
    sent = [applied(FitTokenBudget(max_tokens=12_000), "a", events[:n]).contents for n in moments]
    busts = sum(not is_prefix(a, b) for a, b in itertools.pairwise(sent))
    assert 2 <= busts <= len(moments) / 4


def test_instructions_and_summaries_stay():
    """The system instruction, ADK's dynamic instruction and its compaction summary outlive every cut."""
    events = many_turns(8)
    for number, one in enumerate(events):
        one.timestamp = 1000.0 + number
    events.insert(6, summary("THE SUMMARY of what came before", 1000.0, 1003.0, timestamp=1005.5))
    contents = contents_of(events, "a")
    request = request_of(contents, dynamic="Today is Monday.")
    result = FitTokenBudget(max_tokens=1200).apply(request, call_for("a", events))
    assert result.config.system_instruction == request.config.system_instruction
    assert "THE SUMMARY" in as_text(result.contents)
    assert any(content == dynamic_content("Today is Monday.") for content in result.contents)
    assert said(result.contents)[-1] == "The last question."
    assert not new_problems(request.contents, result.contents)


def test_a_call_that_waits_for_confirmation_stays():
    """The placeholder result of a tool that asked for a confirmation stays until the tool has run."""
    asked = tool_returned("a", "wipe", {"error": "This tool call requires confirmation"}, "adk-c")
    asked.actions.requested_tool_confirmations = {"adk-c": {"hint": "sure?"}}
    events = [user_said("Wipe it."), agent_called("a", "wipe", "adk-c"), asked, *many_turns(8)]
    assert "wipe" in called(applied(FitTokenBudget(max_tokens=1500), "a", events).contents)
    done = tool_returned("a", "wipe", {"result": "gone"}, "adk-c")
    events = [*events[:3], done, agent_said("a", "Done."), *events[3:]]
    assert "wipe" not in called(applied(FitTokenBudget(max_tokens=1500), "a", events).contents)


def test_relays_are_no_turns():
    """Many relayed blocks in one turn do not push the user's question out; the blocks go, the question stays."""
    events = [user_said("The question."), *(agent_said("scout", f"Finding {n}. " * 60) for n in range(30))]
    result = applied(FitTokenBudget(max_tokens=2500), "writer", events).contents
    assert "The question." in said(result)
    assert 0 < sum("Finding" in text for text in said(result)) < 30
    assert "Finding 29. " in said(result)[-1]


def test_a_budget_that_cannot_be_met_is_said(caplog):
    """What must stay stays, the log warns and the report has a line."""
    events = [*many_turns(3)[:-1], user_said("x" * 9000)]
    request = request_for("a", events)
    pipeline = ContextPipeline([FitTokenBudget(max_tokens=500)])
    with caplog.at_level(logging.WARNING, "adk_context_pack"):
        result, report = pipeline.run(request, call_for("a", events))
    assert said(result.contents)[-1] == "x" * 9000
    assert len(result.contents) == 2
    assert "over budget" in report.passes[0].note
    assert "the request of agent a cannot be made smaller: about " in caplog.text
    assert "tokens are left where 500 are allowed" in caplog.text


def test_without_events_the_roles_decide():
    """A request without a session, as in a script, is cut by what its contents say."""
    request = request_for("a", many_turns(8))
    result = FitTokenBudget(max_tokens=2000).apply(request, ModelCall())
    assert said(result.contents)[-1] == "The last question."
    assert TokenMeter().request(result) <= 2000


def test_orphans_are_reported():
    """A result without a call goes out as it came, or with its turn, and the report says that it was there."""
    events = [*many_turns(4), tool_returned("a", "lost", {"x": 1}, "call_lost"), user_said("Now?")]
    request = request_of(contents_of(events, "a"))
    request.contents.insert(-1, tool_returned("a", "lost", {"x": 1}, "call_lost").content)
    _, report = ContextPipeline([FitTokenBudget(max_tokens=2000)]).run(request, call_for("a", events))
    assert "without a call" in report.passes[0].note


@pytest.mark.slow
async def test_a_long_loop_of_a_real_agent_stays_within_the_budget():
    """In a real run of 40 calls no request is over the budget, each is valid, and the agent finishes."""
    pages = iter(range(40))

    def answer(request):
        page = next(pages, None)
        assert results_in(request) or page == 0
        return "done" if page is None else call("fetch", page=page)

    budget = FitTokenBudget(max_tokens=8000)
    agent = LlmAgent(name="a", model=ScriptedModel(answer=answer), tools=[fetch], before_model_callback=[budget])
    run = await run_agent(agent, "Go through all pages.")
    assert run.answer == "done"
    assert all(real_tokens(request) <= 8000 for request in run.requests)
    assert all("Go through all pages." in said(request.contents) for request in run.requests)


def test_what_follows_an_unanswered_call_stays():
    """Behind a call that has no result the next turn stays, since a provider reads it as what answers the call."""
    waiting = event("a", call_part("approve", {"sum": 7}, "call_w"), long_running_tool_ids={"call_w"})
    later = [user_said("Meanwhile, something else."), agent_said("a", "Yes?")]
    events = [*many_turns(3)[:-1], user_said("Pay."), waiting, *later, *many_turns(8)]
    raw = request_for("a", events)
    result = FitTokenBudget(max_tokens=1500).apply(raw, call_for("a", events))
    at = next(
        index
        for index, content in enumerate(result.contents)
        if any(part.function_call and part.function_call.name == "approve" for part in content.parts)
    )
    assert said(result.contents[at + 1 : at + 2]) == ["Meanwhile, something else."]
    assert len(result.contents) < len(raw.contents) - 10


def test_what_may_not_go_counts_once():
    """A long summary takes its room from the budget once, so that what fits beside it is not said to be too much."""
    events = many_turns(8)
    for number, one in enumerate(events):
        one.timestamp = 1000.0 + number
    events.insert(6, summary("THE SUMMARY " * 500, 1000.0, 1003.0, timestamp=1005.5))
    request = request_for("a", events)
    meter = TokenMeter()
    long = max(meter.contents([content]) for content in request.contents)
    pipeline = ContextPipeline([FitTokenBudget(max_tokens=round(1.6 * long))])
    _, report = pipeline.run(request, call_for("a", events))
    assert "left out" in report.passes[0].note
    assert "over budget" not in report.passes[0].note


def test_the_current_message_stays_where_it_is_in_no_newest_turn():
    """ADK may leave out what stands before a late result; the user's current message stays even so."""
    events = [user_said("Which flight?"), agent_said("a", "One moment. " * 30), user_said("For Oslo, please.")]
    call = ModelCall(agent_name="a", events=events, user_content=events[0].content)
    contents = contents_of(events, "a")
    result = FitTokenBudget(max_tokens=1, cut_to=0.01).apply(request_of(contents), call)
    assert said(result.contents) == [said(contents)[0], said(result.contents)[1], "For Oslo, please."]
    other = ModelCall(agent_name="a", events=events, user_content=events[2].content)
    assert "Which flight?" not in said(
        FitTokenBudget(max_tokens=1, cut_to=0.01).apply(request_of(contents), other).contents
    )


@pytest.mark.parametrize("kind", ["json", "prose"])
@pytest.mark.parametrize("max_tokens", [2_000, 5_000, 10_000])
@pytest.mark.parametrize("max_ledger_tokens", [0, 200])
def test_the_report_says_how_much_was_left_out(kind, max_tokens, max_ledger_tokens):
    """The note's tokens are what the request is smaller by, and its groups are calls with results and single words."""
    events = turns_of(kind, 8)
    raw, call = request_for("a", events), call_for("a", events)
    result = FitTokenBudget(max_tokens=max_tokens, max_ledger_tokens=max_ledger_tokens, counter=len).apply(raw, call)
    meter = TokenMeter(counter=len)
    gone = meter.contents(raw.contents) - meter.contents(result.contents)
    kept = set(map(id, result.contents))
    left_out = [content for content in raw.contents if id(content) not in kept]
    groups = [each for each in left_out if not any(part.function_response for part in each.parts)]
    assert gone > 0
    assert call.notes == [f"left out {len(groups)} groups, {gone} tokens"]


def read_order(page: int) -> dict:
    """Reads one order."""
    return {"status": "ok", "id": page, "city": f"city {page % 7}"}


def agent_that_reads() -> LlmAgent:
    def answer(request: Any) -> Any:
        last = request.contents[-1].parts[-1]
        return "That was the page. " * 20 if last.function_response else call("read_order", page=len(request.contents))

    return LlmAgent(name="worker", model=ScriptedModel(answer=answer), tools=[read_order])


def sizes(run: Any, counter: Any) -> list[int]:
    """The tokens of each request as it was sent, counted by a meter that has seen nothing before."""
    found = []
    for sent in run.requests:
        meter = TokenMeter(counter=counter)
        tools = sum(meter.text(tool.model_dump_json(exclude_none=True)) for tool in sent.config.tools or ())
        found.append(tools + meter.text(sent.system) + meter.contents(sent.contents))
    return found


async def test_a_small_budget_holds_with_the_declared_tools() -> None:
    """A budget of 1,200 tokens holds too, where the current turn leaves room for the declarations."""
    counter = o200k()
    plugin = ContextPackPlugin(max_tokens=1_200, counter=counter)
    messages = (f"Show order {number}." + " Take your time." * 20 for number in range(14))
    run = await run_agent(App(name="app", root_agent=agent_that_reads(), plugins=[plugin]), *messages)
    sent = sizes(run, counter)
    assert any("read_back" in request.tool_names for request in run.requests)
    assert max(sent) <= 1_200
    assert [report.tokens_after for report in plugin.reports] == sent


def test_what_is_weighed_before_a_cut(monkeypatch):
    """Each group weighs what its contents do, and those that a call of the agent made are told from the others."""
    given, real = [], fit_token_budget.BudgetCut
    monkeypatch.setattr(fit_token_budget, "BudgetCut", lambda **parts: given.append(parts) or real(**parts))
    request, call = request_for("a", events := many_turns(4)), call_for("a", events)
    FitTokenBudget(max_tokens=300).apply(request, call)
    meter, runs = TokenMeter(), [request.contents[one.start : one.stop] for one in given[0]["groups"]]
    assert given[0]["sizes"] == [sum(map(meter.content, run)) for run in runs]
    assert given[0]["calls"] == {number for number, run in enumerate(runs) if run[0].role == "model"}


def test_the_marker_follows_the_cut():
    """When a later call of the same process cuts more, its marker says what one of another process says."""
    events, entry, memos = many_turns(24), FitTokenBudget(max_tokens=4000), ({}, {})
    sent = []
    for stop in [number + 1 for number, each in enumerate(events) if each.author == "user"][6::8]:
        request, call = request_for("a", events[:stop]), call_for("a", events[:stop])
        later = replace(call_for("a", events[:stop]), run_memo=memos[0], session_memo=memos[1])
        sent.append(said(entry.apply(request, later).contents)[0])
        assert sent[-1] == said(entry.apply(request, call).contents)[0]
    assert len({*sent}) == len(sent) > 1
