"""Settings by environment, for a plugin that ADK builds without arguments."""

import pytest
from google.adk.sessions.in_memory_session_service import InMemorySessionService

from adk_context_pack import ContextPackPlugin, Prices, SettingError
from adk_context_pack.stores.byte_cache import CACHE
from tests.reports.test_html_page import data_of
from tests.reports.test_saved_results import QUESTIONS, team
from tests.support.run import run_agent
from tests.support.spans import warned

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.mark.parametrize(("text", "expected"), [("1", True), ("TRUE", True), (" on ", True), ("0", False), ("", False)])
async def test_shadow_by_environment(monkeypatch, text, expected):
    """`ADK_CONTEXT_PACK_SHADOW` turns shadow mode on and off."""
    monkeypatch.setenv("ADK_CONTEXT_PACK_SHADOW", text)
    plugin = ContextPackPlugin()
    await run_agent(team(), QUESTIONS[0], plugins=[plugin])
    assert {report.shadow for report in plugin.reports} == {expected}


def test_a_budget_by_environment(monkeypatch):
    """`ADK_CONTEXT_PACK_MAX_TOKENS` is the budget of all agents without settings of their own."""
    monkeypatch.setenv("ADK_CONTEXT_PACK_MAX_TOKENS", "4000")
    assert ContextPackPlugin().settings_for("any").budget_for("gemini-2.5-flash") == 4000


@pytest.mark.parametrize("by_argument", [True, False])
def test_memory_has_a_limit(monkeypatch, by_argument):
    """`max_memory_bytes`, or its variable, bounds what the process keeps already and what it keeps from then on."""
    monkeypatch.setattr(CACHE, "_beside", 0)
    CACHE.put(("app", "user", "session"), "x", 5_000)
    try:
        monkeypatch.setenv("ADK_CONTEXT_PACK_MAX_MEMORY", "900" if by_argument else "4000")
        ContextPackPlugin(max_memory_bytes=4_000 if by_argument else None)
        assert CACHE.kept_bytes <= 4_000
        for number in range(9):
            CACHE.put(("app", "user", str(number)), "x", 1_000)
        assert CACHE.kept_bytes == 4_000
    finally:
        CACHE.limit(256 * 2**20)


@pytest.mark.parametrize(("text", "is_wrapped"), [("0", False), ("Off", False), ("1", True), ("", True)])
async def test_the_session_service_can_be_left_alone(monkeypatch, text, is_wrapped):
    """`ADK_CONTEXT_PACK_WRAP=0` keeps the pack from wrapping methods of the service."""
    monkeypatch.setenv("ADK_CONTEXT_PACK_WRAP", text)
    service = InMemorySessionService()
    await run_agent(team(), QUESTIONS[0], plugins=[ContextPackPlugin()], session_service=service)
    assert ("delete_session" in vars(service)) == is_wrapped


def test_a_misspelled_variable_is_named_once(monkeypatch):
    """A variable that nothing reads is said once, with the one that was meant. One of the app's own is not."""
    monkeypatch.setenv("ADK_CONTEXT_PACK_MAX_TOKEN", "4000")
    monkeypatch.setenv("ADK_CONTEXT_PACK_FOLDER", "mine")
    with warned() as texts:
        ContextPackPlugin(), ContextPackPlugin()
    assert [text.partition("did you mean ")[2] for text in texts] == ["'ADK_CONTEXT_PACK_MAX_TOKENS'?)"]


def test_arguments_win(monkeypatch, tmp_path):
    """An argument that is given wins over its variable, also where the variable could not work."""
    monkeypatch.setenv("ADK_CONTEXT_PACK_SHADOW", "perhaps")
    monkeypatch.setenv("ADK_CONTEXT_PACK_MAX_TOKENS", "4k")
    monkeypatch.setenv("ADK_CONTEXT_PACK_REPORT", "/no/such/folder/page.html")
    plugin = ContextPackPlugin(shadow=False, max_tokens=5000, report_file=tmp_path / "page.html")
    assert plugin.settings_for("any").max_tokens == 5000


@pytest.mark.parametrize(("name", "value"), [
    ("ADK_CONTEXT_PACK_SHADOW", "perhaps"), ("ADK_CONTEXT_PACK_MAX_TOKENS", "4k"),
    ("ADK_CONTEXT_PACK_MAX_TOKENS", "0"), ("ADK_CONTEXT_PACK_MAX_TOKENS", "-1"),
    ("ADK_CONTEXT_PACK_MAX_MEMORY", "0"), ("ADK_CONTEXT_PACK_REPORT", "/no/such/folder/page.html"),
    ("ADK_CONTEXT_PACK_REPORT", "page.txt"), ("ADK_CONTEXT_PACK_PRICES", "1.25"),
    ("ADK_CONTEXT_PACK_PRICES", "1.25,-1"), ("ADK_CONTEXT_PACK_PRICES", "cheap,nan"),
])  # fmt: skip
def test_a_bad_value_names_its_variable(monkeypatch, name, value):
    """A variable that cannot work gives an error with its name and its value."""
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingError, match=f"{name} must be .*, not '{value}'"):
        ContextPackPlugin()


@pytest.mark.parametrize("by_argument", [True, False])
async def test_the_page_has_costs_where_prices_are_given(monkeypatch, tmp_path, by_argument):
    """`prices`, or `ADK_CONTEXT_PACK_PRICES` without it, put costs on the page, and without both there are none."""
    page = tmp_path / "page.html"
    await run_agent(team(), QUESTIONS[0], plugins=[ContextPackPlugin(report_file=page)])
    assert data_of(page.read_text(encoding="utf-8"))["use"]["priced"] is False
    monkeypatch.setenv("ADK_CONTEXT_PACK_PRICES", "99,99" if by_argument else "2, 0.5")
    given = {"prices": Prices(input=2, cached=0.5)} if by_argument else {}
    plugin = ContextPackPlugin(report_file=page, **given)
    await run_agent(team(), QUESTIONS[0], plugins=[plugin])
    total = data_of(page.read_text(encoding="utf-8"))["use"]["total"]
    cost = sum(2 * r.tokens_after - 1.5 * min(r.prefix.tokens, r.tokens_after) for r in plugin.reports)
    assert total["cost_sent"] == pytest.approx(cost)
    assert cost > 0


async def test_a_page_that_cannot_be_written_fails_no_run(tmp_path, caplog):
    """Where the folder is gone at the end of a run, the log says so and the run is over as always."""
    folder = tmp_path / "gone"
    folder.mkdir()
    plugin = ContextPackPlugin(report_file=folder / "page.html")
    folder.rmdir()
    run = await run_agent(team(), QUESTIONS[0], plugins=[plugin])
    assert run.answer == "done"
    assert "could not be written" in caplog.text
