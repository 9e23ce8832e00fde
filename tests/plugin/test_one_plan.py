"""One plan for one result, in real runs: settings by tool, own passes, readers without tools, stores that fail."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.tools import google_search
from pydantic import BaseModel

from adk_context_pack import CapRows, ContextPackPlugin, ResultPass, cap_rows
from adk_context_pack.errors import SettingError
from adk_context_pack.pack_settings import PackSettings
from adk_context_pack.stores.payload_store import PayloadStore
from tests.support.in_tool import model_that_calls
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, results_in

ROWS = [{"id": number, "paid": number * 3, "town": ("Turku", "Vaasa")[number % 2]} for number in range(400)]
LOG = "\n".join(f"2026-04-01T08:00:{number % 60:02} INFO pump {number} ok" for number in range(900))
HITS = [{"title": f"Guide to pump {number}", "link": f"https://p.example/{number}"} for number in range(90)]
HANDLE = re.compile(r"\b2[0-9a-z]{10}\b")


def tool(name, value):
    """A tool of this name that returns a value."""

    def fetch():
        return value

    fetch.__name__ = fetch.__doc__ = name
    return fetch


async def seen(*calls, tools, plugin, **settings):
    """What the agent's last request shows of its calls, and the run."""
    agent = LlmAgent(name="worker", model=model_that_calls(*((name, {}) for name in calls)), tools=tools)
    run = await run_agent(agent, "go", plugins=[plugin], **settings)
    return [result.response for result in results_in(run.requests[-1])], run


async def test_single_tools_are_set_in_one_place():
    """One tool's results stay whole, another one's are read by titles, and a third has limits of its own."""
    tools = [tool("read_doc", {"log": LOG}), tool("look_up", {"hits": HITS}), tool("export", {"rows": ROWS})]
    settings = {"read_doc": "whole", "look_up": "titles", "export": CapRows(stub_rows=7)}
    (doc, hits, rows), _ = await seen(
        "read_doc", "look_up", "export", tools=tools, plugin=ContextPackPlugin(tools=settings)
    )
    assert doc == {"log": LOG}
    assert all(hit["title"] in hits["hits"] for hit in HITS)
    assert len(rows["rows"]) == 7


async def test_what_a_pass_is_not_told_it_has_from_the_default():
    """`CapRows(max_rows=…)` alone, in the plugin and beside its defaults shows the same stub of a longer table."""
    shown = []
    for plugin in (ContextPackPlugin(rows=CapRows(max_rows=20)), ContextPackPlugin()):
        (rows,), _ = await seen("export", tools=[tool("export", {"rows": ROWS})], plugin=plugin)
        shown.append(HANDLE.sub("", json.dumps(rows)))
    assert shown[0] == shown[1]


@pytest.mark.parametrize("setting", ["all", 3, {"": "whole"}, ["whole"]])
def test_a_setting_for_a_tool_that_cannot_work_is_named(setting):
    """A wrong setting fails when built, with its value."""
    given = setting if isinstance(setting, dict | list) else {"search": setting}
    with pytest.raises(SettingError, match="tools"):
        PackSettings(tools=given)


@dataclass(frozen=True, kw_only=True)
class KeepFirst(ResultPass):
    """A user's own pass, which shows the first field and keeps nothing."""

    async def apply(self, result, call):
        """Returns the first field."""
        return dict(list(result.items())[:1])


async def test_what_an_own_pass_leaves_out_is_kept_and_named():
    """The result says by how much it is shorter and which tool reads the whole, and the tool does."""
    value = {"status": "ok", "log": LOG}
    calls = [("fetch", {}), ("read_payload", {"handle": lambda results: results[0]["_handle"], "search": "pump 450"})]
    agent = LlmAgent(name="worker", model=model_that_calls(*calls), tools=[tool("fetch", value)])
    run = await run_agent(agent, "go", plugins=[ContextPackPlugin(result_passes=[KeepFirst()])])
    shown, read = (result.response for result in results_in(run.requests[-1]))
    assert shown["status"] == "ok"
    assert "log" not in shown
    assert "read_payload" in shown["_note"]
    assert "pump 450 ok" in read["matches"][0]["text"]


@dataclass(frozen=True, kw_only=True)
class Redact(KeepFirst):
    """A pass that removes what nobody may read back."""

    is_reducing = False


async def test_what_is_redacted_is_not_kept():
    """A pass that says so leaves out a field for good: it is neither named nor in the session's state."""
    value = {"status": "ok", "secret": "token " * 900}
    (shown,), run = await seen(
        "fetch", tools=[tool("fetch", value)], plugin=ContextPackPlugin(result_passes=[Redact()])
    )
    assert shown == {"status": "ok"}
    assert not [key for key in run.session.state if key.startswith(("rows:", "payload:"))]


async def test_what_the_session_read_back_is_sent_whole_from_then_on():
    """A tool whose text was read page by page gives the next one whole, and one that was searched does not."""
    for asked, is_whole in (({}, True), ({"search": "pump"}, False)):
        read = ("read_payload", {"handle": lambda results: HANDLE.search(json.dumps(results[0])).group(), **asked})
        agent = LlmAgent(
            name="worker",
            model=model_that_calls(("fetch", {}), read, ("fetch", {})),
            tools=[tool("fetch", {"log": LOG[:9000]})],
        )
        run = await run_agent(agent, "go", plugins=[ContextPackPlugin()])
        first, _, second = (result.response for result in results_in(run.requests[-1]))
        assert first["log"] != LOG[:9000]
        assert (second["log"] == LOG[:9000]) is is_whole


class Answer(BaseModel):
    """What a writer must answer with."""

    text: str


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("settings", "may_read"),
    [({}, True), ({"output_schema": Answer}, False), ({"tools": [google_search]}, False)],
    ids=["plain", "output_schema", "google_search"],
)
async def test_an_account_names_only_tools_that_its_reader_has(settings, may_read):
    """A reader that cannot be given tools is told handles and exact facts, and of no tool."""
    worker = LlmAgent(
        name="worker",
        model=model_that_calls(("export", {}), ("fetch", {})),
        tools=[tool("export", {"rows": ROWS}), tool("fetch", {"log": LOG})],
    )
    model = ScriptedModel(model="gemini-2.5-flash", answer=lambda _: '{"text": "done"}')
    writer = LlmAgent(name="writer", model=model, **settings)
    run = await run_agent(
        SequentialAgent(name="both", sub_agents=[worker, writer]), "go", plugins=[ContextPackPlugin()]
    )
    (request,) = run.requests_of("writer")
    text = "\n".join(part.text or "" for content in request.contents for part in content.parts)
    assert f"paid,{sum(row['paid'] for row in ROWS)}" in text
    assert len(set(HANDLE.findall(text))) == 2
    for name in ("query_rows", "read_payload"):
        assert (name in text) is may_read
        assert (name in request.tool_names) is may_read


@pytest.mark.parametrize("value", [{"rows": ROWS * 250}, {"log": LOG * 300}], ids=["rows", "log"])
async def test_nothing_above_the_limits_reaches_a_model_where_nothing_can_be_kept(value):
    """Without room for the whole the result is shown in part, says that the rest was not kept, and names no handle."""
    plugin = ContextPackPlugin(store=PayloadStore(place="state", max_session_bytes=400))
    (shown,), _ = await seen("fetch", tools=[tool("fetch", value)], plugin=plugin, artifact_service=None)
    text = json.dumps(shown)
    assert len(text) < 4000
    assert "The rest was not kept" in text
    assert "call fetch again" in text
    assert not HANDLE.search(text)
    assert plugin.result_reports[-1].error


async def test_a_log_beside_a_table_that_its_tool_capped_is_shown_in_part():
    """The plugin leaves a stub's table alone and previews the long text beside it, each with a handle of its own."""
    wrapped = cap_rows(tool("fetch", {"rows": ROWS, "log": LOG}), stub_rows=5)
    (shown,), run = await seen("fetch", tools=[wrapped], plugin=ContextPackPlugin())
    assert shown["rows"] == ROWS[:5]
    assert shown["log"].startswith("[text of ")
    kept = {key[-11:] for key in run.session.state if key.startswith(("rows:", "payload:"))}
    assert kept == {shown["_handle"], *HANDLE.findall(shown["log"])}


async def test_a_pass_for_one_tool_takes_the_place_of_its_kind_alone():
    """A tool with limits of its own for tables still has its long text previewed as the plugin says."""
    plugin = ContextPackPlugin(tools={"fetch": CapRows(stub_rows=5)})
    (shown,), _ = await seen("fetch", tools=[tool("fetch", {"rows": ROWS, "log": LOG})], plugin=plugin)
    assert shown["rows"] == ROWS[:5]
    assert shown["log"].startswith("[text of ")
