"""The command: tables, JSON, a page, budgets, exit codes."""

import io
import json
import logging
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps.app import App

from adk_context_pack import ContextPackPlugin, ContextPipeline, StripForContext
from adk_context_pack.__main__ import main
from adk_context_pack._adk import requests as adk_requests
from adk_context_pack.replay.recordings import Sessions
from tests.replay.recordings import recording
from tests.reports.test_html_page import data_of
from tests.support.shared_data import shared_file

PASSES = (StripForContext(),)
PIPELINE = ContextPipeline(PASSES)
PLUGIN = ContextPackPlugin(passes=PASSES)
HERE = __name__


def passes():
    return PASSES


async def recorded(tmp_path, kind="snake", **settings):
    path, _ = await recording(kind, tmp_path, **settings)
    return str(path)


def without_figures(path):
    session = json.loads(Path(path).read_text(encoding="utf-8"))
    for event in session["events"]:
        event.pop("usageMetadata", None)
        event.pop("customMetadata", None)
    Path(path).write_text(json.dumps(session), encoding="utf-8")


def run(capsys, *arguments):
    return run_command(capsys, "replay", *arguments)


def run_command(capsys, *arguments):
    code = main([*map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


async def test_json_adds_up(tmp_path, capsys):
    """Tokens and cost of the agents and of the sessions add up to the whole, and the passes explain the difference."""
    path = await recorded(tmp_path, "sqlite")
    await recorded(tmp_path, "sqlite", name="second")
    code, out, err = run(capsys, path, "--json")
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert found["calls"] == 10
    assert found["tokens_with"] < found["tokens_without"]
    for group in (found["agents"].values(), found["sessions"]):
        for key in ("calls", "tokens_without", "tokens_with", "cost_without", "cost_with"):
            assert sum(each[key] for each in group) == pytest.approx(found[key])
    saved = sum(each["tokens_saved"] for each in found["passes"].values())
    assert saved == found["tokens_without"] - found["tokens_with"]
    assert [each["id"] for each in found["sessions"]] == ["second", "session"]
    assert found["agents"].keys() == {"scout", "writer"}
    assert found["prompt_tokens"] == 7000
    assert "answerability" not in found


HOSTILE = "\x1b[2K\rsaved 99 %\n\u202e\x9b\u2028"


def with_hostile_names(path):
    text = Path(path).read_text("utf-8")
    for name in ("scout", "search_flights", "session"):
        text = text.replace(f'"{name}"', json.dumps(name + HOSTILE))
    Path(path).write_text(text, "utf-8")


@pytest.mark.parametrize("options", [(), ("--max-tokens", "*=1"), ("--max-tokens", "nobody=1"), ("--json",)])
async def test_names_cannot_steer_a_terminal(tmp_path, capsys, caplog, options):
    """Control characters, line ends and turned writing in names are neither printed nor logged."""
    path = await recorded(tmp_path, "camel")
    with_hostile_names(path)
    _, out, err = run(capsys, path, *options)
    assert "saved 99 %" in out
    assert (out + err).replace("\n", "").isprintable()
    assert not any(line.startswith("saved") for line in (out + err).splitlines())
    logging.getLogger("adk_context_pack").warning("from %s", HOSTILE)
    assert caplog.messages[-1].isprintable()


@pytest.mark.parametrize("name", ["PASSES", "PIPELINE", "passes", "StripForContext", "here"])
async def test_passes_can_be_chosen(tmp_path, capsys, monkeypatch, name):
    """`--passes` takes a tuple, a pipeline, a function, a class, also beside the working directory; none else runs."""
    path, chosen = await recorded(tmp_path), f"{HERE}:{name}"
    if name == "here":
        (tmp_path / "mine.py").write_text("from adk_context_pack import StripForContext\nMINE = (StripForContext(),)\n")
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry not in ("", str(tmp_path))])
        chosen = "mine:MINE"
    code, out, _ = run(capsys, path, "--json", "--no-caps", "--passes", chosen)
    assert (code, json.loads(out)["passes"].keys()) == (0, {"strip_for_context"})


def app():
    return App(name="app", root_agent=LlmAgent(name="scout", instruction="Find out. " * 500), plugins=[PLUGIN])


async def test_the_app_gives_instructions_and_the_plugin(tmp_path, capsys):
    """`--counter` counts. With `--app`, requests have instructions, and the pack the settings of the app's plugin."""
    path = await recorded(tmp_path, "camel")
    without_figures(path)
    alone = json.loads(run(capsys, path, "--json")[1])
    by_length = json.loads(run(capsys, path, "--json", "--counter", "builtins:len")[1])
    assert by_length["tokens_without"] > 2 * alone["tokens_without"]
    code, out, _ = run(capsys, path, "--json", "--app", f"{HERE}:app")
    found = json.loads(out)
    assert code == 0
    assert found["agents"]["scout"]["tokens_without"] > alone["agents"]["scout"]["tokens_without"] + 3 * 1000
    assert "strip_for_context" in found["passes"]
    assert "cast_narrative" not in found["passes"]
    assert any("neither instructions nor tool declarations" in note for note in alone["notes"])
    assert not any("neither instructions nor tool declarations" in note for note in found["notes"])


async def test_a_plugin_can_be_given(tmp_path, capsys):
    """`--plugin` takes the settings of a plugin, and refuses options that would say otherwise."""
    path = await recorded(tmp_path)
    found = json.loads(run(capsys, path, "--json", "--plugin", f"{HERE}:PLUGIN")[1])
    assert found["passes"].keys() <= {"strip_for_context", "smaller tool results", "read-back tools"}
    code, _, err = run(capsys, path, "--plugin", f"{HERE}:PLUGIN", "--max-rows", "5")
    assert (code, "given without --max-rows" in err) == (64, True)


async def test_a_budget_fails_the_command(tmp_path, capsys):
    """A request over its agent's budget is told in a line, and the exit code is 1; within it, 0."""
    path = await recorded(tmp_path)
    code, out, err = run(capsys, path, "--json", "--max-tokens", "scout=50", "--max-tokens", "writer=100000")
    assert code == 1
    assert json.loads(out)["over_budget"] == err.splitlines()
    assert err.startswith("scout: ")
    assert "over its budget of 50" in err
    largest = json.loads(out)["agents"]["scout"]["largest_with"]
    assert run(capsys, path, "--max-tokens", f"scout={largest}")[0] == 0
    assert run(capsys, path, "--max-tokens", f"scout={largest - 1}")[0] == 1
    assert run(capsys, path, "--max-tokens", "*=100000")[0] == 0
    assert run(capsys, path, "--max-tokens", "*=10")[0] == 1
    code, _, err = run(capsys, path, "--max-tokens", "nobody=10")
    assert code == 64
    assert err == "--max-tokens nobody: no call of this agent (agents: scout, writer)\n"


@pytest.mark.parametrize("option", [
    ("--max-tokens", "writer"), ("--max-tokens", "writer=0"), ("--max-rows", "0"), ("--max-payload-tokens", "0"),
    ("--window", "0"), ("--price-input", "-1"), ("--price-cached", "nan"), ("--passes", "nowhere"),
    ("--passes", "no.such.module:name"), ("--passes", f"{HERE}:no_such_name"), ("--app", f"{HERE}:HERE"),
    ("--passes", f"{HERE}:HERE"), ("--counter", f"{HERE}:PASSES"), ("--counter", "builtins:vars"),
    ("--plugin", f"{HERE}:HERE"),
])  # fmt: skip
async def test_options_that_cannot_work_are_refused(tmp_path, capsys, option):
    """An option that cannot work is named with its value in one line, before anything is read."""
    code, out, err = run(capsys, tmp_path / "never read", *option)
    assert (code, out, len(err.splitlines())) == (64, "", 1)
    assert all(part.strip("-") in err for part in option)


@pytest.mark.slow
def test_runs_as_a_module():
    """`python -m adk_context_pack replay` replays the recorded sessions of ADK's samples."""
    files = sorted(map(str, shared_file("adk_sessions").glob("*.json")))
    settings = ("--json", "--window", "2000")
    command = [sys.executable, "-m", "adk_context_pack", "replay", *files, *settings]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root, timeout=300)  # noqa: S603
    found = json.loads(done.stdout)
    assert found["calls"] == 36
    assert 0 < found["tokens_with"] < found["tokens_without"]


class Terminal(io.StringIO):
    def isatty(self):
        return True


async def test_progress_is_drawn_on_a_terminal_only(tmp_path, monkeypatch):
    """A count appears, is wiped off at the end, and never in a file."""
    options = Namespace(sessions=[await recorded(tmp_path)], artifacts=None)
    for stream, drawn in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr("sys.stderr", stream)
        Sessions(options).each(lambda _: 1000)
        assert ("sessions: 1, calls: 1,000" in stream.getvalue()) == drawn
        assert stream.getvalue().endswith("\r\x1b[K") == drawn


async def test_the_page_has_the_sums_of_the_command(tmp_path, capsys, monkeypatch):
    """A page that shows few calls only says so, and has the sums of the command. A folder that is missing is told."""
    monkeypatch.setattr("adk_context_pack.replay.command._MAX_HTML_CALLS", 2)
    page = tmp_path / "page.html"
    prices = ("--price-input", "2", "--price-cached", "2")
    path = await recorded(tmp_path)
    _, out, err = run(capsys, path, path, "--html", page, "--json", *prices)
    assert err == f"{page} shows the last 2 of 10 calls without the pack and with it\n"
    found, data = json.loads(out), data_of(page.read_text(encoding="utf-8"))
    total = data["use"]["total"]
    assert (len(data["calls"]), data["use"]["sessions"]) == (2, 2)
    assert (total["calls"], total["without"], total["sent"]) == (
        found["calls"],
        found["tokens_without"],
        found["tokens_with"],
    )
    assert total["cost_without"] / 1e6 == pytest.approx(found["tokens_without"] * 2 / 1e6, rel=1e-4)
    assert total["cost_without"] / 1e6 == pytest.approx(found["cost_without"], rel=1e-4)
    assert total["cost_sent"] / 1e6 == pytest.approx(found["cost_with"], rel=1e-4)
    agents = {each["name"]: each["sent"] for each in data["use"]["agents"]}
    assert agents == {name: each["tokens_with"] for name, each in found["agents"].items()}
    assert any("look_up" in label for label, _ in data["parts"])
    code, _, err = run(capsys, tmp_path / "session.json", "--html", tmp_path / "no" / "page.html")
    assert (code, "No such file or directory" in err) == (2, True)


async def test_many_sessions_are_not_all_listed(tmp_path, capsys, monkeypatch):
    """The table shows the largest sessions and says how many there are beside them."""
    monkeypatch.setattr("adk_context_pack.replay.command._MAX_SESSIONS", 1)
    path = await recorded(tmp_path, "sqlite", name="large", turns=3)
    await recorded(tmp_path, "sqlite", name="small", turns=1)
    _, out, _ = run(capsys, path)
    assert "large (" in out
    assert "small (" not in out
    assert "… and 1 smaller sessions. --json has them all." in out


async def test_a_folder_is_read_whole(tmp_path, capsys):
    """A folder gives every session below it, beside a database that is away and artifacts. One without any is named."""
    for name in ("deep/deeper", "rows/versions/0", "empty"):
        (tmp_path / name).mkdir(parents=True)
    await recorded(tmp_path / "deep")
    await recorded(tmp_path / "deep" / "deeper", "sqlite", name="second")
    for name in ("notes.md", "rows/versions/0/metadata.json"):
        (tmp_path / name).write_text("{}", encoding="utf-8")
    code, out, err = run(capsys, "x://nobody@127.0.0.1:1/db", tmp_path, "--json")
    assert (code, json.loads(out)["calls"], len(err.splitlines())) == (2, 10, 1)
    assert err.startswith("x://nobody@127.0.0.1:1/db: ")
    for command in (("replay",), ("check", "--max-cost", 1)):
        code, out, err = run_command(capsys, *command, tmp_path / "empty")
        assert (code, out) == (2, "no model calls found\n")
    assert err == f"{tmp_path / 'empty'}: no recorded sessions in this folder (.json, .db, .sqlite, .sqlite3)\n"


def test_a_recording_without_figures_names_none(tmp_path, capsys):
    """Where no provider's figures were recorded, no line claims any."""
    turn = {
        "user_content": {"parts": [{"text": "Hello"}]},
        "final_response": {"role": "model", "parts": [{"text": "Hi."}]},
    }
    path = tmp_path / "set.evalset.json"
    path.write_text(json.dumps({"eval_set_id": "s", "eval_cases": [{"eval_id": "a", "conversation": [turn]}]}))
    code, out, _ = run(capsys, path)
    assert (code, "1 model call in 1 session" in out) == (0, True)
    assert "providers counted" not in out


async def test_requests_that_adk_refuses_are_counted(tmp_path, capsys, monkeypatch):
    """A session of which ADK cannot rebuild some requests gets one line with their number; the others count."""
    build, made = adk_requests._build, []

    def refuse_the_second(*arguments, **settings):
        made.append(1)
        if len(made) == 2:
            raise ValueError("No function call event found")
        return build(*arguments, **settings)

    monkeypatch.setattr(adk_requests, "_build", refuse_the_second)
    code, out, err = run(capsys, path := await recorded(tmp_path), "--json")
    assert (code, json.loads(out)["calls"]) == (2, 4)
    refused = "session session: ADK cannot rebuild 1 of its requests: No function call event found\n"
    assert err.endswith(refused)
    made.clear()
    code, _, err = run_command(capsys, "tune", path)
    assert (code, err.endswith(refused)) == (2, True)
