"""Each setting that cannot work is refused when its owner is built, under the owner's and its own name."""

from contextlib import nullcontext
from enum import Enum
from functools import partial

import pytest
from google.adk.agents import LlmAgent

import adk_context_pack as p
from adk_context_pack.reports.telemetry import Telemetry
from tests.support.agents import calling
from tests.support.plugin_apps import list_sales
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel

ODD = object()
NEEDED = {
    p.CompactState: {"key": "q"}, p.FitTokenBudget: (most := {"max_tokens": 100}), p.default_passes: most,
    p.ContextPipeline: {"passes": ()},
}  # fmt: skip
SETTINGS = {
    p.ContextPackPlugin: ("name", "passes", "rows", "tools", "read_back", "store", "max_cost", "on_limit", "counter"),
    p.CapRows: ("max_rows", "max_tokens", "encoding", "counter", "tools", "state_key", "on_report", "store", "facts"),
    p.ContextPipeline: ("max_reports", "keep_requests", "counter", "telemetry"), p.IngestMemory: ("name",),
    p.CastNarrative: ("max_said_chars", "max_args_chars", "on_error"), p.RecallMemory: ("max_tokens", "max_seconds"),
    p.CompactResults: ("min_tokens", "exclude_tools"), p.ReadBack: ("rows", "payload", "history"),
    p.ClearToolResults: ("keep_results", "min_tokens", "exclude_tools", "on_error"),
    p.CompactState: ("key", "select", "output_key", "on_error"),
    p.DropOldMedia: ("keep_turns", "min_bytes", "keep_types", "on_error"),
    p.DropOldThoughts: ("keep_turns", "on_error"),
    p.FitTokenBudget: ("max_tokens", "keep_turns", "cut_to", "counter", "on_error"),
    p.KeepNewestResult: ("min_tokens", "exclude_tools", "on_error"),
    p.OffloadPayload: ("max_tokens", "preview_tokens", "counter", "tools", "on_report", "store"),
    p.PayloadStore: ("place", "max_state_bytes", "max_results", "max_age_s", "timeout_s"),
    p.QueryRows: ("max_rows", "max_tokens", "max_seconds", "max_megabytes"),
    p.ReadPayload: ("max_tokens", "max_seconds"), p.StripForContext: ("on_error", "keep_said"),
    p.default_passes: ("max_tokens", "relays", "keep_tools", "cached_price"), p.default_result_passes: ("store",),
}  # fmt: skip


@pytest.mark.parametrize(("owner", "name"), [(owner, name) for owner, names in SETTINGS.items() for name in names])
def test_the_error_names_owner_and_setting(owner, name):
    """A user who reads the error knows which setting of which object to change, and what was given."""
    with pytest.raises(p.SettingError) as caught:
        owner(**{**NEEDED.get(owner, {}), name: ODD})
    assert str(caught.value).startswith(f"{owner.__name__}: {name} must be ")
    assert "not <object object" in str(caught.value)


REFUSED = [
    *[
        (build, {"key": "q"} | odd)
        for build in (p.CompactState, partial(p.CompactStateStep, name="step"))
        for odd in ({"key": ""}, {"key": "{q}"}, {"select": "id"}, {"select": lambda: 1}, {"output_key": "q"})
    ],
    *[
        (partial(p.DataSummarizer, name="summarizer"), odd)
        for odd in ({"source": ""}, {"output_key": 3}, {"kpis": ["CTR"]}, {"kpis": "CTR"}, {"max_rows": -1},
                    {"max_ranked": True}, {"group_by": "device"}, {"group_by": {"device"}}, {"group_by": (3,)},
                    {"rank_by": ""})
    ],
    *[(p.HistorySummarizer, odd) for odd in ({"max_tokens": 0}, {"max_said_chars": -1}, {"counter": 5})],
    *[(p.IngestMemory, odd) for odd in ({"max_waiting": 0}, {"max_attempts": 0}, {"pause_seconds": -1})],
    *[(p.ClearToolResults, odd) for odd in ({"keep_results": True}, {"exclude_tools": "fetch"}, {"counter": 3})],
    (p.DropOldMedia, {"keep_types": "image/png"}), (p.DropOldMedia, {"keep_types": ["png"]}),
    (p.ContextPackPlugin, {"shadow": "no"}), (p.Prices, {"input": 0.1, "cached": 1.0}),
    (partial(p.write_html, path="page.html"), {"reports": p.ContextPackPlugin()}),
    *[
        (partial(p.FitTokenBudget, max_tokens=9), odd)
        for odd in ({"max_tokens": 9.5}, {"cut_to": "1"}, {"counter": "o"}, {"keep_tools": "plan"})
    ],
    (p.KeepNewestResult, {"exclude_tools": "read"}), (p.CompactResults, {"exclude_tools": "read"}),
    *[(p.StripForContext, {"keep_agents": odd}) for odd in ("scout", [""], [3], 5, {"a": 1})],
    *[(p.ContextPipeline, {"passes": [odd]}) for odd in ("strip", None)],
    *[(partial(p.ContextPipeline, ()), {"max_reports": odd}) for odd in (0, -1, True, "10")],
    (partial(p.ContextPipeline, ()), {"keep_requests": -2}),
    *[(p.ReportLog, odd) for odd in ({"max_reports": 0}, {"max_requests": -1})],
    *[(p.RecallMemory, odd) for odd in ({"max_tokens": 0}, {"counter": 3}, {"max_seconds": 0})],
    *[(p.CastNarrative, {"max_quoted_tokens": odd}) for odd in (True, "9", 1.5, None)],
    (partial(p.defer_tools, run_agent), {"always": {"run"}}), (p.cap_rows, {"tool": p.CapRows()}),
    (p.cap_rows, {"tool": p.cap_rows(run_agent)}),
    (p.summarized_results_tool, {"output_key": ""}), (p.SearchHistory, {"max_tokens": 0}),
    *[(p.PayloadStore, odd) for odd in ({"place": "disk"}, {"place": p.ArtifactStore}, {"max_results": True},
                                        {"max_age_s": 1.5}, {"timeout_s": 0}, {"timeout_s": True}, {"timeout_s": "1"})],
    *[
        (partial(p.Kpi, name="k", numerator="a", denominator="b"), odd)
        for odd in ({"name": ""}, {"numerator": 3}, *({"scale": odd} for odd in (0, float("nan"), "x", True)))
    ],
    (partial(p.table_facts, []), {"max_outliers": -1}), (partial(p.table_facts, []), {"columns": "a,b"}),
    *[(p.table_facts, {"rows": odd}) for odd in ("a,b", b"a,b", None, 5, {"rows": ODD})],
    *[(p.Prices, {"cached": odd}) for odd in (-1, float("nan"), float("inf"), "1", None)],
    *[(p.CapRows, odd) for odd in ({"max_tokens": 0}, {"encoding": "xml"}, {"tools": {"a": 5}}, {"tools": "a"})],
    *[
        (build, odd)
        for build in (p.OffloadPayload, partial(p.offload_payload, list))
        for odd in ({"preview_tokens": True}, {"tools": {"a": 3}}, {"tools": ["a"]},
                    {"max_tokens": 100, "preview_tokens": 101})
    ],
    *[
        (partial(p.CompactState, key="q"), {"select": odd})
        for odd in (7, b"id", [""], [1], {"a": 3}, {"status": {"x": "id"}}, {1: {"x": ("id",)}}, {"id": ""},
                    {"status": {"x": ("id",)}, "other": ("id",)}, {"status": {"x": ("id",)}, "other": {"y": ("id",)}})
    ],
    *[
        (p.PackSettings, odd)
        for odd in ({"passes": p.StripForContext()}, {"passes": "a"}, {"passes": 3}, {"max_tokens": True},
                    {"max_tokens": -5}, {"rows": {"max_rows": 3}}, {"payloads": p.CapRows()}, {"tools": {"a": "all"}},
                    {"tools": {"a": 3}}, {"tools": {"": "whole"}}, {"tools": ["whole"]}, {"tools": {len: "whole"}})
    ],
    *[
        (p.ContextPackPlugin, odd)
        for odd in ({"passes": ["strip"]}, {"passes": {p.StripForContext()}}, {"counter": run_agent}, {"max_tokens": 0},
                    {"rows": 100}, {"payloads": "all"},
                    {"agents": {"a": "none"}}, {"agents": 0}, {"agents": p.PackSettings()}, {"counter": 5},
                    {"max_input_tokens": 0}, {"max_cost": -1.5}, {"telemetry": Telemetry},
                    {"agents": {"": None}}, {"agents": {3: None}}, {"limit_per": "day"}, {"on_limit": "x"},
                    {"show_budget": True}, {"show_budget": "no"}, {"max_reports": 0}, {"keep_requests": -1},
                    {"shadow": "maybe"},
                    {"report_file": 7}, {"report_file": "page.txt"}, {"prices": 1.25}, {"result_passes": 3},
                    {"result_passes": [p.StripForContext()]}, {"rows": None, "result_passes": []},
                    {"payloads": None, "result_passes": []})
    ],
]  # fmt: skip


@pytest.mark.parametrize(("build", "settings"), REFUSED)
def test_what_cannot_work_is_refused_with_its_value(build, settings):
    """Whatever is built, the error names the setting and holds the value, so that nobody has to guess."""
    with pytest.raises(p.SettingError) as caught:
        build(**settings)
    name, value = list(settings.items())[-1]
    while isinstance(value, list | tuple | dict) and value:
        value = next(iter(value.values() if isinstance(value, dict) else value))
    shown = type(value).__name__ if type(value).__module__.startswith("adk") else repr(value)
    assert name in str(caught.value)
    assert shown in str(caught.value)


def test_a_member_of_an_enum_counts_as_its_text():
    """An app that lists its choices in an enum gets what the member says."""
    choice = Enum("Choice", {"CSV": "csv", "RAISE": "raise"}, type=str)
    assert p.CapRows(encoding=choice.CSV, on_error=choice.RAISE) == p.CapRows(encoding="csv", on_error="raise")


@pytest.mark.parametrize(("build", "settings", "near"), [
    (p.ContextPackPlugin, {"max_token": 5}, "max_tokens"), (p.PackSettings, {"row": None}, "rows"),
    (p.CapRows, {"max_row": 5}, "max_rows"), (p.StripForContext, {"keep_tool": ()}, "keep_tools"),
    (p.PayloadStore, {"max_result": 5}, "max_results"), (p.Prices, {"inputs": 1}, "input"),
    (p.ReadBack, {"row": None}, "rows"), (p.QueryRows, {"max_second": 5}, "max_seconds"),
    (p.ReadPayload, {"max_token": 5}, "max_tokens"), (p.SearchHistory, {"token": 5}, "max_tokens"),
    (p.IngestMemory, {"max_atempts": 5}, "max_attempts"), (p.DataSummarizer, {"sources": "rows"}, "source"),
    (p.HistorySummarizer, {"said_chars": 5}, "max_said_chars"),
    (p.ReportLog, {"max_report": 5}, "max_reports"), (partial(p.ContextPipeline, ()), {"telemtry": 5}, "telemetry"),
    (p.ContextPackPlugin, {"read_back": "erly"}, "early"),
    *((build, {"store": "artefacts"}, "artifacts") for build in (p.ContextPackPlugin, p.CapRows, p.OffloadPayload)),
    (p.ContextPackPlugin, {"limit_per": "sesion"}, "session"), (p.CapRows, {"encoding": "jsn"}, "json"),
    (p.ContextPackPlugin, {"tools": {"search": "titels"}}, "titles"),
])  # fmt: skip
def test_the_nearest_right_one_is_named(build, settings, near):
    """A misspelled setting, or a misspelled value of one, is refused with the one that was meant."""
    with pytest.raises(p.SettingError, match=rf"({next(iter(settings))}|place).*\(did you mean '{near}'\?\)$"):
        build(**settings)


@pytest.mark.parametrize("build", [p.ContextPackPlugin, p.IngestMemory, p.CapRows, p.ReportLog, p.Prices])
def test_a_value_without_a_name_is_refused(build):
    """What is given by its place alone is refused with the way to write it."""
    with pytest.raises(p.SettingError, match=f"^{build.__name__}.* settings by name"):
        build(5)


AT_LEAST_1 = {
    p.CapRows: ("max_rows", "max_tokens", "stub_rows", "stub_tokens"),
    p.CastNarrative: ("max_said_chars", "max_args_chars", "max_result_chars", "max_error_chars"),
    p.ClearToolResults: ("min_tokens",), p.DropOldMedia: ("keep_turns",), p.DropOldThoughts: ("keep_turns",),
    p.FitTokenBudget: ("max_tokens", "keep_turns"), p.KeepNewestResult: ("min_tokens",),
    p.CompactResults: ("min_tokens",),
    p.OffloadPayload: ("max_tokens", "preview_tokens"),
    p.PayloadStore: ("max_session_bytes", "max_results", "max_age_s"),
    p.QueryRows: ("max_rows", "max_tokens", "max_seconds", "max_megabytes"),
    p.ReadPayload: ("max_tokens", "max_matches", "max_seconds"), p.RecallMemory: ("max_tokens",),
}  # fmt: skip
AT_LEAST_0 = {
    p.CastNarrative: ("max_result_tokens", "max_quoted_tokens"),
    p.ClearToolResults: ("keep_results", "keep_in_turn", "max_ledger_tokens"),
    p.DropOldMedia: ("min_bytes",),
    p.FitTokenBudget: ("max_ledger_tokens",),
    p.PayloadStore: ("max_state_bytes",),
}


@pytest.mark.parametrize(("owner", "name", "lowest"), [
    (owner, name, lowest)
    for lowest, settings in ((1, AT_LEAST_1), (0, AT_LEAST_0))
    for owner, names in settings.items()
    for name in names
])  # fmt: skip
def test_the_lowest_value_that_works(owner, name, lowest):
    """Each number has a lowest value, which works; one less is refused, and the error names the lowest one."""
    assert owner(**NEEDED.get(owner, {}) | {name: lowest})
    with pytest.raises(p.SettingError, match=f"{name} must be an integer of at least {lowest}, not {lowest - 1}"):
        owner(**NEEDED.get(owner, {}) | {name: lowest - 1})


@pytest.mark.parametrize("kind", [p.StripForContext, p.ContextPipeline, p.CapRows])
async def test_a_class_among_the_callbacks_is_refused_by_name(kind):
    """A class in the place of an instance fails with the call to write, not with an unknown argument."""
    agent = LlmAgent(name="writer", model=ScriptedModel(), before_model_callback=[kind])
    with pytest.raises(p.SettingError, match=rf"{kind.__name__}: a callback must be an instance, {kind.__name__}\(…\)"):
        await run_agent(agent, "go")


LISTS = ("before_agent", "after_agent", "before_model", "after_model", "before_tool", "after_tool")


@pytest.mark.parametrize("where", LISTS)
@pytest.mark.parametrize(("entry", "own"), [
    (p.StripForContext(), "before_model"), (p.ContextPipeline([]), "before_model"), (p.RecallMemory(), "before_model"),
    (p.CapRows(), "after_tool"),
])  # fmt: skip
async def test_an_entry_of_another_list_names_its_own(entry, own, where):
    """ADK gives each list other arguments, and an entry in the wrong one says where it belongs."""
    agent = calling(list_sales, **{f"{where}_callback": [entry]})
    said = rf"^{type(entry).__name__} is an entry for {own}_callback, not for another list of callbacks$"
    with nullcontext() if where == own else pytest.raises(p.SettingError, match=said):
        await run_agent(agent, "go")


async def test_a_subclass_may_take_any_arguments():
    """A user's own `__call__` with other parameters is called as it says."""
    seen = []
    own = type("Own", (p.StripForContext,), {"__call__": lambda self, **given: seen.append(sorted(given))})
    await run_agent(calling(list_sales, before_model_callback=[own()]), "go")
    assert seen == [["callback_context", "llm_request"]] * 2


@pytest.mark.parametrize("build", [p.ContextPackPlugin, p.ContextPipeline])
@pytest.mark.parametrize(("passes", "said"), [
    (p.FitTokenBudget(max_tokens=9), r"a sequence of passes such as \[StripForContext\(\)\], not FitTokenBudget"),
    (p.FitTokenBudget, "a sequence of passes"), ([p.FitTokenBudget], r"made of instances such as FitTokenBudget\(…\)"),
    ("strip", "made of passes such as"), (3, "a sequence of passes"),
])  # fmt: skip
def test_passes_given_bare_are_refused_when_built(build, passes, said):
    """A single pass, a class or anything else in the place of a list of passes fails with what to write."""
    with pytest.raises(p.SettingError, match=f"passes must be {said}"):
        build(passes=passes)
