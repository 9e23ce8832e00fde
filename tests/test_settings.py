"""Each setting that cannot work is refused when its owner is built, under the owner's and its own name."""

from functools import partial

import pytest

import adk_context_pack as p

ODD = object()
NEEDED = {p.CompactState: {"key": "q"}, p.FitTokenBudget: {"max_tokens": 100}}
SETTINGS = {
    p.ContextPackPlugin: ("name", "passes", "rows", "tools", "read_back", "store", "max_cost", "on_limit", "counter"),
    p.CapRows: ("max_rows", "max_tokens", "encoding", "counter", "tools", "state_key", "on_report"),
    p.CastNarrative: ("max_said_chars", "max_args_chars", "on_error"), p.RecallMemory: ("max_tokens", "max_seconds"),
    p.CompactResults: ("min_tokens", "exclude_tools"), p.ReadBack: ("rows", "payload", "history"),
    p.ClearToolResults: ("keep_results", "min_tokens", "exclude_tools", "on_error"),
    p.CompactState: ("key", "select", "output_key", "on_error"),
    p.DropOldMedia: ("keep_turns", "min_bytes", "keep_types", "on_error"),
    p.DropOldThoughts: ("keep_turns", "on_error"),
    p.FitTokenBudget: ("max_tokens", "keep_turns", "cut_to", "counter", "on_error"),
    p.KeepNewestResult: ("min_tokens", "exclude_tools", "on_error"),
    p.OffloadPayload: ("max_tokens", "preview_tokens", "counter", "tools", "on_report"),
    p.PayloadStore: ("place", "max_state_bytes", "max_results", "max_age_s", "timeout_s"),
    p.QueryRows: ("max_rows", "max_tokens", "max_seconds", "max_megabytes"),
    p.ReadPayload: ("max_tokens", "max_seconds"), p.StripForContext: ("on_error",),
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
        for odd in ({"key": ""}, {"key": "{q}"}, {"select": "id"}, {"output_key": "q"})
    ],
    *[
        (partial(p.DataSummarizer, name="summarizer"), odd)
        for odd in ({"source": ""}, {"output_key": 3}, {"kpis": ["CTR"]}, {"kpis": "CTR"}, {"max_rows": -1},
                    {"max_ranked": True}, {"group_by": "device"}, {"group_by": (3,)}, {"rank_by": ""})
    ],
    *[(p.HistorySummarizer, odd) for odd in ({"max_tokens": 0}, {"max_said_chars": -1}, {"counter": 5})],
    *[(p.IngestMemory, odd) for odd in ({"max_waiting": 0}, {"max_attempts": 0}, {"pause_seconds": -1})],
    *[(p.ClearToolResults, odd) for odd in ({"keep_results": True}, {"exclude_tools": "fetch"}, {"counter": 3})],
    (p.DropOldMedia, {"keep_types": "image/png"}),
    *[(p.FitTokenBudget, {"max_tokens": 9} | odd) for odd in ({"max_tokens": 9.5}, {"cut_to": "1"}, {"counter": "o"})],
    (p.KeepNewestResult, {"exclude_tools": "read"}), (p.CompactResults, {"exclude_tools": "read"}),
    *[(p.StripForContext, {"keep_agents": odd}) for odd in ("scout", [""], [3], 5)],
    *[(p.ContextPipeline, {"passes": [odd]}) for odd in ("strip", None)],
    *[(partial(p.ContextPipeline, ()), {"max_reports": odd}) for odd in (0, -1, True, "10")],
    (partial(p.ContextPipeline, ()), {"keep_requests": -2}),
    *[(p.ReportLog, odd) for odd in ({"max_reports": 0}, {"max_requests": -1})],
    *[(p.default_passes, {"max_tokens": 9} | odd) for odd in ({"max_tokens": 0}, {"relays": "burn"})],
    *[(p.RecallMemory, odd) for odd in ({"max_tokens": 0}, {"counter": 3}, {"max_seconds": 0})],
    *[(p.CastNarrative, {"max_quoted_tokens": odd}) for odd in (True, "9", 1.5, None)],
    *[
        (p.PackSettings, odd)
        for odd in ({"passes": p.StripForContext()}, {"passes": "a"}, {"passes": 3}, {"max_tokens": True},
                    {"max_tokens": -5}, {"rows": {"max_rows": 3}}, {"payloads": p.CapRows()})
    ],
    *[
        (p.ContextPackPlugin, odd)
        for odd in ({"passes": ["strip"]}, {"max_tokens": 0}, {"rows": 100}, {"payloads": "all"},
                    {"agents": {"a": "none"}}, {"agents": 0}, {"agents": p.PackSettings()}, {"counter": 5},
                    {"max_reports": 0}, {"keep_requests": -1}, {"shadow": "maybe"}, {"report_file": 7},
                    {"report_file": "page.txt"}, {"prices": 1.25}, {"result_passes": [p.StripForContext()]},
                    {"result_passes": 3}, {"rows": None, "result_passes": []}, {"payloads": None, "result_passes": []})
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


@pytest.mark.parametrize(
    ("build", "settings", "near"),
    [
        (p.ContextPackPlugin, {"max_token": 5}, "max_tokens"), (p.PackSettings, {"row": None}, "rows"),
        (p.CapRows, {"max_row": 5}, "max_rows"), (p.StripForContext, {"keep_tool": ()}, "keep_tools"),
        (p.PayloadStore, {"max_result": 5}, "max_results"), (p.Prices, {"inputs": 1}, "input"),
        (p.ReadBack, {"row": None}, "rows"), (p.QueryRows, {"max_second": 5}, "max_seconds"),
        (p.ReadPayload, {"max_token": 5}, "max_tokens"), (p.SearchHistory, {"token": 5}, "max_tokens"),
        (p.IngestMemory, {"max_atempts": 5}, "max_attempts"),
        (p.HistorySummarizer, {"said_chars": 5}, "max_said_chars"),
        (p.ReportLog, {"max_report": 5}, "max_reports"), (partial(p.ContextPipeline, ()), {"telemtry": 5}, "telemetry"),
        (p.ContextPackPlugin, {"read_back": "erly"}, "early"),
        (p.ContextPackPlugin, {"store": "artefacts"}, "artifacts"),
        (p.ContextPackPlugin, {"limit_per": "sesion"}, "session"), (p.CapRows, {"encoding": "jsn"}, "json"),
        (p.ContextPackPlugin, {"tools": {"search": "titels"}}, "titles"),
    ],
)  # fmt: skip
def test_the_nearest_right_one_is_named(build, settings, near):
    """A misspelled setting, or a misspelled value of one, is refused with the one that was meant."""
    with pytest.raises(p.SettingError, match=rf"({next(iter(settings))}|place).*\(did you mean '{near}'\?\)$"):
        build(**settings)


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


@pytest.mark.parametrize(
    ("owner", "name", "lowest"),
    [
        (owner, name, lowest)
        for lowest, settings in ((1, AT_LEAST_1), (0, AT_LEAST_0))
        for owner, names in settings.items()
        for name in names
    ],
)
def test_the_lowest_value_that_works(owner, name, lowest):
    """Each number has a lowest value, which works; one less is refused, and the error names the lowest one."""
    assert owner(**NEEDED.get(owner, {}) | {name: lowest})
    with pytest.raises(p.SettingError, match=f"{name} must be an integer of at least {lowest}, not {lowest - 1}"):
        owner(**NEEDED.get(owner, {}) | {name: lowest - 1})
