"""Sessions that were recorded with the pack are replayed with the full results, wherever those can be had."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from google.adk.agents import SequentialAgent
from google.adk.artifacts.file_artifact_service import FileArtifactService

from adk_context_pack import ContextPackPlugin, PayloadStore, cap_rows
from adk_context_pack.__main__ import main
from adk_context_pack.replay.recordings import with_full_results
from tests.replay.live_apps import LiveApp, agent, fail, get_rows, read_text, rows
from tests.replay.live_runs import run_live, usage_of, weigh, written
from tests.support.histories import o200k
from tests.support.scripted_model import call

COUNTED = ("--counter", f"{__name__}:count")
pytestmark = pytest.mark.filterwarnings("ignore")


def mixed() -> dict:
    """Returns a table, a long text and a short field."""
    return {"status": "ok", "log": read_text(900), "rows": get_rows(300)["rows"]}


def nested() -> dict:
    """Returns long texts in places of their own."""
    return {"status": "ok", "logs": [{"name": "one", "text": read_text(800)}, {"name": "two", "text": read_text(700)}]}


def listed() -> list:
    """Returns a bare list."""
    return get_rows(400)["rows"]


TOOLS = (get_rows, read_text, fail, mixed, nested, listed)


def team(tools=TOOLS):
    """Makes an agent that calls every tool, and one that reads its log."""
    calls = [rows(600), call("read_text", lines=1500), [call("mixed"), call("nested")], call("listed"), rows(5)]
    agents = [agent("first", *calls, "Done.", tools=tools), agent("second", "Noted.", tools=tools)]
    return SequentialAgent(name="team", sub_agents=agents)


async def run(folder, *plugins, tools=TOOLS, counted=True):
    """Runs two turns, and returns the session and what was sent by agent."""
    app = LiveApp(make=lambda: team(tools), messages=["Go.", "And?"])
    usage, artifacts = usage_of if counted else None, FileArtifactService(root_dir=folder)
    requests, session = await run_live(app, plugins=plugins, usage=usage, artifacts=artifacts)
    sent = Counter()
    for request in requests:
        sent[request.agent] += weigh(request, whole=True)
    return session, sent


def count(text):
    """Counts with the tokenizer of the provider behind the scripted models."""
    return o200k()(text)


def replayed(session, folder, capsys, *options):
    """Writes a session, and returns what the command line tells of it."""
    folder.mkdir(exist_ok=True)
    written(session, folder)
    code = main(["replay", str(folder / "session.json"), "--json", *COUNTED, *options])
    captured = capsys.readouterr()
    assert (code, captured.err) == (0, "")
    return json.loads(captured.out)


def results_of(events):
    names = {tool.__name__ for tool in TOOLS}
    return [r.response for event in events for r in event.get_function_responses() if r.name in names]


@pytest.mark.slow
@pytest.mark.parametrize("place", ["state", "artifacts", "auto"])
async def test_a_session_with_the_pack_replays_as_one_without(place, tmp_path, capsys):
    """Recorded with the plugin and without, an app gives the same results again, and replays agree within 5 %."""
    stored = tmp_path / "artifacts"
    alone, sent = await run(stored)
    packed, sent_packed = await run(stored, ContextPackPlugin(counter=count, store=PayloadStore(place=place)))
    assert results_of(packed.events) != results_of(alone.events)
    full = with_full_results(written(packed, tmp_path), FileArtifactService(root_dir=stored))
    assert results_of(full.events) == results_of(alone.events)
    assert (full.still_capped, full.restored) == ((), 5)
    options = ("--artifacts", stored.as_uri())
    of_alone = replayed(alone, tmp_path / "alone", capsys)
    of_packed = replayed(packed, tmp_path / "packed", capsys, *options)
    assert of_packed["results"] == {"restored": 5, "capped": 0}
    for name, tokens in sent.items():
        assert of_packed["agents"][name]["tokens_without"] == pytest.approx(tokens, rel=0.05)
        assert of_alone["agents"][name]["tokens_without"] == pytest.approx(tokens, rel=0.05)
        assert of_packed["agents"][name]["tokens_with"] == pytest.approx(sent_packed[name], rel=0.05)
        assert of_alone["agents"][name]["tokens_with"] == pytest.approx(sent_packed[name], rel=0.05)


@pytest.mark.slow
async def test_without_a_counter_replays_agree(tmp_path, capsys, monkeypatch):
    """Estimates of each agent's requests are within 10 % without the pack and, since less is left, 20 % with it."""
    alone, _ = await run(tmp_path / "artifacts")
    packed, sent = await run(tmp_path / "artifacts", ContextPackPlugin(store="state"))
    monkeypatch.setattr("tests.replay.test_full_results.COUNTED", ())
    told = [replayed(each, tmp_path / "x", capsys)["agents"] for each in (alone, packed)]
    for name, tokens in sent.items():
        assert told[1][name]["tokens_without"] == pytest.approx(told[0][name]["tokens_without"], rel=0.1)
        assert told[1][name]["tokens_with"] == pytest.approx(tokens, rel=0.2)


@pytest.mark.parametrize("case", [
    pytest.param(((), [cap_rows(each, max_rows=50, stub_rows=20, store="state") for each in TOOLS], 4), id="wrapped"),
    pytest.param(([ContextPackPlugin(store=PayloadStore(place="state", max_results=4))], TOOLS, 5), id="expired since"),
])  # fmt: skip
async def test_results_come_back(case, tmp_path, capsys, monkeypatch):
    """Results are put back and counted whoever capped them, and tools that the app wraps itself keep their limits."""
    plugins, tools, restored = case
    alone, sent = await run(tmp_path)
    packed, _ = await run(tmp_path, *plugins, tools=tools)
    full = with_full_results(written(packed, tmp_path))
    assert results_of(full.events) == results_of(alone.events)
    assert full.restored == restored
    monkeypatch.setattr(f"{__name__}.seen", team(tools), raising=False)
    told = replayed(packed, tmp_path / "packed", capsys, "--app", f"{__name__}:seen")["agents"]
    assert {name: told[name]["tokens_without"] for name in sent} == pytest.approx(sent, rel=0.06)
    _, with_pack = await run(tmp_path, *(plugins or [ContextPackPlugin(store="state")]), tools=tools)
    assert {name: told[name]["tokens_with"] for name in sent} == pytest.approx(with_pack, rel=0.06)


async def test_what_cannot_be_had_is_told(tmp_path, capsys):
    """Without the artifact service, results stay capped, the figures are the reported ones, and the output says so."""
    stored = tmp_path / "artifacts"
    plugin = ContextPackPlugin(counter=count, store="artifacts")
    packed, _ = await run(stored, plugin)
    found = replayed(packed, tmp_path / "packed", capsys)
    assert found["results"] == {"restored": 0, "capped": 5}
    totals = plugin.reports.totals()
    assert found["tokens_without"] == pytest.approx(totals.tokens_without_pack, rel=0.01)
    assert found["tokens_with"] == pytest.approx(totals.tokens_after, rel=0.01)
    assert found["passes"]["recorded_with_the_pack"]["tokens_saved"] > 5_000
    assert "cannot be opened in full: 5." in " ".join(found["notes"])
    assert "--artifacts" in " ".join(found["notes"])


async def test_nothing_of_the_recording_is_changed(tmp_path):
    """The recorded session keeps its stubs and its state, and one without the pack comes back as it is."""
    packed, _ = await run(tmp_path, ContextPackPlugin(store="state"))
    session = written(packed, tmp_path)
    before = [event.model_dump_json() for event in session.events], dict(session.state)
    full = with_full_results(session)
    assert ([event.model_dump_json() for event in session.events], dict(session.state)) == before
    assert not any(key.startswith(("rows:", "payload:")) for key in full.state)
    alone, _ = await run(tmp_path)
    plain = written(alone, tmp_path)
    assert with_full_results(plain) is plain


@pytest.mark.parametrize("uri", ["file:///nowhere/at/all", "nowhere", "nothing://x"])
def test_a_wrong_artifact_service_is_refused(uri, capsys):
    """A folder that does not exist is not created, and a service that ADK does not know is an error of usage."""
    assert main(["replay", "session.json", "--artifacts", uri]) == 64
    assert "--artifacts" in capsys.readouterr().err
