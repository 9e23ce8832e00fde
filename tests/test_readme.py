"""Every Python example in the README runs as pasted, and prints or shows what the README says."""

import json
import re
from pathlib import Path

import pytest
from google.adk.agents import LlmAgent

from adk_context_pack import ContextPackPlugin, ContextPass, ResultPass
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
SHORT = 25


def run_block(text: str) -> dict:
    """Runs one block by itself, and returns its names."""
    namespace = {"__name__": "readme"}
    exec(compile(text, "README.md", "exec"), namespace)  # noqa: S102 - what a reader would paste
    return namespace


def block_with(text: str) -> str:
    """Returns the one block that holds `text`."""
    (found,) = [block for block in BLOCKS if text in block]
    return found


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.splitlines()[-1][:40])
def test_each_block_runs_as_pasted(block, capsys):
    """No block needs a name that it does not define or import itself, nor a key."""
    assert run_block(block)
    capsys.readouterr()


def test_the_quick_start_is_short_and_prints_a_saving(capsys):
    """The first block has at most 25 lines of code and shows that the model got a part of the rows."""
    assert len([line for line in BLOCKS[0].splitlines() if line.strip()]) <= SHORT
    run_block(BLOCKS[0])
    shown, total = map(int, re.search(r"(\d+) of (\d+) rows", capsys.readouterr().out).groups())
    assert 0 < shown < 101
    assert total == 2000


def test_the_model_sees_what_the_readme_shows(capsys):
    """The stub in the README is the one that its example gives, but for the handle."""
    namespace = run_block(block_with("results_in(analyst.model.requests[-1]"))
    capsys.readouterr()
    (seen,) = namespace["results_in"](namespace["analyst"].model.requests[-1], "list_orders")
    shown = json.loads(re.search(r"^```json\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)[1])
    assert {**seen, "_handle": ""} == {**shown, "_handle": ""}
    assert len(seen["_handle"]) == len(shown["_handle"])


async def test_every_agent_of_the_readme_answers():
    """Each agent that the README builds for a real model answers in a real run."""
    answered = 0
    for block in BLOCKS:
        if 'model="gemini' not in block:
            continue
        for agent in [value for value in run_block(block).values() if isinstance(value, LlmAgent)]:
            agent.model = ScriptedModel()
            run = await run_agent(agent, "Hello.", state={"gaql_queries": [{"id": "q1", "status": "SUCCESS", "x": 1}]})
            assert run.answer == "done", agent.name
            answered += 1
    assert answered >= 6


async def test_the_state_view_of_the_readme_is_compact():
    """The view in the README shows the declared fields and nothing else."""
    analyst = run_block(block_with("{compact:gaql_queries}"))["analyst"]
    analyst.model = ScriptedModel()
    run = await run_agent(analyst, "Go.", state={"gaql_queries": [{"id": "q", "status": "SUCCESS", "x": 1}]})
    assert '[{"id":"q","status":"SUCCESS"}]' in run.requests[0].text


def test_the_passes_of_the_readme_are_passes():
    """The user's own passes of the README attach to the plugin."""
    namespace = run_block(block_with("class DropEmptyTurns"))
    assert issubclass(namespace["DropEmptyTurns"], ContextPass)
    assert issubclass(namespace["DropDebugFields"], ResultPass)
    assert isinstance(namespace["plugin"], ContextPackPlugin)


def test_every_file_that_the_readme_names_is_there():
    """Links of the README point to files of this repository."""
    linked = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    assert "samples/reports/report.png" in linked
    for name in (*linked, "samples/wolfy", "CHANGELOG.md", "LICENSE"):
        assert (ROOT / name).exists(), name
