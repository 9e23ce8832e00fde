"""Every Python block of the README and the guide runs as pasted and shows what its page says, and no link is dead."""

import asyncio
import json
import re
from pathlib import Path
from textwrap import dedent

import pytest
from google.adk.agents import BaseAgent, LlmAgent, SequentialAgent

from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in

ROOT = Path(__file__).resolve().parents[1]
FILES = (*ROOT.glob("*.md"), *ROOT.glob("tests/**/*.md"), *ROOT.glob("samples/**/*.md"))
PAGES = {path: path.read_text(encoding="utf-8") for path in FILES}
README = PAGES[ROOT / "README.md"]
FENCES = re.compile(r"^( *)```(python|json)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
BLOCKS = [(kind, dedent(code)) for page in PAGES.values() for _, kind, code in FENCES.findall(page)]
PYTHON = [code for kind, code in BLOCKS if kind == "python"]
RECIPES = re.findall(r"^```python\n([^`]*?)^```\n\n```text\nbefore: (.*)\nafter:  (.*)\n```$", README, re.MULTILINE)
ORDERS = [{"id": n, "city": ("Oslo", "Bergen", "Tromsø")[n % 3], "total": n * 0.75} for n in range(1, 501)]
STATE = {
    "gaql_queries": [{"id": "q1", "status": "SUCCESS", "row_count": 3, "rows": ORDERS[:3]}],
    "rows": [
        {"campaign.name": f"c{n}", "segments.device": ("MOBILE", "DESKTOP")[n % 2], "metrics.clicks": n}
        | {"metrics.impressions": 20 * n, "metrics.cost_micros": n * 1_250_000}
        for n in range(1, 501)
    ],
}


def run_block(text: str) -> dict:
    """Runs one block by itself, and returns its names."""
    namespace = {"__name__": "readme"}
    exec(compile(text, "README.md", "exec"), namespace)  # noqa: S102 - what a reader would paste
    return namespace


def list_orders() -> dict:
    """Lists all orders."""
    return {"orders": ORDERS}


def use_a_tool(request):
    """Calls the first declared tool once, and then says what the README says."""
    tools = [] if results_in(request) else [*request.tools_dict]
    return call(tools[0]) if tools else "Tromsø sold most."


@pytest.mark.parametrize("block", PYTHON, ids=lambda block: block.splitlines()[-1][:40])
def test_each_block_runs_as_pasted(block, capsys):
    """No block needs a name that it does not define or import itself, nor a key, and each of its agents answers."""
    agents = [value for value in run_block(block).values() if isinstance(value, LlmAgent)]
    for agent in agents if 'model="gemini' in block else ():
        agent.model = ScriptedModel()
        assert asyncio.run(run_agent(agent, "Hello.", state=STATE)).answer == "done", agent.name
    capsys.readouterr()


def test_the_readme_is_short_and_its_quick_start_prints_a_saving(capsys):
    """The README has 220 lines and five recipes, and its first block 25 lines and a part of the rows for the model."""
    assert README.count("\n") <= 220
    assert len(RECIPES) == 5
    quick_start = FENCES.search(README)[3]
    assert len([line for line in quick_start.splitlines() if line.strip()]) <= 25
    run_block(quick_start)
    shown, total = map(int, re.search(r"(\d+) of (\d+) rows", capsys.readouterr().out).groups())
    assert 0 < shown < 101
    assert total == 2000


def test_the_model_sees_what_the_guide_shows(capsys):
    """The stub in the guide is the one that its example gives, but for the handle."""
    namespace = run_block(*[code for code in PYTHON if "results_in(model.requests[-1]" in code])
    capsys.readouterr()
    (seen,) = namespace["results_in"](namespace["model"].requests[-1], "list_orders")
    (shown,) = [json.loads(code) for kind, code in BLOCKS if kind == "json"]
    assert {**seen, "_handle": ""} == {**shown, "_handle": ""}
    assert len(seen["_handle"]) == len(shown["_handle"])


@pytest.mark.newest
@pytest.mark.parametrize(("code", "before", "after"), RECIPES)
async def test_a_recipe_shows_what_its_model_sees(code, before, after):
    """What the README shows before and after each recipe is what ADK sends without its part and with it, in order."""
    for shown in (after, before):
        *others, agent = [value for value in run_block(code).values() if isinstance(value, BaseAgent)]
        if shown is before:
            agent.before_model_callback, agent.instruction = None, agent.instruction.replace("compact:", "") or "{rows}"
            agent.tools = [list_orders] if "cap_rows" in code else []
        analyst = LlmAgent(name="analyst", model=ScriptedModel(answer=use_a_tool), tools=[list_orders])
        agent.model = ScriptedModel(answer=use_a_tool)
        run = await run_agent(SequentialAgent(name="all", sub_agents=[analyst, *others, agent]), "Go.", state=STATE)
        sent = run.requests[-1]
        results = [json.dumps(part.response, ensure_ascii=False) for part in results_in(sent)]
        words = ".*".join(re.escape(part.strip()) for part in shown.split("…"))
        assert re.search(words, "\n".join([sent.system, sent.text, *results]), re.DOTALL), shown


def test_no_link_is_dead():
    """Each link of a page within this repository leads to a file, and to a heading in it if it names one."""
    for page, text in PAGES.items():
        for name, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", text):
            target = (page.parent / name).resolve() if name else page
            assert target.exists(), (page, name)
            headings = re.findall(r"^#+ (.*)$", PAGES.get(target, ""), re.MULTILINE)
            assert anchor in ["", *(re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in headings)], anchor
