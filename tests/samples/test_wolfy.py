"""The Wolfy sample: lean end to end, with the same figures as without the pack and as plain SQL."""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from google.adk.models.llm_request import LlmRequest
from google.adk.models.registry import LLMRegistry
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.sessions.state import State
from google.adk.version import __version__
from google.genai import types

from samples.wolfy import measure
from samples.wolfy.__main__ import main
from samples.wolfy.agent import build_pipeline, open_account
from samples.wolfy.demo_account import demo_account
from samples.wolfy.gaql import run_gaql
from samples.wolfy.measure import run_pipeline
from samples.wolfy.offline import model as offline
from samples.wolfy.offline.model import OfflineModel
from samples.wolfy.offline.roles import answer
from samples.wolfy.queries import QueryTools
from samples.wolfy.techniques import ADK_OPTIONS, CAP, STATIC, SUMMARIZER, TECHNIQUES, llm_agents
from tests.support.o200k import o200k
from tests.support.shared_data import shared_file

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


def test_the_pack_sends_a_tenth_where_adk_alone_sends_a_quarter(bare, adk_alone, lean):
    """A run sends at most 10 % of its input tokens. What ADK itself can leave out is counted apart. Same figures."""
    assert bare.tokens > 500_000
    assert lean.tokens <= bare.tokens / 10
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
    """What the two reports say is the same, and is what SQL says of the account, a figure of one query included."""
    assert lean.figures == bare.figures
    truth = plain_sql(account)
    for name in (*SUMS, "cost"):
        assert lean.figures[name] == truth[name], name
    for name, value in truth.items():
        assert lean.figures[name] == pytest.approx(value, abs=5e-7), name
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
    assert "q9" not in stored.state["summarized_results"]


@pytest.mark.parametrize("technique", TECHNIQUES)
async def test_each_technique_alone_and_left_out_gives_the_same_figures(account, lean, technique):
    """The runs behind the table of savings do the same work, so that their tokens can be compared."""
    missing = await run_pipeline(account, without=[technique])
    alone = await run_pipeline(account, without=[name for name in TECHNIQUES if name != technique])
    assert missing.figures == lean.figures
    assert alone.figures == lean.figures
    assert lean.figures


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


REPO = Path(__file__).parents[2]


def test_json_has_the_promised_keys(capsys):
    """`--json` prints one object, whose calls add up to its totals."""
    assert main(["--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {"tokens_without", "tokens_with", "figures_without", "figures_with", "calls"} <= set(found)
    assert sum(call["tokens_with"] for call in found["calls"]) == found["tokens_with"]
    assert sum(call["tokens_without"] for call in found["calls"]) == found["tokens_without"]
    assert {call["agent"] for call in found["calls"]} == {
        agent.name for agent in llm_agents(build_pipeline(open_account()))
    }
    assert found["tokens_with"] < found["tokens_with_adk_options"] < found["tokens_without"]
    assert [entry["technique"] for entry in found["techniques"]] == list(TECHNIQUES)
    savings = {entry["technique"]: entry for entry in found["techniques"]}
    assert savings[CAP]["tokens_saved_in_place"] > 0
    assert savings[SUMMARIZER]["tokens_saved_in_place"] > 0
    assert savings[STATIC]["cacheable_share_gained"] > 0


def run(*arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    """Python in a process of its own, with the package and the samples on its path."""
    paths = [str(REPO), os.environ.get("PYTHONPATH", "")]
    # Where LiteLLM is installed ADK imports it, and it would look for prices on the network.
    own = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    return subprocess.run(  # noqa: S603 - commands of the tests' own
        [sys.executable, *arguments],
        cwd=REPO,
        input=typed,
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_the_command_prints_report_and_tables_and_nothing_else(tmp_path):
    """Run as a user runs it: no warnings of ADK's between the lines, a report, two tables."""
    mine = tmp_path / "mine.csv"
    days = [f"shop {day % 3},2024-01-{day},{day}" for day in range(10, 30)]
    mine.write_text("\n".join(["shop,day,clicks", *days]), encoding="utf-8")
    done = run("-m", "samples.wolfy", "--data", str(mine))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("# Ads report")
    assert f"- clicks: {sum(range(10, 30))}" in done.stdout
    assert "without the pack" in done.stdout
    assert "in place" in done.stdout
    assert "ADK's own options alone (include_contents='none', static_instruction, output_schema): " in done.stdout
    assert "are the same" in done.stdout
    assert "Warning" not in done.stdout


def test_a_file_that_is_none_gets_one_clear_line(capsys, tmp_path):
    """Wrong data end the command with the file's name and the reason, not with a traceback."""
    empty = tmp_path / "empty.csv"
    empty.write_text("clicks\n", encoding="utf-8")
    assert main(["--data", str(tmp_path / "none.csv")]) == 2
    assert main(["--data", str(empty)]) == 2
    assert "no rows under a header line" in capsys.readouterr().err


def test_a_real_model_needs_a_key(capsys, monkeypatch):
    """Without a key `--model` says what is missing."""
    for key in ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_ENTERPRISE"):
        monkeypatch.delenv(key, raising=False)
    assert main(["--model", "gemini-2.5-flash"]) == 2
    assert "GOOGLE_API_KEY" in capsys.readouterr().err


def test_another_model_is_asked_by_its_name(capsys, monkeypatch, tmp_path):
    """With a key `--model` runs the pipeline twice on that model, and no more, since each run costs money."""
    asked = []

    class Paid(OfflineModel):
        @classmethod
        def supported_models(cls):
            return [r"paid-model"]

        async def generate_content_async(self, llm_request, stream=False):  # noqa: FBT002 - ADK's own form
            asked.append(llm_request.model)
            async for response in super().generate_content_async(llm_request, stream):
                yield response

    LLMRegistry.register(Paid)
    monkeypatch.setenv("GOOGLE_API_KEY", "none")
    assert main(["--model", "paid-model", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["techniques"] == []
    assert found["tokens_with_adk_options"] is None
    assert found["figures_with"] == found["figures_without"] != {}
    assert set(asked) == {"paid-model"}


def test_adk_run_loads_it(tmp_path):
    """ADK's own command finds `root_agent` in the folder and answers a question with the report."""
    # Newer releases keep sessions in a folder beside the agent, so this one runs from a copy.
    copy = shutil.copytree(REPO / "samples" / "wolfy", tmp_path / "samples" / "wolfy")
    done = run("-m", "google.adk.cli", "run", str(copy), typed="How is the account doing?\nexit\n")
    clicks = open_account().sql("SELECT SUM(metrics_clicks) FROM facts")[0][0]
    assert f"- clicks: {clicks:,}" in done.stdout, done.stderr[-2000:]


def test_adk_web_finds_it_beside_other_samples():
    """The loader behind `adk web samples` lists the folder and loads the agent."""
    script = (
        "from google.adk.cli.utils.agent_loader import AgentLoader; loader = AgentLoader('samples'); "
        "assert 'wolfy' in loader.list_agents(); print(loader.load_agent('wolfy').name)"
    )
    done = run("-c", script)
    assert done.stdout.strip().endswith("wolfy"), done.stderr[-2000:]


GOOGLE_ADS = (
    "account_stats",
    "ad_group_stats",
    "ad_stats",
    "campaign_stats",
    "keyword_stats",
    "search_term_keyword_stats",
)
LISTS = ("account_history", "ad_group_criterion_history", "ad_group_history", "ad_history", "campaign_history")


@pytest.fixture(scope="module")
def account_of_data():
    return demo_account()


def test_rows_are_those_of_the_rest_api(account_of_data):
    """Rows are nested, in camelCase, with resource names and with 64-bit integers as strings."""
    query = (
        "SELECT campaign.id, segments.device, metrics.clicks, metrics.cost_micros, metrics.conversions_value "
        "FROM campaign WHERE campaign.name = 'Brand' AND segments.date DURING LAST_7_DAYS "
        "ORDER BY metrics.clicks DESC LIMIT 1"
    )
    (row,) = run_gaql(account_of_data, query)
    where = (
        "campaign_name = 'Brand' AND segments_date BETWEEN '2024-06-08' AND '2024-06-14' AND segments_device = 'MOBILE'"
    )
    columns = "SUM(metrics_clicks), SUM(metrics_cost_micros), SUM(metrics_conversions_value)"
    clicks, micros, value = account_of_data.sql(f"SELECT {columns} FROM facts WHERE {where}")[0]
    assert row == {
        "campaign": {"resourceName": "customers/1234567890/campaigns/344106490", "id": "344106490"},
        "segments": {"device": "MOBILE"},
        "metrics": {"clicks": str(clicks), "costMicros": str(micros), "conversionsValue": value},
    }


def test_a_query_waits_for_those_it_depends_on(account_of_data):
    """A query that names another's first row stays pending until that one has run, and then runs on its value."""
    brand = "SELECT campaign.id, metrics.clicks FROM campaign WHERE campaign.name = 'Brand'"
    days = "SELECT segments.date, metrics.clicks FROM campaign WHERE campaign.id = $q1.campaign.id"
    plan = [
        {"id": "q1", "title": "", "purpose": "", "query": brand},
        {"id": "q2", "title": "", "purpose": "", "query": days, "depends_on": ["q1"]},
    ]
    tools, context = QueryTools(account_of_data), SimpleNamespace(state=State({}, {}))
    tools.save_queries(plan, context)
    assert tools.run_query("q2", context)["message"] == "Waits for q1."
    assert tools.run_query("q1", context)["row_count"] == 1
    found = tools.run_query("q2", context)
    assert found["row_count"] == 14
    assert {row["segments"]["date"] for row in found["results"]} == {f"2024-06-{day:02}" for day in range(1, 15)}
    assert [entry["status"] for entry in context.state["gaql_queries"]] == ["SUCCESS", "SUCCESS"]
    assert tools.run_query("q7", context)["error_message"] == "There is no query 'q7'."


NAMES = [*(f"google_ads/{name}.csv" for name in (*GOOGLE_ADS, *LISTS)), "meridian/geo_media.csv"]


@pytest.mark.parametrize("name", NAMES)
async def test_a_csv_of_the_users_own_gives_its_totals(name):
    """The report has the sum of every column that can be added up, or how many things a list has, pack or not."""
    account_of_data = open_account(str(shared_file(name)))
    lean = await run_pipeline(account_of_data)
    bare = await run_pipeline(account_of_data, without=TECHNIQUES)
    metrics = [entry for entry in account_of_data.fields.values() if entry.is_metric]
    assert lean.figures == bare.figures
    assert "did not succeed" not in lean.report or Path(name).stem in LISTS
    for entry in metrics:
        total = account_of_data.sql(f"SELECT SUM({entry.sql}) FROM facts")[0][0]
        name, scale = entry.column.removesuffix("_micros"), 1_000_000 if entry.column.endswith("_micros") else 1
        assert math.isclose(lean.figures[name], total / scale, rel_tol=1e-9), name
