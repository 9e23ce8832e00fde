"""The short samples beside Wolfy: each runs offline as a user would run it, and as `adk run` loads it."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest
from google.adk.apps.app import App
from google.adk.cli.utils.agent_loader import AgentLoader
from google.adk.evaluation.eval_set import EvalSet

import adk_context_pack
from adk_context_pack.testing import check_budget, check_pass
from tests.support.run import run_agent

pytestmark = pytest.mark.filterwarnings("ignore")
REPO = Path(__file__).parents[2]
SAMPLES = REPO / "samples"
PAGE = (SAMPLES / "integration-page.md").read_text(encoding="utf-8")
ANSWERS = {
    "whole_app": "Report: Order 700 comes to 900.",
    "one_agent": "989 of 2000 visits were longer than five minutes.",
    "mcp_rows": "48 of 800 items have run out.",
    "workflow_summary": '"clicks": 79800',
    "own_pass": "The log says: job 7 failed\nZeroDivisionError: division by zero",
    "many_tools": "Found: museums of rome.",
    "support_desk": "In Graz.",
    "pass_on": "7 invoices for 300 orders, 74850 cents: Orders of May.",
    "handoffs": "Report: The orders of c3 come to 71079 cents.",
    "own_store": "Line 7 had 20070 riders.",
    "read_report": "Nothing happened on Monday, Tuesday, Wednesday.",
    "code_output": "There was one warning: 2026-05-17 station 23: 98 cm FLOOD WARNING.",
    "evaluated_pipeline": "Sorry: U6 was 1746 minutes late.",
    "data_frames": "Sold: 412335.5 EUR, 205543.75 JPY",
    "long_chat": "It was ZX-3811.",
}


def agent_module(name: str):
    """A sample's `agent` module; skips where the installed ADK or a package of others cannot run it."""
    if name == "mcp_rows":
        pytest.importorskip("mcp")
        try:
            importlib.import_module("google.adk.tools.mcp_tool.mcp_toolset")
        except ImportError as error:
            pytest.skip(f"this ADK cannot use the installed mcp package: {error}")
    if name == "data_frames":
        pytest.importorskip("pandas")
    if name == "workflow_summary":
        pytest.importorskip("google.adk.workflow", reason="this ADK has no Workflow")
    return importlib.import_module(f"samples.{name}.agent")


@pytest.mark.parametrize(("name", "answer"), ANSWERS.items())
async def test_a_sample_answers_from_what_reached_its_models(name, answer):
    """Each answer needs what the sample is about: rows read back, a summary, a shorter result."""
    module = agent_module(name)
    target = getattr(module, "app", None) or module.root_agent
    run = await run_agent(target, *getattr(module, "QUESTIONS", ["Go."]))
    assert run.answer == answer or (name == "workflow_summary" and answer in run.answer)


async def test_the_pipeline_passes_its_eval_set_within_its_budget():
    """The sample's own eval set is answered as it says, and no agent is sent more than the budget beside it."""
    module = agent_module("evaluated_pipeline")
    (case,) = EvalSet.model_validate_json(
        (SAMPLES / "evaluated_pipeline" / "delays.evalset.json").read_text()
    ).eval_cases
    (wanted,) = case.conversation
    run = await run_agent(module.app, wanted.user_content.parts[0].text)
    assert run.answer == wanted.final_response.parts[0].text
    check_budget(module.plugin.reports, max_tokens=module.BUDGET)


@pytest.mark.parametrize("name", ANSWERS)
def test_adk_loads_it_from_its_folder(name):
    """`adk run` and `adk web` find an app or a root agent in it."""
    agent_module(name)
    found = AgentLoader(str(SAMPLES)).load_agent(name)
    assert isinstance(found, App) or found.name


def test_the_workflow_sample_says_what_it_needs():
    """On a release without Workflow one clear sentence names the sample and what is installed."""
    script = """
        import sys
        import adk_context_pack.testing
        from google.adk.agents import LlmAgent
        sys.modules["google.adk.workflow"] = None
        import samples.workflow_summary.agent
    """
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script)]
    done = subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=False)  # noqa: S603 - our own
    assert done.returncode
    assert "samples/workflow_summary needs google-adk 2.0 or newer" in done.stderr.splitlines()[-1]


def test_the_pass_of_ones_own_is_short_and_keeps_the_laws():
    """Under 40 lines of code, shown to shorten and held to the laws but one: what it cuts, nobody reads back."""
    path = SAMPLES / "own_pass" / "shorten_tracebacks.py"
    module = importlib.import_module("samples.own_pass.shorten_tracebacks")
    code = [line for line in path.read_text().splitlines() if line.strip()]
    assert len(code) < 40
    check_pass(module.ShortenTracebacks(), except_for={"reachable"}, examples=30)


async def test_the_pass_keeps_the_laws_where_it_has_something_to_do():
    """A recorded session of the sample itself, in which there is a traceback to shorten."""
    from adk_context_pack.testing import Conversation  # noqa: PLC0415 - beside its one use

    module = agent_module("own_pass")
    run = await run_agent(module.root_agent, "Go.", "Again.")
    events = run.session.events
    own = [Conversation(agent=a, events=events, keep_ids=ids) for a in ("operator", "b") for ids in (True, False)]
    shorten = importlib.import_module("samples.own_pass.shorten_tracebacks").ShortenTracebacks()
    check_pass(shorten, conversations=own, except_for={"reachable"}, examples=0)


@pytest.mark.parametrize("name", ANSWERS)
def test_a_sample_is_short(name):
    """At most 120 lines of agent code, so that it can be read at a glance, and a line in the table of all samples."""
    code = [line for line in (SAMPLES / name / "agent.py").read_text().splitlines() if line.strip()]
    assert len(code) <= 120
    assert f"[{name}]({name}/agent.py)" in (SAMPLES / "README.md").read_text()


def test_the_report_is_printed_and_the_page_written(tmp_path):
    """`python -m samples.read_report page.html` shows a table and sums, and writes one file."""
    page = tmp_path / "page.html"
    command = [sys.executable, "-W", "ignore", "-m", "samples.read_report", str(page)]
    done = subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=True)  # noqa: S603 - our own
    assert done.stdout.count("watchman: ") == 5
    assert "cast_narrative" in done.stdout
    assert "watchman: 4 calls" in done.stdout
    assert "<html" in page.read_text()


def test_the_integration_page_has_the_catalogues_form_and_true_names():
    """Front matter, sections in the catalogue's order, the package's own name, and only names that exist."""
    front = re.match(r"---\n(.*?)\n---\n\n# ", PAGE, re.DOTALL)
    assert front
    keys = [line.partition(":")[0] for line in front[1].splitlines()]
    assert keys == ["catalog_title", "catalog_description", "catalog_icon", "catalog_tags"]
    assert re.findall(r"^## (.*)", PAGE, re.MULTILINE) == [
        "Use cases", "Prerequisites", "Installation", "Use with agent", "Available callbacks and tools", "Resources",
    ]  # fmt: skip
    project = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]
    assert f"pip install {project['name']}" in PAGE
    assert project["requires-python"] == ">=3.11"
    table = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    assert len(table) == 11
    assert set(table) <= set(adk_context_pack.__all__)


def test_the_handoffs_are_printed_before_and_after(capsys):
    """Each of the four agents is printed with both views, and all together are shown less than half."""
    importlib.import_module("samples.handoffs.__main__").main()
    printed = capsys.readouterr().out
    sizes = re.findall(r"=== (\w+): ([\d,]+) tokens before, ([\d,]+) after", printed)
    assert [name for name, _, _ in sizes] == ["scout", "planner", "clerk", "writer"]
    before, after = ([int(size[n].replace(",", "")) for size in sizes[1:]] for n in (1, 2))
    assert sum(after) * 2 < sum(before)
    assert printed.count("--- before\n") == printed.count("--- after\n") == 4
