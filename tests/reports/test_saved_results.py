"""What smaller results keep out of requests: as much as an independent run without the pack shows."""

import json
import logging
import re
from collections import Counter
from itertools import takewhile

import pytest
from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.models.llm_response import LlmResponse
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.genai import types
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from adk_context_pack import ContextPackPlugin, Prices
from adk_context_pack.conversation.token_estimate import TokenMeter
from adk_context_pack.reports import call_report
from adk_context_pack.reports.call_report import ResultSizes, SmallerResult
from adk_context_pack.reports.telemetry import Telemetry
from adk_context_pack.stores.byte_cache import CACHE
from adk_context_pack.testing import check_budget
from tests.replay.test_command import run_command
from tests.reports.test_html_page import data_of, page_of
from tests.reports.test_telemetry import points_of
from tests.support.plugin_apps import list_sales, read_log
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
QUESTIONS = ("How many?", "And the log?", "Once more, please.", "Thanks!")


def words(text):
    """Counts as a tokenizer might: pieces of three characters."""
    return -(-len(text) // 3)


def look_up_city(city: str) -> dict:
    """Looks a city up."""
    return {"city": city, "country": "Norway"}


def team(tools=(list_sales, read_log, look_up_city)):
    """Builds a reader that makes the same calls whatever its results look like, and a writer that is told of them."""

    def read(request):
        asked = request.contents[-1].parts[-1].text or ""
        if "log" in asked:
            return call("read_log")
        if "many" in asked or "more" in asked:
            return [call("list_sales"), call("look_up_city", city="Oslo")]
        return f"I have seen {len(results_in(request))} results."

    reader = LlmAgent(name="reader", model=ScriptedModel(answer=read), tools=list(tools), instruction="Read.")
    writer = LlmAgent(name="writer", model=ScriptedModel(), instruction="Write.")
    return SequentialAgent(name="team", sub_agents=[reader, writer])


@pytest.mark.slow
@pytest.mark.parametrize("counter", [None, words], ids=["estimated", "counted"])
async def test_agrees_with_a_run_without_the_pack(counter):
    """Each call's `tokens_without_pack` is within 5 % of what the same app sends without the plugin."""
    plugin = ContextPackPlugin(counter=counter)
    run = await run_agent(team(), *QUESTIONS, plugins=[plugin])
    alone = await run_agent(team(), *QUESTIONS)
    expected = [TokenMeter(counter=counter).request(request) for request in alone.requests]
    assert [request.agent for request in run.requests] == [request.agent for request in alone.requests]
    told = [report.tokens_without_pack for report in plugin.reports]
    assert told == pytest.approx(expected, rel=0.05)
    totals = plugin.reports.totals()
    assert totals.tokens_without_pack == pytest.approx(sum(expected), rel=0.02)
    assert totals.tokens_saved > sum(expected) / 3
    assert min(totals.results.values()) > 100_000
    assert "look_up_city" not in totals.results
    assert totals.unknown_results == 0


async def test_what_is_sent_is_what_the_report_says():
    """With a counter, `tokens_after` is what the model received, the tools that the plugin declares among it."""
    plugin = ContextPackPlugin(counter=words)
    run = await run_agent(team(), *QUESTIONS, plugins=[plugin])
    sent = [TokenMeter(counter=words).request(request) for request in run.requests]
    assert [report.tokens_after for report in plugin.reports] == sent
    with_tools = [report for report in plugin.reports if report.pack_tools]
    assert with_tools
    for report in with_tools:
        assert report.categories["tool_declarations"] >= report.pack_tools


async def test_a_result_saves_in_each_request_that_shows_it():
    """A result saves again with each later call, and nothing in the request before it was made."""
    plugin = ContextPackPlugin(passes=[], read_back=False)
    await run_agent(team(), *QUESTIONS, plugins=[plugin])
    saved = [report.results.get("list_sales", 0) for report in plugin.reports if report.agent == "reader"]
    once = saved[1]
    assert once > 10_000
    assert saved == pytest.approx([0, once, once, once, once, 2 * once, 2 * once], abs=4)


def said(text, pattern):
    """Sums up each of the numbers that a pattern finds in a text."""
    rows = [[int(number.replace(",", "")) for number in found.groups()] for found in re.finditer(pattern, text)]
    return [sum(column) for column in zip(*rows, strict=True)]


def told(rows):
    results = sum(sum(row["results"].values()) for row in rows)
    return [*(sum(row[name] for row in rows) for name in ("tokens_without_pack", "tokens_after")), results]


def surfaces(reports, events, log, points):
    """What each surface says of all calls: tokens without the pack, tokens sent, tokens that smaller results save."""
    totals, use = reports.totals(), data_of(page_of(reports))["use"]
    printed, summed, whole = "\n".join(map(str, reports)), str(totals), r" +([\d,]+) +([\d,]+)"
    effects = {each["name"]: each["without"] for each in use["passes"]}
    stored = [event.custom_metadata["adk_context_pack"] for event in events if event.custom_metadata]
    for each in stored:
        saved = each["tokens_without_pack"] - each["tokens_before"] + each.get("pack_tools", 0)
        each["results"] = {"all tools": saved}
    stages = Counter()
    for labels, point in points["adk_context_pack.request.tokens"]:
        stages[labels["adk_context_pack.stage"]] += point.sum
    kept_out = sum(point.value for _, point in points["adk_context_pack.result.tokens_saved"])
    return {
        "totals": [totals.tokens_without_pack, totals.tokens_after, sum(totals.results.values())],
        "totals as JSON": told([totals.to_dict()]),
        "totals by agent": told([each.to_dict() for each in reports.by_agent().values()]),
        "totals in print": said(summed, f"calls{whole}") + said(summed, r"results of \w+: ([\d,]+) tokens taken"),
        "reports as JSON": told([each.to_dict() for each in reports]),
        "reports in print": [*said(printed, f"whole request{whole}"), said(printed, rf"of \w+{whole} +([\d,]+)")[2]],
        "stored events": told(stored),
        "log": said(log, r"([\d,]+) -> ([\d,]+) tokens") + said(log, r"results of \w+ -([\d,]+)"),
        "page": [use["total"]["without"], use["total"]["sent"], effects["smaller tool results"]],
        "telemetry": [stages["without_pack"], stages["after"], kept_out],
    }


async def test_all_surfaces_say_the_same(caplog):
    """Objects, JSON, tables, stored events, the log, the page and telemetry have the same sums of the same calls."""
    reader = InMemoryMetricReader()
    plugin = ContextPackPlugin(counter=words, telemetry=Telemetry(MeterProvider(metric_readers=[reader])))
    with caplog.at_level(logging.INFO, "adk_context_pack"):
        run = await run_agent(team(), *QUESTIONS, plugins=[plugin])
    stored = [event.custom_metadata for event in run.session.events if event.custom_metadata]
    assert all(len(json.dumps(each)) <= 200 for each in stored)
    found = surfaces(plugin.reports, run.session.events, caplog.text, points_of(reader))
    assert found == dict.fromkeys(found, found["totals"])
    assert found["totals"][2] > 100_000


async def billed(model, least, instruction="Answer.", **settings):
    """A run of an agent that looks up orders in each turn, its bill by a provider with a cache, and its plugin."""
    bill, seen = [], []

    def usage(request):
        meter, declared = TokenMeter(), str([str(tool) for tool in request.config.tools])
        said = [(meter.request(request) - meter.contents(request.contents), declared)]
        said += [(meter.content(content), str(content)) for content in request.contents]
        same = (takewhile(lambda pair: pair[0] == pair[1], zip(said, each, strict=False)) for each in seen)
        kept = max((sum(size for (size, _), _ in each) for each in same), default=0)
        tokens, cached = sum(size for size, _ in said), kept * (kept >= least)
        seen.append(said)
        bill.append(Prices().of(tokens, cached))
        return types.GenerateContentResponseUsageMetadata(prompt_token_count=tokens, cached_content_token_count=cached)

    def answer(request):
        part = types.Part(text="Seen.") if request.contents[-1].parts[-1].function_response else call("list_orders")
        return LlmResponse(content=types.ModelContent(part), model_version=model)

    def list_orders() -> dict:
        """Lists orders."""
        return {"rows": [{"order": f"A-{n}", "city": "Oslo", "amount": n * 7.25} for n in range(20)]}

    scripted, plugin = ScriptedModel(model=model, answer=answer, usage=usage), ContextPackPlugin(**settings)
    agent = LlmAgent(name="desk", model=scripted, tools=[list_orders], instruction=instruction)
    return await run_agent(agent, *"ABCDEFGHI", plugins=[plugin]), sum(bill), plugin


@pytest.mark.parametrize(("model", "least"), [("gemini-2.5-flash", 2048), ("gpt-5", 1024), ("a-model", 0)])
async def test_all_surfaces_cost_what_the_provider_bills(tmp_path, capsys, caplog, model, least):
    """Page, limit and check tell the bill of a live run, and a replay those of both, with the provider's own least."""
    alone, whole, _ = await billed(model, least, passes=[], result_passes=[])
    _, bill, plugin = await billed(model, least, max_cost=1e-9, prices=Prices(), on_limit="warn")
    use = data_of(page_of(plugin.reports, prices=Prices()))["use"]["total"]
    assert (use["cost_without"], use["cost_sent"]) == pytest.approx((whole * 1e6, bill * 1e6), rel=0.03)
    check_budget(plugin.reports, max_cost=bill * 1.001)
    with pytest.raises(AssertionError, match="spent, over the budget"):
        check_budget(plugin.reports, max_cost=bill * 0.999)
    (tmp_path / "alone.json").write_text(alone.session.model_dump_json(by_alias=True), encoding="utf-8")
    found = json.loads(run_command(capsys, "replay", tmp_path, "--json")[1])
    assert (found["cost_without"], found["cost_with"]) == pytest.approx((whole, bill), rel=0.03)


@pytest.mark.parametrize(("model", "least"), [("gemini-3-pro", 4096), ("gemini-2.5-flash", 2048)])
@pytest.mark.parametrize("words", [500, 1_500, 3_000])
async def test_small_prompts_cost_no_more_where_the_provider_caches_none(model, least, words):
    """A prompt that is made too small for the provider's cache would be read in full at each call."""
    _, alone, _ = await billed(model, least, "pack " * words, passes=[], result_passes=[])
    _, bill, _ = await billed(model, least, "pack " * words)
    assert bill < alone


async def test_a_restarted_process_says_that_it_does_not_know(monkeypatch):
    """After a restart, results of earlier runs count as unknown, and the sum as a lower bound."""
    sessions = InMemorySessionService()
    await run_agent(team(), QUESTIONS[0], plugins=[ContextPackPlugin()], session_service=sessions, session_id="again")
    monkeypatch.setattr(call_report, "SIZES", ResultSizes(max_bytes=100))
    CACHE._items.clear()
    CACHE._bytes = 0
    plugin = ContextPackPlugin()
    await run_agent(team(), "Thanks!", plugins=[plugin], session_service=sessions, session_id="again")
    first = plugin.reports[0]
    assert (first.results, first.unknown_results) == ({}, 1)
    assert "savings not known: 1" in str(first)


async def test_a_result_that_quotes_a_handle_saves_nothing():
    """What a read-back tool returns names the handle of a stored result, and is not counted as that result."""

    def read(request):
        if found := results_in(request, "read_back"):
            return f"{len(found)} answers."
        if found := results_in(request, "list_sales"):
            handle = found[0].response["_handle"]
            return call("read_back", handle=handle, sql=f"SELECT '{handle}' AS handle FROM rows LIMIT 1")
        return call("list_sales")

    plugin = ContextPackPlugin(passes=[])
    agent = LlmAgent(name="reader", model=ScriptedModel(answer=read), tools=[list_sales])
    run = await run_agent(agent, "go", plugins=[plugin])
    listed, quoted = results_in(run.requests[-1])
    assert listed.response["_handle"] in str(quoted.response)
    assert [set(report.results) for report in plugin.reports] == [set(), {"list_sales"}, {"list_sales"}]
    assert plugin.reports[1].results == plugin.reports[2].results


async def test_a_counter_that_fails_costs_the_figures_only(caplog):
    """A tokenizer that raises leaves results smaller and the run going, without tokens in the report."""

    def broken(text):
        raise OSError("no vocabulary")

    plugin = ContextPackPlugin(counter=broken, passes=[])
    run = await run_agent(team(), QUESTIONS[0], plugins=[plugin])
    assert "_row_limits" in results_in(run.requests[1], "list_sales")[0].response
    assert plugin.result_reports[0].tokens_saved == 0
    assert "could not be counted" in caplog.text


def test_a_session_is_known_as_long_as_one_of_its_results_is():
    """Only the sessions whose results are still remembered are known, however often a result came."""
    sizes = ResultSizes(max_bytes=3)
    result = SmallerResult(tool="t", saved=1, saved_in_text=0)
    for session_id, number in (("old", 0), ("old", 0), ("old", 1), ("new", 2)):
        sizes.add(session_id, {"n": number}, [], result)
    assert (sizes.knows("old"), sizes.knows("new"), sizes.knows("other")) == (True, True, False)
    sizes.add("new", {"n": 3}, [], result)
    assert (sizes.knows("old"), sizes.knows("new")) == (False, True)
