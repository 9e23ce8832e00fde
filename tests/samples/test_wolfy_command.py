"""The Wolfy sample as commands: `python -m samples.wolfy`, `adk run` and `adk web`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from google.adk.models.registry import LLMRegistry

from samples.wolfy.__main__ import main
from samples.wolfy.agent import build_pipeline, open_account
from samples.wolfy.offline.model import OfflineModel
from samples.wolfy.techniques import CAP, STATIC, SUMMARIZER, TECHNIQUES, llm_agents

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
