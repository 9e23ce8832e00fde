"""The short samples beside Wolfy: each runs offline as a user would run it, and as `adk run` loads it."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from google.adk.apps.app import App
from google.adk.cli.utils.agent_loader import AgentLoader
from google.adk.evaluation.eval_set import EvalSet

import adk_context_pack
from adk_context_pack._adk.remote_agents import missing_for_context_builder
from adk_context_pack.testing import check_budget, check_pass
from samples import reference
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
    "github_tools": "Asked at https://github.com/acme/shop/issues/30#issuecomment-1.",
    "remote_agent": "Dear c2, please pay 31393. Dear c3, please pay 61000. Dear c4, please pay 55748.",
}


MCP = ("mcp", "google.adk.tools.mcp_tool.mcp_toolset")
NEEDS = {"mcp_rows": MCP, "github_tools": MCP, "data_frames": ("pandas",), "workflow_summary": ("google.adk.workflow",)}


def agent_module(name: str):
    """A sample's `agent` module; skips where the installed ADK or a package of others cannot run it."""
    for needed in NEEDS.get(name, ()):
        pytest.importorskip(needed, exc_type=ImportError)
    if name == "remote_agent" and (missing := missing_for_context_builder()):
        pytest.skip(f"needs {missing}")
    return importlib.import_module(f"samples.{name}.agent")


@pytest.mark.parametrize(("name", "answer"), ANSWERS.items())
async def test_a_sample_answers_from_what_reached_its_models(name, answer):
    """Each answer needs what the sample is about: rows read back, a summary, a shorter result. Greetings get one."""
    module = agent_module(name)
    target = getattr(module, "app", None) or module.root_agent
    run = await run_agent(target, *getattr(module, "QUESTIONS", ["Go."]))
    assert run.answer == answer or (name == "workflow_summary" and answer in run.answer)
    assert (await run_agent(target, "Hello.")).answer


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


@pytest.mark.parametrize(("name", "gone", "said"), [
    ("workflow_summary", "google.adk.workflow", "needs google-adk 2.0 or newer"),
    ("remote_agent", "google.adk.agents.remote_a2a_agent", 'needs pip install "google-adk[a2a]"'),
])  # fmt: skip
def test_a_sample_says_what_it_needs(name, gone, said):
    """Where ADK has not got what a sample is about, one clear sentence names the sample and what to install."""
    before = "import sys, adk_context_pack.testing; from google.adk.agents import LlmAgent"
    script = f"{before}; sys.modules['{gone}'] = None; import samples.{name}.agent"
    command = [sys.executable, "-W", "ignore", "-c", script]
    done = subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=False)  # noqa: S603 - our own
    assert done.returncode
    assert f"samples/{name} {said}" in done.stderr.splitlines()[-1]


@pytest.mark.newest
def test_the_figures_of_each_readme_are_what_its_command_prints():
    """`python -m samples NAME…` prints the tokens without the pack and with it that the samples' READMEs tell."""
    told = {path.parent.name: path.read_text() for path in SAMPLES.rglob("README.md")}
    names = [name for name, text in told.items() if f"`python -m samples {name}`" in text]
    command = [sys.executable, "-W", "ignore", "-m", "samples", *names]
    printed = subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=True).stdout  # noqa: S603 - ours
    for name in names:
        claim = re.search(r"About (\S+) without the pack, (\S+) with it, in (\d+) ", told[name]).groups()
        assert f"({name}/agent.py) | about {claim[0]}, {claim[1]} |" in told["samples"], name
        shown = re.search(rf"^{name}: (\S+) -> (\S+) tokens in (\d+) calls", printed, re.MULTILINE).groups()
        claimed, figures = ([int(one.replace(",", "")) for one in each] for each in (claim, shown))
        assert figures == pytest.approx(claimed, rel=0.1), name


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


def test_the_reference_has_a_short_example_of_each_public_class():
    """Each class has a block of a few lines that uses it. `test_readme.py` runs them, as all blocks of the guide."""
    blocks = reference.examples()
    assert set(blocks) == set(reference.public_classes())
    for name, block in blocks.items():
        code = [line for line in block.splitlines()[1:-1] if line.strip()]
        assert sum(len(re.findall(rf"\b{name}\b", line)) for line in code) > 1, name
        assert len(code) <= 10, name


def test_a_dead_link_ends_the_reference(tmp_path):
    """A page that is not there and a place that is not in a page are found, in pages of folders too."""
    (tmp_path / "in").mkdir()
    (tmp_path / "a.html").write_text('<p id="x"><a href="#x"></a><a href="#y"></a><a href="https://a.b/c"></a>')
    (tmp_path / "in" / "b.html").write_text('<a href="../a.html#x"></a><a href="../a.html#z"></a><a href="c.html"></a>')
    assert sorted(reference.dead_links(tmp_path)) == ["a.html: #y", "b.html: ../a.html#z", "b.html: c.html"]
