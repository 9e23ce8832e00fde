"""Every Python example in the README runs."""

import inspect
from pathlib import Path

import pytest
from google.adk.agents import LlmAgent
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"


def run_gaql(query: str) -> dict:
    """Runs a query."""
    return {"rows": [{"query": query}]}


def fetch_page(url: str) -> dict:
    """Fetches a page."""
    return {"text": f"the page at {url}"}


@pytest.fixture(scope="module")
def namespace():
    document = Sybil(parsers=[PythonCodeBlockParser()]).parse(README)
    model = ScriptedModel()
    document.namespace.update(
        model=model, run_gaql=run_gaql, fetch_page=fetch_page, root_agent=LlmAgent(name="shop", model=model)
    )
    for example in document.examples():
        example.evaluate()
    return document.namespace


async def test_every_agent_of_the_readme_answers(namespace):
    """Each agent that the README builds answers in a real run."""
    agents = [value for value in namespace.values() if isinstance(value, LlmAgent) and value.name != "shop"]
    assert len(agents) >= 6
    for agent in agents:
        run = await run_agent(agent, "Hello.", state={"gaql_queries": [{"id": "q1", "status": "SUCCESS", "x": 1}]})
        assert run.answer == "done", agent.name


async def test_the_plugin_lines_of_the_readme_attach(namespace):
    """The App of the README runs, and its plugin reports on the call."""
    run = await run_agent(namespace["app"], "Hello.")
    assert run.answer == "done"
    assert len(namespace["app"].plugins[0].reports) == 1


async def test_the_state_view_of_the_readme_is_compact(namespace):
    """The view in the README shows the declared fields and nothing else."""
    run = await run_agent(
        namespace["analyst"], "Go.", state={"gaql_queries": [{"id": "q", "status": "SUCCESS", "x": 1}]}
    )
    assert '[{"id":"q","status":"SUCCESS"}]' in run.requests[0].text


def test_the_pass_of_the_readme_is_short(namespace):
    """A pass of one's own takes fewer than 40 lines."""
    assert issubclass(namespace["DropEmptyTurns"], namespace["ContextPass"])
    text = README.read_text(encoding="utf-8")
    assert inspect.cleandoc(text).count("\n") < 300


def test_every_file_that_the_readme_names_is_there():
    """Links of the README point to files of this repository."""
    for name in ("samples/reports/report.png", "samples/wolfy", "CHANGELOG.md", "LICENSE"):
        assert (ROOT / name).exists(), name
