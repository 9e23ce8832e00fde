"""The Wolfy sample: lean end to end, with the same figures as without the pack and as plain SQL."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from google.adk.models.llm_request import LlmRequest
from google.adk.models.registry import LLMRegistry
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.version import __version__
from google.genai import types

from samples.wolfy import measure
from samples.wolfy.agent import build_pipeline, open_account, with_reports
from samples.wolfy.measure import run_pipeline
from samples.wolfy.offline import model as offline
from samples.wolfy.offline.roles import answer
from samples.wolfy.techniques import ADK_OPTIONS, TECHNIQUES, llm_agents
from tests.support.o200k import o200k
from tests.support.run import run_agent

SUMS = ("impressions", "clicks", "conversions", "conversions_value")


@pytest.fixture(scope="module")
def account():
    return open_account()


@pytest.fixture(scope="module")
def bare(account):
    return asyncio.run(run_pipeline(account, without=TECHNIQUES))


@pytest.fixture(scope="module")
def lean(account):
    return asyncio.run(run_pipeline(account))


@pytest.fixture(scope="module")
def adk_alone(account):
    return asyncio.run(run_pipeline(account, without=[name for name in TECHNIQUES if name not in ADK_OPTIONS]))


def plain_sql(account) -> dict[str, float]:
    """The account's totals and KPIs from one statement over its only table."""
    columns = ", ".join(f"SUM(metrics_{name})" for name in (*SUMS, "cost_micros"))
    impressions, clicks, conversions, value, micros = account.sql(f"SELECT {columns} FROM facts")[0]
    cost = micros / 1_000_000
    return {
        "impressions": impressions,
        "clicks": clicks,
        "conversions": conversions,
        "conversions_value": value,
        "cost": cost,
        "CTR": clicks / impressions,
        "CPC": cost / clicks,
        "CPM": 1000 * cost / impressions,
        "CVR": conversions / clicks,
        "CPA": cost / conversions,
        "ROAS": value / cost,
    }


def test_the_whole_run_sends_at_most_a_tenth_of_the_tokens(bare, lean):
    """With the pack a run sends at most 10 % of the input tokens that it sends without."""
    assert bare.tokens > 500_000
    assert lean.tokens <= bare.tokens / 10


def test_adk_options_alone_send_a_quarter(bare, adk_alone, lean):
    """What ADK itself can leave out is counted apart, so that the pack is not credited with it; same figures."""
    assert 0.2 < adk_alone.tokens / bare.tokens < 0.3
    assert adk_alone.figures == lean.figures


def test_the_readme_says_what_the_sample_prints(bare, adk_alone, lean):
    """The README's figures are those of the newest ADK that it names; others build requests of another size."""
    text = Path(__file__).parents[2].joinpath("README.md").read_text(encoding="utf-8")
    newest = re.search(r"`google-adk` [\d.]+ to ([\d.]+\d)", text)[1]
    if __version__ != newest:
        pytest.skip(f"the README's figures are those of ADK {newest}")
    share = f"{lean.tokens / bare.tokens:.1%}".replace("%", " %")
    assert f"{lean.tokens:,} input tokens instead of {bare.tokens:,} ({share})" in text
    share = f"{adk_alone.tokens / bare.tokens:.1%}".replace("%", " %")
    assert f"{adk_alone.tokens:,} ({share})" in text


async def test_a_real_tokenizer_agrees_that_it_is_at_most_a_tenth(account):
    """The goal holds by o200k as well, so it does not rest on the pack's own estimate."""
    bare = await run_pipeline(account, without=TECHNIQUES, counter=o200k)
    lean = await run_pipeline(account, counter=o200k)

    assert lean.tokens <= bare.tokens / 10


def test_figures_are_the_same_with_and_without_and_equal_plain_sql(account, bare, lean):
    """What the two reports say is the same, and is what SQL says of the account."""
    assert lean.figures == bare.figures
    truth = plain_sql(account)
    for name in (*SUMS, "cost"):
        assert lean.figures[name] == truth[name], name
    for name, value in truth.items():
        assert lean.figures[name] == pytest.approx(value, abs=5e-7), name


def test_wasted_money_in_the_report_equals_plain_sql(account, lean):
    """A figure of a filtered query, found nowhere else, is right as well."""
    terms = (
        "SELECT SUM(metrics_cost_micros) AS micros FROM facts GROUP BY ad_group_id, search_term_view_search_term "
        "HAVING SUM(metrics_conversions) = 0"
    )

    assert lean.figures["q5.cost"] == account.sql(f"SELECT SUM(micros) FROM ({terms})")[0][0] / 1_000_000


async def test_a_second_question_in_the_session_is_answered_anew(account, lean):
    """Nothing of the first turn's queries, results or answers gets in the way of the second."""
    sessions = InMemorySessionService()
    runner = Runner(app_name="wolfy", agent=build_pipeline(account), session_service=sessions)
    old = {"query_id": "q9", "status": "SUCCESS", "results": [{"metrics": {"clicks": "7"}}]}
    stale = {"gaql_execution_results:q9": old}
    session = await sessions.create_session(app_name="wolfy", user_id="user", state=stale)
    for _ in range(2):
        message = types.Content(role="user", parts=[types.Part(text="How is the account doing?")])
        reports = [
            event.actions.state_delta["report"]
            async for event in runner.run_async(user_id="user", session_id=session.id, new_message=message)
            if "report" in event.actions.state_delta
        ]
        assert reports == [lean.report]
    stored = await sessions.get_session(app_name="wolfy", user_id="user", session_id=session.id)
    assert stored.state["summarized_results"]["q9"]["totals"] == {}


@pytest.mark.parametrize("technique", TECHNIQUES)
async def test_each_technique_alone_and_left_out_gives_the_same_figures(account, lean, technique):
    """The runs behind the table of savings do the same work, so that their tokens can be compared."""
    missing = await run_pipeline(account, without=[technique])
    alone = await run_pipeline(account, without=[name for name in TECHNIQUES if name != technique])

    assert missing.figures == lean.figures
    assert alone.figures == lean.figures
    assert lean.figures


def test_all_seven_techniques_are_in_the_pipeline(account):
    """The sample shows every technique, the stripper on every agent among them."""
    root = build_pipeline(account)
    agents = {agent.name: agent for agent in llm_agents(root)}
    passes = {name: [type(entry).__name__ for entry in agent.before_model_callback] for name, agent in agents.items()}

    assert all("StripForContext" in names for names in passes.values())
    assert [name for name, agent in agents.items() if agent.include_contents == "none"] == [
        "query_executor",
        "query_analyst",
        "report_writer",
    ]
    assert "CompactState" in passes["query_analyst"]
    assert "{compact:gaql_queries}" in agents["query_analyst"].instruction
    assert agents["query_generator"].static_instruction == account.field_reference
    assert agents["query_executor"].output_schema is not None
    assert "data_summarizer" in [agent.name for agent in root.sub_agents]


async def test_a_figure_that_did_not_reach_the_writer_is_not_in_the_report(account, monkeypatch):
    """With the summary hidden from it, the writer has nothing to say."""

    def blind(request: LlmRequest) -> types.Content:
        for content in request.contents:
            for part in content.parts or ():
                if part.function_response and part.function_response.name == "get_summarized_results":
                    part.function_response = part.function_response.model_copy(update={"response": {}})
        return answer(request)

    monkeypatch.setattr(offline, "answer", blind)
    hidden = await run_pipeline(account)

    assert hidden.figures == {}
    assert "No figures reached me." in hidden.report


def test_the_offline_model_is_found_by_name():
    """ADK resolves the model's name, so that `adk run` needs no key."""
    assert LLMRegistry.resolve(offline.OFFLINE_MODEL) is offline.OfflineModel


async def test_a_session_in_sqlite_gives_the_same_run(account, lean, tmp_path):
    """State deltas of every part survive a database between two events."""
    sessions = pytest.importorskip("google.adk.sessions.sqlite_session_service")
    service = sessions.SqliteSessionService(db_path=str(tmp_path / "sessions.db"))
    stored = await run_pipeline(account, session_service=service)

    assert stored.figures == lean.figures
    listed = await service.list_sessions(app_name=measure.APP_NAME, user_id="user")
    again = sessions.SqliteSessionService(db_path=str(tmp_path / "sessions.db"))
    session = await again.get_session(app_name=measure.APP_NAME, user_id="user", session_id=listed.sessions[0].id)
    assert session.state["report"] == stored.report
    assert session.state["summarized_results"]["q1"]["row_count"] == 5


async def test_the_pipeline_that_adk_loads_reports_on_its_events(account):
    """In `adk web` each answer of a model has its report's totals, whose saving is the pack's."""
    run = await run_agent(with_reports(build_pipeline(account)), "What did the campaigns cost?")
    told = [(event.custom_metadata or {}).get("adk_context_pack") for event in run.events if event.usage_metadata]
    assert len(told) > 10
    assert all(told)
    assert sum(each["tokens_without_pack"] - each["tokens_after"] for each in told) > 10_000
