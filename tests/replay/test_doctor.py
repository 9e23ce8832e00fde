"""The commands `doctor` and `try`: a first look at an app."""

import json

import pytest
from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.agents.context_cache_config import ContextCacheConfig
from google.adk.apps.app import App, EventsCompactionConfig
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_toolset import BaseToolset
from pydantic import BaseModel

from adk_context_pack import ContextPackPlugin, StripForContext, cap_rows
from tests.replay.test_command import run_command as run
from tests.support.plugin_apps import analyst, list_sales, writer
from tests.support.scripted_model import ScriptedModel, call, results_in


class Rewriter(BasePlugin):
    async def on_event_callback(self, *, invocation_context, event):
        return None


def app(*plugins, agents=(), **settings):
    """An app of two agents whose second one is told what the first one wrote."""
    agents = agents or [analyst(output_key="found"), writer()]
    return App(name="shop", root_agent=SequentialAgent(name="root", sub_agents=agents), plugins=plugins, **settings)


class Found(BaseModel):
    city: str
    sold: int


PACK, CACHE = ContextPackPlugin(), ContextCacheConfig()
LONG = 'Answer as {"city": "Oslo"}. ' + "Be brief. " * 900
TELLER = writer("teller", instruction="Tell of {found?}. " + LONG)
HAS_THRESHOLD = pytest.mark.skipif("token_threshold" not in EventsCompactionConfig.model_fields, reason="an older ADK")


def never_compacted():
    often = {"compaction_interval": 5, "overlap_size": 1, "token_threshold": 9_000, "event_retention_size": 3}
    return app(ContextPackPlugin(max_tokens=9_000), events_compaction_config=EventsCompactionConfig(**often))


WRITERS = writer(output_key="found", output_schema=Found), writer("b", instruction="{found}")


@pytest.mark.parametrize(("make", "told"), [
    (app, ["all logs of earlier agents"]), (lambda: app(PACK, Rewriter(name="r")), []),
    (lambda: app(PACK, agents=[analyst(output_key="found"), TELLER.clone()]), ["Remove {found} from it."]),
    (lambda: app(PACK, agents=list(WRITERS)), ["CompactState(key='found', select=('city', 'sold'))"]),
    (lambda: app(Rewriter(name="r"), PACK), ["Rewriter comes first"]),
    (lambda: app(Rewriter(name="r"), context_cache_config=CACHE),
     ['plugins=[ContextPackPlugin(read_back="always"), Rewriter(…)]']),
    (lambda: writer(tools=[cap_rows(list_sales)]), []),
    pytest.param(never_compacted, ["token_threshold=6_750"], marks=HAS_THRESHOLD),
    (lambda: app(PACK, context_cache_config=CACHE), ['read_back="always"']),
    (lambda: app(agents=[writer(before_model_callback=[StripForContext()])]), []),
])  # fmt: skip
def test_a_doctor_finds_what_is_wrong_and_no_more(make, told, capsys, monkeypatch):
    """Each fault of an app is told with the lines to paste, what is large first, and a good app has none."""
    monkeypatch.setattr(f"{__name__}.seen", make(), raising=False)
    code, out, err = run(capsys, "doctor", f"{__name__}:seen")
    assert (code, err, sum(line[:1].isdigit() for line in out.splitlines())) == (bool(told), "", len(told))
    assert [out.index(each) for each in told] == sorted(out.index(each) for each in told)
    assert ("Nothing to change was found." in out) is (not told)


def test_recordings_and_prompts_tell_what_the_pack_would_save(capsys, monkeypatch, tmp_path):
    """`try` runs the app on its model, replays that, and prints settings. `doctor` names the tool of that session."""
    monkeypatch.setattr(f"{__name__}.seen", app(), raising=False)
    page = tmp_path / "page.html"
    code, out, _ = run(capsys, "try", f"{__name__}:seen", "--prompt", "Report.", "--prompt", "Again.", "--html", page)
    assert (code, "The pack saves" in out, "plugin = ContextPackPlugin(" in out) == (0, True, True)
    assert "list_sales" in page.read_text(encoding="utf-8")
    assert "tool list_sales" in run(capsys, "doctor", f"{__name__}:seen", page.with_suffix(".session.json"))[1]
    assert [run(capsys, *given)[0] for given in (["try", f"{__name__}:seen"], ["try"], ["tune", "--windw"])] == [64] * 3
    assert "unknown:seen" in run(capsys, "try", "unknown:seen", "--prompt", "Report.")[2]


@pytest.mark.parametrize(("settings", "told"), [
    ({"instruction": "Serve from {goods}."}, 1), ({"instruction": LONG}, 0), ({"instruction": "Serve from {few?}."}, 0),
    ({"instruction": lambda context: str(context.state["goods"])}, 1),
    ({"instruction": "Serve {few?}.", "static_instruction": LONG}, 0),
])  # fmt: skip
def test_only_state_makes_an_instruction_too_long(settings, told, capsys, monkeypatch, tmp_path):
    """A long instruction is told if state fills most of it, and not if it is long by itself, braces or not."""
    monkeypatch.setattr(f"{__name__}.seen", app(PACK, agents=[writer(**settings)]), raising=False)
    state = {"goods": [{"id": number, "name": "Lamp"} for number in range(900)], "few": "Ada"}
    said = {"author": "writer", "content": {"role": "model", "parts": [{"text": "Yes."}]}}
    recording = tmp_path / "one.json"
    recording.write_text(json.dumps({"events": [said, said], "state": state}))
    code, out, _ = run(capsys, "doctor", f"{__name__}:seen", recording)
    assert (code, out.count("instruction of writer, up to")) == (told, told), out


def test_a_failing_app_is_told_in_one_line(capsys, monkeypatch, tmp_path):
    """`try` names the error and the user's own line, without ADK's tracebacks."""

    def look_up():
        raise OSError("no route")

    agent = LlmAgent(name="a", model=ScriptedModel(answer=lambda _: call("look_up")), tools=[look_up])
    monkeypatch.setattr(f"{__name__}.seen", agent, raising=False)
    code, _, err = run(capsys, "try", f"{__name__}:seen", "--prompt", "Go.", "--html", tmp_path / "page.html")
    assert (code, err.count("OSError: no route ("), err.count("test_doctor.py, line ")) == (64, 1, 1)
    assert "Traceback" not in err


AGENT = """
import os, google.adk.tools as t
from google.adk.agents import LlmAgent
name, tools = os.environ["NAME_OF_AN_AGENT"], [t.load_artifacts]
root_agent = LlmAgent(name=name, model="gemini-2.5-flash", instruction="Serve {customer}.", tools=tools)
async def make():
    return root_agent.clone()
"""


@pytest.mark.parametrize("case", [
    (AGENT, "./{}/", 1, "root_agent=root_agent"), (AGENT, "{}.agent", 1, "1 agent and 1 request."),
    (AGENT, "{}/agent.py:make", 1, "1 request."), (AGENT, "{}.agent:rot_agent", 64, "'root_agent'?)"),
    (AGENT, "{root}", 1, "1 request."), ("name: a\nmodel: gemini-x\ninstruction: Hi.", "{}", 1, "1 agent"),
    (AGENT.replace("root_agent", "mine"), "{}.agent", 64, "agent:mine?)"),
    ("def an_agent(key): ...\ndef helper(): ...", "{}.agent", 64, "agent:an_agent?)"),
    ("raise OSError('no key')", "{}", 64, "OSError: no key ("), ("root_agent = 5", "{}", 64, "and is of type module"),
    ("app = 5", "{}.agent:app", 64, "and is of type int"), ("x = (", "{}", 64, "never closed"),
])  # fmt: skip
def test_an_app_is_found_where_adk_finds_it(case, capsys, monkeypatch, tmp_path):
    """A folder, file or module will do, with what ADK reads there, wherever it is, and a mistake is one line."""
    source, name, code, told = case
    monkeypatch.chdir(tmp_path if "root" in name else tmp_path.parent)
    (tmp_path / "__init__.py").touch()
    (tmp_path / ".env").write_text("NAME_OF_AN_AGENT=one")
    (tmp_path / ("root_agent.yaml" if source.startswith("name:") else "agent.py")).write_text(source)
    found, out, err = run(capsys, "doctor", name.format(tmp_path.name, root=tmp_path))
    assert (found, told in (err or out), err.count("\n")) == (code, True, code == 64)


class Dead(BaseToolset):
    asked = 0

    async def get_tools(self, readonly_context=None):
        self.asked += 1
        raise ConnectionError("no server")


def test_called_agents_count_and_a_dead_server_is_asked_once(capsys, monkeypatch, tmp_path):
    """`try` has the calls and whole results of an agent that is a tool, and asks a toolset that fails only once."""
    asks = ScriptedModel(answer=lambda seen: "Done." if results_in(seen, "analyst") else call("analyst", request="Go."))
    lead = LlmAgent(name="lead", model=asks, tools=[AgentTool(analyst())])
    page = tmp_path / "page.html"
    for seen in (lead, app(PACK, agents=[lead])):
        monkeypatch.setattr(f"{__name__}.seen", seen, raising=False)
        said = run(capsys, "try", f"{__name__}:seen", "--prompt", "Go.", "--json", "--html", page)[1]
        found = json.loads(said.partition("\n\n{")[0])
        # With the pack the analyst calls once more.
        calls = {name: each["calls"] for name, each in found["agents"].items()}
        assert calls == {"analyst": 2 + (seen is not lead), "lead": 2}
        assert found["results"] == {"restored": int(seen is not lead), "capped": 0}
    dead = Dead()
    monkeypatch.setattr(f"{__name__}.seen", app(PACK, agents=[writer("a", tools=[dead]), writer(tools=[dead])]))
    run(capsys, "doctor", f"{__name__}:seen")
    assert dead.asked == 1
